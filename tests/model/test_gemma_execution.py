"""The real Gemma 3 270M, Q4_K_M, computed by our planned graphs beside the real llama.cpp.

A quantised model of this size is chaotic: llama.cpp differs from itself by more than a logit when only flash attention
changes. So our graphs are fed llama.cpp's tokens, and the sharp test is the one per node.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from galloscope.core.llama.options import FlashAttn
from galloscope.core.native.observe import Watch, observe
from galloscope.tests.core.backends.test_per_node import per_node
from galloscope.tests.core.execute.test_against_llama import inputs_of, listening
from galloscope.tests.core.native.support import needs_wheel
from galloscope.tests.core.native.with_weights import options

pytestmark = [pytest.mark.model, needs_wheel]
BOTH = pytest.mark.parametrize("flash_attn", [FlashAttn.OFF, FlashAttn.ON], ids=lambda one: one.value)

PROMPTS = (
    (2, 818, 5279, 529, 7001, 563),
    (2, 14946, 3324, 496, 990, 993, 691, 496),
    (2, 902, 5194, 6571, 236764, 496, 11345, 563, 496, 4128, 600, 9258, 1262, 1651, 625, 563),
)
"""`The capital of France is`; `Once upon a time there was a`; `In computer memory, a buffer is a region that holds data
while it is`."""
STEPS = 16


class Compared(NamedTuple):
    """One step: the largest and mean difference of a logit, KL(llama.cpp, ours), and llama.cpp's margin where the
    first choices differ, None where they agree."""

    most: float
    mean: float
    divergence: float
    margin: float | None


def compared(ours: npt.NDArray[np.float32], theirs: npt.NDArray[np.float32]) -> Compared:
    off = np.abs(ours - theirs)
    p, q = (one - one.max() - np.log(np.exp(one - one.max()).sum()) for one in map(np.float64, (theirs, ours)))
    second, first = np.sort(theirs)[-2:]
    margin = None if ours.argmax() == theirs.argmax() else float(first - second)
    return Compared(float(off.max()), float(off.mean()), float((np.exp(p) * (p - q)).sum()), margin)


@BOTH
def test_logits_are_as_near_as_llama_cpp_is_to_itself(gemma: Path, flash_attn: FlashAttn) -> None:
    generator, heard = listening(gemma, flash_attn)
    steps: list[Compared] = []
    for prompt in PROMPTS:
        real = observe(gemma, options(flash_attn), [prompt], n_predict=STEPS, watch=Watch(inputs=True))
        forced = [step.token for step in real.steps]
        for step, theirs in zip(generator.generate(prompt, STEPS, forced), real.steps, strict=True):
            assert heard.filled == inputs_of(theirs)
            steps.append(compared(step.logits, theirs.logits))
    margins = [step.margin for step in steps if step.margin is not None]
    assert max(step.most for step in steps) <= 4
    assert np.mean([step.mean for step in steps]) <= 0.5
    assert np.mean([step.divergence for step in steps]) <= 0.05
    assert len(margins) <= 8
    assert all(margin < 0.4 for margin in margins)


@BOTH
def test_each_node_is_as_llama_cpp_computes_it(gemma: Path, flash_attn: FlashAttn) -> None:
    _, wrong = per_node(gemma, options(flash_attn), PROMPTS[2])
    assert wrong == []
