"""What comes with galloscope: real captures, small graphs and buffer sets written by hand that teach one thing each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from ..core.errors import InputError, nearest

FOLDER = Path(__file__).resolve().parent.parent / "sample_graphs"
BUFFERS = FOLDER.parent / "sample_buffers"
FIRST = "gemma3-270m-g2full-prefill-fa1-reserve"
"""What opens when nothing is asked for: big enough to be real, with two GPUs, splits, copies and one clear peak."""


class Sample(msgspec.Struct, frozen=True):
    """One entry of `sample_graphs/index.json` or `sample_buffers/index.json`.

    Attributes:
        name: the file's name without its ending.
        title: a few words for a menu.
        look: what there is to see, one or two sentences.
        kind: `capture` of a real model, `lesson` or `buffers` written by hand.
    """

    name: str
    title: str
    look: str
    kind: str

    @property
    def path(self) -> Path:
        """Its file."""
        if self.kind == "buffers":
            return BUFFERS / f"{self.name}.csv"
        packed = FOLDER / f"{self.name}.graph.json.gz"
        return packed if self.kind == "capture" else packed.with_suffix("")


@cache
def samples() -> tuple[Sample, ...]:
    """All sample graphs, in the order in which a newcomer should look at them."""
    return msgspec.json.decode((FOLDER / "index.json").read_bytes(), type=tuple[Sample, ...])


@cache
def buffer_samples() -> tuple[Sample, ...]:
    """All sample buffer sets."""
    return msgspec.json.decode((BUFFERS / "index.json").read_bytes(), type=tuple[Sample, ...])


def find_sample(name: str) -> Sample:
    """The sample of that name, graph or buffer set.

    Raises:
        InputError: there is none.
    """
    known = samples() + buffer_samples()
    for sample in known:
        if sample.name == name:
            return sample
    raise InputError(f"no sample is named {name!r}{nearest(name, [sample.name for sample in known])}")
