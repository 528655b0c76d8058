"""The real Gemma 3 270M: every command and both ways on a file that somebody uses."""

import json
from pathlib import Path
from typing import Any

import pytest

from galloscope.app.cli import main
from galloscope.core.llama.open import Origin, TracedModel, open_model
from galloscope.core.llama.options import GraphMode, Options
from galloscope.core.native.capture import available

pytestmark = pytest.mark.model
BOTH = (GraphMode.PREFILL, GraphMode.DECODE)
GPU = ["--device", "cuda:24GiB"]


def records(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(words) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.skipif(bool(available()), reason=available() or "there")
@pytest.mark.parametrize("options", [[], GPU, [*GPU, "-ngl", "9"], [*GPU, *GPU, "-fa", "off"], [*GPU, "-ctk", "q8_0"]])
def test_both_ways_agree(capsys: pytest.CaptureFixture[str], gemma: Path, options: list[str]) -> None:
    words = ("trace", str(gemma), "--mode", "both", *options, "--graphs")
    assert records(capsys, *words, "llama.cpp") == records(capsys, *words, "builder")


@pytest.mark.skipif(bool(available()), reason=available() or "there")
def test_llama_cpp_decides_the_same(gemma: Path) -> None:
    opened = open_model(gemma, gemma.name, Options(), BOTH)
    assert [one.differences for one in opened.graphs] == [(), ()]


def test_a_prefix_is_enough(gemma: Path) -> None:
    """The first 16 MiB hold the header; the same graphs come out."""
    with open(gemma, "rb") as file:
        start = file.read(16 << 20)
    whole = open_model(gemma, "whole", Options(), BOTH, Origin.BUILDER)
    part = open_model(start, "part", Options(), BOTH, Origin.BUILDER)

    def problems(opened: TracedModel) -> list[Any]:
        return [one.taken.problem for one in opened.graphs]

    assert problems(whole) == problems(part)
    assert len(part.header.tensors) == 236
