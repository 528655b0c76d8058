"""Small models decoded by the real llama.cpp and by our planned graphs: tokens, logits, and the bytes of the inputs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from galloscope.core.execute.feed import Bytes
from galloscope.core.execute.feeds.tokens import TokensFeed
from galloscope.core.execute.generate import Generator
from galloscope.core.llama.options import FlashAttn
from galloscope.core.native.observe import Observation, Step, Watch, observe
from galloscope.core.tensor import Tensor
from galloscope.tests.core.native.support import needs_wheel
from galloscope.tests.core.native.with_weights import BUILT, PROMPTS, options, with_weights

STEPS = 16
FLOAT, QUANTISED = 3e-4, 4e-3
"""How far a logit may be off: a last bit can flip a quantum of what is rounded to 8 bits."""
UNUSED = {"inp_embd", "inp_mixed_tokens", "inp_mixed_embd", "inp_mixed_slots"}
"""Inputs of other kinds of batches, which nobody fills or reads."""


class Listening(TokensFeed):
    """Remembers what it filled last, by name."""

    def __init__(self, feed: TokensFeed) -> None:
        super().__init__(feed.weights)
        self.filled: dict[str, bytes] = {}

    def leaf(self, tensor: Tensor) -> Bytes | None:
        data = super().leaf(tensor)
        if data is not None:
            self.filled[tensor.name] = data.tobytes()
        return data


def inputs_of(step: Step) -> dict[str, bytes]:
    """What llama.cpp filled; the second of one name is `NAME~2`, as in our graphs."""
    found: dict[str, bytes] = {}
    for _, leaf in step.inputs:
        name = leaf.tensor.name
        again = sum(one.split("~")[0] == name for one in found)
        found[f"{name}~{again + 1}" if again else name] = leaf.data.tobytes()
    return {name: data for name, data in found.items() if name not in UNUSED}


def listening(path: Path, flash_attn: FlashAttn) -> tuple[Generator, Listening]:
    generator = Generator(path, options(flash_attn))
    generator.feed = heard = Listening(generator.feed)
    return generator, heard


def follow(generator: Generator, heard: Listening, prompt: Sequence[int], real: Observation) -> float:
    """Generate freely what llama.cpp generated; the largest difference of a logit."""
    worst = 0.0
    for step, theirs in zip(generator.generate(prompt, STEPS), real.steps, strict=True):
        assert heard.filled == inputs_of(theirs)
        assert step.token == theirs.token
        worst = max(worst, float(np.abs(step.logits - theirs.logits).max()))
    return worst


@needs_wheel
@pytest.mark.parametrize("flash_attn", [FlashAttn.OFF, FlashAttn.ON], ids=lambda one: one.value)
@pytest.mark.parametrize("name", BUILT)
def test_greedy_tokens_and_logits_are_llama_cpps(tmp_path: Path, name: str, flash_attn: FlashAttn) -> None:
    path = with_weights(name, tmp_path)
    generator, heard = listening(path, flash_attn)
    for prompt in PROMPTS:
        real = observe(path, options(flash_attn), [prompt], n_predict=STEPS, watch=Watch(inputs=True))
        worst = follow(generator, heard, prompt, real)
        assert worst <= (QUANTISED if "_q" in name else FLOAT)
