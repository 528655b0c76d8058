"""Planners with shared pools: the decoder layer of the article, scenarios, and slow references."""

import numpy as np
import pytest
from hypothesis import given, settings

from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.orders import by_birth, by_breadth
from galloscope.core.planners.planner import Budget, Constraint, Plan
from galloscope.tests.core.planners.instances import instances

MIB = 1 << 20
DECODER = Instance.of(
    [0, 1, 1, 2, 3, 4, 4, 5], [2, 3, 3, 4, 5, 6, 6, 6], [128 * MIB, 64 * MIB, 64 * MIB, *[128 * MIB] * 5]
)
"""Eight tensors; at step 4 three of 128 MiB are alive, so 384 MiB are necessary."""


def plan(name: str, instance: Instance) -> Plan:
    found = PLANNERS[name].run(instance, None, Budget())
    assert isinstance(found, Plan)
    return found


def pools(name: str, instance: Instance) -> list[int]:
    found = plan(name, instance).pools
    assert found is not None
    return list(map(int, found))


def test_the_decoder_layer_needs_three_pools_of_128_mib() -> None:
    found = plan("pools_greedy", DECODER)
    assert pools("pools_greedy", DECODER) == [0, 1, 2, 0, 1, 0, 2, 1]
    assert (found.offsets // MIB).tolist() == [0, 128, 256, 0, 128, 0, 256, 128]
    assert int((found.offsets + DECODER.size).max()) == 384 * MIB
    saved = 1 - 384 * MIB / int(DECODER.size.sum())
    assert f"{saved:.2%}" == "57.14%"


def test_the_decoder_layer_by_size() -> None:
    assert int((plan("pools_by_size", DECODER).offsets + DECODER.size).max()) == 384 * MIB


def test_the_decoder_layer_by_breadth() -> None:
    """T4, T5, T6 open three pools, T7 and T0 take the first, T1 and T2 the others; so T3 meets somebody in each."""
    assert pools("pools_by_breadth", DECODER) == [0, 1, 2, 3, 0, 1, 2, 0]
    assert int((plan("pools_by_breadth", DECODER).offsets + DECODER.size).max()) == 512 * MIB


def test_by_birth_looks_at_no_size() -> None:
    """A small one opens each pool, a large one makes both as large."""
    instance = Instance.of([0, 0, 1, 2], [1, 1, 2, 3], [1, 1, 100, 100])
    assert pools("pools_greedy", instance) == [0, 1, 0, 0]
    instance = Instance.of([0, 0, 1, 1], [2, 1, 2, 2], [1, 1, 100, 100])
    assert pools("pools_greedy", instance) == [0, 1, 1, 2]
    assert plan("pools_greedy", instance).offsets.tolist() == [0, 1, 1, 101]


def test_by_breadth_takes_the_smallest_pool_that_holds_it() -> None:
    """Step 0 opens pools of 9, 5 and 3; then 4 takes the one of 5, and the 6 that follows the one of 9."""
    instance = Instance.of([0, 0, 0, 1, 2], [1, 1, 1, 2, 3], [9, 5, 3, 4, 6])
    assert pools("pools_by_breadth", instance) == [0, 1, 2, 1, 0]


def test_by_breadth_grows_the_largest_pool_when_none_holds_it() -> None:
    instance = Instance.of([0, 0, 1], [1, 1, 2], [5, 3, 7])
    assert pools("pools_by_breadth", instance) == [0, 1, 0]
    assert plan("pools_by_breadth", instance).offsets.tolist() == [0, 7, 0]


def test_by_size_takes_the_nearest_in_time() -> None:
    """All of one stage: the one that follows at once goes before the one that stands first."""
    instance = Instance.of([0, 0, 5, 2], [2, 4, 7, 3], [8, 8, 8, 8])
    found = plan("pools_by_size", instance)
    assert found.order is not None
    assert found.order.tolist() == [0, 3, 2, 1]
    assert pools("pools_by_size", instance) == [0, 1, 0, 0]


def test_by_size_goes_by_stages() -> None:
    """The maxima are 8 and 4: the last waits for nobody below 8, then 1 goes before 4, which has no pool to be near."""
    instance = Instance.of([0, 0, 1, 9], [1, 1, 2, 10], [8, 4, 1, 8])
    found = plan("pools_by_size", instance)
    assert found.order is not None
    assert found.order.tolist() == [0, 3, 2, 1]


def test_pools_keep_the_alignments_of_all_tenants() -> None:
    instance = Instance.of([0, 0, 1, 1], [1, 1, 2, 2], [5, 5, 5, 5], alignment=[2, 4, 1, 6])
    assert pools("pools_greedy", instance) == [0, 1, 0, 1]
    assert plan("pools_greedy", instance).offsets.tolist() == [0, 12, 0, 12]


def test_no_pool_for_what_needs_none() -> None:
    instance = Instance.of([0, 0, 3], [2, 2, 3], [8, 0, 8])
    for name in ("pools_greedy", "pools_by_size", "pools_by_breadth"):
        assert pools(name, instance) == [0, -1, -1]
        order = plan(name, instance).order
        assert order is not None
        assert order.tolist() == [0, 1, 2]


@settings(deadline=None)
@given(instances(frozenset({Constraint.ALIGNMENT})))
def test_by_birth_uses_as_many_pools_as_are_alive_at_once(instance: Instance) -> None:
    real = (instance.size > 0) & (instance.upper > instance.lower)
    first_fit: list[int] = []
    expected = [-1] * len(instance)
    for k in by_birth(instance)[real[by_birth(instance)]].tolist():
        free = [pool for pool, until in enumerate(first_fit) if until <= instance.lower[k]]
        expected[k] = free[0] if free else len(first_fit)
        first_fit[expected[k] : expected[k] + 1] = [int(instance.upper[k])]
    assert pools("pools_greedy", instance) == expected
    steps = range(int(instance.lower.min(initial=0)), int(instance.upper.max(initial=0)))
    alive = [int((real & (instance.lower <= step) & (step < instance.upper)).sum()) for step in steps]
    assert max(expected, default=-1) + 1 == max(alive, default=0)


@settings(deadline=None)
@given(instances(most=20))
def test_by_breadth_is_the_rule(instance: Instance) -> None:
    tenants: list[list[int]] = []
    capacity: list[int] = []
    expected = [-1] * len(instance)
    for k in by_breadth(instance).tolist():
        size = int(instance.size[k])
        if not size or instance.lower[k] == instance.upper[k]:
            continue
        free = [pool for pool, them in enumerate(tenants) if not any(_meet(instance, k, other) for other in them)]
        fitting = [pool for pool in free if capacity[pool] >= size]
        if fitting:
            chosen = min(fitting, key=lambda pool: capacity[pool])
        elif free:
            chosen = max(free, key=lambda pool: (capacity[pool], -pool))
        else:
            chosen = len(tenants)
            tenants.append([])
            capacity.append(0)
        tenants[chosen].append(k)
        capacity[chosen] = max(capacity[chosen], size)
        expected[k] = chosen
    assert pools("pools_by_breadth", instance) == expected


@settings(deadline=None)
@given(instances(most=20))
def test_by_size_is_the_rule(instance: Instance) -> None:
    """Each time the best pair by stage, idle steps, size and index; which of equally near pools is left open."""
    found = plan("pools_by_size", instance)
    assert found.pools is not None
    assert found.order is not None
    real = {k for k in range(len(instance)) if instance.size[k] and instance.lower[k] < instance.upper[k]}
    maxima = _positional_maxima(instance, real)
    stage = {k: sum(largest >= instance.size[k] for largest in maxima) for k in real}
    tenants: dict[int, list[int]] = {}
    waiting = set(real)
    for k in found.order.tolist()[: len(real)]:
        ways = {other: _ways(instance, other, tenants) for other in waiting}
        idle = {other: min(ways[other].values(), default=1 << 62) for other in waiting}
        assert k == min(waiting, key=lambda o: (stage[o], idle[o], -int(instance.size[o]), o))
        pool = int(found.pools[k])
        assert ways[k].get(pool, 1 << 62) == idle[k]
        assert pool in tenants or (not ways[k] and pool == len(tenants))
        tenants.setdefault(pool, []).append(k)
        waiting.remove(k)
    assert not waiting


def _positional_maxima(instance: Instance, real: set[int]) -> list[int]:
    maxima: list[int] = []
    for step in {int(instance.lower[k]) for k in real}:
        alive = [int(instance.size[k]) for k in real if instance.lower[k] <= step < instance.upper[k]]
        for place, size in enumerate(sorted(alive, reverse=True)):
            maxima[place : place + 1] = [max([size, *maxima[place : place + 1]])]
    return maxima


def _ways(instance: Instance, k: int, tenants: dict[int, list[int]]) -> dict[int, int]:
    """By pool that is free for it: the fewest steps between it and a tenant."""
    return {
        pool: min(
            int(max(instance.lower[k] - instance.upper[other], instance.lower[other] - instance.upper[k]))
            for other in them
        )
        for pool, them in tenants.items()
        if not any(_meet(instance, k, other) for other in them)
    }


def _meet(instance: Instance, k: int, other: int) -> bool:
    return bool(instance.lower[k] < instance.upper[other] and instance.lower[other] < instance.upper[k])


@pytest.mark.parametrize("name", ["pools_greedy", "pools_by_size", "pools_by_breadth"])
def test_tenants_of_a_pool_never_meet(name: str) -> None:
    luck = np.random.default_rng(5)
    lower = luck.integers(0, 500, 1500)
    instance = Instance.of(lower, lower + luck.integers(1, 60, 1500), luck.integers(1, 1000, 1500))
    found = np.array(pools(name, instance))
    for pool in range(found.max() + 1):
        them = np.flatnonzero(found == pool)
        them = them[np.argsort(instance.lower[them])]
        assert (instance.upper[them][:-1] <= instance.lower[them][1:]).all()
