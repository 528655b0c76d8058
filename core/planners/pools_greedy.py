"""Interval colouring: buffers by birth, each into the first pool whose last tenant is dead."""

from __future__ import annotations

import numpy as np

from .instance import LARGEST, Instance
from .jit import array, blank, column
from .kernels.colour import colour_by_birth
from .orders import by_birth
from .planner import Budget, Plan, Planner
from .pooling import HONOURS, as_plan, needed


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Colour by birth, of equal births as they stand.

    It needs no more pools than buffers are alive at once, the fewest possible (an interval graph is perfect), but looks
    at no size: a pool is as large as its largest tenant. Source: the planner of textbooks and of many an article on
    static memory planning; greedy colouring of interval graphs, Gavril 1972.
    """
    order = by_birth(instance)
    order = order[needed(instance)[order]]
    pools = blank(len(instance), -1)
    leaves = 1 << len(instance).bit_length()
    colour_by_birth(column(order), column(instance.lower), column(instance.upper), blank(2 * leaves, -LARGEST), pools)
    return as_plan(instance, array(pools), np.concatenate((order, np.flatnonzero(~needed(instance)))))


PLANNER = Planner(
    title="pools by birth",
    summary="Colours the interval graph: in order of birth, the first pool whose last tenant is dead.",
    source="greedy interval colouring (Gavril 1972), the shared pools of many articles",
    run=run,
    honours=HONOURS,
)
