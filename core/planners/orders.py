"""Orders in which greedy planners place buffers: every index once; ties go to the buffer that stands first."""

from __future__ import annotations

import numpy as np

from .instance import Instance
from .placing import segments


def by_birth(instance: Instance) -> np.ndarray:
    """Earliest first step first."""
    return np.argsort(instance.lower, kind="stable")


def by_size(instance: Instance) -> np.ndarray:
    """Most bytes first."""
    return np.argsort(-instance.size, kind="stable")


def by_lifetime(instance: Instance) -> np.ndarray:
    """Longest lifetime first, of equal ones the larger."""
    return np.lexsort((-instance.size, instance.lower - instance.upper))


def by_conflicts(instance: Instance) -> np.ndarray:
    """Most buffers alive at a common step first, of equal ones the larger."""
    return np.lexsort((-instance.size, -conflicts(instance)))


def conflicts(instance: Instance) -> np.ndarray:
    """For each buffer, how many others are alive at one of its steps: all but those dead before and born after."""
    lives = instance.upper > instance.lower
    lower, upper = np.sort(instance.lower[lives]), np.sort(instance.upper[lives])
    dead = np.searchsorted(upper, instance.lower, side="right")
    unborn = len(lower) - np.searchsorted(lower, instance.upper, side="left")
    return np.where(lives, len(lower) - dead - unborn - 1, 0)


def by_breadth(instance: Instance) -> np.ndarray:
    """All that is alive at the step with most live bytes, largest first; then at the next such step, and so on.

    Only steps at which a buffer begins to need bytes matter: what is alive between them was alive at the one before.
    """
    _, lower, upper, bottom, top = (np.array(values, dtype=np.int64) for values in segments(instance))
    steps = np.unique(np.concatenate((lower, instance.lower)))
    change = np.zeros(len(steps) + 1, dtype=np.int64)
    np.add.at(change, np.searchsorted(steps, lower), top - bottom)
    np.add.at(change, np.searchsorted(steps, upper), bottom - top)
    rank = np.empty(len(steps), dtype=np.int64)
    rank[np.argsort(-np.cumsum(change)[:-1], kind="stable")] = np.arange(len(steps))
    first = np.searchsorted(steps, instance.lower)
    last = np.searchsorted(steps, instance.upper)
    return np.lexsort((-instance.size, _least(rank, first, last)))


def _least(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The least of values[first:last], by doubling; the number of values where that is empty."""
    least = np.full(len(first), len(values), dtype=np.int64)
    length = last - first
    width, table = 1, values
    while width <= len(values):
        here = (length >= width) & (length < 2 * width)
        least[here] = np.minimum(table[first[here]], table[last[here] - width])
        table = np.minimum(table[:-width], table[width:])
        width *= 2
    return least
