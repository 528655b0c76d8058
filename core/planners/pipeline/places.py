"""Stage 4, the plan as it was made: one buffer after the other, and what each rests on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ..instance import Instance
from ..planner import Plan
from .events import Placed
from .interference import segments


def places(instance: Instance, plan: Plan) -> Iterator[Placed]:
    """The buffers in the order in which the planner placed them, lowest address first where it kept none."""
    count = len(instance)
    offsets = plan.offsets.tolist()
    chunks = [0] * count if plan.chunks is None else plan.chunks.tolist()
    pools = [-1] * count if plan.pools is None else plan.pools.tolist()
    by_address = sorted(range(count), key=lambda one: (chunks[one], offsets[one], one))
    order = list(dict.fromkeys([*([] if plan.order is None else plan.order.tolist()), *by_address]))
    resting = _resting(instance, offsets, chunks)
    for one in order:
        yield Placed(one, chunks[one], offsets[one], pools[one], tuple(sorted(resting[one])))


def _resting(instance: Instance, offsets: list[int], chunks: list[int]) -> list[set[int]]:
    """By buffer: those that keep it from lying lower, its own bytes permitting: their top is where it begins.

    In a valid plan the segments that end at one address are never alive together, so they are sorted in time.
    """
    parts = segments(instance)
    tops: dict[int, dict[int, list[tuple[int, int, int]]]] = {}
    for start, end, buffer, _, high in parts:
        tops.setdefault(chunks[buffer], {}).setdefault(offsets[buffer] + high, []).append((start, end, buffer))
    levels = {chunk: sorted(inside) for chunk, inside in tops.items()}
    alignment = instance.alignment.tolist()
    found: list[set[int]] = [set() for _ in offsets]
    for start, end, buffer, low, _ in parts:
        bottom, chunk = offsets[buffer] + low, chunks[buffer]
        level = levels[chunk]
        first = bisect_right(level, bottom - alignment[buffer])
        for top in level[first : bisect_right(level, bottom)]:
            row = tops[chunk][top]
            at = bisect_left(row, (end, -1, -1)) - 1
            while at >= 0 and row[at][1] > start:
                if row[at][2] != buffer:
                    found[buffer].add(row[at][2])
                at -= 1
    return found
