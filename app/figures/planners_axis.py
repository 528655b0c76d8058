"""The step axis of a buffer set, and what is alive on it: the ground on which plans are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.planners.instance import Instance

MOST_STEPS = 1 << 18
"""More steps than this are drawn as moments: one position for each step at which something changes."""
MOST_MARKS = 1200
"""Points of the live-bytes curve; of a longer one each stretch keeps its highest point."""


@dataclass(frozen=True, eq=False)
class Axis:
    """Positions 0 to n - 1 of a picture, and the steps they stand for.

    Attributes:
        n: positions.
        moments: the step of each position, None when they are the same.
    """

    n: int
    moments: np.ndarray | None = None

    @classmethod
    def of(cls, instance: Instance) -> Axis:
        """Steps as they are; where they are negative or too many for a picture, one position per moment of change."""
        if not len(instance):
            return cls(1)
        first, end = int(instance.lower.min()), int(instance.upper.max())
        if first >= 0 and end <= MOST_STEPS:
            return cls(max(1, end))
        edges = [edge for gaps in instance.gaps.values() for gap in gaps for edge in (gap.lower, gap.upper)]
        moments = np.unique(np.concatenate([instance.lower, instance.upper, np.array(edges, dtype=np.int64)]))
        return cls(max(1, len(moments) - 1), moments)

    def place(self, steps: np.ndarray) -> np.ndarray:
        """Positions of steps at which something changes."""
        return steps if self.moments is None else np.searchsorted(self.moments, steps)

    def step(self, position: int) -> int:
        """The step that a position stands for."""
        return position if self.moments is None else int(self.moments[position])


@dataclass(frozen=True, eq=False)
class Segments:
    """What buffers need, as int64 columns: during positions [x0, x1) the bytes [low, high) of a buffer.

    Without gaps one for each buffer; none for buffers that are never alive or have no size.
    """

    buffer: np.ndarray
    x0: np.ndarray
    x1: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, instance: Instance, axis: Axis) -> Segments:
        """Cut the lifetimes at their gaps."""
        whole = [i for i in range(len(instance)) if i not in instance.gaps] if instance.gaps else range(len(instance))
        own = np.array(whole, dtype=np.int64)
        parts = [
            np.stack([own, instance.lower[own], instance.upper[own], np.zeros_like(own), instance.size[own]], axis=1)
        ]
        for index, gaps in instance.gaps.items():
            rows, at, size = [], int(instance.lower[index]), int(instance.size[index])
            for gap in gaps:
                rows += [(index, at, gap.lower, 0, size), (index, gap.lower, gap.upper, gap.low, gap.high)]
                at = gap.upper
            rows.append((index, at, int(instance.upper[index]), 0, size))
            parts.append(np.array(rows, dtype=np.int64))
        table = np.concatenate(parts)
        table = table[(table[:, 2] > table[:, 1]) & (table[:, 4] > table[:, 3])]
        x0, x1 = axis.place(table[:, 1]), axis.place(table[:, 2])
        return cls(table[:, 0], x0, x1, table[:, 3], table[:, 4])

    def alive_at(self, position: int) -> np.ndarray:
        """The rows alive at a position."""
        return np.flatnonzero((self.x0 <= position) & (self.x1 > position))


def live_bytes(segments: Segments, axis: Axis, rows: np.ndarray | None = None) -> np.ndarray:
    """Bytes alive at each position, of all segments or of some rows."""
    pick = slice(None) if rows is None else rows
    change = np.zeros(axis.n + 1, dtype=np.int64)
    size = segments.high[pick] - segments.low[pick]
    np.add.at(change, segments.x0[pick], size)
    np.subtract.at(change, segments.x1[pick], size)
    return np.cumsum(change[: axis.n])


def curve(live: np.ndarray, most: int = MOST_MARKS) -> tuple[list[int], list[int]]:
    """The live-bytes curve as steps and bytes: where it changes, or the highest point of each stretch of a long one.

    >>> curve(np.array([3, 3, 5, 5, 5, 1]))
    ([0, 2, 5, 6], [3, 5, 1, 1])
    """
    keep = np.flatnonzero(np.concatenate([[True], live[1:] != live[:-1]])) if len(live) else np.zeros(0, dtype=np.int64)
    if len(keep) > most:
        edges = np.linspace(0, len(live), most + 1).astype(np.int64)[:-1]
        keep = np.unique([a + int(live[a:b].argmax()) for a, b in zip(edges, [*edges[1:], len(live)], strict=True)])
    steps, found = keep.tolist(), live[keep].tolist()
    return [*steps, len(live)], [*found, *found[-1:]]
