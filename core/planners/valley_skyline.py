"""The planner for large sets: fill the valleys of a skyline, in several orders, and keep the lowest plan.

About n log n for each order; a hundred thousand buffers take a tenth of a second. The skyline is that of Burke, Kendall
and Whitwell, "A new placement heuristic for the orthogonal stock-cutting problem" (Operations Research, 2004), turned
from widths that may move to lifetimes that may not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .boxes import Boxed, Shapes, fitting, shapes_of
from .instance import Instance
from .jit import COMPILED, array, blank, column
from .kernels.contained import GONE, LEAF, Tree, build
from .kernels.skyline import PLACED, Line, fill, level
from .planner import Budget, Constraint, Plan, Planner

WORK = 800_000
"""Buffers placed in all rounds together, about."""

ROUNDS = (2, 100)
"""At least, for a large set, and at most, for a small one."""

SMALL = 5_000
"""Buffers up to which boxes are always tried."""

WORTH_BOXING = 0.2
"""Share of buffers that fit exactly to another one below which boxes are not tried."""

FEW_BOXES = 0.5
"""Boxes per buffer above which they are not placed."""

SLICE = 100_000 if COMPILED else 2_000
"""Buffers placed between two looks at the clock."""

MEMORY = 0.7
"""How much of what a round learned about sections that were too high is left after the next one."""

CROWDED = 16.0
"""Power of a section's live bytes in the weight of its steps: a hole there costs more than one where few are alive."""

TOO_HIGH = 32.0
"""Weight of what a round learned, in powers of e per bound above the bound."""

NOISE = (0.0, 0.02, 0.1, 0.3)
"""Spreads of the logarithm of a rank's random factor, in turn."""

SAME_NOISE = 8
"""Rounds before the next spread."""


class Setting(NamedTuple):
    """How ranks are made: the largest weighted lifetime ** life * bytes ** size first.

    Attributes:
        life: power of the lifetime, in sections that weigh what is alive in them ** `CROWDED`.
        size: power of bytes.
        touching: buffers that touch a wall of the valley come before all others.
    """

    life: float
    size: float
    touching: bool


FREE = (Setting(1.0, 0.0, False), Setting(1.0, 0.25, False))
TOUCHING = (Setting(0.5, 1.0, True), Setting(0.0, 1.0, True), Setting(1.0, 0.5, True), Setting(1.0, 1.0, True))
"""Of each kind the first is tried, then all of the better kind in turn: touching walls helps where little room is left
between buffers, and harms elsewhere."""


class Skyline:
    """One set of shapes, to be placed in any number of orders."""

    def __init__(self, shapes: Shapes) -> None:
        """Put the shapes into the order of the tree."""
        self.shapes = shapes
        count = len(shapes.size)
        self.points = np.argsort(_morton(shapes.first, shapes.end), kind="stable")
        leaves = 1
        while leaves * LEAF < count:
            leaves *= 2
        first, end = column(shapes.first[self.points]), column(shapes.end[self.points])
        nodes = [blank(2 * leaves, GONE) for _ in range(5)]
        self._tree = Tree._make((first, end, blank(count), *nodes, blank(128)))
        self._size, self._align = column(shapes.size[self.points]), column(shapes.align[self.points])
        sections = int(shapes.end.max())
        self._line = Line._make((*[blank(sections + 1) for _ in range(3)], blank(2), blank(count)))

    def place(self, order: np.ndarray, touching: bool, budget: Budget, in_any_case: bool = False) -> np.ndarray | None:
        """Offsets of the shapes, ranked in that order; None when the time was up and it need not be done in any case.

        Raises:
            Stopped: cancelled.
        """
        count = len(order)
        rank = np.empty(count, dtype=np.int64)
        rank[order] = np.arange(count)
        self._tree.rank[:] = column(rank[self.points])
        build(self._tree)
        level(self._line)
        while self._line.now[PLACED] < count:
            if budget.left() <= 0 and not in_any_case:
                return None
            until = min(count, int(self._line.now[PLACED]) + SLICE)
            fill(self._tree, self._size, self._align, touching, self._line, until)
        offsets = np.empty(count, dtype=np.int64)
        offsets[self.points] = array(self._line.offset)
        return offsets


class _Rounds:
    """Rounds over one set of shapes; each knows where the ones before were too high."""

    def __init__(self, shapes: Shapes, enough: int, budget: Budget) -> None:
        self.shapes = shapes
        self.enough = enough
        self.budget = budget
        self.skyline = Skyline(shapes)
        load = shapes.load()
        self.bound = int(load.max())
        self.lowest: int | None = None
        self.offsets = np.zeros(0, dtype=np.int64)
        self.placed = 0
        self._random = np.random.default_rng(budget.seed)
        self._crowded = CROWDED * np.log(np.maximum(load, 1) / self.bound)
        self._learned = np.zeros(len(load))

    def run(self, work: int, in_any_case: bool) -> None:
        """A round of each kind, then on with the better one; stops when it is low enough and when the time is up.

        Args:
            work: shapes to place, about.
            in_any_case: the first round is done even when the time is up.
        """
        rounds = min(max(ROUNDS[0], work // len(self.shapes.size)), ROUNDS[1])
        kind: tuple[Setting, ...] = FREE
        for number in range(rounds):
            setting = (FREE[0], TOUCHING[0])[number] if number < 2 else kind[number % len(kind)]
            order = self._ranked(setting, NOISE[number // SAME_NOISE % len(NOISE)])
            offsets = self.skyline.place(order, setting.touching, self.budget, in_any_case and not number)
            if offsets is None:
                return
            self.placed += len(offsets)
            tops = offsets + self.shapes.size
            peak = int(tops.max())
            if self.lowest is None or peak < self.lowest:
                self.lowest, self.offsets = peak, offsets
                kind = TOUCHING if setting.touching else FREE
                self.budget.say(f"valley skyline, round {number + 1}: {peak / self.bound:.4f} of the bound")
            if self.lowest <= self.enough or self.placed >= (self.budget.node_limit or self.placed + 1):
                return
            too_high = most_over(tops, self.shapes.first, self.shapes.end) / self.bound - 1
            self._learned = MEMORY * self._learned + TOO_HIGH * too_high

    def _ranked(self, setting: Setting, noise: float) -> np.ndarray:
        """The shapes, the largest first."""
        shapes = self.shapes
        power = self._crowded + self._learned
        weight = np.concatenate(([0.0], np.cumsum(np.exp(power - power.max()) + 1e-9)))
        life = weight[shapes.end] - weight[shapes.first]
        key = setting.life * np.log(life) + setting.size * np.log(shapes.size)
        return np.argsort(-key - self._random.normal(0, 1, len(key)) * noise, kind="stable")


def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan:
    """As low as a fixed number of rounds and the time allow, with one round at least; nodes are buffers placed.

    Ends at the bound, or at the capacity if there is one.

    Raises:
        Stopped: cancelled.
    """
    used, shapes, unit = shapes_of(instance)
    offsets = np.zeros(len(instance), dtype=np.int64)
    if not len(used):
        return Plan(offsets)
    enough = max(int(shapes.load().max()), (capacity or 0) // unit)
    placed, lowest = 0, None
    boxed = Boxed(shapes) if len(used) <= SMALL or fitting(shapes) >= WORTH_BOXING else None
    boxes = len(boxed.shapes.size) if boxed else 0
    if boxed and boxes <= (1.0 if len(used) <= SMALL else FEW_BOXES) * len(used):
        rounds = _Rounds(boxed.shapes, enough, budget)
        rounds.run(WORK // 2, True)
        placed, lowest = rounds.placed, rounds.lowest
        offsets[used] = boxed.spread(rounds.offsets) * unit
    may_go_on = budget.node_limit is None or placed < budget.node_limit
    if lowest is None or (lowest > enough and boxes < len(used) and may_go_on):
        rounds = _Rounds(shapes, enough, budget)
        rounds.run(WORK if lowest is None else WORK // 4, lowest is None)
        placed += rounds.placed
        if lowest is None or (rounds.lowest is not None and rounds.lowest < lowest):
            offsets[used] = rounds.offsets * unit
    return Plan(offsets, order=np.argsort(offsets, kind="stable"), nodes=placed)


def most_over(values: np.ndarray, first: np.ndarray, end: np.ndarray) -> np.ndarray:
    """At each section the largest value of those that cover it, 0 for none; each as two powers of two, n log n."""
    level = np.frexp(end - first)[1] - 1
    count = int(end.max(initial=0))
    found: np.ndarray = np.zeros(0, dtype=np.int64)
    for k in range(int(level.max(initial=0)), -1, -1):
        wider, found = found, np.zeros(count - (1 << k) + 1, dtype=np.int64)
        found[: len(wider)] = wider
        found[len(found) - len(wider) :] = np.maximum(found[len(found) - len(wider) :], wider)
        at = np.flatnonzero(level == k)
        np.maximum.at(found, first[at], values[at])
        np.maximum.at(found, end[at] - (1 << k), values[at])
    return found


def _morton(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The bits of two numbers below 2^31, interleaved: near points have near values."""
    return np.asarray(_apart(x) << 1 | _apart(y))


def _apart(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.int64)
    for shift, mask in ((16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F)):
        x = (x | x << shift) & mask
    x = (x | x << 2) & 0x3333333333333333
    return np.asarray((x | x << 1) & 0x5555555555555555)


PLANNER = Planner(
    "valley skyline",
    "Fills the valleys of a skyline over time with the best-ranked buffer that fits, in several orders.",
    'Burke, Kendall and Whitwell, "A new placement heuristic for the orthogonal stock-cutting problem", 2004',
    run,
    honours=frozenset({Constraint.ALIGNMENT}),
)
