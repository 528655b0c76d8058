"""What llama.cpp decides by itself: rounding, limits, refusals."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.llama.choices import Batch, batch, choose, reserved
from galloscope.core.llama.facts import CacheFacts, cache_facts
from galloscope.core.llama.options import FlashAttn, GraphMode, Options
from galloscope.core.models.made_up import MadeUp, made_up_header

HEADER = made_up_header(MadeUp(n_ctx_train=8192))
FACTS = cache_facts(HEADER)


def chosen(facts: CacheFacts = FACTS, **given: object) -> Options:
    return choose(Options(**given), facts).options  # type: ignore[arg-type]


def test_the_context_is_4096_or_the_models_own() -> None:
    assert chosen().n_ctx == 4096
    assert chosen(n_ctx=0).n_ctx == 8192
    assert chosen(cache_facts(made_up_header(MadeUp(n_ctx_train=512)))).n_ctx == 512


@pytest.mark.parametrize(
    ("n_ctx", "n_seqs", "unified", "rounded", "per_seq"),
    [(1000, 1, False, 1024, 1024), (1, 1, False, 256, 256), (1000, 3, False, 1536, 512), (1000, 3, True, 1024, 1024)],
)
def test_the_context_is_rounded(n_ctx: int, n_seqs: int, unified: bool, rounded: int, per_seq: int) -> None:
    found = choose(Options(n_ctx=n_ctx, n_seq_max=n_seqs, kv_unified=unified), FACTS)
    assert (found.options.n_ctx, found.n_ctx_seq) == (rounded, per_seq)
    assert any(f"n_ctx {n_ctx} becomes {rounded}" in note for note in found.notes)


def test_batches_are_limited_by_the_context_before_it_is_rounded() -> None:
    small = chosen(n_ctx=100)
    assert (small.n_ctx, small.n_batch, small.n_ubatch) == (256, 100, 100)
    assert chosen(n_batch=64).n_ubatch == 64
    assert chosen(n_ubatch=0).n_ubatch == 2048


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"n_seq_max": 257}, "n_seq_max must be <= 256"),
        ({"n_batch": 0}, "at least one token"),
        ({"n_ctx": -1}, "-c -1 is not between"),
        ({"type_v": DTYPES["q8_0"], "flash_attn": FlashAttn.OFF}, "quantized V cache requires flash_attn"),
        ({"type_k": DTYPES["q8_0"], "flash_attn": FlashAttn.ON}, "does not divide n_embd_head_k=16"),
        ({"type_v": DTYPES["q8_0"], "flash_attn": FlashAttn.AUTO}, "does not divide n_embd_head_v=16"),
    ],
)
def test_what_llama_cpp_refuses(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        chosen(FACTS, **given)


def test_a_quantised_v_cache_turns_flash_attention_on() -> None:
    facts = msgspec.structs.replace(FACTS, head_k=(32, 32), head_v=(32, 32))
    found = choose(Options(type_v=DTYPES["q8_0"]), facts)
    assert found.options.flash_attn is FlashAttn.ON
    assert "flash attention is on: a quantised V cache requires it" in found.notes


def test_more_outputs_than_a_batch_has_room_for_only_if_said() -> None:
    with pytest.raises(InputError, match="-np 5: a batch has 2 tokens"):
        chosen(n_seq_max=5, n_batch=2)
    assert chosen(n_seq_max=5, n_batch=2, n_outputs=1).n_batch == 2


def test_reserve_batches() -> None:
    options = chosen(n_seq_max=3, n_ubatch=100, n_ctx=3000)
    assert batch(options, GraphMode.DECODE) == Batch(3, 3, 3)
    assert batch(options, GraphMode.PREFILL) == Batch(102, 3, 100), "outputs are counted before the rounding"
    few = msgspec.structs.replace(options, n_tokens=7, n_outputs=2)
    assert batch(few, GraphMode.PREFILL) == Batch(9, 3, 2)
    for wrong in ({"n_tokens": 101}, {"n_tokens": 0}, {"n_outputs": 101}, {"n_outputs": 0}):
        with pytest.raises(InputError):
            batch(msgspec.structs.replace(options, **wrong), GraphMode.PREFILL)


@given(
    st.builds(
        Options,
        n_ctx=st.integers(1, 20000),
        n_batch=st.integers(1, 3000),
        n_ubatch=st.integers(0, 3000),
        n_seq_max=st.integers(1, 256),
        kv_unified=st.booleans(),
    )
)
def test_what_is_chosen_is_chosen_for_good(options: Options) -> None:
    if options.n_seq_max > min(options.n_batch, options.n_ctx or 0):
        with pytest.raises(InputError, match="and each sequence needs one"):
            choose(options, FACTS)
        return
    filled = choose(options, FACTS)
    again = choose(filled.options, FACTS)
    assert (again.options, again.n_ctx_seq) == (filled.options, filled.n_ctx_seq)
    assert 1 <= filled.options.n_ubatch <= filled.options.n_batch
    assert filled.options.n_ctx == filled.n_ctx_seq * (1 if options.kv_unified else options.n_seq_max)
    n_tokens, n_outputs = reserved(filled.options)
    one = batch(filled.options, GraphMode.PREFILL)
    assert one.n_outputs == n_outputs <= n_tokens <= one.n_tokens < n_tokens + one.n_seqs
    assert one.n_tokens % one.n_seqs == 0
