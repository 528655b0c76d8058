"""The best of all: whom it asks, when it stops, what it says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from galloscope.core.planners import best
from galloscope.core.planners.best import LONG, QUICK, run
from galloscope.core.planners.bound import lower_bound, peak_bytes
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import ALL, Budget, Constraint, NoPlan, Plan, Planner, Refused, Stopped
from galloscope.core.planners.validate import validate
from galloscope.tests.core.planners.instances import instances

THREE = Instance.of([0, 1, 2], [2, 3, 4], [4, 4, 4])
"""Bound 8."""

Answer = Callable[[Instance, "int | None", Budget], "Plan | NoPlan"]


def plan(*offsets: int, proved: int = 0) -> Plan:
    return Plan(np.array(offsets, dtype=np.int64), proved_bound=proved)


def refuses(instance: Instance, capacity: int | None, budget: Budget) -> Plan:
    raise Refused("is a test")


@pytest.fixture
def asks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Only these planners exist: quick ones, then long ones; what was asked is noted."""

    def only(
        quick: dict[str, Plan | NoPlan | Answer],
        long: dict[str, Plan | NoPlan | Answer] | None = None,
        honours: frozenset[Constraint] = ALL,
        largest: int | None = None,
    ) -> list[str]:
        asked: list[str] = []

        def planner(name: str, answer: Plan | NoPlan | Answer) -> Planner:
            def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan | NoPlan:
                asked.append(name)
                return answer(instance, capacity, budget) if callable(answer) else answer

            return Planner(name, name, name, run, honours, largest=largest)

        monkeypatch.setattr(best, "QUICK", {name: planner(name, answer) for name, answer in quick.items()})
        longer = {name: (planner(name, answer), 0.5) for name, answer in (long or {}).items()}
        monkeypatch.setattr(best, "LONG", longer)
        return asked

    return only


def test_its_parts_are_planners() -> None:
    assert all(PLANNERS[name] is planner for name, planner in QUICK.items())
    assert all(PLANNERS[name] is planner for name, (planner, _) in LONG.items())


def test_the_smallest_is_kept_and_named(asks: Callable[..., list[str]]) -> None:
    asked = asks({"a": plan(0, 20, 0), "b": plan(0, 6, 0), "c": plan(0, 9, 0)})
    found = run(THREE, None, Budget())
    assert isinstance(found, Plan)
    assert found.offsets.tolist() == [0, 6, 0]
    assert found.note == "the smallest is the plan of b"
    assert asked == ["a", "b", "c"]


def test_it_stops_at_the_bound(asks: Callable[..., list[str]]) -> None:
    asked = asks({"a": plan(0, 4, 0), "b": plan(0, 4, 0)}, {"c": plan(0, 4, 0)})
    run(THREE, None, Budget())
    assert asked == ["a"]


def test_it_stops_at_the_capacity_and_at_a_proof(asks: Callable[..., list[str]]) -> None:
    asked = asks({"a": plan(0, 6, 0), "b": plan(0, 4, 0)})
    run(THREE, 10, Budget())
    assert asked == ["a"]
    asked = asks({"a": plan(0, 6, 0)}, {"b": NoPlan(10), "c": plan(0, 6, 0)})
    found = run(THREE, None, Budget())
    assert asked == ["a", "b"]
    assert found.proved_bound == 10


def test_a_proof_against_the_capacity(asks: Callable[..., list[str]]) -> None:
    asks({"a": plan(0, 6, 0)}, {"b": NoPlan(10)})
    found = run(THREE, 9, Budget())
    assert isinstance(found, NoPlan)
    assert found.proved_bound == 10


def test_who_refuses_is_passed_over(asks: Callable[..., list[str]]) -> None:
    asks({"a": refuses, "b": plan(0, 6, 0)})
    assert run(THREE, None, Budget()).note == "the smallest is the plan of b"
    asks({"a": refuses})
    with pytest.raises(Refused, match="a is a test"):
        run(THREE, None, Budget())


def test_who_cannot_or_is_not_meant_to_is_not_asked(asks: Callable[..., list[str]]) -> None:
    aligned = Instance.of([0], [1], [8], alignment=4)
    cases: list[dict[str, Any]] = [{"honours": frozenset()}, {"largest": 0}]
    for more in cases:
        asked = asks({"a": plan(0)}, **more)
        with pytest.raises(Refused):
            run(aligned, None, Budget())
        assert asked == []


def test_a_plan_larger_than_a_chunk_does_not_count(asks: Callable[..., list[str]]) -> None:
    chunks = Instance.of([0, 1, 2], [2, 3, 4], [4, 4, 4], max_chunk=9)
    asks({"a": plan(0, 6, 0), "b": plan(0, 5, 0)}, honours=frozenset())
    assert run(chunks, None, Budget()).note == "the smallest is the plan of b"


def test_long_ones_get_a_share_of_the_time(asks: Callable[..., list[str]]) -> None:
    limits: list[float | None] = []

    def notes(instance: Instance, capacity: int | None, budget: Budget) -> NoPlan:
        limits.append(budget.time_limit)
        return NoPlan()

    asks({"a": plan(0, 6, 0)}, {"b": notes})
    run(THREE, None, Budget(time_limit=40.0))
    run(THREE, None, Budget(time_limit=None))
    assert limits[0] is not None
    assert 10 < limits[0] <= 20
    assert limits[1] is None


def test_no_time_still_gives_a_plan(asks: Callable[..., list[str]]) -> None:
    asked = asks({"a": plan(0, 6, 0), "b": plan(0, 6, 0)}, {"c": plan(0, 6, 0)})
    assert isinstance(run(THREE, None, Budget(time_limit=0.0)), Plan)
    assert asked == ["a"]


@settings(max_examples=30, deadline=None)
@given(instance=instances(ALL, most=8))
def test_it_plans_what_any_planner_can(instance: Instance) -> None:
    try:
        found = run(instance, None, Budget(time_limit=30, node_limit=100))
    except Refused:  # fixed buffers that collide
        return
    assert isinstance(found, Plan)
    assert validate(instance, found).good
    assert peak_bytes(instance, found) >= lower_bound(instance)


def test_cancelled() -> None:
    with pytest.raises(Stopped):
        run(THREE, None, Budget(cancelled=lambda: True))
