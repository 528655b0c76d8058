"""Filling the valleys of a skyline over sections: a linked list of flat runs, named by their first section.

Buffers that lie within one valley lie within no other one, so the order in which valleys are filled changes nothing:
the pointer walks downhill to the next one instead of asking a heap for the lowest. To its left heights only fall.
"""

from __future__ import annotations

from typing import NamedTuple

from ..jit import Column, inner, kernel
from .contained import Tree, best_within, take

WALL = 1 << 62
"""Height of both ends of time."""

AT, PLACED = range(2)
"""Cells of `Line.now`: the run to look at, buffers placed so far."""


class Line(NamedTuple):
    """What filling writes; sections 0 to S - 1, and S for the end of time.

    Attributes:
        height: of the run that starts at a section.
        after: of a run's first section, that of the next run.
        before: of a run's first section, that of the run before, -1 for none.
        now: see `AT` and `PLACED`.
        offset: of each point.
    """

    height: Column
    after: Column
    before: Column
    now: Column
    offset: Column


@kernel
def level(line: Line) -> None:
    """Nothing is placed: one run at height 0."""
    end = len(line.height) - 1
    line.height[0] = 0
    line.after[0] = end
    line.before[0] = -1
    line.height[end] = WALL
    line.before[end] = 0
    line.now[AT] = 0
    line.now[PLACED] = 0


@kernel
def fill(t: Tree, size: Column, align: Column, touching: bool, line: Line, until: int) -> int:
    """Place buffers until so many are placed; their number.

    In a valley, a run between higher ones, goes the best rank that fits into its sections; with `touching` one at its
    left wall is preferred to one at its right wall, and that to one without a wall. An empty valley is raised to its
    lower wall.
    """
    placed: int = line.now[PLACED]
    at = line.now[AT]
    while placed < until:
        after = line.after[at]
        height = line.height[at]
        left = WALL if line.before[at] < 0 else line.height[line.before[at]]
        right = line.height[after]
        if right < height:
            at = after
            continue
        if left < height:
            at = line.before[at]
            continue
        p = -1
        if touching:
            p = best_within(t, at, at, 0, after)
            if p < 0:
                p = best_within(t, at, after, after, after)
        if p < 0:
            p = best_within(t, at, after, 0, after)
        if p < 0:
            line.height[at] = min(left, right)
            at = _join(line, at)
            continue
        offset = -(-height // align[p]) * align[p]
        line.offset[p] = offset
        placed += 1
        take(t, p)
        at = _put(line, at, t.first[p], t.end[p], offset + size[p])
    line.now[AT] = at
    line.now[PLACED] = placed
    return placed


@inner
def _put(line: Line, at: int, first: int, end: int, height: int) -> int:
    """Raise sections [first, end) of the run; the run to look at next."""
    after = line.after[at]
    if end < after:
        line.height[end] = line.height[at]
        _link(line, end, after)
        _link(line, at, end)
    if first > at:
        _link(line, first, line.after[at])
        _link(line, at, first)
    line.height[first] = height
    joined = _join(line, first)
    return joined if first == at else at


@inner
def _join(line: Line, run: int) -> int:
    """Join a run with neighbours of its height; the first section of what it is then."""
    after = line.after[run]
    if line.height[after] == line.height[run]:
        _link(line, run, line.after[after])
    before = line.before[run]
    if before >= 0 and line.height[before] == line.height[run]:
        _link(line, before, line.after[run])
        run = before
    return run


@inner
def _link(line: Line, run: int, after: int) -> None:
    line.after[run] = after
    line.before[after] = run
