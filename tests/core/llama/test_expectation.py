"""The arithmetic that public logs confirm, and the engine's own plans for the same models."""

from collections.abc import Callable

import msgspec
import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.gguf.read import parse_header
from galloscope.core.graph import Problem
from galloscope.core.llama.assemble import take
from galloscope.core.llama.expectation import (
    SMALL_INPUTS,
    Build,
    Sizes,
    cpu_compute,
    device_compute,
    host_compute,
    llama_nodes,
    split_count,
)
from galloscope.core.llama.options import DeviceSpec, GraphMode, Options
from galloscope.core.llama.totals import compute_sizes
from galloscope.core.models.made_up import MadeUp, made_up_header
from galloscope.core.native.capture import available, capture
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.tests.core.llama.other_models import gpt_oss

MIB = 1 << 20
Q4 = DTYPES["q4_K"]
TIED = frozenset({"rope_freqs.weight"})
PUBLIC: dict[str, MadeUp] = {
    "Qwen3-4B": MadeUp(
        arch="qwen3", n_layer=36, n_embd=2560, n_ff=9728, n_head=32, n_head_kv=8, head_size=128, n_vocab=151936,
        n_ctx_train=40960, dtype=Q4,
    ),
    "Qwen3-30B-A3B": MadeUp(
        arch="qwen3moe", n_layer=48, n_embd=2048, n_ff=6144, n_head=32, n_head_kv=4, head_size=128, n_vocab=151936,
        n_ctx_train=40960, dtype=Q4, n_expert=128, n_expert_used=8, extra={"expert_feed_forward_length": 768},
    ),
    "Llama-3.2-1B": MadeUp(
        n_layer=16, n_embd=2048, n_ff=8192, n_head=32, n_head_kv=8, head_size=64, n_vocab=128256,
        n_ctx_train=131072, dtype=Q4, optional=TIED,
    ),
    "Llama-3.1-8B": MadeUp(
        n_layer=32, n_embd=4096, n_ff=14336, n_head=32, n_head_kv=8, head_size=128, n_vocab=128256,
        n_ctx_train=131072, dtype=Q4,
    ),
    "Qwen2.5-7B": MadeUp(
        arch="qwen2", n_layer=28, n_embd=3584, n_ff=18944, n_head=28, n_head_kv=4, n_vocab=152064,
        n_ctx_train=32768, dtype=Q4,
    ),
    "Gemma-3-4B": MadeUp(
        arch="gemma3", n_layer=34, n_embd=2560, n_ff=10240, n_head=8, n_head_kv=4, head_size=256, n_vocab=262144,
        n_ctx_train=131072, dtype=Q4, extra={"attention.sliding_window": 1024},
    ),
}  # fmt: skip
"""Sizes of well-known models, as their configurations say."""
CTX, UB = 8192, 512
GPU = Options(devices=(DeviceSpec("cuda"),), n_ctx=CTX)


def sizes_of(model: MadeUp) -> Sizes:
    window = 1024 + UB if "attention.sliding_window" in model.extra else 0
    return Sizes(model.n_vocab, model.n_embd, UB, UB, CTX + window)


def states(model: MadeUp, options: Options, change: Callable[[Problem], Problem] = lambda same: same) -> list[State]:
    taken = take(made_up_header(model), options, (GraphMode.PREFILL, GraphMode.DECODE))
    return [replay(trace(change(graph.problem)).runs[0]) for graph in taken.graphs]


def as_older_build(problem: Problem, *inputs: str) -> Problem:
    """The same question as an older build would put it: without the branches that are not computed and read inputs.

    Args:
        problem: of b11549.
        inputs: how the names of those inputs begin; without any, the branch for mixed embeddings.
    """
    graph = problem.requests[0].graph
    reads = [False] * len(graph.tensors)
    for number, tensor in enumerate(graph.tensors):
        reads[number] = tensor.name.startswith(inputs or ("inp_mixed",)) or any(s >= 0 and reads[s] for s in tensor.src)
    roots = tuple(root for root in graph.roots if root.compute or not reads[root.tensor])
    request = msgspec.structs.replace(problem.requests[0], graph=msgspec.structs.replace(graph, roots=roots))
    return msgspec.structs.replace(problem, requests=(request,))


def assert_about(got: int, expected: int) -> None:
    assert expected <= got < expected + SMALL_INPUTS


@pytest.mark.parametrize(
    ("model", "logged"), [("Qwen3-4B", 301.75), ("Llama-3.2-1B", 254.50), ("Qwen3-30B-A3B", 300.75)]
)
def test_figures_of_public_logs(model: str, logged: float) -> None:
    assert device_compute(sizes_of(PUBLIC[model]), Build.OLDER).value / MIB == logged
    assert cpu_compute(sizes_of(PUBLIC[model]), Build.OLDER).value / MIB == logged


def test_figures_of_public_logs_without_a_builder() -> None:
    glm_4_32b = Sizes(n_vocab=151552, n_embd=6144, n_ubatch=512, n_outputs=512)
    assert device_compute(glm_4_32b, Build.OLDER).value / MIB == 308.00
    assert host_compute(sizes_of(PUBLIC["Qwen3-4B"]), Build.OLDER).value / MIB == 18.00


@pytest.mark.parametrize("name", PUBLIC)
def test_full_offload_in_an_older_build(name: str) -> None:
    """Nothing but the branch that b11549 added keeps its plan from the figures in the logs."""
    compute, _ = compute_sizes(states(PUBLIC[name], GPU, as_older_build))
    assert compute["CUDA0"] == device_compute(sizes_of(PUBLIC[name]), Build.OLDER).value
    assert_about(compute["CUDA_Host"], host_compute(sizes_of(PUBLIC[name]), Build.OLDER).value)
    if name == "Qwen3-4B":
        assert round(compute["CUDA_Host"] / MIB, 4) == 18.0137, "as a log has it, to the last digit"


@pytest.mark.parametrize("name", ["Qwen3-4B", "Qwen3-30B-A3B", "Llama-3.2-1B", "Gemma-3-4B"])
def test_the_cpu_alone_in_an_older_build(name: str) -> None:
    def change(problem: Problem) -> Problem:
        return as_older_build(problem, "inp_mixed", "inp_embd")

    compute, _ = compute_sizes(states(PUBLIC[name], Options(n_ctx=CTX), change))
    assert_about(compute["CPU"], cpu_compute(sizes_of(PUBLIC[name]), Build.OLDER).value)


@pytest.mark.parametrize("name", PUBLIC)
def test_full_offload_in_b11549(name: str) -> None:
    prefill, decode = states(PUBLIC[name], GPU)
    compute, _ = compute_sizes([prefill, decode])
    assert_about(compute["CUDA0"], device_compute(sizes_of(PUBLIC[name]), Build.B11549).value)
    assert_about(compute["CUDA_Host"], host_compute(sizes_of(PUBLIC[name]), Build.B11549).value)
    assert len(prefill.splits) == len(decode.splits) == split_count(1).value


@pytest.mark.parametrize("name", ["Qwen3-4B", "Qwen3-30B-A3B", "Llama-3.1-8B", "Gemma-3-4B"])
def test_the_cpu_alone_in_b11549(name: str) -> None:
    prefill, decode = states(PUBLIC[name], Options(n_ctx=CTX))
    compute, _ = compute_sizes([prefill])
    assert_about(compute["CPU"], cpu_compute(sizes_of(PUBLIC[name]), Build.B11549).value)
    assert len(decode.splits) == split_count(0).value


@pytest.mark.parametrize("count", [1, 12, 48])
def test_experts_on_the_cpu_make_two_splits_each(count: int) -> None:
    _, decode = states(PUBLIC["Qwen3-30B-A3B"], msgspec.structs.replace(GPU, n_cpu_moe=count))
    assert len(decode.splits) == split_count(1, count).value


@pytest.mark.parametrize("n_layer", [16, 28, 32])
def test_nodes_of_a_llama(n_layer: int) -> None:
    model = MadeUp(n_layer=n_layer, head_size=64)
    assert len(states(model, GPU)[0].nodes) == llama_nodes(n_layer, Build.B11549).value
    assert llama_nodes(n_layer, Build.OLDER).value == 31 * n_layer + 7, "as logs of mid-2025 to mid-2026 have it"


@pytest.mark.skipif(bool(available()), reason=f"the real llama.cpp cannot be asked: {available()}")
def test_gpt_oss_20b_with_twelve_layers_of_experts_on_the_cpu() -> None:
    data = gpt_oss(
        n_layer=24, d=2880, head=64, heads=64, kv=8, experts=32, used=4, ff=2880, vocab=201088, window=128,
        dtype=DTYPES["mxfp4"],
    )  # fmt: skip
    assert len(parse_header(data, "gpt-oss-20b").tensors) == 24 * 19 + 3
    taken = capture(data, msgspec.structs.replace(GPU, n_cpu_moe=12), (GraphMode.DECODE,))
    assert taken.graphs[0].decided is not None
    assert len(taken.graphs[0].decided.splits) == 26 == split_count(1, 12).value
    whole = capture(data, GPU, (GraphMode.PREFILL,)).graphs[0].decided
    assert whole is not None
    assert_about(sum(whole.chunks[0]), device_compute(Sizes(201088, 2880, UB, UB, CTX + 768), Build.B11549).value)
