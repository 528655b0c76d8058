"""Planners side by side: sums over address spaces, and the saving against ggml."""

import pytest

from galloscope.core.errors import InputError
from galloscope.core.planners.compare import compare
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Budget

# Best fit puts b behind a; when a is gone c does not fit into its place and goes on top.
ONLINE = Instance.of([0, 0, 2], [2, 4, 4], [8, 8, 16], ids=["a", "b", "c"], name="GPU0")
SMALL = Instance.of([0, 0], [2, 2], [8, 4], ids=["a", "x"], name="CPU")


def test_sums_and_saving() -> None:
    found = compare([ONLINE, SMALL], ["naive", "offsets_by_size"])
    naive, by_size = found.rows
    assert found.ggml is not None
    assert (found.ggml.peak, naive.peak, by_size.peak) == (32 + 12, 32 + 12, 24 + 12)
    assert (by_size.bound, by_size.waste, by_size.ratio, by_size.optimal) == (36, 0, 1.0, True)
    assert (naive.saving, by_size.saving, found.ggml.saving) == (0, 8, 0)
    assert (naive.waste, naive.optimal, naive.solved) == (8, False, True)
    assert found.best is by_size
    assert [live.bound for live in found.live] == [24, 12]


def test_numbers_of_several_spaces() -> None:
    numbers = compare([ONLINE, SMALL], ["offsets_by_size"]).numbers()
    assert (numbers["peak"], numbers["bound"], numbers["saving"], numbers["optimal"]) == (36, 36, 8, True)
    assert [one["buffer"] for one in numbers["buffers"]] == ["GPU0", "CPU"]
    assert set(numbers["offsets"]) == {"GPU0/a", "b", "c", "CPU/a", "x"}
    assert numbers["buffers"][1]["offsets"] == {"a": numbers["offsets"]["CPU/a"], "x": numbers["offsets"]["x"]}


def test_one_space_is_its_outcome_and_several_planners_are_a_list() -> None:
    assert set(compare([SMALL], ["naive"]).numbers()["offsets"]) == {"a", "x"}
    both = compare([SMALL], ["naive", "ggml", "naive"]).numbers()
    assert [one["planner"] for one in both["planners"]] == ["naive", "ggml"]


def test_all_planners_in_the_order_of_the_table() -> None:
    begun: list[tuple[str, int]] = []
    found = compare([SMALL], ["all"], budget=Budget(5.0), done=lambda name, number: begun.append((name, number)))
    assert [row.planner for row in found.rows] == list(PLANNERS)
    assert begun == [(name, number) for number, name in enumerate(PLANNERS)]


def test_a_refusal_leaves_no_sum() -> None:
    hinted = Instance.of([0], [1], [8], hint=8, name="hinted")
    without = next(name for name, one in PLANNERS.items() if name == "naive" or not one.honours)
    found = compare([SMALL, hinted], [without])
    if found.rows[0].refused:
        assert (found.rows[0].peak, found.rows[0].saving, found.rows[0].solved) == (None, None, False)
        assert found.best is None


def test_capacity_counts_for_each_space() -> None:
    found = compare([ONLINE, SMALL], ["offsets_by_size", "naive"], 24)
    assert [row.solved for row in found.rows] == [True, False]
    assert found.rows[1].note == "its plan needs 32 bytes, more than the capacity of 24"


def test_ggml_is_left_out_on_request() -> None:
    found = compare([SMALL], ["naive"], against_ggml=False)
    assert found.ggml is None
    assert found.rows[0].saving is None
    assert "saving" not in found.numbers()


def test_names_are_checked_before_anything_is_planned() -> None:
    with pytest.raises(InputError, match="no planner is named 'nave'"):
        compare([SMALL], ["naive", "nave"])
    with pytest.raises(InputError, match="no planner is named; known"):
        compare([SMALL], [])


def test_nothing_to_plan() -> None:
    found = compare([], ["naive"])
    assert (found.rows[0].peak, found.rows[0].solved, found.rows[0].ratio) == (0, True, 1.0)


def test_what_one_planner_proves_holds_for_all() -> None:
    lower, upper = [0, 0, 1, 1, 2, 2, 3, 4, 4, 5], [1, 2, 3, 5, 5, 3, 4, 6, 6, 6]
    instance = Instance.of(lower, upper, [2, 2, 1, 1, 1, 1, 2, 1, 1, 2])
    found = compare([instance], ["tlsf", "naive", "search"], against_ggml=False)
    assert [row.proved_bound for row in found.rows] == [5, 5, 5]
    assert [row.optimal for row in found.rows] == [True, False, True]
    alone = compare([instance], ["tlsf"], against_ggml=False)
    assert (alone.rows[0].proved_bound, alone.rows[0].optimal) == (4, False)


def test_fixed_buffers_that_collide_are_the_inputs_fault() -> None:
    instance = Instance.of([0, 1], [2, 3], [4, 4], fixed=[0, 2])
    for row in compare([instance], ["all"], against_ggml=False).rows:
        assert "fixed offsets collide" in row.refused, row.planner
        assert "'0'" in row.refused
        assert "'1'" in row.refused
