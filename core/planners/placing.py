"""The Python side of the placing loops: buffers in a given order, each into a hole between those placed before it.

    place_in_order(instance, order, best_fit=True) -> addresses        one placement
    placer = Placer(instance); placer.place(order, best_fit)           many placements of one instance
    as_plan(instance, addresses, order) -> Plan                        addresses to offsets (and chunks)

Addresses are those of one linear space; with a maximum chunk size no buffer lies across a multiple of it. Fixed buffers
are placed before all others, their offsets are such addresses. Cost is about n log n times holes for instances without
gaps, n^2 with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .instance import Instance
from .jit import Column, array, blank, column
from .kernels.place import place
from .kernels.runs import GIVEN, STORE
from .kernels.windows import NEVER, distance, place_windows
from .planner import Constraint, Plan, Refused

HONOURS = frozenset({Constraint.ALIGNMENT, Constraint.FIXED, Constraint.HINT, Constraint.GAPS, Constraint.MAX_CHUNK})
"""What every planner keeps that places through this module."""


MOST_WITH_GAPS = 10_000
"""Buffers; a placement of as many takes some seconds."""


class Placer:
    """Columns of one instance, made once for any number of placements."""

    def __init__(self, instance: Instance) -> None:
        """Make the columns.

        Raises:
            Refused: a buffer that no chunk can hold, or too many buffers for gaps.
        """
        if instance.gaps and len(instance) > MOST_WITH_GAPS:
            raise Refused(
                f"cannot plan this: with gaps every pair of buffers is looked at, which is done for up to "
                f"{MOST_WITH_GAPS:,} buffers, and here are {len(instance):,}"
            )
        self.instance = instance
        self.max_chunk = _max_chunk(instance)
        self.needed = (instance.size > 0) & (instance.upper > instance.lower)
        self._size = column(instance.size)
        self._alignment = column(instance.alignment)
        self._fixed = column(instance.fixed)
        self._hint = column(instance.hint)
        self._peaks = len(instance) + 1 if self.max_chunk else 1
        self._scratch = tuple(blank(len(instance) + 1) for _ in range(4))
        if instance.gaps:
            self._segments = tuple(column(values) for values in segments(instance))
        else:
            steps = np.unique(instance.lower[self.needed])
            self._first = column(np.searchsorted(steps, instance.lower))
            self._last = column(np.searchsorted(steps, instance.upper))
            self._levels = max(1, len(steps) - 1).bit_length()
            self._cells = [blank(16 * len(instance) + 16 * self._levels) for _ in range(2)]

    def place(self, order: Sequence[int] | np.ndarray, best_fit: bool = True) -> np.ndarray:
        """Addresses of all buffers, those without bytes or lifetime at 0 (or where they are fixed).

        Args:
            order: every index once.
            best_fit: the tightest hole that suffices; else the lowest.

        Raises:
            Refused: two fixed buffers share a byte at a common step.
        """
        instance = self.instance
        indices = np.asarray(order, dtype=np.int64)
        fixed = instance.fixed[indices] >= 0
        indices = np.concatenate((indices[fixed], indices[~fixed]))
        indices = indices[self.needed[indices]]
        offsets = column(np.maximum(instance.fixed, 0))
        reached = (self._place_windows if instance.gaps else self._place_runs)(column(indices), best_fit, offsets)
        if reached < 0:
            raise Refused(_collision(instance, indices[:-reached].tolist()))
        return array(offsets)

    def _place_runs(self, order: Column, best_fit: bool, offsets: Column) -> int:
        store = blank(STORE, -1)
        store[GIVEN] = 0
        buffers = self._size, self._alignment, self._fixed, self._hint, self.max_chunk, int(best_fit)
        lists = [blank(4 << self._levels) for _ in range(3)]
        nodes = [blank(2 * self._levels + 2) for _ in range(2)]
        peaks = blank(self._peaks)
        reached = 0
        while True:
            tree = (1 << self._levels, *self._cells, *lists, store, *nodes)
            given = (order, reached, self._first, self._last, *buffers, *tree, *self._scratch, peaks, offsets)
            reached = place(*given)
            if reached < 0 or reached == len(order):
                return int(reached)
            self._cells = [column(np.tile(array(cells), 2)) for cells in self._cells]

    def _place_windows(self, order: Column, best_fit: bool, offsets: Column) -> int:
        buffers = self._size, self._alignment, self._fixed, self._hint, self.max_chunk, int(best_fit)
        given = (order, *self._segments, *buffers, *self._scratch, blank(self._peaks), offsets)
        return int(place_windows(*given))


def place_in_order(instance: Instance, order: Sequence[int] | np.ndarray, best_fit: bool = True) -> np.ndarray:
    """Addresses of all buffers, placed in that order; see `Placer`."""
    return Placer(instance).place(order, best_fit)


def as_plan(
    instance: Instance, addresses: np.ndarray, order: Sequence[int] | np.ndarray | None, nodes: int = 0, note: str = ""
) -> Plan:
    """The plan of addresses in one linear space: chunks and offsets within them where chunks are limited."""
    chunks = None
    if instance.max_chunk:
        chunks, addresses = np.divmod(addresses, instance.max_chunk)
    placed = None if order is None else np.asarray(order, dtype=np.int64)
    return Plan(addresses, chunks=chunks, order=placed, nodes=nodes, note=note)


def segments(instance: Instance) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Windows of needed bytes: where each buffer's begin (and an end), then first and end step, bottom and top byte."""
    begins, lowers, uppers, bottoms, tops = [0], [], [], [], []
    lives = zip(instance.lower.tolist(), instance.upper.tolist(), instance.size.tolist(), strict=True)
    for index, (lower, upper, size) in enumerate(lives):
        parts = []
        for gap in instance.gaps.get(index, ()):
            parts += [(lower, gap.lower, 0, size), (gap.lower, gap.upper, gap.low, gap.high)]
            lower = gap.upper
        for part in (*parts, (lower, upper, 0, size)):
            if part[0] < part[1] and part[2] < part[3]:
                lowers.append(part[0])
                uppers.append(part[1])
                bottoms.append(part[2])
                tops.append(part[3])
        begins.append(len(lowers))
    return begins, lowers, uppers, bottoms, tops


def _max_chunk(instance: Instance) -> int:
    """The limit of chunks, 0 when it can never be met."""
    limit = instance.max_chunk
    reach = int(instance.size.sum() + instance.alignment.sum()) + int(instance.fixed.max(initial=0))
    if not limit or reach <= limit:
        return 0
    real = (instance.size > 0) & (instance.upper > instance.lower)
    inside = np.maximum(instance.fixed, 0) % limit
    bad = (real & (inside + instance.size > limit)) | (inside % instance.alignment != 0)
    if bad.any():
        worst = int(bad.argmax())
        if instance.size[worst] > limit:
            text = f"{instance.size[worst]} bytes are more than the largest chunk, {limit}"
        else:
            text = f"it must lie at {instance.fixed[worst]}, which does not suit chunks of {limit} bytes"
        raise Refused(f"cannot place buffer {instance.ids[worst]!r}: {text}")
    return limit


def _collision(instance: Instance, fixed: list[int]) -> str:
    """Which of the fixed buffers meets the last of them."""
    begins, *windows = (column(values) for values in segments(instance))
    *others, last = fixed
    for other in others:
        given = (*windows, begins[other], begins[other + 1], begins[last], begins[last + 1])
        above, below = distance(*given)
        apart = int(instance.fixed[last] - instance.fixed[other])
        if above != NEVER and -below < apart < above:
            return f"cannot place buffer {instance.ids[last]!r}: it is fixed onto bytes of {instance.ids[other]!r}"
    return f"cannot place buffer {instance.ids[last]!r}: it is fixed onto bytes of another"
