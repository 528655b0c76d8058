"""Planners that place through one loop: scenarios worked by hand, and best fit against an allocator at work."""

import numpy as np
import pytest
from hypothesis import given, settings

from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Budget, Plan
from galloscope.tests.core.planners.instances import instances

DECODER = Instance.of([0, 1, 1, 2, 3, 4, 4, 5], [2, 3, 3, 4, 5, 6, 6, 6], [128, 64, 64, 128, 128, 128, 128, 128])
"""The eight tensors of a decoder layer, in MiB."""
STAIRS = Instance.of([0, 1, 2, 0], [2, 3, 4, 4], [4, 6, 5, 2])
"""Three that overlap in turn and one that lives throughout; 12 are necessary in the middle, 13 at step 2."""


def plan(name: str, instance: Instance) -> Plan:
    found = PLANNERS[name].run(instance, None, Budget())
    assert isinstance(found, Plan)
    return found


@pytest.mark.parametrize(
    ("name", "offsets"),
    [
        ("offsets_by_size", [0, 128, 192, 0, 128, 0, 256, 128]),
        # steps 4 and 5 are the fullest: T4, T5, T6, T7; then step 1: T0, T1, T2; T3 meets T4 at 0 and T1, T2 at 128
        ("offsets_by_breadth", [0, 128, 192, 256, 0, 128, 256, 0]),
        ("best_fit_by_birth", [0, 128, 192, 0, 128, 0, 256, 128]),
    ],
)
def test_the_decoder_layer(name: str, offsets: list[int]) -> None:
    assert plan(name, DECODER).offsets.tolist() == offsets


@pytest.mark.parametrize(
    ("name", "order", "offsets"),
    [
        ("offsets_by_size", [1, 2, 0, 3], [6, 0, 6, 11]),
        ("offsets_by_breadth", [1, 2, 3, 0], [6, 0, 6, 11]),
        ("offsets_by_conflicts", [1, 3, 2, 0], [8, 0, 8, 6]),
        ("offsets_by_lifetime", [3, 1, 2, 0], [8, 2, 8, 0]),
        ("best_fit_by_birth", [0, 3, 1, 2], [0, 6, 12, 4]),
        ("naive", [0, 1, 2, 3], [0, 4, 10, 15]),
    ],
)
def test_stairs(name: str, order: list[int], offsets: list[int]) -> None:
    found = plan(name, STAIRS)
    assert found.order is not None
    assert found.order.tolist() == order
    assert found.offsets.tolist() == offsets


def test_by_size_takes_the_tightest_hole_by_conflicts_the_lowest() -> None:
    """Six walls leave holes of 6 at 10 and of 4 at 26 once their neighbours are dead; the last one needs 4."""
    instance = Instance.of([0, 0, 0, 0, 0, 3], [5, 2, 5, 2, 5, 4], [10, 6, 10, 4, 10, 4], fixed=[0, 10, 16, 26, 30, -1])
    assert plan("offsets_by_size", instance).offsets.tolist()[5] == 26
    assert plan("offsets_by_conflicts", instance).offsets.tolist()[5] == 10


def test_without_reuse_fixed_buffers_keep_their_offsets() -> None:
    """Two of them share bytes at different times, which nobody can forbid."""
    instance = Instance.of([0, 1, 0, 0], [1, 2, 2, 2], [8, 8, 3, 8], fixed=[4, 6, -1, -1])
    assert plan("naive", instance).offsets.tolist() == [4, 6, 0, 14]


@settings(deadline=None)
@given(instances())
def test_best_fit_by_birth_is_an_allocator_at_work(instance: Instance) -> None:
    """A list of free blocks, taken from at births and given back to at deaths."""
    free = [(0, 1 << 62)]
    offsets = [0] * len(instance)
    real = [k for k in range(len(instance)) if instance.size[k] and instance.lower[k] < instance.upper[k]]
    events = sorted([(int(instance.upper[k]), 0, k) for k in real] + [(int(instance.lower[k]), 1, k) for k in real])
    for _, born, k in events:
        size = int(instance.size[k])
        if born:
            start, end = min((block for block in free if block[1] - block[0] >= size), key=lambda b: (b[1] - b[0], b))
            free.remove((start, end))
            free.append((start + size, end))
            offsets[k] = start
        else:
            start, end = offsets[k], offsets[k] + size
            for block in [block for block in free if block[1] == start or block[0] == end]:
                free.remove(block)
                start, end = min(start, block[0]), max(end, block[1])
            free.append((start, end))
        free = sorted(block for block in free if block[0] < block[1])
    assert plan("best_fit_by_birth", instance).offsets.tolist() == offsets


@settings(deadline=None)
@given(instances())
def test_without_reuse_the_peak_is_the_sum(instance: Instance) -> None:
    found = plan("naive", instance)
    real = (instance.size > 0) & (instance.upper > instance.lower)
    ends = np.where(real, found.offsets + instance.size, 0)
    assert int(ends.max(initial=0)) == int(instance.size[real].sum())
