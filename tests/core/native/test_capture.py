"""The engine decides what llama.cpp decided in the same capture: every model, with no, one, two and three devices."""

from pathlib import Path

import pytest

from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import read_header
from galloscope.core.gguf.values import VALUE_TYPES, Scalar
from galloscope.core.gguf.write import Given, Typed, header_bytes
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode
from galloscope.core.llama.taken import GraphTaken
from galloscope.core.native.capture import capture
from galloscope.core.native.verify import differences
from galloscope.core.session import trace
from galloscope.tests.core.native.support import BOTH, CUDA, NAMES, model, needs_wheel, small, taken

pytestmark = needs_wheel

VULKAN, METAL, BLAS = (DeviceSpec(name) for name in ("vulkan", "metal", "blas"))
MACHINES = {
    "cpu": small(flash_attn=FlashAttn.ON),
    "one-layer-on-cuda": small(devices=(CUDA,), n_gpu_layers=1, flash_attn=FlashAttn.ON),
    "two-cuda-pipelined": small(devices=(CUDA, CUDA), n_seq_max=2, flash_attn=FlashAttn.OFF),
    "cuda-vulkan-metal": small(devices=(CUDA, VULKAN, METAL)),
}


def machines(number: int) -> list[str]:
    """Three of the four for each model, the last by turns."""
    cpu, partial, pipelined, mixed = MACHINES
    return [cpu, pipelined, partial if number % 2 else mixed]


def check(graph: GraphTaken) -> None:
    """No difference."""
    assert graph.decided is not None
    assert differences(trace(graph.problem), graph.decided) == []


@pytest.mark.parametrize(("name", "machine"), [(n, m) for i, n in enumerate(NAMES) for m in machines(i)])
def test_the_engine_agrees_with_llama_cpp(name: str, machine: str) -> None:
    found = taken(name, MACHINES[machine])
    assert [graph.mode for graph in found.graphs] == [GraphMode.PREFILL, GraphMode.DECODE]
    for graph in found.graphs:
        check(graph)


def test_pipeline_copies_are_captured() -> None:
    found = taken("llama_4l", MACHINES["two-cuda-pipelined"])
    problem, decided = found.graphs[0].problem, found.graphs[0].decided
    assert problem.config.n_copies == 4
    assert decided is not None
    assert {name for name in decided.places if name.startswith("CUDA1#")} >= {f"CUDA1#inp_pos#{i}" for i in range(4)}
    inputs = [tensor for tensor in problem.requests[0].graph.tensors if tensor.name == "inp_pos"]
    assert [tensor.flags for tensor in inputs] == [1], "the scheduler's OUTPUT flag is not llama.cpp's"


def test_pins_are_read_with_a_cpu_alone() -> None:
    problem = taken("llama", MACHINES["cpu"]).graphs[1].problem
    pinned = [tensor.name for tensor in problem.requests[0].graph.tensors if tensor.pin >= 0]
    assert pinned == ["norm-0", "norm-0~2", "norm-1", "norm-1~2"]


def test_blas_stands_between_the_gpus_and_the_cpu() -> None:
    found = taken("llama_4l", small(devices=(BLAS, CUDA), n_gpu_layers=1))
    problem = found.graphs[0].problem
    assert [backend.name for backend in problem.backends] == ["CUDA0", "BLAS", "CPU"]
    assert [problem.bufts[backend.buft].name for backend in problem.backends] == ["CUDA0", "CPU", "CUDA_Host"]
    for graph in found.graphs:
        check(graph)


def test_a_path_and_the_bytes_of_a_header_give_the_same() -> None:
    options = small()
    assert taken("qwen3", options).graphs == capture(model("qwen3").read_bytes(), options, BOTH).graphs


def test_the_vocabulary_changes_nothing() -> None:
    header = read_header(model("llama_q4_tied"))
    rows = [(tensor.name, tensor.dtype, tensor.ne[: tensor.n_dims]) for tensor in header.tensors]
    left_out = ("tokenizer.ggml.model", "llama.vocab_size")
    given = {key: Typed(VALUE_TYPES[header.types[key]], value) for key, value in scalars(header).items()}
    tokens = [f"token {i}" for i in range(256)]
    vocabulary: dict[str, Given] = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * 256,
        "tokenizer.ggml.token_type": [1] * 256,
    }
    data = header_bytes({**{k: v for k, v in given.items() if k not in left_out}, **vocabulary}, rows)
    assert capture(data, small(), BOTH).graphs == taken("llama_q4_tied", small()).graphs


def scalars(header: Header) -> dict[str, Scalar]:
    return {key: value for key, value in header.metadata.items() if isinstance(value, (bool, int, float, str))}


def test_every_part_of_a_split_model_opens_the_whole(tmp_path: Path) -> None:
    header = read_header(model("qwen3"))
    halves = header.tensors[:10], header.tensors[10:]
    scalar = {key: Typed(VALUE_TYPES[header.types[key]], value) for key, value in scalars(header).items()}
    for number, half in enumerate(halves):
        split = {"split.no": number, "split.count": 2, "split.tensors.count": len(header.tensors)}
        typed = {key: Typed(VALUE_TYPES["i32" if "tensors" in key else "u16"], value) for key, value in split.items()}
        rows = [(tensor.name, tensor.dtype, tensor.ne[: tensor.n_dims]) for tensor in half]
        path = tmp_path / f"qwen3-0000{number + 1}-of-00002.gguf"
        path.write_bytes(header_bytes({**(scalar if number == 0 else {}), **typed}, rows))
    for number in (1, 2):
        found = capture(tmp_path / f"qwen3-0000{number}-of-00002.gguf", small(), BOTH)
        assert found.graphs == taken("qwen3", small()).graphs
