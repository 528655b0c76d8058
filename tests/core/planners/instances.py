"""Instances for the tests of the planners: by name, by hypothesis, and the slow truth about plans."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.planner import Constraint, Plan

MOST = 14
PIB = 1 << 50


@st.composite
def instances(draw: st.DrawFn, asks: frozenset[Constraint] = frozenset(), most: int = MOST) -> Instance:
    """A few buffers; each constraint in `asks` may occur, and always so that some plan exists."""
    count = draw(st.integers(0, most))
    last = draw(st.sampled_from((3, 12, 40)))
    first = draw(st.sampled_from((0, 0, -7)))
    unit = draw(st.sampled_from((1, 1, 256, PIB)))
    lower = [draw(st.integers(first, last)) for _ in range(count)]
    upper = [draw(st.integers(k, last + 1)) for k in lower]
    size = [draw(st.integers(0, 9)) * unit for _ in range(count)]
    alignment = [1] * count
    if Constraint.ALIGNMENT in asks:
        alignment = [draw(st.sampled_from((1, 1, 2, 16, 4096))) for _ in range(count)]
    gaps = {}
    if Constraint.GAPS in asks:
        gaps = {k: found for k in range(count) if (found := draw(_gaps(lower[k], upper[k], size[k])))}
    max_chunk = 0
    if Constraint.MAX_CHUNK in asks and draw(st.booleans()):
        max_chunk = draw(st.integers(max(size, default=0) or 1, 12 * unit))
    fixed, hint = [-1] * count, [-1] * count
    if Constraint.FIXED in asks:  # in a chunk an aligned buffer stays free: a border need not be aligned
        stacked = stack(size, alignment, max_chunk)
        fixed = [draw(st.sampled_from((-1, at))) if at >= 0 else -1 for at in stacked]
    if Constraint.HINT in asks:
        hint = [draw(st.sampled_from((-1, 0, 1, unit, 5 * unit, 4096))) for _ in range(count)]
    return Instance.of(
        lower, upper, size, alignment=alignment, fixed=fixed, hint=hint, gaps=gaps, max_chunk=max_chunk, name="drawn"
    )


@st.composite
def _gaps(draw: st.DrawFn, lower: int, upper: int, size: int) -> tuple[Gap, ...]:
    borders = sorted(draw(st.lists(st.integers(lower, upper), max_size=4, unique=True)))
    found = []
    for begin, end in zip(borders[::2], borders[1::2], strict=False):
        low = draw(st.integers(0, size))
        high = draw(st.integers(low, size))
        found.append(Gap(begin, end, low, high) if high > low else Gap(begin, end))
    return tuple(found)


def stack(size: list[int], alignment: list[int], max_chunk: int) -> list[int]:
    """An address for each buffer, one above the other and none across a border of chunks; -1 for aligned ones there."""
    at, found = 0, []
    for bytes_, step in zip(size, alignment, strict=True):
        if max_chunk and step > 1:
            found.append(-1)
            continue
        at += -at % step
        if max_chunk and at % max_chunk + bytes_ > max_chunk:
            at += -at % max_chunk
        found.append(at)
        at += bytes_
    return found


@st.composite
def plans(draw: st.DrawFn, instance: Instance) -> Plan:
    """Any placement at all, mostly a wrong one."""
    unit = max(1, int(instance.size.max(initial=1)) // 4)
    offsets = [draw(st.integers(0, 12)) * unit for _ in instance.ids]
    chunks = [draw(st.sampled_from((0, 0, 0, 1))) for _ in instance.ids] if draw(st.booleans()) else None
    return Plan(np.array(offsets, dtype=np.int64), None if chunks is None else np.array(chunks, dtype=np.int64))


def windows(instance: Instance, k: int) -> Iterator[tuple[int, int, int]]:
    """(step, low, high) of the bytes that a buffer needs, for every step at which it needs any."""
    for step in range(int(instance.lower[k]), int(instance.upper[k])):
        low, high = 0, int(instance.size[k])
        for gap in instance.gaps.get(k, ()):
            if gap.lower <= step < gap.upper:
                low, high = gap.low, gap.high
        if low < high:
            yield step, low, high


def clashes(instance: Instance, plan: Plan) -> set[tuple[int, int]]:
    """All pairs that clash, the O(n^2) way and step by step; for short lifetimes."""
    found = set()
    for i, j in itertools.combinations(range(len(instance)), 2):
        if plan.chunks is not None and plan.chunks[i] != plan.chunks[j]:
            continue
        mine = {
            step: (low + int(plan.offsets[i]), high + int(plan.offsets[i])) for step, low, high in windows(instance, i)
        }
        below = above = True
        for step, low, high in windows(instance, j):
            if step in mine:
                below = below and mine[step][1] <= low + int(plan.offsets[j])
                above = above and high + int(plan.offsets[j]) <= mine[step][0]
        if not (below or above):
            found.add((i, j))
    return found


def load(instance: Instance) -> int:
    """The most bytes alive at a step, counted step by step; for short lifetimes."""
    total: dict[int, int] = {}
    for k in range(len(instance)):
        for step, low, high in windows(instance, k):
            total[step] = total.get(step, 0) + high - low
    return max(total.values(), default=0)


DEGENERATE = {
    "empty": Instance.of([], [], []),
    "one": Instance.of([0], [1], [64]),
    "one byte": Instance.of([0], [1], [1]),
    "zero sizes": Instance.of([0, 0, 1], [4, 4, 3], [0, 0, 0]),
    "some zero sizes": Instance.of([0, 0, 1, 2], [4, 4, 3, 6], [0, 8, 0, 16]),
    "never alive": Instance.of([0, 3, 3], [4, 3, 5], [8, 100, 8]),
    "all never alive": Instance.of([1, 2], [1, 2], [8, 8]),
    "equal lifetimes": Instance.of([2] * 9, [7] * 9, list(range(1, 10))),
    "equal everything": Instance.of([0] * 8, [1] * 8, [32] * 8),
    "one after the other": Instance.of(range(9), range(1, 10), [5] * 9),
    "one byte and a pebibyte": Instance.of([0, 0, 1, 2], [3, 2, 4, 5], [1, PIB, 1, PIB]),
    "alignment 4096": Instance.of([0, 0, 1, 2, 0], [3, 2, 4, 5, 5], [1, 5000, 4096, 4097, 0], alignment=4096),
    "odd alignments": Instance.of([0, 0, 1, 2], [3, 2, 4, 5], [7, 5, 11, 3], alignment=[3, 1, 7, 48]),
    "negative steps": Instance.of([-9, -5, -7], [-4, 2, -5], [8, 16, 32]),
    "steps far away": Instance.of([-(1 << 59), 0, 1 << 58], [1, 1 << 59, 1 << 59], [8, 16, 32]),
    "fixed": Instance.of([0, 0, 1, 2], [3, 2, 4, 5], [8, 8, 8, 8], fixed=[16, -1, 40, -1]),
    "all fixed": Instance.of([0, 0], [2, 2], [8, 8], fixed=[8, 0]),
    "fixed zero size": Instance.of([0, 0], [2, 2], [0, 8], fixed=[4, 0]),
    "hints": Instance.of([0, 0, 1, 2], [3, 2, 4, 5], [8, 8, 8, 8], hint=[8, 8, 3, 1 << 40]),
    "hints off the alignment": Instance.of([0, 0], [3, 2], [8, 8], hint=[3, 5], alignment=4),
    "gaps": Instance.of([0, 2, 0], [9, 4, 9], [8, 8, 4], gaps={0: (Gap(2, 4), Gap(6, 8, 2, 4))}),
    "nothing but a gap": Instance.of([0, 0], [4, 4], [8, 8], gaps={0: (Gap(0, 4),)}),
    "touching gaps": Instance.of([0, 2], [9, 8], [8, 4], gaps={0: (Gap(2, 4, 0, 4), Gap(4, 8, 4, 8))}),
    "chunks": Instance.of([0] * 5, [1] * 5, [30, 30, 30, 50, 10], max_chunk=64),
    "chunks as large as the largest": Instance.of([0, 0, 1], [2, 2, 3], [64, 64, 32], max_chunk=64),
    "chunk large enough": Instance.of([0, 0], [2, 2], [64, 64], max_chunk=1 << 40),
    "aligned chunks": Instance.of([0] * 4, [1] * 4, [30, 30, 30, 50], alignment=16, max_chunk=100),
}
"""By name, each with a plan that exists."""
