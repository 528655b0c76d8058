"""Online: memory is taken at birth from the tightest free block and given back at death."""

from __future__ import annotations

from .instance import Instance
from .orders import by_birth
from .placing import HONOURS, as_plan, place_in_order
from .planner import Budget, Plan, Planner


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Take and give back in the order of steps; at one step the dead give back first, then the born take in order.

    Placing in order of birth among all earlier ones alive at a common step sees exactly the free blocks an online
    allocator would: whoever was born earlier and shares a step is alive at the birth. Of equal holes the lowest; the
    open end only when no hole suffices, as ggml_dyn_tallocr_alloc (ggml-alloc.c) does. Fixed buffers, known beforehand,
    are kept clear from the start.
    """
    order = by_birth(instance)
    return as_plan(instance, place_in_order(instance, order), order)


PLANNER = Planner(
    title="best fit by birth",
    summary="Online, in order of birth: the tightest free block, given back at death; the open end when none suffices.",
    source="best fit of ggml_dyn_tallocr_alloc, without its in-place reuse",
    run=run,
    honours=HONOURS,
    largest=100_000,
)
