"""The log of a session: what was decided, and the runs that the decisions name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..llama.made import Made
from ..log import Run
from .events import DecodeEvent
from .script import Script
from .setup import Setup


class RunOf(NamedTuple):
    """One planned graph: its log, what it was made of, and whether its buffers could be made."""

    run: Run
    made: Made


@dataclass(slots=True)
class LifeLog:
    """A session and everything that was decided in it.

    Attributes:
        script: as given.
        setup: what llama.cpp makes of it: devices, effective sizes, pools.
        events: the log; the index of an event is its tick.
        runs: every graph that was split or planned, each once: equal graphs on an equal plan share one.
        abort: ggml's or llama.cpp's own text where the process would end, "" where it would not.
    """

    script: Script
    setup: Setup
    events: list[DecodeEvent] = field(default_factory=list)
    runs: list[RunOf] = field(default_factory=list)
    abort: str = ""
