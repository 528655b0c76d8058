"""Blocks on one page, for pictures that cannot fold, such as the export to graphviz; pages use `dag_layout.js`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .kind import Kind

GAP = 34
"""Room between layers of a column, and for the layer's title."""
GUTTER = 60
"""Room between columns, where lines pass."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Page:
    """The top left corner of each block, the columns' edges, and the size of all."""

    corner: list[Point]
    column: list[int]
    left: list[float]
    right: list[float]
    width: float
    height: float


def place_blocks(kinds: Sequence[Kind], opens_layer: Sequence[bool], aspect: float = 1.6) -> Page:
    """Wrap blocks into columns so that the page comes out about `aspect` times as wide as high."""
    if not kinds:
        return Page([], [], [], [], 0.0, 0.0)
    total = sum(kind.height + GAP * opens for kind, opens in zip(kinds, opens_layer, strict=True))
    tallest = max(kind.height for kind in kinds) + GAP
    best: Page | None = None
    for count in range(1, min(len(kinds), 64) + 1):
        page = _wrap(kinds, opens_layer, max(tallest, total / count * 1.05))
        if best is None or _misfit(page, aspect) < _misfit(best, aspect):
            best = page
        if total / count < tallest:
            break
    assert best is not None
    return best


def _misfit(page: Page, aspect: float) -> float:
    """The side of the smallest page of the wanted shape that holds this one."""
    return max(page.width, page.height * aspect)


def _wrap(kinds: Sequence[Kind], opens_layer: Sequence[bool], limit: float) -> Page:
    tops, column, heights, members = [], [], [0.0], [list[Kind]()]
    for kind, opens in zip(kinds, opens_layer, strict=True):
        if members[-1] and heights[-1] + kind.height > limit:
            heights.append(0.0)
            members.append([])
        top = heights[-1] + (GAP if opens or not members[-1] else 0)
        tops.append(top)
        column.append(len(heights) - 1)
        heights[-1] = top + kind.height
        members[-1].append(kind)
    left, right, axes, at = [], [], [], 0.0
    for group in members:
        left.append(at)
        axes.append(at + max(kind.axis for kind in group))
        right.append(axes[-1] + max(kind.width - kind.axis for kind in group))
        at = right[-1] + GUTTER
    corner = [(axes[c] - kind.axis, top) for kind, c, top in zip(kinds, column, tops, strict=True)]
    return Page(corner, column, left, right, right[-1], max(heights))


def line_points(kind: Kind, line: tuple[int, int, int, list[int]], height_of: Sequence[int]) -> list[Point]:
    """A line of a block as a Bezier curve: a point, then three for each piece; straight past rows, bending between."""
    source, target, row, xs = line
    n = len(kind.x)
    last = row + len(xs) - 1
    y = float(kind.row_top[0] if source < 0 else kind.y[source] + height_of[source] / 2)
    points: list[Point] = [(xs[0], 0.0 if source < 0 else y)]
    if source < 0:
        points += straight(points[-1], (xs[0], y))
    for r in range(row + 1, last + 1):
        x = xs[r - row]
        end = kind.row_top[r] if r < last else kind.height if target >= n else kind.y[target] - height_of[target] / 2
        bend = min(26.0, (end - y) * 0.6)
        before = points[-1]
        points += [(before[0], y + bend), (x, end - bend), (x, end)]
        if r < last:
            y = kind.row_bottom[r]
            points += straight(points[-1], (x, y))
    return points


def straight(a: Point, b: Point) -> list[Point]:
    """A straight piece as the rest of a Bezier curve that has reached `a`."""
    return [a, b, b]


def link_points(page: Page, start: Point, end: Point, source: int, target: int) -> list[Point]:
    """From the bottom of one block to the top of a later one, around what lies between."""
    own, other = page.column[source], page.column[target]
    if own == other and target == source + 1:
        bend = min(30.0, abs(end[1] - start[1]) / 2)
        return [start, (start[0], start[1] + bend), (end[0], end[1] - bend), end]
    down, above = start[1] + 8, end[1] - GAP + 6
    if own == other:
        turns = [(page.right[own] + 14, down), (page.right[own] + 14, above)]
    else:
        entry = page.left[other] - GUTTER / 2
        turns = [(entry, down), (entry, above)]
        if other > own + 1:
            leave = page.right[own] + GUTTER / 2
            turns = [(leave, down), (leave, 4.0), (entry, 4.0), (entry, above)]
    points = [start]
    for corner in ((start[0], down), *turns, (end[0], above), end):
        points += straight(points[-1], corner)
    return points
