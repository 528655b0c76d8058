"""No re-use: every buffer has bytes of its own."""

from __future__ import annotations

import numpy as np

from .instance import Instance
from .placing import HONOURS, as_plan, place_in_order
from .planner import Budget, Plan, Planner


def run(instance: Instance, _capacity: int | None, _budget: Budget) -> Plan:
    """Stack all buffers in the order in which they stand, as if all were alive at once.

    What other planners save is measured against this. Buffers without bytes or lifetime get no bytes here either; only
    fixed buffers share some, where their offsets say so.
    """
    order = np.arange(len(instance), dtype=np.int64)
    real = (instance.size > 0) & (instance.upper > instance.lower)
    starts, ends = _runs(instance, real & (instance.fixed >= 0))
    free = np.flatnonzero(real & (instance.fixed < 0))
    count = len(starts) + len(free)
    at_once = Instance.of(
        np.zeros(count, dtype=np.int64),
        np.ones(count, dtype=np.int64),
        np.concatenate((ends - starts, instance.size[free])),
        ids=(*(f"fixed at {start}" for start in starts), *(instance.ids[index] for index in free)),
        alignment=np.concatenate((np.ones_like(starts), instance.alignment[free])),
        fixed=np.concatenate((starts, instance.fixed[free])),
        hint=np.concatenate((np.full_like(starts, -1), instance.hint[free])),
        max_chunk=instance.max_chunk,
    )
    addresses = np.maximum(instance.fixed, 0)
    addresses[free] = place_in_order(at_once, np.arange(count), best_fit=False)[len(starts) :]
    return as_plan(instance, addresses, order)


def _runs(instance: Instance, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and end addresses of the fixed buffers, those that share bytes as one."""
    runs: list[list[int]] = []
    for start, size in sorted(zip(instance.fixed[fixed].tolist(), instance.size[fixed].tolist(), strict=True)):
        if runs and start < runs[-1][1]:
            runs[-1][1] = max(runs[-1][1], start + size)
        else:
            runs.append([start, start + size])
    starts, ends = np.array(runs, dtype=np.int64).reshape(-1, 2).T
    return starts, ends


PLANNER = Planner(
    title="no re-use",
    summary="Every buffer gets bytes of its own, one behind the other.",
    source="the sum of all buffers, which planners save from",
    run=run,
    honours=HONOURS,
)
