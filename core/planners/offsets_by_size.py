"""The largest buffer first, each into the tightest hole."""

from __future__ import annotations

from .instance import Instance
from .orders import by_size
from .placing import HONOURS, as_plan, place_in_order
from .planner import Budget, Plan, Planner


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Place by size.

    Source: Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, section 5.1, and
    TensorFlow Lite's GreedyBySizeAssignment: among the placed buffers that share a step, sorted by offset, take the
    smallest hole that suffices, the lowest of equal ones; behind the last one when none does.
    """
    order = by_size(instance)
    return as_plan(instance, place_in_order(instance, order), order)


PLANNER = Planner(
    title="offsets by size",
    summary="The largest buffer first, into the tightest hole between placed buffers alive with it.",
    source="Pisarchyk & Lee 2020, greedy by size for offset calculation; TensorFlow Lite",
    run=run,
    honours=HONOURS,
    largest=100_000,
)
