"""What is known after a graph has run: per node the time and a summary of its values."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from ..events import Event
from ..state import State


class NodeRun(msgspec.Struct, frozen=True):
    """One node that was computed.

    Attributes:
        node: tensor id.
        split: index of its split, 0 where there is no scheduler.
        backend: backend id.
        start: seconds since the run began.
        seconds: how long gather, math and scatter took together.
        low: smallest value that is a number, None when there is none or the result is not of numbers.
        high: largest.
        mean: of those that are finite.
        nans: how many are NaN.
        infs: how many are infinite.
    """

    node: int
    split: int
    backend: int
    start: float
    seconds: float
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    nans: int = 0
    infs: int = 0


@dataclass(slots=True)
class Execution:
    """One run of one graph.

    Attributes:
        state: what was decided about it.
        nodes: in the order of execution; view ops and nodes without the COMPUTE flag are not run.
        events: what the devices were told, as the compute loop recorded it while it ran.
        seconds: from the first copy to the last node.
        preparing: of these, what nodes took to be bound to their addresses and weights to be converted, once.
    """

    state: State
    nodes: list[NodeRun] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    seconds: float = 0.0
    preparing: float = 0.0
