"""Which waiting buffer of the best rank lies within given sections: a bounding-box tree over (first, end) points.

The points come in Morton order, so a node's box is small, and the tree is the same for every ranking. Leaves hold
`LEAF` points; a node knows the box and the best rank of the waiting ones below it, so a query visits few of them.
"""

from __future__ import annotations

from typing import NamedTuple

from ..jit import Column, inner, kernel

LEAF = 16
"""Points of a leaf."""

GONE = 1 << 62
"""Rank of a point that no longer waits, and of an empty node."""


class Tree(NamedTuple):
    """Points 0 to n - 1 and nodes 1 to 2 * leaves - 1, with node k above nodes 2 k and 2 k + 1.

    Attributes:
        first: of each point.
        end: of each point.
        rank: of each point, unique; `GONE` once it is taken.
        lowest_first: of a node's waiting points; so are the next three.
        highest_first: see above.
        lowest_end: see above.
        highest_end: see above.
        best: lowest rank.
        stack: scratch, 128 cells.
    """

    first: Column
    end: Column
    rank: Column
    lowest_first: Column
    highest_first: Column
    lowest_end: Column
    highest_end: Column
    best: Column
    stack: Column


@kernel
def build(t: Tree) -> None:
    """Fill the nodes from the points' ranks."""
    leaves = len(t.best) // 2
    for leaf in range(leaves):
        _look(t, leaf)
    for node in range(leaves - 1, 0, -1):
        _join(t, node)


@inner
def take(t: Tree, point: int) -> None:
    """A point waits no longer."""
    t.rank[point] = GONE
    leaf = point // LEAF
    _look(t, leaf)
    node = (len(t.best) // 2 + leaf) >> 1
    while node and _join(t, node):
        node >>= 1


@inner
def best_within(t: Tree, first: int, latest_first: int, earliest_end: int, end: int) -> int:
    """The waiting point of the lowest rank with first in [first, latest_first], end in [earliest_end, end]; or -1."""
    leaves = len(t.best) // 2
    rank = GONE
    found = -1
    t.stack[0] = 1
    top = 1
    while top:
        top -= 1
        node = t.stack[top]
        if (
            t.best[node] >= rank
            or t.highest_first[node] < first
            or t.lowest_end[node] > end
            or t.lowest_first[node] > latest_first
            or t.highest_end[node] < earliest_end
        ):
            continue
        if node >= leaves:
            begin = (node - leaves) * LEAF
            for p in range(begin, min(len(t.rank), begin + LEAF)):
                if t.rank[p] < rank and first <= t.first[p] <= latest_first and earliest_end <= t.end[p] <= end:
                    rank = t.rank[p]
                    found = p
        else:
            better = 2 * node if t.best[2 * node] <= t.best[2 * node + 1] else 2 * node + 1
            t.stack[top] = better ^ 1
            t.stack[top + 1] = better
            top += 2
    return found


@inner
def _look(t: Tree, leaf: int) -> None:
    lowest_first = lowest_end = best = GONE
    highest_first = highest_end = -1
    for p in range(leaf * LEAF, min(len(t.rank), (leaf + 1) * LEAF)):
        if t.rank[p] < GONE:
            lowest_first = min(lowest_first, t.first[p])
            highest_first = max(highest_first, t.first[p])
            lowest_end = min(lowest_end, t.end[p])
            highest_end = max(highest_end, t.end[p])
            best = min(best, t.rank[p])
    _set(t, len(t.best) // 2 + leaf, lowest_first, highest_first, lowest_end, highest_end, best)


@inner
def _join(t: Tree, node: int) -> bool:
    a = 2 * node
    b = a + 1
    return _set(
        t,
        node,
        min(t.lowest_first[a], t.lowest_first[b]),
        max(t.highest_first[a], t.highest_first[b]),
        min(t.lowest_end[a], t.lowest_end[b]),
        max(t.highest_end[a], t.highest_end[b]),
        min(t.best[a], t.best[b]),
    )


@inner
def _set(
    t: Tree, node: int, lowest_first: int, highest_first: int, lowest_end: int, highest_end: int, best: int
) -> bool:
    """Whether that was new."""
    if (
        t.best[node] == best
        and t.lowest_first[node] == lowest_first
        and t.highest_first[node] == highest_first
        and t.lowest_end[node] == lowest_end
        and t.highest_end[node] == highest_end
    ):
        return False
    t.lowest_first[node] = lowest_first
    t.highest_first[node] = highest_first
    t.lowest_end[node] = lowest_end
    t.highest_end[node] = highest_end
    t.best[node] = best
    return True
