"""The drawing of one block. Blocks of equal structure share one, so a hundred equal layers cost one layout."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from .coords import assign_x, centre_rows
from .order import Rows, build_rows, order_rows
from .ranks import assign_ranks

NODE_W, NODE_H = 136, 32
"""Size of an op that computes."""
VIEW_W, VIEW_H = 118, 18
"""Size of a view op: it is free, so it is small."""
TAG_H = 13
"""What a node grows by for each input that it names because the input has no line."""
ROW_GAP = 16
"""Room between rows, where lines bend."""
STRIP_H = 26
"""Room for a split boundary: the line, its label and its copies."""
STRIP_W = 330
"""A block with a boundary is at least this wide, so that the label can be read."""
PAD = 14
"""Room around a block's drawing."""
_PORT = 4.0


@dataclass(frozen=True, slots=True)
class Shape:
    """All of a block that its drawing depends on; equal shapes share one drawing.

    Nodes count from 0 in execution order.
    """

    parents: tuple[tuple[int, ...], ...]
    """Per node its sources: nodes of the block, or port -1 - k for the k-th value that enters from above."""
    views: tuple[bool, ...]
    """Per node whether it is a view op."""
    tags: tuple[int, ...]
    """Per node how many inputs it names."""
    cuts: tuple[int, ...]
    """Nodes that begin a new split; 0 among them when the block begins with a boundary."""
    ports: int
    """Values that enter from above."""
    outs: tuple[int, ...]
    """Nodes whose value is used in a later block."""

    def height(self, node: int) -> int:
        """Of the node's box."""
        return (VIEW_H if self.views[node] else NODE_H) + TAG_H * self.tags[node]


@dataclass(frozen=True)
class Kind:
    """The finished drawing of a shape; coordinates from the block's top left corner, y downward."""

    width: int
    height: int
    x: list[int]
    """Centre of each node."""
    y: list[int]
    """Centre of each node."""
    port_x: list[int]
    out_x: list[int]
    row_top: list[int]
    row_bottom: list[int]
    lines: list[tuple[int, int, int, list[int]]]
    """(source, target, row of the source, x in each row from source to target); ports are -1 - k, outs n + k."""
    boundaries: list[int]
    """y of the straight line of each split boundary, in order."""
    crossings: int

    @cached_property
    def axis(self) -> int:
        """Where the main value enters or leaves: blocks of a column are aligned on it."""
        ends = self.port_x[:1] or self.out_x[:1] or self.x[:1]
        return ends[0] if ends else self.width // 2


class Effort(Enum):
    """How much work one drawing is worth: a graph without repetition has a thousand of them."""

    FULL = 8
    """So many sweeps against crossings, four alignments."""
    QUICK = 0
    """One sweep, two alignments."""
    SKETCH = -1
    """One sweep; rows are centred and lines run straight to their ends, through whatever lies between."""


def layout_block(shape: Shape, effort: Effort = Effort.FULL) -> Kind:
    """Rows, order, coordinates."""
    n = len(shape.parents)
    inner = tuple(c for c in shape.cuts if c > 0)
    ranks, floors = assign_ranks(shape.parents, inner, 1 if shape.ports else 0, shape.outs)
    sketch = effort is Effort.SKETCH
    g = build_rows(ranks, shape.parents, shape.ports, shape.outs, dummies=not sketch)
    left_over = order_rows(g, max(0, effort.value))
    half = [*((VIEW_W if view else NODE_W) / 2 for view in shape.views), *([_PORT] * (len(g.up) - n))]
    x = centre_rows(g, half) if sketch else assign_x(g, half, careful=effort is Effort.FULL)
    low = min((x[v] - half[v] for v in range(len(x))), default=0.0)
    high = max((x[v] + half[v] for v in range(len(x))), default=0.0)
    width = max(high - low, STRIP_W if shape.cuts else 0)
    shift = PAD - low + (width - (high - low)) / 2
    at = [round(value + shift) for value in x]
    top, bottom, boundaries = _rows(shape, g, floors, ranks)
    return Kind(
        width=round(width) + 2 * PAD,
        height=(bottom[-1] if bottom else 0) + (0 if shape.outs else ROW_GAP // 2),
        x=at[:n],
        y=[(top[r] + bottom[r]) // 2 for r in ranks],
        port_x=at[n : n + shape.ports],
        out_x=at[n + shape.ports : g.n_real],
        row_top=top,
        row_bottom=bottom,
        lines=_lines(shape, g, ranks, at),
        boundaries=boundaries,
        crossings=left_over,
    )


def _rows(shape: Shape, g: Rows, floors: list[int], ranks: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Top and bottom of each row and the y of each boundary; `floors` = the first row of each new split."""
    heights = [0] * len(g.rows)
    for v, row in enumerate(ranks):
        heights[row] = max(heights[row], shape.height(v))
    top, bottom, boundaries = [], [], []
    y = 0 if shape.ports else ROW_GAP // 2
    if 0 in shape.cuts:
        boundaries.append(0)
        y += STRIP_H
    for r, height in enumerate(heights):
        if r in floors:
            boundaries.append(y - ROW_GAP // 2)
            y += STRIP_H
        top.append(y)
        bottom.append(y + height)
        y += height + (ROW_GAP if height or r == 0 else 0)
    return top, bottom, boundaries


def _lines(shape: Shape, g: Rows, ranks: list[int], x: list[int]) -> list[tuple[int, int, int, list[int]]]:
    n, last = len(ranks), len(g.rows) - 1
    ends = [(p, i) for i, sources in enumerate(shape.parents) for p in dict.fromkeys(sources)]
    ends += [(source, n + k) for k, source in enumerate(shape.outs)]
    lines = []
    for source, target in ends:
        vertex = n - 1 - source if source < 0 else source
        first = 0 if source < 0 else ranks[source]
        end = last if target >= n else ranks[target]
        a, b = x[vertex], x[target + shape.ports if target >= n else target]
        trunk = g.trunks.get(vertex)
        if trunk:
            passed = [x[trunk[r]] for r in range(first, end)]
        else:
            passed = [a + (b - a) * (r - first) // (end - first) for r in range(first, end)]
        lines.append((source, target, first, [*passed, b]))
    return lines
