"""What a static planner is: a function from an instance to a plan, with the constraints it honours."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from ..errors import GalloscopeError
from .instance import Instance


class Constraint(str, Enum):
    """What an instance may ask beyond lifetimes and sizes; a planner lists those it honours."""

    ALIGNMENT = "alignment"
    FIXED = "fixed offsets"
    HINT = "hints"
    GAPS = "gaps"
    MAX_CHUNK = "a maximum chunk size"
    CAPACITY = "a capacity"  # it works towards one; for the others the capacity is only compared with the peak


ALL = frozenset(Constraint)


class Refused(GalloscopeError):
    """A planner cannot plan this instance; the message is a sentence without the planner's name."""


class Stopped(GalloscopeError):
    """The user cancelled."""


@dataclass
class Budget:
    """How long and with which luck a planner may work.

    Attributes:
        time_limit: seconds from `start`, None for endless.
        node_limit: search nodes, None for endless; makes a run that would end at its time limit repeatable.
        seed: of every random choice.
        progress: called with a sentence now and then.
        cancelled: asked now and then.
        started: time.perf_counter() of the start.
    """

    time_limit: float | None = 10.0
    node_limit: int | None = None
    seed: int = 0
    progress: Callable[[str], None] | None = None
    cancelled: Callable[[], bool] | None = None
    started: float = field(default_factory=time.perf_counter)

    def left(self) -> float:
        """Seconds left.

        Raises:
            Stopped: the user cancelled.
        """
        if self.cancelled is not None and self.cancelled():
            raise Stopped("cancelled")
        if self.time_limit is None:
            return float("inf")
        return self.time_limit - (time.perf_counter() - self.started)

    def say(self, text: str) -> None:
        """Tell the user how far it is."""
        if self.progress is not None:
            self.progress(text)


@dataclass(frozen=True, eq=False)
class Plan:
    """Where each buffer lies.

    Attributes:
        offsets: bytes from the start of its chunk, int64.
        chunks: its chunk, int64; None when all lie in one.
        order: indices in the order in which they were placed, None when there is none.
        pools: its shared pool, int64; None for planners without pools.
        proved_bound: bytes that a complete search proved necessary, 0 for nothing proved.
        nodes: search nodes visited.
        note: a sentence on what was given up, "" for none.
    """

    offsets: np.ndarray
    chunks: np.ndarray | None = None
    order: np.ndarray | None = None
    pools: np.ndarray | None = None
    proved_bound: int = 0
    nodes: int = 0
    note: str = ""


@dataclass(frozen=True)
class NoPlan:
    """None was found under the capacity.

    Attributes:
        proved_bound: bytes that a complete search proved necessary, 0 for nothing proved.
        nodes: search nodes visited.
        note: a sentence on why, "" for none.
    """

    proved_bound: int = 0
    nodes: int = 0
    note: str = ""


Run = Callable[[Instance, "int | None", Budget], "Plan | NoPlan"]
"""(instance, capacity in bytes or None to minimise, budget) -> a plan, or why there is none under the capacity."""


@dataclass(frozen=True)
class Planner:
    """One strategy.

    Attributes:
        title: a few words for tables.
        summary: one sentence: how it decides.
        source: paper or function it follows.
        run: see `Run`.
        honours: constraints it can keep.
        exact: it can prove that a capacity is impossible.
        largest: buffers up to which it is offered without being asked for; None for any.
    """

    title: str
    summary: str
    source: str
    run: Run
    honours: frozenset[Constraint] = frozenset()
    exact: bool = False
    largest: int | None = None
