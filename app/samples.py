"""The graphs that come with galloscope: real captures, and small ones written by hand that teach one mechanism each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from ..core.errors import InputError, nearest

FOLDER = Path(__file__).resolve().parent.parent / "sample_graphs"
FIRST = "gemma3-270m-g2full-prefill-fa1-reserve"
"""What opens when nothing is asked for: big enough to be real, with two GPUs, splits, copies and one clear peak."""


class Sample(msgspec.Struct, frozen=True):
    """One entry of `sample_graphs/index.json`.

    Attributes:
        name: the file's name without its ending.
        title: a few words for a menu.
        look: what there is to see, one or two sentences.
        kind: `capture` of a real model, or `lesson` written by hand.
    """

    name: str
    title: str
    look: str
    kind: str

    @property
    def path(self) -> Path:
        """Its graph file."""
        packed = FOLDER / f"{self.name}.graph.json.gz"
        return packed if self.kind == "capture" else packed.with_suffix("")


@cache
def samples() -> tuple[Sample, ...]:
    """All samples, in the order in which a newcomer should look at them."""
    return msgspec.json.decode((FOLDER / "index.json").read_bytes(), type=tuple[Sample, ...])


def find_sample(name: str) -> Sample:
    """The sample of that name.

    Raises:
        InputError: there is none.
    """
    for sample in samples():
        if sample.name == name:
            return sample
    raise InputError(f"no sample is named {name!r}{nearest(name, [sample.name for sample in samples()])}")
