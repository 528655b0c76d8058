"""The buffer with most neighbours in time first, each into the lowest hole."""

from __future__ import annotations

from .instance import Instance
from .orders import by_conflicts
from .placing import HONOURS, as_plan, place_in_order
from .planner import Budget, Plan, Planner


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Place by number of conflicts.

    Source: TVM's USMP, GreedyConflicts: most conflicts first, then most bytes. TVM's own greedy then stacks a buffer on
    the highest placed one that it conflicts with and never looks below; here it takes the lowest hole, as TVM's hill
    climbing does with the same orders.
    """
    order = by_conflicts(instance)
    return as_plan(instance, place_in_order(instance, order, best_fit=False), order)


PLANNER = Planner(
    title="offsets by conflicts",
    summary="The buffer alive together with most others first, into the lowest hole that is large enough.",
    source="Apache TVM, USMP greedy_by_conflicts",
    run=run,
    honours=HONOURS,
    largest=100_000,
)
