"""Where to cut a graph into pieces that are drawn, folded and compared on their own.

Two levels: a *layer* is what a reader folds and counts (a transformer layer, or a piece of a graph that has
no layer numbers); a *section* is what one layered drawing shows. A layer is cut into sections at its waists,
positions over which a single value flows: in a transformer that is the residual stream between attention
and feed-forward, so the cuts fall where an engineer would put them, and columns fill evenly.

All positions index the graph's nodes in execution order; intervals are half-open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIN_SECTION = 6
"""Nodes a section should have at least; smaller pieces are not worth a seam."""
SMALL_GRAPH = 12
"""A graph with at most so many nodes is cut finer, so that it can stand in columns and be read."""
SMALL_SECTION = 3
"""Least nodes of a section there."""
MAX_SECTION = 56
"""Nodes a section may have at most: bounds the work of one layered drawing."""
PIECE = 40
"""Nodes of a layer where the graph has no layer numbers."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A run of nodes that folds to one box; `number` is the transformer layer, -1 for pieces without one."""

    number: int
    title: str
    start: int
    end: int


def crossing_values(parents: Sequence[Sequence[int]]) -> list[int]:
    """How many values are alive between node p - 1 and node p, for each p (entry 0 is 0).

    >>> crossing_values([[], [0], [0, 1], [2]])
    [0, 1, 2, 1]
    """
    n = len(parents)
    last_use = list(range(n))
    for i, sources in enumerate(parents):
        for p in sources:
            last_use[p] = i
    steps = [0] * (n + 1)
    for i, last in enumerate(last_use):
        if last > i:
            steps[i + 1] += 1
            steps[last + 1] -= 1
    crossing, alive = [], 0
    for p in range(n):
        alive += steps[p]
        crossing.append(alive)
    return crossing


def cut_layers(numbers: Sequence[int], splits: Sequence[int], crossing: Sequence[int]) -> list[Layer]:
    """Cut the nodes into layers by their numbers, or into pieces where the numbers say nothing.

    A node without a number belongs to the layer before it: llama.cpp leaves many nodes unnamed inside a layer.
    """
    n = len(numbers)
    numbered = [i for i, number in enumerate(numbers) if number >= 0]
    if not numbered:
        return _pieces(0, n, splits, crossing)
    first, last = numbered[0], numbered[-1] + 1
    runs = _runs(numbers, first, last)
    if last - first < 3 * len(runs) and len(runs) > 1:  # interleaved numbers: folding by them would be confetti
        return _pieces(0, n, splits, crossing)
    seen: set[int] = set()
    layers = []
    if first:
        layers.append(Layer(-1, "input", 0, first))
    for number, start, end in runs:
        layers.append(Layer(number, f"layer {number}" + (" again" if number in seen else ""), start, end))
        seen.add(number)
    if last < n:
        layers.append(Layer(-1, "output", last, n))
    return layers


def cut_sections(start: int, end: int, crossing: Sequence[int], least: int = MIN_SECTION) -> list[tuple[int, int]]:
    """Cut one layer into sections at single-value waists, and by force where it would grow too large."""
    sections = []
    while end - start > least:
        stop = min(end - least, start + MAX_SECTION)
        waist = next((p for p in range(start + least, stop + 1) if crossing[p] == 1), -1)
        if waist < 0:
            if end - start <= MAX_SECTION:
                break
            waist = _best_cut(start + MAX_SECTION // 2, stop, crossing)
        sections.append((start, waist))
        start = waist
    if end > start:
        sections.append((start, end))
    return sections


def _runs(numbers: Sequence[int], first: int, last: int) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    number, start = numbers[first], first
    for i in range(first, last):
        if numbers[i] >= 0 and numbers[i] != number:
            runs.append((number, start, i))
            number, start = numbers[i], i
    runs.append((number, start, last))
    return runs


def _pieces(start: int, n: int, splits: Sequence[int], crossing: Sequence[int]) -> list[Layer]:
    """About PIECE nodes each, cut at a split boundary where one is near, else where few values cross."""
    layers = []
    while start < n:
        end = n
        if n - start > PIECE * 3 // 2:
            low, high = start + PIECE // 2, start + PIECE * 3 // 2
            boundaries = [p for p in range(low, high) if splits[p] != splits[p - 1]]
            end = (
                min(boundaries, key=lambda p: abs(p - start - PIECE)) if boundaries else _best_cut(low, high, crossing)
            )
        title = f"nodes {start}–{end - 1}" if end - start > 1 else f"node {start}"
        layers.append(Layer(-1, title, start, end))
        start = end
    return layers


def _best_cut(low: int, high: int, crossing: Sequence[int]) -> int:
    middle = (low + high) // 2
    return min(
        range(low, high + 1), key=lambda p: (crossing[p], abs(p - middle)) if p < len(crossing) else (1 << 30, 0)
    )
