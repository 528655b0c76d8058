"""Shared pools by size, in stages: of buffers of about one size the one nearest in time to a pool's tenant first."""

from __future__ import annotations

import numpy as np

from .instance import Instance
from .jit import array, blank, column
from .kernels.stages import ALWAYS, NEVER, NONE, colour_by_stages, depths
from .orders import by_size
from .planner import Budget, Plan, Planner
from .pooling import HONOURS, as_plan, needed, ranks


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Give pools by size with the improved choice of pools.

    Source: Pisarchyk & Lee 2020, section 4.4 (greedy by size improved), and TensorFlow Lite's
    GreedyBySizeDistPriorityAssignment. The k-th positional maximum is the largest k-th largest size at any step: a
    lower bound of the k-th largest pool. Sizes between two of them are one stage, and within it order is free: the
    pair of a buffer and a pool with the fewest idle steps between the buffer and a tenant comes first, of equal ones
    the larger buffer. A buffer that suits no pool opens one.
    """
    mask = needed(instance)
    everything = by_size(instance)
    order = everything[mask[everything]]
    if not len(order):
        return as_plan(instance, np.full(len(instance), NONE, dtype=np.int64), everything)
    lower, upper = instance.lower, instance.upper
    by_end, by_start = order[np.argsort(upper[order], kind="stable")], order[np.argsort(lower[order], kind="stable")]
    end_rank, start_rank = np.zeros((2, len(instance)), dtype=np.int64)
    end_rank[by_end] = start_rank[by_start] = np.arange(len(order))
    leaves = 1 << (len(order) + 1).bit_length()
    pools, placed = blank(len(instance), NONE), blank(len(order))
    by_buffer = (
        column(lower),
        column(upper),
        column(instance.size),
        column(np.searchsorted(upper[by_end], lower, side="right")),
        column(1 + np.searchsorted(lower[by_start], upper, side="left")),
    )
    ranked = column(by_end), column(end_rank), column(by_start), column(start_rank)
    trees = blank(2 * leaves, NEVER), blank(2 * leaves, ALWAYS)
    scratch = [blank(len(instance)) for _ in range(6)]
    given = (column(order), column(_stages(instance, order)), *by_buffer, *ranked, *trees, *scratch, pools, placed)
    colour_by_stages(*given)
    return as_plan(instance, array(pools), np.concatenate((array(placed), np.flatnonzero(~mask))))


def _stages(instance: Instance, order: np.ndarray) -> np.ndarray:
    """For each position the number of the last positional maximum that is no less than the size, less one.

    The k-th largest size at some step is no less than s exactly if k buffers of such sizes are alive there at once.
    """
    first, last, levels = ranks(instance)
    depth = blank(len(order))
    depths(column(order), column(first), column(last), 1 << levels, blank(2 << levels), blank(2 << levels), depth)
    size = instance.size[order]
    last_of_equals = np.searchsorted(-size, -size, side="right") - 1
    found: np.ndarray = array(depth)[last_of_equals]
    return found


PLANNER = Planner(
    title="pools by size",
    summary="Stages of about equal sizes, largest first; within one the buffer nearest in time to a pool's tenant.",
    source="Pisarchyk & Lee 2020, greedy by size improved for shared objects; TensorFlow Lite",
    run=run,
    honours=HONOURS,
    largest=20_000,
)
