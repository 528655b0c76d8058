"""Search attempts at one capacity: many short runs of the same complete search, each in another order.

How long a run takes depends wildly on the order of its options (heavy tails), so runs are cut short and started anew
with limits that follow Luby, Sinclair and Zuckerman, "Optimal speedup of Las Vegas algorithms" (1993). A run that ends
by itself is a proof, whatever its order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .jit import COMPILED, blank, column, read, records, write
from .kernels.valley_runs import BUFFER, FRAME, MOST, MOVE, NODES, NOW, PICK, PINNED, SECTION, Work, clear
from .kernels.valley_search import BLAMED, FEWEST, FOUND, IMPOSSIBLE, LIMIT, LOWEST, NARROWEST, SHALLOWEST, search
from .planner import Budget

FIRST_RUN = 8
"""Nodes of the shortest run, per buffer; it needs one per buffer to succeed."""

SAME_LIMIT = 8
"""Runs per step of Luby's sequence."""

SLICE = 50_000 if COMPILED else 1_000
"""Nodes between two looks at the clock."""


class Shape(NamedTuple):
    """Buffers of one part in units of bytes, sections counted from 0; columns as `Board` has them."""

    start: np.ndarray
    end: np.ndarray
    steps: np.ndarray
    size: np.ndarray
    align: np.ndarray
    fixed: np.ndarray
    latest: np.ndarray
    hint: np.ndarray
    sections: int


@dataclass
class Attempt:
    """What is known about one part at one capacity.

    Attributes:
        offsets: units, None while no plan is known.
        impossible: a run was complete without finding one.
        nodes: visited in all runs.
    """

    offsets: np.ndarray | None = None
    impossible: bool = False
    nodes: int = 0

    @property
    def decided(self) -> bool:
        """Nothing is left to do."""
        return self.impossible or self.offsets is not None


class Portfolio:
    """Runs on one part at one capacity, to be continued any time."""

    def __init__(self, shape: Shape, seed: int) -> None:
        """Make what all runs share."""
        self.shape = shape
        self.attempt = Attempt()
        self.runs = 0
        self._mirrored = 0
        self._random = np.random.default_rng(seed)
        self._taste = _Taste(self._random)
        count, sections = len(shape.size), shape.sections
        roof = int((shape.latest + shape.size).max(initial=0))
        load = np.zeros(sections + 1, dtype=np.int64)
        np.add.at(load, shape.start, shape.size)
        np.add.at(load, shape.end, -shape.size)
        slack = roof - np.cumsum(load)[:sections]
        if (slack < 0).any() or (shape.latest < np.maximum(shape.fixed, 0)).any():
            self.attempt.impossible = True
        self._slack = np.concatenate(([0], slack, [0]))
        same = (shape.latest + shape.size == roof).all() and (shape.align == 1).all()
        self._swap = bool(same and (shape.fixed < 0).all())
        self._pinned = np.flatnonzero(shape.fixed >= 0)
        looks = (shape.start, shape.end, shape.size, shape.align, shape.fixed, shape.latest, shape.hint)
        self._alike = np.unique(np.stack(looks), axis=1, return_inverse=True)[1].reshape(-1)
        moves = 8 * count + 16 * sections + 64
        self._work = Work(
            records(BUFFER, count),
            records(SECTION, sections + 3),
            blank(2 * count + len(self._pinned)),
            blank(int((shape.end - shape.start).sum()) + 1),
            records(FRAME, moves),
            records(MOVE, moves),
            blank(NOW),
        )
        columns = (shape.size, shape.align, shape.fixed, shape.latest, shape.hint)
        for name, values in zip(("size", "align", "fixed", "latest", "hint"), columns, strict=True):
            write(self._work.buffers, name, values)

    def go_on(self, nodes: int, budget: Budget) -> Attempt:
        """Runs of about so many nodes together, fewer when the time is up or the question is decided."""
        attempt, until = self.attempt, self.attempt.nodes + nodes
        while not attempt.decided and attempt.nodes < until and budget.left() > 0:
            self._run(min(until - attempt.nodes, self._limit()), budget)
        return attempt

    def _limit(self) -> int:
        self.runs += 1
        return FIRST_RUN * len(self.shape.size) * luby(1 + (self.runs - 1) // SAME_LIMIT)

    def _run(self, limit: int, budget: Budget) -> None:
        self._order()
        work, attempt = self._work, self.attempt
        clear(work)
        end = LIMIT
        while end == LIMIT and work.now[NODES] < limit and budget.left() > 0:
            end = search(work, min(SLICE, limit - int(work.now[NODES])))
        attempt.nodes += int(work.now[NODES]) + 1
        if end == FOUND:
            attempt.offsets = read(work.buffers, "offset")
        attempt.impossible = end == IMPOSSIBLE
        self._taste.learn(work.now[MOST] / len(self.shape.size))

    def _order(self) -> None:
        """One order of the buffers, in one of the two directions of time."""
        shape, random, work = self.shape, self._random, self._work
        key, pick, fill, mirrored, cling = self._taste.choose()
        count, sections = len(shape.size), shape.sections
        start, end, slack, blame = shape.start + 1, shape.end + 1, self._slack, read(work.sections, "blame")
        if mirrored:
            start, end, slack = sections + 2 - end, sections + 2 - start, slack[::-1]
        if mirrored != self._mirrored:
            blame[: sections + 2] = blame[: sections + 2][::-1].copy()
            self._mirrored = mirrored
        luck = np.exp(random.normal(0, random.uniform(*NOISE), count))
        order = np.argsort(-KEYS[key](shape, random) * luck, kind="stable")
        rank = np.empty(count, dtype=np.int64)
        rank[order] = np.arange(count)
        starting = order[np.argsort(start[order], kind="stable")]
        ending = order[np.argsort(end[order], kind="stable")]
        borders = np.arange(sections + 3)
        first, last = np.searchsorted(start[starting], borders), np.searchsorted(end[ending] - 1, borders)
        rows = {"start": start, "end": end, "twin": self._twins(order), "rank": rank}
        for name, values in rows.items():
            write(work.buffers, name, values)
        rows = {"slack": np.append(slack, 0), "blame": blame, "first": first, "last": count + last}
        for name, values in rows.items():
            write(work.sections, name, values)
        work.members[:] = column(np.concatenate((starting, ending, self._pinned)))
        work.now[PICK : PINNED + 1] = column([PICKS[pick], fill, self._swap, cling, sections, 2 * count])

    def _twins(self, order: np.ndarray) -> np.ndarray:
        """Of each buffer the one of equal shape just before it in the order, -1 for none."""
        by_kind = order[np.argsort(self._alike[order], kind="stable")]
        twin = np.full(len(order), -1, dtype=np.int64)
        same = self._alike[by_kind[1:]] == self._alike[by_kind[:-1]]
        twin[by_kind[1:][same]] = by_kind[:-1][same]
        return twin


class _Taste:
    """Chooses the settings of runs: those more often under which runs came further.

    Orders differ from instance to instance by more than a hundred in their chance of success; how many buffers a run
    placed before it was cut says which are good long before one succeeds. The key is judged alone, each other setting
    together with the key it was used with.
    """

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._sums = [np.zeros((SETTINGS[0], count)) for count in SETTINGS]
        self._counts = [np.zeros((SETTINGS[0], count)) for count in SETTINGS]
        self._chosen = [0] * len(SETTINGS)
        self._learnt = True

    def choose(self) -> list[int]:
        """An index into each of KEYS, PICKS, fill, mirrored and cling: learnt ones and any in turn."""
        self._learnt = not self._learnt
        if not self._learnt:
            self._chosen = [int(self._random.integers(count)) for count in SETTINGS]
            return self._chosen
        key = self._drawn(self._sums[0].sum(0), self._counts[0].sum(0))
        self._chosen = [key]
        for sums, counts in zip(self._sums[1:], self._counts[1:], strict=True):
            all_sums, all_counts = sums.sum(0), counts.sum(0)
            mean = all_sums / np.maximum(all_counts, 1)  # as if seen once with this key
            self._chosen.append(self._drawn(sums[key] + mean, counts[key] + (all_counts > 0)))
        return self._chosen

    def _drawn(self, sums: np.ndarray, counts: np.ndarray) -> int:
        """One of the settings never used, else one by how far it led, to the power of EAGER."""
        if (counts == 0).any():
            weights = np.where(counts == 0, 1.0, 0.0)
        else:
            mean = sums / counts
            weights = np.maximum((mean / mean.max()) ** EAGER, RESERVE)
        return int(self._random.choice(len(weights), p=weights / weights.sum()))

    def learn(self, share: float) -> None:
        """The run with the settings last chosen placed this share of its buffers."""
        for sums, counts, index in zip(self._sums, self._counts, self._chosen, strict=True):
            sums[self._chosen[0], index] += share
            counts[self._chosen[0], index] += 1


EAGER, RESERVE = 5.0, 0.03

NOISE = (0.05, 0.5)
"""Least and most spread of the logarithm of a key's random factor."""


def _area(shape: Shape, random: np.random.Generator) -> np.ndarray:
    return np.asarray(np.multiply(shape.size, shape.end - shape.start, dtype=np.float64))


def _width(shape: Shape, random: np.random.Generator) -> np.ndarray:
    return np.asarray((shape.end - shape.start) + shape.size / (1.0 + shape.size.max(initial=1)))


def _height(shape: Shape, random: np.random.Generator) -> np.ndarray:
    return np.asarray(shape.size, dtype=np.float64)


def _bytes_by_steps(shape: Shape, random: np.random.Generator) -> np.ndarray:
    return np.asarray(np.multiply(shape.size, shape.steps, dtype=np.float64))


def _mixture(shape: Shape, random: np.random.Generator) -> np.ndarray:
    width = (shape.end - shape.start) ** random.uniform(0, 1.5)
    return np.asarray(shape.size ** random.uniform(0, 1.5) * width)


PICKS = (LOWEST, NARROWEST, SHALLOWEST, FEWEST, BLAMED)

KEYS = (_area, _width, _height, _bytes_by_steps, _mixture)
"""What is tried first: the largest by one of these, times a little luck."""

SETTINGS = (len(KEYS), len(PICKS), 2, 2, 2)


def luby(k: int) -> int:
    """Luby's sequence from k = 1.

    >>> [luby(k) for k in range(1, 16)]
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    while True:
        power = k.bit_length()
        if k == (1 << power) - 1:
            return 1 << (power - 1)
        k -= (1 << (power - 1)) - 1
