"""Stage 3, the interference graph: which buffers need bytes at a common step.

Lifetimes make an interval graph, so its maximal cliques, in order of time, cover every edge and take linear room:
that is how a large one is told. Its colourings are the assignments of buffers to shared pools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations

from ..instance import LARGEST, Instance
from .events import Clique

PAIRS_UP_TO = 600
"""Edges up to which the graph is told pair by pair."""


@dataclass(frozen=True)
class Interference:
    """The graph. `cliques` always stand; `pairs` (lower index first, sorted) is None when there are too many."""

    pairs: tuple[tuple[int, int], ...] | None
    cliques: tuple[Clique, ...]


def segments(instance: Instance) -> list[tuple[int, int, int, int, int]]:
    """(first step, step after the last, buffer, low, high): the bytes each buffer needs when, by start; none empty."""
    found = []
    rows = zip(instance.lower.tolist(), instance.upper.tolist(), instance.size.tolist(), strict=True)
    for buffer, (at, upper, size) in enumerate(rows):
        for gap in instance.gaps.get(buffer, ()):
            found += [(at, gap.lower, buffer, 0, size), (gap.lower, gap.upper, buffer, gap.low, gap.high)]
            at = gap.upper
        found.append((at, upper, buffer, 0, size))
    return sorted(one for one in found if one[0] < one[1] and one[3] < one[4])


def interference(instance: Instance, pairs_up_to: int = PAIRS_UP_TO) -> Interference:
    """The conflicts of an instance; O(n log n), and as many pairs as are asked for at most."""
    found = cliques(segments(instance))
    return Interference(_pairs(found, pairs_up_to), tuple(found))


def cliques(parts: Sequence[tuple[int, int, int, int, int]]) -> list[Clique]:
    """The maximal cliques of segments sorted by start: one is complete when, after someone joined, someone leaves.

    A buffer with gaps leaves and joins where its need changes, so its cliques may be parts of others; the largest sum
    of bytes is the bound in any case.
    """
    found: list[Clique] = []
    ends: list[tuple[int, int, int]] = []  # (step, buffer, bytes), a heap
    joined: set[int] = set()
    left: set[int] = set()
    begun = now = 0
    for start, end, buffer, low, high in [*parts, (LARGEST + 1, LARGEST + 1, -1, 0, 0)]:
        while ends and ends[0][0] <= start:
            step = ends[0][0]
            if joined:
                found.append(Clique(begun, step, now, tuple(sorted(joined)), tuple(sorted(left))))
                joined, left = set(), set()
            while ends and ends[0][0] == step:
                _, gone, size = heappop(ends)
                now -= size
                left.add(gone)
        if buffer >= 0:
            joined.add(buffer)
            now += high - low
            heappush(ends, (end, buffer, high - low))
            begun = start
    return found


def _pairs(found: Sequence[Clique], up_to: int) -> tuple[tuple[int, int], ...] | None:
    """Every edge, or None when there are more."""
    pairs: set[tuple[int, int]] = set()
    present: set[int] = set()
    for clique in found:
        present.difference_update(clique.left)
        new = len(clique.joined)
        if new * len(present) + new * (new - 1) // 2 > 2 * up_to:  # an edge comes twice at most where gaps are rare
            return None
        pairs.update((min(one, other), max(one, other)) for one in clique.joined for other in present)
        pairs.update(combinations(clique.joined, 2))
        if len(pairs) > up_to:
            return None
        present.update(clique.joined)
    return tuple(sorted(pairs))
