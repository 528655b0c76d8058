"""Every planner on everything: valid by the checker, never below the bound, refused with a sentence, repeatable."""

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from galloscope.core.planners.bound import lower_bound
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import ALL, Budget, Constraint
from galloscope.core.planners.solve import Outcome, solve
from galloscope.core.planners.validate import Verdict, validate
from galloscope.tests.core.planners.instances import DEGENERATE, instances, load

NAMES = list(PLANNERS)
NODES = 300
"""Enough for an instance of a few buffers, and the same on every machine."""


def budget() -> Budget:
    return Budget(time_limit=30.0, node_limit=NODES)


def check(instance: Instance, found: Outcome) -> None:
    """What holds for every outcome."""
    assert found.bound == lower_bound(instance) == (load(instance) if _short(instance) else found.bound)
    assert found.proved_bound >= found.bound
    assert found.verdict in (None, Verdict.GOOD, Verdict.OUT_OF_CHUNK), found.note
    assert "wrong" not in found.note
    if found.plan is None:
        assert found.refused.startswith(f"{found.planner} ")
        assert not found.solved
        return
    assert found.peak is not None
    assert validate(instance, found.plan).good
    assert found.peak >= found.proved_bound
    assert found.optimal == (found.peak == found.proved_bound)


def _short(instance: Instance) -> bool:
    return int((instance.upper - instance.lower).max(initial=0)) < 1000


def asks(instance: Instance) -> set[Constraint]:
    """The constraints that are asked for."""
    return {
        *([Constraint.ALIGNMENT] if (instance.alignment > 1).any() else []),
        *([Constraint.FIXED] if (instance.fixed >= 0).any() else []),
        *([Constraint.HINT] if (instance.hint >= 0).any() else []),
        *([Constraint.GAPS] if any(instance.gaps.values()) else []),
        *([Constraint.MAX_CHUNK] if instance.max_chunk else []),
    }


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("name", NAMES)
def test_degenerate_instances(name: str, case: str) -> None:
    instance = DEGENERATE[case]
    found = solve(instance, name, budget=budget())
    check(instance, found)
    if asks(instance) <= PLANNERS[name].honours:
        assert found.solved, found.refused


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_plain_instances(name: str, data: st.DataObject) -> None:
    instance = data.draw(instances())
    found = solve(instance, name, budget=budget())
    check(instance, found)
    assert found.solved, found.refused


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_instances_with_every_constraint(name: str, data: st.DataObject) -> None:
    instance = data.draw(instances(ALL))
    check(instance, solve(instance, name, budget=budget()))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_what_a_planner_honours_it_does_not_refuse(name: str, data: st.DataObject) -> None:
    instance = data.draw(instances(PLANNERS[name].honours - {Constraint.MAX_CHUNK}))
    found = solve(instance, name, budget=budget())
    check(instance, found)
    assert found.solved, found.refused


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_same_answer_twice(name: str, data: st.DataObject) -> None:
    instance = data.draw(instances(PLANNERS[name].honours))
    first, second = (solve(instance, name, budget=budget()) for _ in range(2))
    assert _answer(first) == _answer(second)


def _answer(found: Outcome) -> dict[str, object]:
    return {key: value for key, value in found.numbers().items() if key != "seconds"}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_capacities(name: str, data: st.DataObject) -> None:
    """At the peak it found it solves again; below what is necessary nobody does."""
    instance = data.draw(instances())
    free = solve(instance, name, budget=budget())
    assert free.peak is not None
    again = solve(instance, name, free.peak, budget())
    check(instance, again)
    assert again.solved
    if free.proved_bound:
        below = solve(instance, name, free.proved_bound - 1, budget())
        assert not below.solved
        assert below.note


COMPILED_OR_NOT = """
import json, sys
import numpy as np
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Budget, Constraint
from galloscope.core.planners.solve import solve

found = []
for seed in range(4):
    rng = np.random.default_rng(seed)
    count = 30
    low = rng.integers(0, 40, count)
    up = low + rng.integers(1, 12, count)
    size = rng.integers(1, 40, count)
    for name, planner in PLANNERS.items():
        asks = {}
        if seed % 2 and Constraint.ALIGNMENT in planner.honours:
            asks["alignment"] = 4
        if seed % 2 and Constraint.GAPS in planner.honours:
            asks["gaps"] = {0: (Gap(int(low[0]), int(low[0]) + 1, 0, 1),)}
        if seed == 3 and Constraint.MAX_CHUNK in planner.honours:
            asks["max_chunk"] = 64
        if seed == 3 and Constraint.HINT in planner.honours:
            asks["hint"] = 16
        one = Instance.of(low, up, size, **asks)
        for capacity in (None, 150):
            numbers = solve(one, name, capacity, Budget(time_limit=None, node_limit=400, seed=seed)).numbers()
            del numbers["seconds"]
            found.append(numbers)
json.dump(found, sys.stdout)
"""


def test_compiled_and_plain_loops_agree() -> None:
    answers = [
        subprocess.run(
            [sys.executable, "-c", COMPILED_OR_NOT],
            env={**os.environ, "GALLOSCOPE_NO_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("", "1")
    ]
    assert answers[0] == answers[1]
    assert '"solved": true' in answers[0]
