"""The complete search against plain enumeration: what it finds, what it proves, what it keeps."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.planners.bound import lower_bound, peak_bytes
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.planner import Budget, NoPlan, Plan, Refused, Stopped
from galloscope.core.planners.search import run
from galloscope.core.planners.sections import parts, sections
from galloscope.core.planners.solve import solve
from galloscope.core.planners.validate import validate


def meets(instance: Instance, a: int, b: int) -> bool:
    return bool(instance.lower[a] < instance.upper[b] and instance.lower[b] < instance.upper[a])


def fits(instance: Instance, roof: int) -> bool:
    """Is there a plan of at most `roof` bytes? Every offset of every buffer is tried, one buffer after the other."""
    offsets: list[int] = []

    def rest() -> bool:
        k = len(offsets)
        if k == len(instance):
            return True
        fixed, size = int(instance.fixed[k]), int(instance.size[k])
        for offset in [fixed] if fixed >= 0 else range(0, roof - size + 1, int(instance.alignment[k])):
            free = all(
                not meets(instance, p, k) or offset + size <= at or at + instance.size[p] <= offset
                for p, at in enumerate(offsets)
            )
            if free and offset + size <= roof:
                offsets.append(offset)
                if rest():
                    return True
                offsets.pop()
        return False

    return rest()


def enumerated(instance: Instance, roof: int) -> int | None:
    """The smallest peak up to `roof`, None when there is none."""
    return next((peak for peak in range(roof + 1) if fits(instance, peak)), None)


def ordered(instance: Instance) -> int:
    """The smallest peak of a plain instance: some order of stacking gives it."""
    best = int(instance.size.sum())
    for order in itertools.permutations(range(len(instance))):
        offsets: dict[int, int] = {}
        for k in order:
            under = [offsets[p] + int(instance.size[p]) for p in offsets if meets(instance, p, k)]
            offsets[k] = max(under, default=0)
        best = min(best, max((o + int(instance.size[k]) for k, o in offsets.items()), default=0))
    return best


@st.composite
def small(draw: st.DrawFn, most: int, constrained: bool) -> Instance:
    count = draw(st.integers(0, most))
    lower = [draw(st.integers(-2, 5)) for _ in range(count)]
    upper = [start + draw(st.integers(1, 5)) for start in lower]
    size = [draw(st.integers(1, 4)) for _ in range(count)]
    if not constrained:
        return Instance.of(lower, upper, [3 * one for one in size])
    alignment = [draw(st.sampled_from([1, 1, 2, 3])) for _ in range(count)]
    fixed = [draw(st.sampled_from([-1, -1, -1, 0, 1, 3])) * a for a in alignment]
    fixed = [max(one, -1) for one in fixed]
    return Instance.of(lower, upper, size, alignment=alignment, fixed=fixed)


@given(small(6, False), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_it_finds_the_optimum_and_proves_it(instance: Instance, seed: int) -> None:
    best = ordered(instance)
    plan = run(instance, None, Budget(None, seed=seed))
    assert isinstance(plan, Plan)
    assert peak_bytes(instance, plan) == best == plan.proved_bound
    found = run(instance, best, Budget(None, seed=seed))
    assert isinstance(found, Plan)
    assert peak_bytes(instance, found) == best
    if best:
        missing = run(instance, best - 1, Budget(None, seed=seed))
        assert isinstance(missing, NoPlan)
        assert missing.proved_bound == best or missing.proved_bound >= lower_bound(instance)


@given(small(4, True), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_alignment_and_fixed_offsets_are_searched_completely(instance: Instance, seed: int) -> None:
    roof = 10
    best = enumerated(instance, roof)
    clash = any(
        instance.fixed[a] >= 0
        and instance.fixed[b] >= 0
        and meets(instance, a, b)
        and instance.fixed[a] < instance.fixed[b] + instance.size[b]
        and instance.fixed[b] < instance.fixed[a] + instance.size[a]
        for a, b in itertools.combinations(range(len(instance)), 2)
    )
    for capacity in range(4, roof + 1):
        made = run(instance, capacity, Budget(None, seed=seed))
        if best is not None and best <= capacity:
            assert isinstance(made, Plan)
            assert validate(instance, made).good
            assert peak_bytes(instance, made) <= capacity
        else:
            assert isinstance(made, NoPlan)
            assert made.proved_bound > capacity
    if best is not None and not clash:
        plan = run(instance, None, Budget(None, seed=seed))
        assert isinstance(plan, Plan)
        assert peak_bytes(instance, plan) == best == plan.proved_bound


def test_a_cut_rectangle_is_put_together_again() -> None:
    # Two pinwheels side by side: no cut goes through, so no order by size alone works.
    wheel = [(0, 2, 1), (2, 3, 2), (1, 3, 1), (0, 1, 2), (1, 2, 1)]
    rows = wheel + [(a + 3, b + 3, s) for a, b, s in wheel]
    instance = Instance.of(*[np.array(column) for column in zip(*rows, strict=True)])
    plan = run(instance, 3, Budget(None))
    assert isinstance(plan, Plan)
    assert validate(instance, plan).good
    assert peak_bytes(instance, plan) == 3 == lower_bound(instance)


def test_the_bound_can_be_out_of_reach() -> None:
    lower, upper = [0, 0, 1, 1, 2, 2, 3, 4, 4, 5], [1, 2, 3, 5, 5, 3, 4, 6, 6, 6]
    instance = Instance.of(lower, upper, [2, 2, 1, 1, 1, 1, 2, 1, 1, 2])
    plan = run(instance, None, Budget(None))
    assert isinstance(plan, Plan)
    assert lower_bound(instance) == 4
    assert plan.proved_bound == peak_bytes(instance, plan) == enumerated(instance, 9) == 5


def hard(seed: int, count: int = 60) -> Instance:
    random = np.random.default_rng(seed)
    lower = random.integers(0, 40, count)
    return Instance.of(lower, lower + random.integers(1, 25, count), random.integers(1, 99, count))


def test_a_node_limit_makes_it_repeatable() -> None:
    first, second = (run(hard(1), None, Budget(None, node_limit=4000, seed=5)) for _ in range(2))
    assert isinstance(first, Plan)
    assert isinstance(second, Plan)
    assert first.offsets.tolist() == second.offsets.tolist()
    assert first.nodes == second.nodes <= 4000 + 2000
    assert validate(hard(1), first).good


def test_an_end_by_limit_proves_nothing() -> None:
    made = run(hard(2), lower_bound(hard(2)), Budget(None, node_limit=50))
    assert isinstance(made, NoPlan)
    assert made.proved_bound == 0
    assert "node limit" in made.note
    late = run(hard(2), lower_bound(hard(2)), Budget(0.0))
    assert isinstance(late, NoPlan)
    assert "time limit" in late.note


def test_it_can_be_cancelled() -> None:
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 1

    with pytest.raises(Stopped):
        run(hard(3, 200), lower_bound(hard(3, 200)), Budget(None, cancelled=cancelled))


def test_a_hint_is_taken_where_the_plan_allows() -> None:
    instance = Instance.of([0, 0, 0], [2, 2, 2], [4, 4, 4], hint=[8, -1, 0])
    plan = run(instance, 12, Budget(None))
    assert isinstance(plan, Plan)
    assert plan.offsets.tolist() == [8, 4, 0]


def test_several_chunks_are_refused() -> None:
    instance = replace(Instance.of([0, 0], [1, 1], [4, 4]), max_chunk=4)
    with pytest.raises(Refused, match="one chunk only"):
        run(instance, None, Budget(None))
    one = replace(Instance.of([0, 1], [1, 2], [4, 4]), max_chunk=4)
    assert isinstance(run(one, None, Budget(None)), Plan)


def test_parts_of_time_that_share_nothing_are_searched_apart() -> None:
    first, end, count = sections(np.array([0, 0, 5, 6]), np.array([2, 3, 7, 8]))
    assert (first.tolist(), end.tolist(), count) == ([0, 0, 1, 1], [1, 1, 2, 2], 2)
    assert parts(first, end, count).tolist() == [0, 0, 1, 1]


@given(small(8, False))
@settings(max_examples=100, deadline=None)
def test_two_buffers_share_a_section_when_they_share_a_step(instance: Instance) -> None:
    if not len(instance):
        return
    first, end, count = sections(instance.lower, instance.upper)
    assert 0 <= first.min() <= end.max() <= count
    for a, b in itertools.combinations(range(len(instance)), 2):
        assert meets(instance, a, b) == (first[a] < end[b] and first[b] < end[a])


def test_what_is_left_is_halved() -> None:
    # The bound is one byte too low for alignment 2^20, and a million steps away from the first plan.
    instance = Instance.of([0, 0, 0], [2, 2, 2], [1 << 20, 1 << 20, 1], alignment=[1 << 20, 1, 1])
    plan = run(instance, None, Budget(None, node_limit=3000))
    assert isinstance(plan, Plan)
    assert plan.proved_bound == peak_bytes(instance, plan) == (2 << 20) + 1
    apart = Instance.of([0, 0], [2, 2], [1, 1], alignment=[1 << 20, 1 << 20])
    far = run(apart, None, Budget(None, node_limit=3000))
    assert isinstance(far, Plan)
    assert far.proved_bound == peak_bytes(apart, far) == (1 << 20) + 1


def test_one_chunk_proves_nothing_about_several() -> None:
    instance = Instance.of([0, 0], [2, 2], [1, 1], alignment=[4, 4], max_chunk=5)
    plan = run(instance, None, Budget(None))
    assert isinstance(plan, Plan)
    assert (peak_bytes(instance, plan), plan.proved_bound) == (5, 0)
    for name in ("search", "best"):
        assert not solve(instance, name).optimal or solve(instance, name).peak == 2


def test_far_steps_are_refused() -> None:
    with pytest.raises(InputError, match=r"beyond 2\^60"):
        Instance.of([-(1 << 63)], [5], [1])
