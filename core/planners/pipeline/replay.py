"""The fold of a pipeline's events: what its stages returned, from the events alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..planner import Plan
from .events import Begin, Clique, Conflict, Event, Group, Interval, Placed, Result, Stage, Step


@dataclass
class PipelineState:
    """Everything known after some events.

    Attributes:
        rules: by stage that has begun, the rule it followed.
        steps: nodes in the order in which they run.
        intervals: of tensors.
        groups: of tensors, the buffers.
        pairs: edges of the interference graph, lower index first; none when it is told by its cliques alone.
        cliques: in order of time.
        placed: in the order of placing.
        result: peak and bound, None before the end.
    """

    rules: dict[Stage, str] = field(default_factory=dict)
    steps: list[int] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    cliques: list[Clique] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    result: Result | None = None

    @property
    def plan(self) -> Plan:
        """The plan, once all buffers are placed."""
        placed = sorted(self.placed, key=lambda one: one.buffer)
        chunks = np.array([one.chunk for one in placed], dtype=np.int64)
        pools = np.array([one.pool for one in placed], dtype=np.int64)
        return Plan(
            np.array([one.offset for one in placed], dtype=np.int64),
            chunks if chunks.any() else None,
            np.array([one.buffer for one in self.placed], dtype=np.int64),
            pools if len(pools) and pools.min() >= 0 else None,
        )

    def members(self, number: int) -> set[int]:
        """The buffers of a clique, by its number."""
        present: set[int] = set()
        for clique in self.cliques[: number + 1]:
            present.difference_update(clique.left)
            present.update(clique.joined)
        return present


def replay(events: Iterable[Event]) -> PipelineState:
    """The state after the events, or after the first of them."""
    state = PipelineState()
    for event in events:
        if isinstance(event, Begin):
            state.rules[event.stage] = event.what
        elif isinstance(event, Step):
            state.steps.append(event.node)
        elif isinstance(event, Interval):
            state.intervals.append(event)
        elif isinstance(event, Group):
            state.groups.append(event)
        elif isinstance(event, Conflict):
            state.pairs.append((event.one, event.other))
        elif isinstance(event, Clique):
            state.cliques.append(event)
        elif isinstance(event, Placed):
            state.placed.append(event)
        else:
            state.result = event
    return state
