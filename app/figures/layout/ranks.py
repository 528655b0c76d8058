"""Which row each node of a block stands in.

Longest-path layering (Healy and Nikolov, "Hierarchical Drawing Algorithms", Handbook of Graph Drawing, 2013)
with one rule of our own: every node of a split stands below every node of the split before it, so that a
split boundary is a straight line. Then nodes sink towards their consumers where that shortens lines
(the idea of tight edges in Gansner, Koutsofios, North, Vo, "A technique for drawing directed graphs", 1993).
"""

from __future__ import annotations

from collections.abc import Sequence


def assign_ranks(
    parents: Sequence[Sequence[int]], cuts: Sequence[int], first: int, outs: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The row of each node, and the first row that belongs to each new split.

    Args:
        parents: per node its sources inside the block (smaller indices) or ports (negative).
        cuts: nodes that begin a new split, ascending.
        first: row number of the topmost nodes.
        outs: nodes whose value leaves the block at the bottom.
    """
    n = len(parents)
    ranks, floor, deepest = [first] * n, first, first - 1
    split_of = [0] * n
    bottoms: list[int] = []
    floors: list[int] = []
    starts = set(cuts)
    for i in range(n):
        if i in starts:
            bottoms.append(deepest)
            floor = deepest + 1
            floors.append(floor)
        rank = floor
        for p in parents[i]:
            if p >= 0 and ranks[p] >= rank:
                rank = ranks[p] + 1
        ranks[i], split_of[i] = rank, len(floors)
        deepest = max(deepest, rank)
    bottoms.append(deepest)
    _sink(ranks, parents, [bottoms[s] for s in split_of], set(outs))
    return ranks, floors


def _sink(ranks: list[int], parents: Sequence[Sequence[int]], bottom: Sequence[int], outs: set[int]) -> None:
    """Move nodes down to just above their first consumer where no line gets longer in exchange."""
    n = len(parents)
    consumers: dict[int, list[int]] = {}
    for i, sources in enumerate(parents):
        for p in sources:
            consumers.setdefault(p, []).append(i)
    # A chain of views hanging from nothing costs nothing wherever it stands: it sinks as a whole.
    loose = [False] * n
    for i, sources in enumerate(parents):
        loose[i] = all(p >= 0 and loose[p] and len(consumers[p]) == 1 and p not in outs for p in sources)
    for i in range(n - 1, -1, -1):
        below = [ranks[c] - 1 for c in consumers.get(i, ())]
        limit = min([bottom[i], *below]) if below or i in outs else ranks[i]
        if limit <= ranks[i]:
            continue
        # Lines of one value share a trunk, so a source pays only if this node is its lowest consumer.
        paying = (p for p in parents[i] if p not in outs and not loose[i])
        if not any(all(ranks[c] <= ranks[i] for c in consumers[p]) for p in paying):
            ranks[i] = limit
