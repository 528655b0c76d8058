"""Every node of a real prefill and decode step, fed with llama.cpp's own bytes, against what llama.cpp computed."""

from pathlib import Path

import pytest

from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.backends.numpy_backend import NumpyBackend
from galloscope.core.dtypes import DTYPES
from galloscope.core.llama.options import FlashAttn, Options
from galloscope.core.native.observe import SeenNode, Watch, observe
from galloscope.core.op import Op
from galloscope.tests.core.backends.compared import computed, difference, tolerance
from galloscope.tests.core.native.support import needs_wheel
from galloscope.tests.core.native.with_weights import BUILT, PROMPTS, options, with_weights

OTHERS = ("mamba", "deepseek2", "gptoss", "qwen3next")
"""Models that only the real llama.cpp can build a graph of; they have ops that the others lack."""


def per_node(path: Path, settings: Options, prompt: tuple[int, ...]) -> tuple[set[Op], list[str]]:
    """The ops of the prefill and of one decode step, and a sentence for each node that is too far off."""
    seen = observe(path, settings, [prompt], n_predict=2, watch=Watch(steps=(0, 1)))
    backend = NumpyBackend()
    nodes = [node for step in seen.steps for node in step.nodes]
    return {node.result.tensor.op for node in nodes}, [text for node in nodes if (text := too_far(backend, node))]


def too_far(backend: NumpyBackend, node: SeenNode) -> str:
    """Why a node is not as llama.cpp computed it; empty when it is."""
    tensor, real = node.result.tensor, node.result.data
    sources = [None if one is None else (one.tensor, one.data) for one in node.sources]
    before = node.sources[2].data if tensor.op is Op.SET_ROWS and node.sources[2] is not None else None
    off = difference(backend, tensor, computed(backend, tensor, sources, before), real)
    allowed = tolerance(tensor, sources[0][0] if sources and sources[0] is not None else None)
    return f"{tensor.op} {tensor.name!r}: off by {off:.2e}, {allowed:.0e} is allowed" if off > allowed else ""


@needs_wheel
@pytest.mark.parametrize("flash_attn", [FlashAttn.OFF, FlashAttn.ON], ids=lambda one: one.value)
@pytest.mark.parametrize("name", [*BUILT, *OTHERS])
def test_each_node_is_as_llama_cpp_computes_it(tmp_path: Path, name: str, flash_attn: FlashAttn) -> None:
    ops, wrong = per_node(with_weights(name, tmp_path), options(flash_attn), PROMPTS[1])
    assert wrong == []
    assert ops <= KERNELS.keys()
    assert ops >= {Op.GET_ROWS, Op.MUL_MAT, Op.RMS_NORM}
    if flash_attn is FlashAttn.ON and name != "mamba":
        assert Op.FLASH_ATTN_EXT in ops


@needs_wheel
@pytest.mark.parametrize("dtype", ["f32", "bf16", "q8_0", "q4_0", "q5_1"])
def test_caches_of_other_types(tmp_path: Path, dtype: str) -> None:
    kinds = {"type_k": DTYPES[dtype], "type_v": DTYPES[dtype]}
    path = with_weights("qwen3", tmp_path)
    _, wrong = per_node(path, options(FlashAttn.ON, **kinds), PROMPTS[1])
    assert wrong == []


@needs_wheel
def test_many_queries_take_the_tiled_attention(tmp_path: Path) -> None:
    path = with_weights("gemma3", tmp_path)
    _, wrong = per_node(path, options(FlashAttn.ON, n_ubatch=128), tuple(range(100)))
    assert wrong == []
