"""KV cache and recurrent state: tensors, sizes, places."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import Given, header_bytes
from galloscope.core.llama.caches import Cache, bytes_by_place, caches, cells
from galloscope.core.llama.choices import choose
from galloscope.core.llama.facts import cache_facts
from galloscope.core.llama.layers import place_layers
from galloscope.core.llama.machine import machine
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode, Options
from galloscope.core.models import build, read_hparams
from galloscope.core.models.cparams import reserved_shape
from galloscope.core.models.made_up import MadeUp, made_up_header
from galloscope.tests.core.decode.headers import header_of

GEMMA = MadeUp(
    arch="gemma3",
    n_layer=6,
    head_size=32,
    n_head_kv=2,
    extra={"attention.sliding_window": 100, "attention.sliding_window_pattern": 3},
)


def header(arch: str, **keys: Given) -> Header:
    metadata = {f"{arch}.{key.replace('__', '.')}": value for key, value in keys.items()}
    metadata = {"general.architecture": arch, f"{arch}.context_length": 4096, **metadata}
    return parse_header(header_bytes(metadata, []), "test")


def made(of: Header, options: Options) -> list[Cache]:
    facts = cache_facts(of)
    chosen = choose(options, facts)
    devices = machine(options)
    return caches(facts, chosen, devices, place_layers(facts.n_layer, devices, chosen.options))


def test_one_k_and_one_v_per_layer() -> None:
    found = made(made_up_header(MadeUp(head_size=16, n_head_kv=2)), Options(n_ctx=1000))
    assert [cache.name for cache in found] == ["cache_k_l0", "cache_v_l0", "cache_k_l1", "cache_v_l1"]
    assert {cache.ne for cache in found} == {(32, 1024, 1)}
    assert bytes_by_place(found) == {("CPU", False): 4 * 32 * 1024 * 2}


def test_streams() -> None:
    of = made_up_header(MadeUp(head_size=16, n_head_kv=2))
    assert made(of, Options(n_ctx=1024, n_seq_max=4))[0].ne == (32, 256, 4)
    assert made(of, Options(n_ctx=1024, n_seq_max=4, kv_unified=True))[0].ne == (32, 1024, 1)


@pytest.mark.parametrize(
    ("given", "window"),
    [({}, 768), ({"n_ubatch": 100}, 256), ({"swa_full": True}, 4096), ({"n_seq_max": 4, "kv_unified": True}, 1024)],
)
def test_window_layers_keep_the_window_and_a_micro_batch(given: dict[str, object], window: int) -> None:
    facts = cache_facts(made_up_header(GEMMA))
    assert facts.windowed == (True, True, False, True, True, False)
    assert cells(facts, choose(Options(**given), facts)) == (4096, window)  # type: ignore[arg-type]


def test_where_caches_lie() -> None:
    of = made_up_header(MadeUp(n_layer=4))
    found = made(of, Options(devices=(DeviceSpec("cuda"),), n_gpu_layers=3))
    assert [cache.place.name for cache in found[::2]] == ["CPU", "CPU", "CUDA0", "CUDA0"]
    kept = made(of, Options(devices=(DeviceSpec("cuda"),), offload_kqv=False))
    assert {cache.place.name for cache in kept} == {"CPU"}


def test_only_flash_attention_off_pads_v_to_the_widest_layer() -> None:
    of = header(
        "llama",
        block_count=2,
        embedding_length=64,
        attention__head_count=4,
        attention__head_count_kv=[2, 4],
        attention__key_length=16,
        attention__value_length=16,
    )
    off = made(of, Options(flash_attn=FlashAttn.OFF))
    assert [cache.ne[0] for cache in off] == [32, 64, 64, 64]
    for flash in (FlashAttn.ON, FlashAttn.AUTO):
        assert [cache.ne[0] for cache in made(of, Options(flash_attn=flash))] == [32, 32, 64, 64]


def test_a_recurrent_state() -> None:
    of = header(
        "mamba", block_count=2, ssm__inner_size=128, ssm__state_size=16, ssm__conv_kernel=4, embedding_length=64
    )
    found = made(of, Options(n_seq_max=3))
    assert [(cache.name, cache.ne) for cache in found[:2]] == [
        ("cache_r_l0", (3 * 128, 3, 1)),
        ("cache_s_l0", (16 * 128, 3, 1)),
    ]
    assert bytes_by_place(found) == {("CPU", True): 2 * 3 * (3 * 128 + 16 * 128) * 4}


def test_a_compressed_cache_keeps_k_alone() -> None:
    found = made(header_of("deepseek2.gguf"), Options(n_ctx=512, n_seq_max=2))
    assert [(cache.name, cache.ne) for cache in found] == [(f"cache_k_l{layer}", (48, 256, 2)) for layer in range(3)]
    with pytest.raises(InputError, match=r"-ctk q8_0 and -ctv f16: llama\.cpp wants one type for both"):
        made(header_of("deepseek2.gguf"), Options(type_k=DTYPES["q8_0"]))


def test_a_hybrid_has_both_kinds_of_layers() -> None:
    of = header_of("qwen3next.gguf")
    found = made(of, Options(n_ctx=512, n_seq_max=2))
    assert [(cache.name, cache.ne, cache.recurrent) for cache in found] == [
        ("cache_k_l1", (64, 256, 2), False),
        ("cache_v_l1", (64, 256, 2), False),
        ("cache_r_l0", (3 * (64 + 2 * 2 * 16), 2, 1), True),
        ("cache_s_l0", (16 * 64, 2, 1), True),
    ]


@pytest.mark.parametrize(
    ("keys", "recurrent"),
    [
        ({"full_attention_interval": 3}, (True, True, False, True)),
        ({}, (True, True, True, False)),
        ({"attention__recurrent_layers": [False, True, True, False]}, (False, True, True, False)),
    ],
)
def test_which_layers_of_a_hybrid_are_recurrent(keys: dict[str, Given], recurrent: tuple[bool, ...]) -> None:
    state: dict[str, Given] = {f"ssm__{name}": 8 for name in ("inner_size", "state_size", "conv_kernel")}
    usual: dict[str, Given] = {"block_count": 4, "attention__head_count": 1, "embedding_length": 64}
    assert cache_facts(header("qwen3next", **usual, **state, **keys)).recurrent == recurrent


@pytest.mark.parametrize(
    ("of", "what"),
    [
        (header("deepseek32", block_count=1, attention__key_length_mla=64), "compressed"),
        (header("jamba", block_count=1, ssm__state_size=16), "recurrent state"),
        (
            header("llama4", block_count=1, attention__head_count=1, embedding_length=64, attention__sliding_window=9),
            "a sliding window",
        ),
    ],
)
def test_what_only_llama_cpp_knows(of: Header, what: str) -> None:
    with pytest.raises(InputError, match=what):
        cache_facts(of)


def test_a_row_that_is_no_whole_number_of_blocks() -> None:
    with pytest.raises(InputError, match="no whole number of q8_0 blocks"):
        made(
            made_up_header(MadeUp(n_head_kv=1, head_size=16)),
            Options(type_k=DTYPES["q8_0"], flash_attn=FlashAttn.OFF),
        )


@given(
    st.builds(
        Options,
        n_ctx=st.integers(5, 5000),
        n_ubatch=st.integers(1, 600),
        n_seq_max=st.integers(1, 5),
        flash_attn=st.sampled_from(FlashAttn),
        type_k=st.sampled_from([DTYPES["f16"], DTYPES["q8_0"]]),
        swa_full=st.booleans(),
        kv_unified=st.booleans(),
    ),
    st.sampled_from([GEMMA, msgspec.structs.replace(GEMMA, arch="qwen3", n_layer=2, extra={})]),
)
def test_the_builder_makes_the_same_caches(options: Options, model: MadeUp) -> None:
    of = made_up_header(model)
    chosen = choose(options, cache_facts(of)).options
    built = build(of, chosen, reserved_shape(read_hparams(of), chosen, GraphMode.PREFILL), flash=False)
    theirs = {built.graph.tensors[leaf].name: built.graph.tensors[leaf] for leaf in built.caches}
    ours = {cache.name: cache for cache in made(of, options)}
    assert ours.keys() == theirs.keys()
    for name, cache in ours.items():
        assert (*cache.ne, 1) == theirs[name].ne
        assert cache.dtype == theirs[name].dtype
        assert cache.layer == theirs[name].layer
        assert cache.size == -(-theirs[name].nbytes // 32) * 32
