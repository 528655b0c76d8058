"""The longest-lived buffer first, each into the tightest hole."""

from __future__ import annotations

from .instance import Instance
from .orders import by_lifetime
from .placing import HONOURS, as_plan, place_in_order
from .planner import Budget, Plan, Planner


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Place by lifetime.

    Source: XLA's heap simulator, GlobalDecreasingSizeBestFitHeap with kTemporal: longest live range first, then most
    bytes; the smallest free chunk that fits.
    """
    order = by_lifetime(instance)
    return as_plan(instance, place_in_order(instance, order), order)


PLANNER = Planner(
    title="offsets by lifetime",
    summary="The longest-lived buffer first, then the larger, into the tightest hole (temporal first).",
    source="XLA heap simulator, GlobalDecreasingSizeBestFitHeap (temporal)",
    run=run,
    honours=HONOURS,
    largest=100_000,
)
