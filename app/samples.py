"""What comes with galloscope: real captures, and graphs, buffer sets and sessions by hand that teach one thing each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from ..core.errors import InputError, nearest

FOLDER = Path(__file__).resolve().parent.parent / "sample_graphs"
BUFFERS = FOLDER.parent / "sample_buffers"
SESSIONS = FOLDER.parent / "sample_sessions"
FIRST = "gemma3-270m-g2full-prefill-fa1-reserve"
"""What opens when nothing is asked for: big enough to be real, with two GPUs, splits, copies and one clear peak."""


class Sample(msgspec.Struct, frozen=True):
    """One entry of the `index.json` of a folder of samples.

    Attributes:
        name: the file's name without its ending.
        title: a few words for a menu.
        look: what there is to see, one or two sentences.
        kind: `capture` of a real model, `lesson`, `buffers` or `session` written by hand.
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
        if self.kind == "session":
            return SESSIONS / f"{self.name}.session.json"
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


@cache
def session_samples() -> tuple[Sample, ...]:
    """All sample sessions; the headers of their models lie beside them, without data."""
    return msgspec.json.decode((SESSIONS / "index.json").read_bytes(), type=tuple[Sample, ...])


def find_sample(name: str) -> Sample:
    """The sample of that name, whatever it is.

    Raises:
        InputError: there is none.
    """
    known = samples() + buffer_samples() + session_samples()
    for sample in known:
        if sample.name == name:
            return sample
    raise InputError(f"no sample is named {name!r}{nearest(name, [sample.name for sample in known])}")
