"""Two-level segregated fit in one arena, over births and deaths in order of steps."""

from __future__ import annotations

import math

import numpy as np

from .instance import LARGEST, Instance
from .jit import array, blank, column
from .kernels.segregated import LISTS, NONE, SPARE, STATE, plan_segregated
from .planner import Budget, Constraint, Plan, Planner
from .pooling import needed


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Open each buffer at its birth and close it at its death; at one step closings come first, each in order.

    Source: Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems" (2004), as tinygrad's memory
    planner uses it (engine/memory.py, runtime/support/allocator.py): 32 lists per power of two, the oldest block of
    the lowest class in which every block suffices, the rest split off, neighbours joined when freed. tinygrad rounds
    all sizes up to 4096 bytes; here they are rounded up to the alignment that all buffers share.
    """
    alive = np.flatnonzero(needed(instance))
    unit = math.gcd(*instance.alignment[alive].tolist()) or 1
    size = -(-instance.size // unit)
    steps = np.concatenate((instance.upper[alive], instance.lower[alive]))
    events = np.concatenate((-1 - alive, alive))[np.argsort(steps, kind="stable")]
    arena = 4 * LARGEST // unit  # every buffer adds its bytes and alignment at most, so the open end always suffices
    rows = [blank(2 * len(alive) + 2) for _ in range(7)]
    state = blank(STATE)
    state[SPARE] = NONE
    blocks, offsets = blank(len(instance)), blank(len(instance))
    buffers = column(events), column(size), column(instance.alignment // unit)
    given = (*buffers, arena, *rows, blank(LISTS, NONE), blank(LISTS, NONE), state, blocks, offsets)
    plan_segregated(*given)
    order = np.concatenate((events[events >= 0], np.flatnonzero(~needed(instance))))
    return Plan(array(offsets) * unit, order=order)


PLANNER = Planner(
    title="two-level segregated fit",
    summary="An allocator at work: births and deaths in order of steps, free blocks in lists by size class.",
    source="TLSF (Masmano et al. 2004) as in tinygrad's memory planner",
    run=run,
    honours=frozenset({Constraint.ALIGNMENT}),
)
