"""Shared pools: buffers that never live together take turns in one stretch of memory, as large as the largest."""

from __future__ import annotations

import math

import numpy as np

from .instance import LARGEST, Instance
from .planner import Constraint, Plan, Refused

HONOURS = frozenset({Constraint.ALIGNMENT})
"""What planners with pools keep: every tenant begins at the start of its pool."""


def needed(instance: Instance) -> np.ndarray:
    """Which buffers need a pool: those with bytes and a lifetime."""
    return (instance.size > 0) & (instance.upper > instance.lower)


def ranks(instance: Instance) -> tuple[np.ndarray, np.ndarray, int]:
    """Lifetimes as ranges of birth steps (see kernels/runs.py), and levels of a tree over those."""
    steps = np.unique(instance.lower[needed(instance)])
    first, last = np.searchsorted(steps, instance.lower), np.searchsorted(steps, instance.upper)
    return first, last, max(1, len(steps) - 1).bit_length()


def as_plan(instance: Instance, pools: np.ndarray, order: np.ndarray) -> Plan:
    """The plan of pools: one behind the other, each at a multiple of its tenants' alignments.

    Args:
        instance: buffers.
        pools: by buffer, numbered from 0; -1 for those that need none, which lie at 0.
        order: in which they got their pools.

    Raises:
        Refused: alignments whose common multiple is beyond all addresses.
    """
    count = int(pools.max(initial=-1)) + 1
    inside = pools >= 0
    capacity = np.zeros(count, dtype=np.int64)
    np.maximum.at(capacity, pools[inside], instance.size[inside])
    pairs = np.unique(np.stack((pools[inside], instance.alignment[inside])), axis=1)
    alignment = [1] * count
    for pool, wanted in pairs.T.tolist():
        alignment[pool] = math.lcm(alignment[pool], wanted)
    starts, at = [], 0
    for size, multiple in zip(capacity.tolist(), alignment, strict=True):
        start = -(-at // multiple) * multiple
        starts.append(start)
        at = start + size
    if at > LARGEST:
        raise Refused("cannot share pools: the alignments in a pool have no common multiple below 2^62 bytes")
    offsets = np.zeros(len(instance), dtype=np.int64)
    offsets[inside] = np.array(starts, dtype=np.int64)[pools[inside]]
    return Plan(offsets, order=order, pools=pools)
