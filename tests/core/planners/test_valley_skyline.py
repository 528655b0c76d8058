"""The valley skyline against obvious code, and what its boxes, limits and orders promise."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core.planners.bound import lower_bound, peak_bytes
from galloscope.core.planners.boxes import Boxed, Shapes, fitting, shapes_of
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.planner import Budget, Constraint, Plan, Stopped
from galloscope.core.planners.valley_skyline import Skyline, most_over, run
from galloscope.tests.core.planners.instances import clashes, instances


def shapes(rows: list[tuple[int, int, int]], align: int = 1) -> Shapes:
    first, end, size = (np.array(values, dtype=np.int64) for values in zip(*rows, strict=True))
    return Shapes(first, end, size, np.full(len(rows), align, dtype=np.int64))


def placed(some: Shapes, order: list[int], touching: bool = False) -> list[int]:
    found = Skyline(some).place(np.array(order), touching, Budget())
    assert found is not None
    return [int(one) for one in found]


def slowly(some: Shapes, order: list[int], touching: bool) -> list[int]:
    """The same rule, one section at a time: always the lowest run, all waiting buffers looked through."""
    height = [0] * int(some.end.max())
    offsets, waiting = [0] * len(order), list(order)
    while waiting:
        low = min(height)
        left = height.index(low)
        right = left
        while right < len(height) and height[right] == low:
            right += 1
        inside = [k for k in waiting if left <= some.first[k] and some.end[k] <= right]
        if touching:
            at_left = [k for k in inside if some.first[k] == left]
            inside = at_left or [k for k in inside if some.end[k] == right] or inside
        if inside:
            k = inside[0]
            waiting.remove(k)
            offsets[k] = low + -low % int(some.align[k])
            for section in range(int(some.first[k]), int(some.end[k])):
                height[section] = offsets[k] + int(some.size[k])
        else:
            walls = ([height[left - 1]] if left else []) + ([height[right]] if right < len(height) else [])
            height[left:right] = [min(walls)] * (right - left)
    return offsets


@st.composite
def orders(draw: st.DrawFn) -> tuple[Shapes, list[int]]:
    count = draw(st.integers(1, 40))
    last = draw(st.sampled_from((2, 9, 30)))
    rows = []
    for _ in range(count):
        first = draw(st.integers(0, last - 1))
        rows.append((first, draw(st.integers(first + 1, last)), draw(st.integers(1, 5))))
    return shapes(rows, draw(st.sampled_from((1, 1, 4)))), draw(st.permutations(range(count)))


@settings(max_examples=150, deadline=None)
@given(given_=orders(), touching=st.booleans())
def test_it_does_what_obvious_code_does(given_: tuple[Shapes, list[int]], touching: bool) -> None:
    some, order = given_
    assert placed(some, order, touching) == slowly(some, order, touching)


@settings(max_examples=100, deadline=None)
@given(instance=instances(frozenset({Constraint.ALIGNMENT})))
def test_plans_are_valid(instance: Instance) -> None:
    plan = run(instance, None, Budget(time_limit=30, node_limit=60))
    assert not clashes(instance, plan)
    assert (plan.offsets % instance.alignment == 0).all()
    assert peak_bytes(instance, plan) >= lower_bound(instance)


def test_a_valley_is_filled_before_anything_lies_on_its_walls() -> None:
    # Two towers with a valley of one section between them; 3 fits into it, 4 only above it.
    some = shapes([(0, 2, 4), (3, 5, 6), (2, 3, 1), (1, 4, 2)])
    assert placed(some, [0, 1, 3, 2]) == [0, 0, 0, 6]


def test_a_valley_that_nothing_fits_into_is_raised_to_its_lower_wall() -> None:
    some = shapes([(0, 1, 4), (2, 3, 7), (0, 2, 1)])
    assert placed(some, [0, 1, 2]) == [0, 0, 4]


def test_a_touching_buffer_comes_first() -> None:
    some = shapes([(1, 2, 8), (0, 1, 1), (2, 4, 1)])
    assert placed(shapes([(1, 3, 5), (0, 2, 1)]), [0, 1]) == [0, 5]
    assert placed(shapes([(1, 3, 5), (0, 2, 1)]), [0, 1], touching=True) == [1, 0]
    assert placed(some, [0, 1, 2], touching=True) == [0, 0, 0]


def test_boxes_of_a_cut_rectangle_are_one_box() -> None:
    #  7777
    #  5566   by steps, 5 and 6 equally high; 1 to 3 stand beside 4
    rows = [(0, 2, 3), (0, 2, 4), (2, 4, 7), (0, 2, 5), (2, 4, 5), (0, 4, 1)]
    boxed = Boxed(shapes(rows))
    assert [one.tolist() for one in boxed.shapes] == [[0], [4], [13], [1]]
    offsets = boxed.spread(np.array([100])).tolist()
    assert sorted({offset + size for offset, (_, _, size) in zip(offsets, rows, strict=True)})[-1] == 113
    assert min(offsets) == 100
    first, end, size = (list(values) for values in zip(*rows, strict=True))
    assert not clashes(Instance.of(first, end, size), Plan(np.array(offsets)))


def test_a_row_needs_an_only_partner() -> None:
    assert len(Boxed(shapes([(0, 2, 3), (2, 4, 3)])).shapes.size) == 1
    assert len(Boxed(shapes([(0, 2, 3), (2, 4, 3), (2, 5, 3)])).shapes.size) == 3
    assert len(Boxed(shapes([(0, 2, 3), (2, 4, 4)])).shapes.size) == 2


@settings(max_examples=100, deadline=None)
@given(instance=instances(frozenset({Constraint.ALIGNMENT}), most=30))
def test_boxes_keep_their_parts_apart(instance: Instance) -> None:
    used, some, unit = shapes_of(instance)
    if not len(used):
        return
    boxed = Boxed(some)
    at, stacked = 0, []
    for size, align in zip(boxed.shapes.size.tolist(), boxed.shapes.align.tolist(), strict=True):
        at += -at % align
        stacked.append(at)
        at += size
    offsets = np.zeros(len(instance), dtype=np.int64)
    offsets[used] = boxed.spread(np.array(stacked)) * unit
    assert not clashes(instance, Plan(offsets))
    assert (offsets % instance.alignment == 0).all()


def test_how_many_fit_exactly() -> None:
    assert fitting(shapes([(0, 2, 3), (0, 2, 9), (5, 6, 1)])) == pytest.approx(1 / 3)  # one of two equal lifetimes
    assert fitting(shapes([(0, 2, 3), (2, 4, 3), (2, 5, 4)])) == pytest.approx(1 / 3)
    assert fitting(shapes([(0, 2, 3), (2, 4, 4)])) == 0


@given(rows=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(1, 9)), min_size=1, max_size=20))
def test_the_highest_above_each_section(rows: list[tuple[int, int, int]]) -> None:
    first = np.array([a for a, _, _ in rows])
    end = first + np.array([b for _, b, _ in rows])
    value = np.array([v for _, _, v in rows])
    expected = [
        max([v for a, b, v in zip(first, end, value, strict=True) if a <= section < b], default=0)
        for section in range(int(end.max()))
    ]
    assert most_over(value, first, end).tolist() == expected


def cut(count: int, seed: int) -> Instance:
    """A rectangle of 1000 steps and bytes in pieces: a plan without a hole exists."""
    luck = np.random.default_rng(seed)
    pieces = [(0, 1000, 0, 1000)]
    while len(pieces) < count:
        begin, end, low, high = pieces.pop(int(luck.integers(len(pieces))))
        if luck.random() < 0.5 and end - begin > 3:
            step = int(luck.integers(begin + 1, end))
            pieces += [(begin, step, low, high), (step, end, low, high)]
        elif high - low > 3:
            byte = int(luck.integers(low + 1, high))
            pieces += [(begin, end, low, byte), (begin, end, byte, high)]
        else:
            pieces.append((begin, end, low, high))
    columns = np.array(pieces)
    return Instance.of(columns[:, 0], columns[:, 1], columns[:, 3] - columns[:, 2])


@pytest.mark.parametrize("seed", range(5))
def test_sets_without_waste(seed: int) -> None:
    instance = cut(60, seed)
    plan = run(instance, None, Budget(time_limit=None))
    assert not clashes(instance, plan)
    assert peak_bytes(instance, plan) == lower_bound(instance)


def test_a_capacity_is_enough() -> None:
    luck = np.random.default_rng(3)
    lower = luck.integers(0, 50, 200)
    instance = Instance.of(lower, lower + luck.integers(1, 30, 200), luck.integers(1, 100, 200))
    once = run(instance, 10**9, Budget(time_limit=None))
    assert once.nodes <= len(instance)
    assert run(instance, None, Budget(time_limit=None, node_limit=1)).offsets.tolist() == once.offsets.tolist()


def test_no_time_still_gives_a_plan() -> None:
    instance = cut(200, 1)
    plan = run(instance, None, Budget(time_limit=0.0))
    assert not clashes(instance, plan)


def test_cancelled() -> None:
    with pytest.raises(Stopped):
        run(cut(30, 0), None, Budget(cancelled=lambda: True))


CODE = """
import numpy as np
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.planner import Budget
from galloscope.core.planners import best, squeaky_wheel, valley_skyline
luck = np.random.default_rng(7)
lower = luck.integers(0, 60, 120)
for align in (1, luck.choice([1, 16, 48], 120)):
    one = Instance.of(lower, lower + luck.integers(0, 40, 120), luck.integers(0, 1000, 120), alignment=align)
    for module in (valley_skyline, squeaky_wheel):
        print(module.run(one, None, Budget(time_limit=None, node_limit=600, seed=5)).offsets.tolist())
"""


def test_the_same_answers_without_numba() -> None:
    answers = [
        subprocess.run(
            [sys.executable, "-c", CODE],
            env={**os.environ, "GALLOSCOPE_NO_JIT": value},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for value in ("0", "1")
    ]
    assert answers[0] == answers[1]
    assert answers[0].count("\n") == 4
