"""The lower bound and what hangs on it, against counting step by step."""

import numpy as np
from hypothesis import given

from galloscope.core.planners.bound import (
    Live,
    blockers,
    fixed_top,
    live_bytes,
    lower_bound,
    peak_bytes,
    tops,
)
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.planner import ALL, Plan
from galloscope.tests.core.planners.instances import instances, load, windows

THREE = Instance.of([0, 2, 4], [4, 6, 8], [10, 20, 30], ids=["a", "b", "c"])


def test_change_points_of_three() -> None:
    curve = live_bytes(THREE)
    assert curve.steps.tolist() == [0, 2, 4, 6, 8]
    assert curve.bytes.tolist() == [10, 30, 50, 30, 0]
    assert (curve.bound, curve.peaks(), curve.peak_step(), curve.area) == (50, [(4, 6)], 4, 240)
    assert [curve.at(step) for step in (-1, 0, 3, 5, 7, 8)] == [0, 10, 30, 50, 30, 0]


def test_a_birth_at_the_step_of_a_death_is_no_peak() -> None:
    assert lower_bound(Instance.of([0, 3], [3, 5], [7, 7])) == 7


def test_equal_heights_are_one_range() -> None:
    assert live_bytes(Instance.of([0, 3, 9], [3, 5, 10], [7, 7, 7])).peaks() == [(0, 5), (9, 10)]


def test_nothing_alive() -> None:
    curve = live_bytes(Instance.of([1], [1], [5]))
    assert (curve.bound, curve.peaks(), curve.peak_step(), curve.area, curve.at(1)) == (0, [], 0, 0, 0)


def test_blockers_are_the_buffers_at_a_step_by_their_bytes_there() -> None:
    assert [one.buffer for one in blockers(THREE, 5)] == [2, 1]
    gapped = Instance.of([0, 0], [9, 9], [100, 40], gaps={0: (Gap(3, 5, 10, 25), Gap(5, 6))})
    assert blockers(gapped, 4) == [(1, 40), (0, 15)]
    assert blockers(gapped, 5) == [(1, 40)]


def test_a_gap_counts_with_its_window() -> None:
    gapped = Instance.of([0, 3], [9, 5], [100, 40], gaps={0: (Gap(3, 5, 10, 25),)})
    assert live_bytes(gapped).bytes.tolist() == [100, 55, 100, 0]


def test_peak_adds_up_the_chunks() -> None:
    plan = Plan(np.array([0, 10, 5]), np.array([0, 0, 3]))
    assert tops(THREE, plan) == {0: 30, 3: 35}
    assert peak_bytes(THREE, plan) == 65


def test_what_is_never_alive_needs_nothing() -> None:
    idle = Instance.of([0, 1], [2, 1], [8, 100])
    assert peak_bytes(idle, Plan(np.array([0, 0]))) == 8


def test_fixed_top() -> None:
    assert fixed_top(Instance.of([0, 0], [1, 1], [8, 8], fixed=[-1, 100])) == 108
    assert fixed_top(Instance.of([0], [1], [8])) == 0


@given(instances(ALL))
def test_bound_and_blockers_equal_the_count_step_by_step(instance: Instance) -> None:
    curve = live_bytes(instance)
    assert curve.bound == lower_bound(instance) == load(instance)
    assert not len(curve.bytes) or curve.bytes[-1] == 0
    for step in {step for k in range(len(instance)) for step, _, _ in windows(instance, k)}:
        there = blockers(instance, step)
        assert sum(one.bytes for one in there) == curve.at(step)
    for begin, end in curve.peaks():
        assert all(curve.at(step) == curve.bound for step in (begin, end - 1))
        assert curve.at(end) < curve.bound
        assert curve.at(begin - 1) < curve.bound


def test_sums_beyond_53_bits_are_exact() -> None:
    huge = Instance.of([0] * 3, [1 << 60] * 3, [(1 << 50) + 1] * 3)
    assert lower_bound(huge) == 3 * ((1 << 50) + 1)
    assert live_bytes(huge).area == (1 << 60) * 3 * ((1 << 50) + 1)


def test_an_empty_curve_is_one() -> None:
    assert isinstance(live_bytes(Instance.of([], [], [])), Live)
