"""The log of one run: a list of events that only grows."""

from __future__ import annotations

from dataclasses import dataclass, field

from .events import Abort, Event
from .graph import Problem, Request


@dataclass(slots=True)
class Run:
    """One graph and everything that was decided about it.

    Attributes:
        problem: the devices and settings.
        request: the graph and whether only a reservation was asked.
        events: the log; the index of an event is its tick.
        previous: the run before it on the same scheduler and allocator, whose plan it may inherit.
    """

    problem: Problem
    request: Request
    events: list[Event] = field(default_factory=list)
    previous: Run | None = None

    @property
    def abort(self) -> str | None:
        """ggml's own text where real ggml would stop the process; None when it would not."""
        last = self.events[-1] if self.events else None
        return last.message if isinstance(last, Abort) else None
