"""Shared pools, the fullest step first: the smallest free pool that holds the buffer, else the largest, which grows."""

from __future__ import annotations

import numpy as np

from .instance import Instance
from .jit import array, blank, column
from .kernels.colour import POOLS, colour_by_fit
from .kernels.runs import GIVEN, STORE
from .orders import by_breadth
from .planner import Budget, Plan, Planner
from .pooling import HONOURS, as_plan, needed, ranks


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Give pools by breadth.

    Source: Pisarchyk & Lee 2020, section 4.2, and TensorFlow Lite's GreedyByBreadthAssignment: operators by descending
    bytes alive at them, within one its buffers by descending size; of pools without a tenant in the buffer's lifetime
    the smallest that is large enough, else the largest one, which grows, else a new one. Of equal pools the first.
    """
    everything = by_breadth(instance)
    order = everything[needed(instance)[everything]]
    first, last, levels = ranks(instance)
    count = len(instance)
    buffers = column(first), column(last), column(instance.size)
    cells = [blank(16 * count + 16 * levels) for _ in range(2)]
    lists = [blank(4 << levels) for _ in range(3)]
    store, pools = blank(STORE + 1, -1), blank(count, -1)
    store[GIVEN] = store[POOLS] = 0
    scratch = [blank(2 * levels + 2) for _ in range(2)] + [blank(count + 1) for _ in range(5)]
    turns, reached = column(order), 0
    while reached < len(order):
        given = (turns, reached, *buffers, 1 << levels, *cells, *lists, store, *scratch, pools)
        reached = colour_by_fit(*given)
        if reached < len(order):
            cells = [column(np.tile(array(cell), 2)) for cell in cells]
    return as_plan(instance, array(pools), np.concatenate((order, np.flatnonzero(~needed(instance)))))


PLANNER = Planner(
    title="pools by breadth",
    summary="The step with most live bytes first: the smallest free pool that is large enough, else the largest.",
    source="Pisarchyk & Lee 2020, greedy by breadth for shared objects; TensorFlow Lite",
    run=run,
    honours=HONOURS,
    largest=100_000,
)
