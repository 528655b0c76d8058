"""The free memory of one chunk over time, cut into rectangles: the complement of its lifetimes.

A sweep over the steps at which something is born or dies. The free ranges are kept sorted; a range that comes out of a
step unchanged goes on, any other is closed, so every rectangle is as long as it can be.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Memory in use: [start, end) bytes over the half-open steps [born, dies)."""

    born: int
    dies: int
    start: int
    end: int


class Hole(NamedTuple):
    """A free range: [start, end) bytes over the half-open steps [first, last)."""

    first: int
    last: int
    start: int
    end: int


Block = tuple[int, int]
"""Free bytes [start, end)."""


def holes(spans: Sequence[Span], size: int, n_steps: int) -> list[Hole]:
    """The free ranges of a chunk of `size` bytes over the steps [0, n_steps), in order of their end.

    The spans of a chunk never overlap: two tensors at one address at one time would be a broken plan.

    >>> holes([Span(0, 4, 0, 8), Span(1, 2, 8, 16)], 16, 4)
    [Hole(first=0, last=1, start=8, end=16), Hole(first=2, last=4, start=8, end=16)]
    """
    changes: dict[int, tuple[list[Span], list[Span]]] = {}
    for span in spans:
        if span.end > span.start and span.dies > span.born:
            changes.setdefault(span.born, ([], []))[1].append(span)
            changes.setdefault(span.dies, ([], []))[0].append(span)
    free: list[Block] = [(0, size)] if size > 0 else []
    since = dict.fromkeys(free, 0)
    found: list[Hole] = []
    for step in sorted(step for step in changes if step < n_steps):
        died, born = changes[step]
        touched: dict[Block, bool] = {}
        for span in died:
            _give(free, span.start, span.end, touched)
        for span in born:
            _take(free, span.start, span.end, touched)
        for block, there in sorted(touched.items()):
            if there and block not in since:
                since[block] = step
            elif not there and block in since:
                first = since.pop(block)
                if first < step:
                    found.append(Hole(first, step, *block))
    found.extend(Hole(first, n_steps, *block) for block, first in sorted(since.items()) if first < n_steps)
    return found


def _give(free: list[Block], start: int, end: int, touched: dict[Block, bool]) -> None:
    """Joins [start, end) with its free neighbours; notes of each block whether it is there now."""
    i = bisect_left(free, (start, start))
    if i < len(free) and free[i][0] == end:
        touched[free[i]] = False
        end = free.pop(i)[1]
    if i > 0 and free[i - 1][1] == start:
        touched[free[i - 1]] = False
        start = free.pop(i - 1)[0]
    insort(free, (start, end))
    touched[start, end] = True


def _take(free: list[Block], start: int, end: int, touched: dict[Block, bool]) -> None:
    """Cuts [start, end) out of the free block around it; notes of each block whether it is there now."""
    i = bisect_left(free, (start + 1,)) - 1
    low, high = free.pop(i)
    assert low <= start < end <= high, "two tensors of a plan overlap"
    touched[low, high] = False
    for piece in ((low, start), (end, high)):
        if piece[1] > piece[0]:
            insort(free, piece)
            touched[piece] = True
