"""Lifetimes in sections: the maximal cliques of the interval graph, in time order.

Two buffers share a section exactly when they share a step, and most steps add nothing: only where a start is followed
by an end is the set of living buffers a maximal one (Fulkerson and Gross 1965).
"""

from __future__ import annotations

import numpy as np


def sections(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """First section, the section after the last one, both counted from 0, and their number; lifetimes not empty.

    >>> first, end, count = sections(np.array([0, 1, 4]), np.array([2, 4, 6]))
    >>> first.tolist(), end.tolist(), count
    ([0, 0, 1], [1, 1, 2], 2)
    """
    steps = np.unique(np.concatenate((lower, upper)))
    born, dead = np.searchsorted(steps, lower), np.searchsorted(steps, upper)
    starts, ends = np.zeros(len(steps), dtype=bool), np.zeros(len(steps), dtype=bool)
    starts[born], ends[dead] = True, True
    # A section opens at the first start after an end. Ends before the start of the same step.
    ended = np.cumsum(ends)
    start_steps = np.flatnonzero(starts)
    opens = np.ones(len(start_steps), dtype=bool)
    opens[1:] = ended[start_steps[1:]] > ended[start_steps[:-1]]
    number = np.zeros(len(steps), dtype=np.int64)
    number[start_steps[opens]] = 1
    number = np.cumsum(number) - 1
    return number[born], number[dead - 1] + 1, int(opens.sum())


def parts(first: np.ndarray, end: np.ndarray, count: int) -> np.ndarray:
    """Each buffer's part: sections without a common buffer across their border belong to different parts."""
    across = np.zeros(count + 1, dtype=np.int64)
    np.add.at(across, first + 1, 1)
    np.add.at(across, end, -1)
    part = np.cumsum(np.cumsum(across)[:count] == 0) - 1
    return np.asarray(part[first])
