"""Live bytes per step, and what follows from them: no plan can be smaller than the most that is alive at once.

The load of an interval set; Buchsbaum et al., "OPT versus LOAD in dynamic storage allocation" (STOC 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .instance import Instance
from .planner import Plan


@dataclass(frozen=True, eq=False)
class Live:
    """Live bytes as a curve of change points.

    Attributes:
        steps: where it changes, ascending, int64; empty when nothing is ever alive.
        bytes: alive in [steps[k], steps[k + 1]), int64; the last one is 0.
    """

    steps: np.ndarray
    bytes: np.ndarray

    @property
    def bound(self) -> int:
        """The most bytes alive at a step."""
        return int(self.bytes.max(initial=0))

    @property
    def area(self) -> int:
        """Bytes times steps, exact."""
        return sum(
            b * (end - start)
            for b, start, end in zip(self.bytes.tolist(), self.steps.tolist(), self.steps[1:].tolist(), strict=False)
        )

    def at(self, step: int) -> int:
        """Bytes alive at a step."""
        k = int(np.searchsorted(self.steps, step, side="right")) - 1
        return int(self.bytes[k]) if k >= 0 else 0

    def peaks(self) -> list[tuple[int, int]]:
        """The half-open ranges of steps in which the bound is reached, neighbours joined."""
        if self.bound == 0:
            return []
        high = np.concatenate(([False], self.bytes == self.bound, [False]))
        turns = np.flatnonzero(high[1:] != high[:-1])
        return [(int(self.steps[a]), int(self.steps[b])) for a, b in zip(turns[::2], turns[1::2], strict=True)]

    def peak_step(self) -> int:
        """The first step at which the bound is reached, 0 when nothing is ever alive."""
        return int(self.steps[self.bytes.argmax()]) if self.bound else 0


class Blocker(NamedTuple):
    """A buffer that is alive at a step, with the bytes it needs there."""

    buffer: int
    bytes: int


def live_bytes(instance: Instance) -> Live:
    """The live-bytes curve; in a gap only its window counts. O(n log n)."""
    used = (instance.upper > instance.lower) & (instance.size > 0)
    steps = [instance.lower[used], instance.upper[used]]
    deltas = [instance.size[used], -instance.size[used]]
    less: list[tuple[int, int]] = []
    for index, gaps in instance.gaps.items():
        for gap in gaps:
            saved = int(instance.size[index]) - (gap.high - gap.low)
            less += [(gap.lower, -saved), (gap.upper, saved)]
    if less:
        extra = np.array(less, dtype=np.int64)
        steps.append(extra[:, 0])
        deltas.append(extra[:, 1])
    step, delta = np.concatenate(steps), np.concatenate(deltas)
    if not len(step):
        return Live(step, delta)
    order = np.argsort(step)
    step, delta = step[order], delta[order]
    first = np.flatnonzero(np.concatenate(([True], step[1:] != step[:-1])))
    change = np.add.reduceat(delta, first)
    kept = change != 0
    return Live(step[first][kept], np.cumsum(change)[kept])


def lower_bound(instance: Instance) -> int:
    """The most bytes alive at a step: no plan has a smaller peak."""
    return live_bytes(instance).bound


def blockers(instance: Instance, step: int) -> list[Blocker]:
    """The buffers alive at a step, those with the most bytes first: at the peak, what keeps it from sinking."""
    found = []
    for index in np.flatnonzero((instance.lower <= step) & (step < instance.upper) & (instance.size > 0)).tolist():
        needed = int(instance.size[index])
        for gap in instance.gaps.get(index, ()):
            if gap.lower <= step < gap.upper:
                needed = gap.high - gap.low
        if needed:
            found.append(Blocker(index, needed))
    return sorted(found, key=lambda one: (-one.bytes, one.buffer))


def tops(instance: Instance, plan: Plan) -> dict[int, int]:
    """Bytes that each chunk needs, by chunk. Buffers that are never alive or have no bytes do not count."""
    used = (instance.upper > instance.lower) & (instance.size > 0)
    ends = plan.offsets[used] + instance.size[used]
    if plan.chunks is None:
        return {0: int(ends.max())} if len(ends) else {}
    chunks = plan.chunks[used]
    return {int(chunk): int(ends[chunks == chunk].max()) for chunk in np.unique(chunks)}


def peak_bytes(instance: Instance, plan: Plan) -> int:
    """Bytes of all chunks of a plan together."""
    return sum(tops(instance, plan).values())


def fixed_top(instance: Instance) -> int:
    """The end of the highest buffer with a fixed offset, which no plan in one chunk can undercut; 0 for none."""
    if instance.max_chunk:
        return 0
    held = (instance.upper > instance.lower) & (instance.size > 0) & (instance.fixed >= 0)
    return int((instance.fixed[held] + instance.size[held]).max(initial=0))
