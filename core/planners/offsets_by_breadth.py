"""The fullest step first: all its buffers by size, each into the tightest hole."""

from __future__ import annotations

from .instance import Instance
from .orders import by_breadth
from .placing import HONOURS, as_plan, place_in_order
from .planner import Budget, Plan, Planner


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Place by breadth.

    Source: Pisarchyk & Lee 2020, section 5.2: the breadth of an operator is the bytes alive at it; operators by
    descending breadth, within one its buffers by descending size; holes as in greedy by size.
    """
    order = by_breadth(instance)
    return as_plan(instance, place_in_order(instance, order), order)


PLANNER = Planner(
    title="offsets by breadth",
    summary="The step with most live bytes first: its buffers by size, into the tightest hole; then the next step.",
    source="Pisarchyk & Lee 2020, greedy by breadth for offset calculation",
    run=run,
    honours=HONOURS,
    largest=100_000,
)
