"""The order inside each row: long lines get a dummy in every row they pass, then crossings are reduced.

Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures" (1981): barycentre
sweeps, keeping the best order seen. Crossings are counted as inversions, after Barth, Juenger, Mutzel, "Simple and
efficient bilayer cross counting" (2002).

All lines of one value share one trunk of dummies, so a reader sees which lines carry the same value.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Rows:
    """A layered block. Vertices: nodes, then ports (entering values), then outs (leaving values), then dummies."""

    rows: list[list[int]]
    up: list[list[int]]
    down: list[list[int]]
    trunks: dict[int, dict[int, int]] = field(default_factory=dict)
    """Source vertex -> row -> the vertex that carries its value there."""
    n_real: int = 0
    """Vertices below this are nodes, ports and outs; the rest are dummies."""


def build_rows(
    ranks: Sequence[int], parents: Sequence[Sequence[int]], n_ports: int, outs: Sequence[int], *, dummies: bool = True
) -> Rows:
    """Place every vertex in its row and put dummies on lines that pass rows."""
    n = len(ranks)
    last = max(ranks, default=0) + 1
    row_of = [*ranks, *([0] * n_ports), *([last] * len(outs))]
    result = Rows([[] for _ in range(last + 1 if outs else last)], [], [], n_real=len(row_of))
    for v, row in enumerate(row_of):
        result.rows[row].append(v)
    result.up, result.down = [[] for _ in row_of], [[] for _ in row_of]
    lines = [(n - 1 - p if p < 0 else p, i) for i, sources in enumerate(parents) for p in sources]
    lines += [(source, n + n_ports + k) for k, source in enumerate(outs)]
    for source, target in sorted(lines, key=lambda line: row_of[line[1]]) if dummies else ():
        trunk = result.trunks.setdefault(source, {row_of[source]: source})
        carrier = source
        for row in range(row_of[source] + 1, row_of[target]):
            if row not in trunk:
                trunk[row] = len(result.up)
                result.up.append([carrier])
                result.down.append([])
                result.down[carrier].append(trunk[row])
                result.rows[row].append(trunk[row])
            carrier = trunk[row]
        result.down[carrier].append(target)
        result.up[target].append(carrier)
    if not dummies:
        for source, target in lines:
            result.up[target].append(source)
    return result


def order_rows(g: Rows, sweeps: int) -> int:
    """Reorder `g.rows` in place; returns the number of crossings left, -1 when `sweeps` is 0: one sweep, uncounted."""
    place = [0] * len(g.up)
    for row in g.rows:
        for k, v in enumerate(row):
            place[v] = k
    if sweeps == 0:
        _sweep(g.rows, g.up, place)
        return -1
    best = crossings(g, place)
    kept = [list(row) for row in g.rows]
    for sweep in range(sweeps):
        if best == 0:
            break
        if sweep % 2 == 0:
            _sweep(g.rows, g.up, place)
        else:
            _sweep(reversed(g.rows), g.down, place)
        count = crossings(g, place)
        if count < best:
            best, kept = count, [list(row) for row in g.rows]
    g.rows[:] = kept
    return best


def _sweep(rows: Iterable[list[int]], near: Sequence[Sequence[int]], place: list[int]) -> None:
    """Sort each row by the mean place of its neighbours in the row before it."""
    for row in rows:
        if len(row) < 2:
            continue
        keys: dict[int, float] = {}
        for v in row:
            side = near[v]
            # Vertices without neighbours on that side keep their place among the others.
            keys[v] = (
                (place[side[0]] if len(side) == 1 else sum(place[u] for u in side) / len(side)) if side else place[v]
            )
        row.sort(key=keys.__getitem__)
        for k, v in enumerate(row):
            place[v] = k


def crossings(g: Rows, place: Sequence[int]) -> int:
    """The number of pairs of lines that cross between neighbouring rows.

    Lines are taken by their upper end; each crosses those before it that end further right. Those are found by
    bisection in the sorted ends seen so far: O(E log E) for a pair of rows, as with the accumulator tree.
    """
    total = 0
    for upper in g.rows:
        seen: list[int] = []
        for v in upper:
            below = g.down[v]
            if not below:
                continue
            ends = [place[u] for u in below]
            for end in ends:
                total += len(seen) - bisect_right(seen, end)
            for end in ends:
                insort(seen, end)
    return total
