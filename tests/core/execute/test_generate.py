"""Greedy decoding of small made-up models: one sequence, however the prompt is cut and however many devices play."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.execute.executor import Settings
from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.execute.generate import Generator, Step
from galloscope.core.gguf.read import parse_header
from galloscope.core.llama.assemble import graph_maker
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode, Options
from galloscope.core.models.made_up import MadeUp, made_up, made_up_header
from galloscope.tests.core.execute.written import write_model

Q8_0, Q4_K = DTYPES["q8_0"], DTYPES["q4_K"]
TINY = MadeUp(head_size=16, n_head_kv=2)
WINDOW = {"attention.sliding_window": 32, "attention.sliding_window_pattern": 2}
MODELS: dict[str, MadeUp] = {
    "llama": TINY,
    "llama_q8": msgspec.structs.replace(TINY, dtype=Q8_0),
    "llama_q4_tied": MadeUp(dtype=Q4_K, n_embd=256, n_ff=256, n_vocab=64, optional=frozenset()),
    "mixtral": msgspec.structs.replace(TINY, n_expert=4, n_expert_used=2),
    "qwen2": msgspec.structs.replace(TINY, arch="qwen2"),
    "qwen3": msgspec.structs.replace(TINY, arch="qwen3"),
    "phi3": msgspec.structs.replace(TINY, arch="phi3"),
    "gemma3": MadeUp(arch="gemma3", n_layer=3, n_head_kv=1, head_size=32, extra=WINDOW),
}
PROMPT = [11, 3, 47, 5, 29, 60, 2, 33, 18, 1]
BASE = Options(n_ctx=256, n_ubatch=16, flash_attn=FlashAttn.ON)
WATCHED = Settings(poison=True, guard=True)
CLOSE = 1e-3
"""Of logits, with exact arithmetic: sums in another order, and what that does to the f16 of the caches."""
ROUNDED = 2e-2
"""With ggml's rounding a last bit decides about a quantum of f16 or q8_0."""


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("models")

    def path_of(name: str) -> Path:
        path = folder / f"{name}.gguf"
        return path if path.exists() else write_model(path, MODELS[name])

    return path_of


def changed(options: Options, **fields: Any) -> Options:
    return msgspec.structs.replace(options, **fields)


def tokens(steps: list[Step]) -> list[int]:
    return [step.token for step in steps]


def cache_bytes(generator: Generator) -> int:
    """Of layer 0's keys."""
    tensors = generator.run.request.graph.tensors
    return int(next(one for one in tensors if one.name == "cache_k_l0").nbytes)


def assert_close(steps: list[Step], others: list[Step], limit: float = CLOSE) -> None:
    """Equal choices, except where two tokens are as good as each other."""
    for step, other in zip(steps, others, strict=True):
        assert np.abs(step.logits - other.logits).max() < limit
        assert step.logits[step.token] - step.logits[other.token] < 2 * limit


@pytest.mark.parametrize("flash", [FlashAttn.ON, FlashAttn.OFF])
@pytest.mark.parametrize(
    ("name", "exact"), [*((name, True) for name in MODELS), ("llama_q8", False), ("mixtral", False), ("gemma3", False)]
)
def test_the_prompt_may_be_cut_anywhere(model: Callable[[str], Path], name: str, flash: FlashAttn, exact: bool) -> None:
    backend = make_backend("numpy", exact=exact)
    options = changed(BASE, flash_attn=flash)
    whole = list(Generator(model(name), options, backend).generate(PROMPT, 4))
    assert np.isfinite(whole[0].logits).all()
    assert whole[0].logits.std() > 0.02, "the model says nothing"
    assert len({step.logits.tobytes() for step in whole}) == 4
    for cut in ({"n_ubatch": 4}, {"n_ubatch": 1}, {"n_batch": 7, "n_ubatch": 3}):
        other = list(Generator(model(name), changed(options, **cut), backend).generate(PROMPT, 4, tokens(whole)))
        assert_close(whole, other, CLOSE if exact else ROUNDED)
        assert tokens(other) == tokens(whole) or not exact


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("name", ["llama_q8", "mixtral", "gemma3"])
def test_devices_change_no_bit(model: Callable[[str], Path], name: str, devices: int) -> None:
    """With two GPUs the scheduler also makes a pipeline of four copies."""
    alone = list(Generator(model(name), BASE).generate(PROMPT, 4))
    gpus = (DeviceSpec("cuda"),) * devices
    for n_gpu_layers in (None, 1):
        options = changed(BASE, devices=gpus, n_gpu_layers=n_gpu_layers)
        generator = Generator(model(name), options, settings=WATCHED)
        assert len(generator.state.backends) == devices + 1
        several = list(generator.generate(PROMPT, 4))
        assert [step.logits.tobytes() for step in several] == [step.logits.tobytes() for step in alone]
        assert len(generator.state.splits) > (1 if devices > 1 or n_gpu_layers else 0)
    assert options.devices == gpus


@pytest.mark.parametrize("flash", [FlashAttn.ON, FlashAttn.OFF])
@pytest.mark.parametrize("name", MODELS)
def test_poison_and_guard_change_nothing(model: Callable[[str], Path], name: str, flash: FlashAttn) -> None:
    options = changed(BASE, flash_attn=flash, n_ubatch=6)
    plain = list(Generator(model(name), options).generate(PROMPT, 2))
    watched = list(Generator(model(name), options, settings=WATCHED).generate(PROMPT, 2))
    assert [step.logits.tobytes() for step in plain] == [step.logits.tobytes() for step in watched]
    assert all(node.nans == 0 for step in watched for node in step.execution.nodes)


@pytest.mark.parametrize("name", ["llama", "llama_q8", "gemma3"])
def test_exact_arithmetic_is_close(model: Callable[[str], Path], name: str) -> None:
    rounded = list(Generator(model(name), BASE).generate(PROMPT, 4))
    forced = tokens(rounded)
    exact = list(Generator(model(name), BASE, make_backend("numpy", exact=True)).generate(PROMPT, 4, forced))
    difference = max(np.abs(one.logits - other.logits).max() for one, other in zip(rounded, exact, strict=True))
    assert 0 < difference < 0.1


def test_forced_tokens_are_fed_back(model: Callable[[str], Path]) -> None:
    free = Generator(model("llama"), BASE, make_backend("numpy", exact=True))
    steps = list(free.generate(PROMPT, 5))
    same = list(free.generate(PROMPT, 5, tokens(steps)))
    assert [step.logits.tobytes() for step in same] == [step.logits.tobytes() for step in steps]
    other = [(token + 1) % 256 for token in tokens(steps)]
    forced = list(free.generate(PROMPT, 5, other))
    assert forced[0].logits.tobytes() == steps[0].logits.tobytes()
    longer = list(free.generate([*PROMPT, other[0]], 1))
    assert_close(forced[1:2], longer)
    assert np.abs(forced[1].logits - steps[1].logits).max() > 0.1


def test_a_second_sequence_begins_afresh(model: Callable[[str], Path]) -> None:
    generator = Generator(model("gemma3"), BASE)
    first = list(generator.generate(PROMPT, 3))
    list(generator.generate([9] * 40, 2))
    again = list(generator.generate(PROMPT, 3))
    assert [step.logits.tobytes() for step in again] == [step.logits.tobytes() for step in first]


def test_graphs_are_used_again_until_they_see_more_cells(model: Callable[[str], Path]) -> None:
    generator = Generator(model("llama"), changed(BASE, n_ctx=512, n_ubatch=128))
    steps = list(generator.generate([token % 250 for token in range(250)], 10))
    assert len(generator.runs) == 5, "reserve, 128 tokens, 122 with an output, one token, and one that sees 512 cells"
    runs = generator.problem.requests
    assert [request.reserve for request in runs] == [True, None, None, None, None]
    masks = [next(t for t in one.graph.tensors if t.name == "attn_inp_kq_mask").ne[:2] for one in runs]
    assert masks == [(512, 128), (256, 128), (256, 122), (256, 1), (512, 1)]
    assert cache_bytes(generator) == 512 * 32 * 2
    assert {id(step.execution.state) for step in steps[1:7]} == {id(steps[1].execution.state)}


def test_a_window_cache_that_wraps_sees_what_a_full_one_sees(model: Callable[[str], Path]) -> None:
    prompt = [token * 7 % 256 for token in range(280)]
    options = changed(BASE, n_ctx=512, n_ubatch=64)
    backend = make_backend("numpy", exact=True)
    small = Generator(model("gemma3"), options, backend)
    full = Generator(model("gemma3"), changed(options, swa_full=True), backend)
    steps = list(small.generate(prompt, 2))
    assert cache_bytes(small) == 256 * 32 * 2
    assert_close(steps, list(full.generate(prompt, 2, tokens(steps))))
    assert cache_bytes(full) == 512 * 32 * 2
    # Without its window the model says something else, so it does matter here.
    extra = {**WINDOW, "attention.sliding_window": 500}
    wide = made_up_header(msgspec.structs.replace(MODELS["gemma3"], extra=extra))
    graph = graph_maker(wide, options).problem(GraphMode.PREFILL, True)[1].requests[0].graph
    other = list(Generator(wide, options, backend, weights=RandomFeed(graph, 1)).generate(prompt, 1))
    assert np.abs(other[0].logits - steps[0].logits).max() > 100 * CLOSE


@pytest.mark.parametrize("dtype", ["q8_0", "f32", "bf16"])
def test_caches_of_other_types(tmp_path: Path, dtype: str) -> None:
    """Quantised ones are rotated, K and what is compared with it alike, V and the result back: nothing must change."""
    path = write_model(tmp_path / "wide.gguf", msgspec.structs.replace(TINY, head_size=128))
    plain = list(Generator(path, BASE).generate(PROMPT, 3))
    generator = Generator(path, changed(BASE, type_k=DTYPES[dtype], type_v=DTYPES[dtype]))
    steps = list(generator.generate(PROMPT, 3, tokens(plain)))
    assert_close(plain, steps, 0.15)
    # Flash attention gets float32 rounded to f16, so that cache says the same.
    assert (steps[0].logits.tobytes() == plain[0].logits.tobytes()) is (dtype == "f32")
    rotated = {"attn_inp_k_rot", "attn_inp_v_rot"} & set(generator.state.names)
    assert len(rotated) == (2 if dtype == "q8_0" else 0)


def test_random_weights_need_no_file() -> None:
    header = made_up_header(TINY)
    graph = graph_maker(header, BASE).problem(GraphMode.PREFILL, True)[1].requests[0].graph
    first, again, other = (
        list(Generator(header, BASE, weights=RandomFeed(graph, seed)).generate(PROMPT, 2)) for seed in (1, 1, 2)
    )
    assert first[0].logits.tobytes() == again[0].logits.tobytes()
    assert first[0].logits.tobytes() != other[0].logits.tobytes()


@pytest.mark.parametrize(
    ("prompt", "n", "forced", "problem"),
    [
        ([], 1, None, "the prompt is empty"),
        ([1], 0, None, "0 tokens to generate"),
        ([1, 256], 1, None, r"token 256 is not in the vocabulary of 256 tokens \(0 to 255\)"),
        ([-1], 1, None, "token -1 is not in the vocabulary"),
        ([1], 3, [1], "1 tokens to be fed back, 3 steps need 2"),
        ([1], 2, [999], "token 999"),
        ([1] * 250, 8, None, r"250 tokens of prompt and 8 generated ones need 257 cells, the context has 256"),
    ],
)
def test_what_cannot_be_generated(
    model: Callable[[str], Path], prompt: list[int], n: int, forced: list[int] | None, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        Generator(model("llama"), BASE).generate(prompt, n, forced)


def test_the_context_can_be_filled_to_its_end(model: Callable[[str], Path]) -> None:
    assert len(list(Generator(model("llama"), changed(BASE, n_ubatch=250)).generate([1] * 250, 7))) == 7


def test_models_that_cannot_be_generated_with(model: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="-np 2: one sequence"):
        Generator(model("llama"), changed(BASE, n_seq_max=2))
    path = tmp_path / "header.gguf"
    path.write_bytes(made_up(TINY))
    with pytest.raises(InputError, match=r"header\.gguf: the file ends with its header .* tensor 'token_embd.weight'"):
        Generator(path, BASE)
    data = model("llama").read_bytes()
    path.write_bytes(data.replace(b"llama", b"bloom"))
    with pytest.raises(InputError, match="architecture 'bloom' has no builder"):
        Generator(path, BASE)
    path.write_bytes(made_up(MadeUp(arch="mamba")))
    with pytest.raises(InputError, match="architecture 'mamba' keeps recurrent states"):
        Generator(path, BASE)
    with pytest.raises(InputError, match="only its header was sent"):
        Generator(parse_header(data, "sent"), BASE)
