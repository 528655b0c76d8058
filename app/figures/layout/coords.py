"""The x position of every vertex, its order given.

Brandes and Koepf, "Fast and simple horizontal coordinate assignment" (2001): vertices are chained into straight
vertical runs with their median neighbour, four times (from above and below, leaning left and right); each time the
runs are packed tightly, and a vertex takes the middle of its four places. Lines over several rows run straight.
The packing follows longest paths between runs, which Brandes, Walter and Zink recommend in their erratum (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .order import Rows

DUMMY_GAP = 12.0
"""Distance between two lines that pass a row, in drawing units."""
NODE_GAP = 14.0
"""Distance between two nodes of a row, in drawing units."""


def assign_x(g: Rows, half: Sequence[float], *, careful: bool = True) -> list[float]:
    """Centre line of each vertex; `half` is half the width of each. Two drawings instead of four unless `careful`."""
    place = [0] * len(g.up)
    for row in g.rows:
        for k, v in enumerate(row):
            place[v] = k
    kinked = _conflicts(g, place)
    found = []
    for near, rows in ((g.up, g.rows), (g.down, g.rows[::-1]))[: 2 if careful else 1]:
        sorted_near = [sorted(side, key=place.__getitem__) for side in near]
        for mirrored in (False, True):
            view = [row[::-1] for row in rows] if mirrored else rows
            run_of = _runs(view, sorted_near, place, kinked, mirrored)
            x = _pack(g, view, run_of, half)
            found.append([-value for value in x] if mirrored else x)
    return _balance(found, half)


def centre_rows(g: Rows, half: Sequence[float]) -> list[float]:
    """Each row packed around the middle: what remains when there is no time for more."""
    x = [0.0] * len(g.up)
    for row in g.rows:
        at = -sum(half[v] for v in row) - NODE_GAP * (len(row) - 1) / 2
        for v in row:
            x[v] = at + half[v]
            at += 2 * half[v] + NODE_GAP
    return x


def _conflicts(g: Rows, place: Sequence[int]) -> set[tuple[int, int]]:
    """Lines that cross a line between two dummies: they yield, so that long lines stay straight."""
    yielding = set()
    for upper, lower in pairwise(g.rows):
        low, scanned = -1, 0
        for k, v in enumerate(lower):
            inner = next((u for u in g.up[v] if u >= g.n_real), -1) if v >= g.n_real else -1
            if inner < 0 and k < len(lower) - 1:
                continue
            high = place[inner] if inner >= 0 else len(upper)
            for w in lower[scanned : k + 1]:
                for u in g.up[w]:
                    if not low <= place[u] <= high and not (u >= g.n_real and w >= g.n_real):
                        yielding.add((u, w))
            low, scanned = (high, k + 1) if inner >= 0 else (low, scanned)
    return yielding


def _runs(
    rows: Sequence[Sequence[int]],
    near: Sequence[Sequence[int]],
    place: Sequence[int],
    kinked: set[tuple[int, int]],
    mirrored: bool,
) -> list[int]:
    """The first vertex of the vertical run that each vertex belongs to."""
    run_of = list(range(len(place)))
    taken = [False] * len(place)
    sign = -1 if mirrored else 1
    for row in rows[1:]:
        reached: float = float("-inf")
        for v in row:
            side = near[v]
            if not side:
                continue
            middle = (len(side) - 1) // 2, len(side) // 2
            for m in reversed(middle) if mirrored else middle:
                u = side[m]
                if not taken[u] and reached < sign * place[u] and (u, v) not in kinked and (v, u) not in kinked:
                    run_of[v] = run_of[u]
                    taken[u] = True
                    reached = sign * place[u]
                    break
    return run_of


def _pack(g: Rows, rows: Sequence[Sequence[int]], run_of: Sequence[int], half: Sequence[float]) -> list[float]:
    """Place runs from the left as tightly as their rows allow, then let each move right up to its neighbours."""
    after: dict[int, dict[int, float]] = {}
    waiting: dict[int, int] = {}
    n_real = g.n_real
    for row in rows:
        for v in row:
            after.setdefault(run_of[v], {})
            waiting.setdefault(run_of[v], 0)
        for u, v in pairwise(row):
            gap = half[u] + half[v] + (NODE_GAP if u < n_real and v < n_real else DUMMY_GAP)
            a, b = run_of[u], run_of[v]
            if b not in after[a]:
                waiting[b] += 1
            after[a][b] = max(gap, after[a].get(b, 0.0))
    ready = [run for run, count in waiting.items() if count == 0]
    at = dict.fromkeys(after, 0.0)
    for run in ready:  # grows while we walk: a topological order
        for other, gap in after[run].items():
            at[other] = max(at[other], at[run] + gap)
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    for run in reversed(ready):
        if after[run]:
            at[run] = max(at[run], min(at[other] - gap for other, gap in after[run].items()))
    return [at[run] for run in run_of]


def _balance(found: Sequence[list[float]], half: Sequence[float]) -> list[float]:
    """Lay the four drawings over each other, aligned to the narrowest, and take the mean of the middle two."""
    if not found[0]:
        return []
    lows = [min(value - h for value, h in zip(x, half, strict=True)) for x in found]
    highs = [max(value + h for value, h in zip(x, half, strict=True)) for x in found]
    narrow = min(range(len(found)), key=lambda k: highs[k] - lows[k])
    moved = []
    for k, x in enumerate(found):
        leans_left = k % 2 == 0
        shift = lows[narrow] - lows[k] if leans_left else highs[narrow] - highs[k]
        moved.append([value + shift for value in x])
    if len(moved) == 2:
        return [(a + b) / 2 for a, b in zip(*moved, strict=True)]
    return [sum(sorted(four)[1:3]) / 2 for four in zip(*moved, strict=True)]
