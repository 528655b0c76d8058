"""Hill climbing over the order of placing: swaps of buffers that are placed before the one on top of the peak."""

from __future__ import annotations

import random

import numpy as np

from .bound import fixed_top, lower_bound, peak_bytes
from .instance import Instance
from .orders import conflicts
from .placing import HONOURS, Placer, as_plan
from .planner import Budget, Plan, Planner

ATTEMPTS = 500
"""Placements without a node limit, as in TVM."""
FAR = 75
"""Percent of swaps whose second buffer is a neighbour's neighbour, as in TVM."""


def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan:
    """Start by size, swap around the peak, keep the best.

    Source: TVM's USMP, hill_climb.cc: largest first, of equal ones the one with most conflicts, each into the lowest
    hole; then one buffer whose end is the peak is drawn, and among its conflicts placed before it one is swapped with
    another of them or with an earlier conflict of such a conflict. TVM keeps a larger plan now and then; here one that
    is not larger is kept and all others are taken back. It ends at the bound, at the capacity if there is one, after
    500 placements (or the node limit), or when time is up.

    Raises:
        Stopped: the user cancelled.
    """
    placer = Placer(instance)
    order = np.lexsort((-conflicts(instance), -instance.size))
    enough = max(lower_bound(instance), fixed_top(instance), capacity or 0)
    limit = budget.node_limit or ATTEMPTS
    addresses = placer.place(order, best_fit=False)
    peak = peak_bytes(instance, as_plan(instance, addresses, None))
    neighbourhood = _Neighbourhood(instance, placer.needed & (instance.fixed < 0), random.Random(budget.seed))
    nodes = 1
    while peak > enough and nodes < limit and budget.left() > 0:
        nodes += 1
        pair = neighbourhood.swap(order, addresses)
        if pair is None:
            continue
        one, other = pair
        order[[one, other]] = order[[other, one]]
        tried = placer.place(order, best_fit=False)
        reached = peak_bytes(instance, as_plan(instance, tried, None))
        if reached <= peak:
            if reached < peak:
                budget.say(f"hill climbing: {reached} bytes after {nodes} placements")
            addresses, peak = tried, reached
        else:
            order[[one, other]] = order[[other, one]]
    return as_plan(instance, addresses, order, nodes)


class _Neighbourhood:
    """Who lives together with whom, and draws among them."""

    def __init__(self, instance: Instance, movable: np.ndarray, luck: random.Random) -> None:
        self._instance = instance
        self._movable = movable
        self._luck = luck

    def swap(self, order: np.ndarray, addresses: np.ndarray) -> tuple[int, int] | None:
        """Two positions of the order to swap, None when this draw gives none."""
        instance = self._instance
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        ends = np.where(self._movable, addresses + instance.size, -1)
        tops = np.flatnonzero(ends == ends.max())
        near = self._before(self._draw(tops), position)
        if not len(near):
            return None
        one = self._draw(near)
        far = near
        if self._luck.randrange(100) < FAR:
            far = self._before(self._draw(near), position)
        far = far[far != one]
        if not len(far):
            return None
        return int(position[one]), int(position[self._draw(far)])

    def _before(self, buffer: int, position: np.ndarray) -> np.ndarray:
        """Buffers that share a step with it and are placed earlier."""
        instance = self._instance
        together = (instance.lower < instance.upper[buffer]) & (instance.upper > instance.lower[buffer])
        return np.flatnonzero(together & self._movable & (position < position[buffer]))

    def _draw(self, buffers: np.ndarray) -> int:
        return int(buffers[self._luck.randrange(len(buffers))])


PLANNER = Planner(
    title="hill climbing",
    summary="From the order by size: swaps buffers placed before the one on top of the peak, keeps what is not worse.",
    source="Apache TVM, USMP hill_climb",
    run=run,
    honours=HONOURS,
    largest=20_000,
)
