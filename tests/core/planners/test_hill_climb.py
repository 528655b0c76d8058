"""Hill climbing: better than where it starts, repeatable, and within its limits."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core.planners.bound import lower_bound, peak_bytes
from galloscope.core.planners.hill_climb import ATTEMPTS, PLANNER
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.orders import conflicts
from galloscope.core.planners.placing import as_plan, place_in_order
from galloscope.core.planners.planner import ALL, Budget, Plan, Stopped
from galloscope.core.planners.validate import validate
from galloscope.tests.core.planners.instances import instances


def climb(instance: Instance, capacity: int | None = None, **limits: int) -> Plan:
    found = PLANNER.run(instance, capacity, Budget(time_limit=None, **limits))  # type: ignore[arg-type]
    assert isinstance(found, Plan)
    return found


def tangle(seed: int, count: int = 60) -> Instance:
    luck = np.random.default_rng(seed)
    lower = luck.integers(0, 40, count)
    return Instance.of(lower, lower + luck.integers(1, 20, count), luck.integers(1, 100, count))


def start_peak(instance: Instance) -> int:
    order = np.lexsort((-conflicts(instance), -instance.size))
    return peak_bytes(instance, as_plan(instance, place_in_order(instance, order, best_fit=False), order))


def test_at_the_bound_it_has_nothing_to_climb() -> None:
    found = climb(Instance.of([0, 0], [1, 1], [8, 4]))
    assert found.nodes == 1
    assert found.offsets.tolist() == [0, 8]


def test_it_climbs() -> None:
    gained = [start_peak(tangle(seed)) - peak_bytes(tangle(seed), climb(tangle(seed))) for seed in range(5)]
    assert min(gained) >= 0
    assert sum(gained) > 0


def test_its_order_gives_its_plan() -> None:
    instance = tangle(7)
    found = climb(instance)
    assert found.order is not None
    assert sorted(found.order.tolist()) == list(range(len(instance)))
    assert place_in_order(instance, found.order, best_fit=False).tolist() == found.offsets.tolist()


def test_a_seed_repeats_and_another_differs() -> None:
    instance = tangle(3)
    plans = [climb(instance, seed=seed).offsets.tolist() for seed in (1, 1, 2, 3, 4)]
    assert plans[0] == plans[1]
    assert any(plan != plans[0] for plan in plans[2:])


def test_limits() -> None:
    instance = tangle(3)
    assert start_peak(instance) > lower_bound(instance)
    assert climb(instance, node_limit=1).nodes == 1
    assert climb(instance, node_limit=7).nodes == 7
    assert climb(instance).nodes <= ATTEMPTS
    late = Budget(time_limit=0.0)
    found = PLANNER.run(instance, None, late)
    assert isinstance(found, Plan)
    assert found.nodes == 1


def test_a_capacity_is_enough() -> None:
    instance = tangle(3)
    assert climb(instance, capacity=start_peak(instance)).nodes == 1


def test_more_nodes_are_never_worse() -> None:
    instance = tangle(11)
    peaks = [peak_bytes(instance, climb(instance, node_limit=limit)) for limit in (1, 20, 100, 400)]
    assert peaks == sorted(peaks, reverse=True)


def test_it_can_be_cancelled() -> None:
    with pytest.raises(Stopped):
        PLANNER.run(tangle(3), None, Budget(cancelled=lambda: True, started=time.perf_counter()))


@settings(deadline=None, max_examples=60)
@given(instances(ALL), st.integers(0, 5))
def test_every_plan_is_valid(instance: Instance, seed: int) -> None:
    found = climb(instance, seed=seed, node_limit=40)
    assert validate(instance, found).good
    assert peak_bytes(instance, found) >= lower_bound(instance)
