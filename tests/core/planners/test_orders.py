"""Orders against definitions taken literally."""

from hypothesis import given, settings

from galloscope.core.planners import orders
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.planner import Constraint
from galloscope.tests.core.planners.instances import instances, windows


@settings(deadline=None)
@given(instances())
def test_conflicts_are_the_buffers_that_share_a_step(instance: Instance) -> None:
    lives = [set(range(a, b)) for a, b in zip(instance.lower.tolist(), instance.upper.tolist(), strict=True)]
    counted = [sum(bool(mine & its) for its in lives) - bool(mine) for mine in lives]
    assert orders.conflicts(instance).tolist() == counted


@settings(deadline=None)
@given(instances(frozenset({Constraint.GAPS})))
def test_breadth_is_the_bytes_alive_at_a_step(instance: Instance) -> None:
    """Steps by bytes needed, in each what is alive by size, until all are listed."""
    needed: dict[int, int] = {}
    for k in range(len(instance)):
        for step in range(int(instance.lower[k]), int(instance.upper[k])):
            needed.setdefault(step, 0)
        for step, low, high in windows(instance, k):
            needed[step] += high - low
    listed: list[int] = []
    for step in sorted(needed, key=lambda step: (-needed[step], step)):
        alive = [k for k in range(len(instance)) if instance.lower[k] <= step < instance.upper[k] and k not in listed]
        listed += sorted(alive, key=lambda k: -int(instance.size[k]))
    real = {k for k in range(len(instance)) if instance.lower[k] < instance.upper[k]}
    assert [k for k in orders.by_breadth(instance).tolist() if k in real] == listed


def test_orders_by_hand() -> None:
    instance = Instance.of([0, 1, 1, 4, 0], [3, 2, 6, 5, 6], [4, 9, 4, 9, 1])
    assert orders.by_birth(instance).tolist() == [0, 4, 1, 2, 3]
    assert orders.by_size(instance).tolist() == [1, 3, 0, 2, 4]
    assert orders.by_lifetime(instance).tolist() == [4, 2, 0, 1, 3]
    assert orders.conflicts(instance).tolist() == [3, 3, 4, 2, 4]
    assert orders.by_conflicts(instance).tolist() == [2, 4, 1, 0, 3]
    assert orders.by_breadth(instance).tolist() == [1, 0, 2, 4, 3]


def test_breadth_counts_windows_only() -> None:
    """At step 0 both live but the first needs 1 byte; step 1 is fuller."""
    instance = Instance.of([0, 0, 1], [2, 1, 2], [8, 5, 4], gaps={0: (Gap(0, 1, 0, 1),)})
    assert orders.by_breadth(instance).tolist() == [0, 2, 1]
