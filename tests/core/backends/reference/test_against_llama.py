"""Greedy decoding in reference mode beside the real llama.cpp: every bit of every logit, tokens fed back freely."""

from pathlib import Path

import numpy as np
import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.backends.reference.backend import ReferenceBackend
from galloscope.core.execute.generate import Generator
from galloscope.core.llama.options import FlashAttn, Options
from galloscope.core.native.observe import SeenNode, Watch, observe
from galloscope.core.op import Op
from galloscope.tests.core.backends.compared import computed
from galloscope.tests.core.backends.test_per_node import OTHERS
from galloscope.tests.core.native.support import needs_wheel
from galloscope.tests.core.native.with_weights import options, with_weights

pytestmark = needs_wheel

KINDS = ("llama_q8", "llama_q4_tied", "llama_ropefreqs", "qwen2", "qwen3moe", "mixtral", "phi3", "gemma3")
PROMPT = (1, 2, 3, 4, 5, 6, 7, 8, 9)


def unequal(path: Path, settings: Options, prompt: tuple[int, ...], steps: int) -> list[int]:
    """The steps at which a logit differs in a bit."""
    real = observe(path, settings, [prompt], n_predict=steps)
    generator = Generator(path, settings, make_backend("reference"))
    pairs = zip(generator.generate(prompt, steps), real.steps, strict=True)
    return [
        i
        for i, (mine, theirs) in enumerate(pairs)
        if mine.token != theirs.token or mine.logits.tobytes() != np.asarray(theirs.logits).tobytes()
    ]


@pytest.mark.parametrize("flash_attn", [FlashAttn.OFF, FlashAttn.ON], ids=lambda one: one.value)
@pytest.mark.parametrize("name", KINDS)
def test_all_bits_of_all_logits(tmp_path: Path, name: str, flash_attn: FlashAttn) -> None:
    assert unequal(with_weights(name, tmp_path), options(flash_attn), PROMPT, 8) == []


def test_a_long_prompt_through_tiles(tmp_path: Path) -> None:
    settings = options(FlashAttn.ON, n_ubatch=128)
    assert unequal(with_weights("gemma3", tmp_path), settings, tuple(range(100)), 2) == []


@pytest.mark.parametrize("flash_attn", [FlashAttn.OFF, FlashAttn.ON], ids=lambda one: one.value)
@pytest.mark.parametrize("name", OTHERS)
def test_each_node_of_models_that_only_llama_cpp_builds(tmp_path: Path, name: str, flash_attn: FlashAttn) -> None:
    seen = observe(with_weights(name, tmp_path), options(flash_attn), [PROMPT], n_predict=2, watch=Watch(steps=(0, 1)))
    backend = make_backend("reference")
    assert isinstance(backend, ReferenceBackend)
    nodes = [node for step in seen.steps for node in step.nodes]
    assert [node.result.tensor.name for node in nodes if not same_bits(backend, node)] == []


def same_bits(backend: ReferenceBackend, node: SeenNode) -> bool:
    tensor = node.result.tensor
    sources = [None if one is None else (one.tensor, one.data) for one in node.sources]
    before = node.sources[2].data if tensor.op is Op.SET_ROWS and node.sources[2] is not None else None
    return computed(backend, tensor, sources, before).tobytes() == node.result.data.tobytes()


def test_the_usual_kernels_differ(tmp_path: Path) -> None:
    path, settings = with_weights("llama", tmp_path), options(FlashAttn.OFF)
    real = observe(path, settings, [PROMPT], n_predict=1)
    mine = next(Generator(path, settings, make_backend("numpy")).generate(PROMPT, 1))
    assert mine.logits.tobytes() != np.asarray(real.steps[0].logits).tobytes()
