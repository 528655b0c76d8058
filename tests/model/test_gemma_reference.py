"""The real Gemma 3 270M, Q4_K_M, in reference mode: every bit of all 262144 logits is llama.cpp's."""

from pathlib import Path

import pytest

from galloscope.core.llama.options import FlashAttn
from galloscope.tests.core.backends.reference.test_against_llama import unequal
from galloscope.tests.core.native.support import needs_wheel
from galloscope.tests.core.native.with_weights import options
from galloscope.tests.model.test_gemma_execution import PROMPTS

pytestmark = [pytest.mark.model, needs_wheel]


@pytest.mark.parametrize("flash_attn", [FlashAttn.OFF, FlashAttn.ON], ids=lambda one: one.value)
def test_all_bits_of_all_logits(gemma: Path, flash_attn: FlashAttn) -> None:
    assert unequal(gemma, options(flash_attn), PROMPTS[1], 8) == []
