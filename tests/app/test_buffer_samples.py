"""The sample buffer sets teach what they say: each number of a lesson is what the planners reach."""

import re
from functools import cache

import pytest

from galloscope.app.samples import BUFFERS, buffer_samples, find_sample, samples
from galloscope.core.files.buffers_csv import read_buffers
from galloscope.core.files.graph_json import read_graph
from galloscope.core.planners.bound import lower_bound
from galloscope.core.planners.from_graph import instances
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Budget
from galloscope.core.planners.solve import solve
from galloscope.core.replay import replay
from galloscope.core.session import trace

MIB = 1 << 20
RULES = {
    "naive", "ggml", "pools_greedy", "pools_by_size", "pools_by_breadth", "offsets_by_size", "offsets_by_breadth",
    "offsets_by_conflicts", "offsets_by_lifetime", "best_fit_by_birth", "tlsf",
}  # fmt: skip
"""Planners that place each buffer once, by a rule."""


def instance(name: str) -> Instance:
    return read_buffers(find_sample(name).path).instance


def bound(name: str) -> int:
    return lower_bound(instance(name))


@cache
def peaks(name: str) -> dict[str, int]:
    """The peak of every planner that can plan it; each plan is valid, or `solve` would not pass it on."""
    found = {planner: solve(instance(name), planner, budget=Budget(time_limit=5.0)) for planner in PLANNERS}
    assert all(one.peak is not None or one.refused for one in found.values())
    return {planner: one.peak for planner, one in found.items() if one.peak is not None}


def test_the_index_names_every_file_once() -> None:
    assert {one.path for one in buffer_samples()} == set(BUFFERS.glob("*.csv"))
    assert len(buffer_samples()) == 8
    names = [one.name for one in samples() + buffer_samples()]
    assert len(set(names)) == len(names)
    assert all(one.title and len(one.look) > 40 for one in buffer_samples())


@pytest.mark.parametrize("name", [one.name for one in buffer_samples()])
def test_no_plan_is_below_the_bound_and_best_is_the_best(name: str) -> None:
    assert min(peaks(name).values()) >= bound(name)
    assert peaks(name)["best"] == min(peaks(name).values())


@pytest.mark.parametrize("name", [one.name for one in buffer_samples()])
def test_every_number_of_a_lesson_is_one_of_the_instance(name: str) -> None:
    """Sizes, peaks, bounds and steps; a lesson that says a number from nowhere would not be one."""
    told = {int(number) for number in re.findall(r"(?<![T\w])\d+", find_sample(name).look)}
    one = instance(name)
    unit = 1 if name == "alignment" else MIB
    columns = (one.size, one.fixed, *(column - 1 for column in (one.upper,)), one.lower, one.alignment)
    known = {int(value) for column in columns for value in column} | set(peaks(name).values()) | {bound(name)}
    known |= {value // unit for value in known} | {int(value) // unit for value in one.size}
    known |= {gap.high // unit for gaps in one.gaps.values() for gap in gaps}
    wrong = {"decoder-layer": {320}, "bound-out-of-reach": {5, 4}, "alignment": {31}}.get(name, set())
    assert told <= known | wrong


def test_the_decoder_layer_needs_384_mib() -> None:
    """128 + 128 + 128 MiB are alive in step 4, so the 320 MiB of the article are impossible; 57.14 % are saved."""
    found = peaks("decoder-layer")
    assert bound("decoder-layer") == 384 * MIB
    assert found["pools_greedy"] == found["ggml"] == min(found.values()) == 384 * MIB
    assert found["naive"] == 896 * MIB
    plan = solve(instance("decoder-layer"), "pools_greedy").plan
    assert plan is not None
    assert plan.pools is not None
    assert len(set(plan.pools.tolist())) == 3
    assert round(100 * (1 - 384 / 896), 2) == 57.14


def test_the_decoder_layer_is_the_same_as_a_graph() -> None:
    (one,) = instances(replay(trace(read_graph(find_sample("lesson-decoder-layer").path)).runs[0]))
    assert sorted(one.instance.size.tolist()) == sorted(instance("decoder-layer").size.tolist())
    assert lower_bound(one.instance) == solve(one.instance, "ggml").peak == 384 * MIB


def test_where_the_largest_first_wins() -> None:
    found = peaks("largest-first")
    assert found["offsets_by_size"] == bound("largest-first") == 8 * MIB
    assert found["ggml"] == found["best_fit_by_birth"] == 10 * MIB


def test_where_the_order_of_birth_wins() -> None:
    found = peaks("in-order-of-birth")
    assert found["ggml"] == found["best_fit_by_birth"] == bound("in-order-of-birth") == 9 * MIB
    assert {peak for planner, peak in found.items() if planner.startswith("offsets_by")} == {11 * MIB}


def test_where_every_rule_fails() -> None:
    found = peaks("needs-search")
    assert min(found[planner] for planner in RULES) == 16 * MIB
    assert found["search"] == bound("needs-search") == 15 * MIB


def test_a_bound_that_no_plan_reaches() -> None:
    found = solve(instance("bound-out-of-reach"), "search")
    assert (found.bound, found.peak, found.proved_bound) == (4 * MIB, 5 * MIB, 5 * MIB)
    assert found.optimal
    assert not solve(instance("bound-out-of-reach"), "search", capacity=4 * MIB).solved


def test_what_alignment_costs() -> None:
    found = peaks("alignment")
    assert found["offsets_by_size"] == bound("alignment") == 161
    assert (found["best_fit_by_birth"], found["ggml"]) == (193, 225)


def test_needed_in_part() -> None:
    found = peaks("only-a-part")
    assert found["offsets_by_size"] == min(found.values()) == bound("only-a-part") == 80 * MIB
    assert found["ggml"] == found["naive"] == 144 * MIB
    assert "cannot keep gaps" in solve(instance("only-a-part"), "pools_greedy").refused


def test_a_fixed_offset_in_the_way() -> None:
    found = peaks("fixed-in-the-way")
    assert (min(found.values()), bound("fixed-in-the-way")) == (112 * MIB, 80 * MIB)
    assert "ggml" not in found


def test_what_in_place_saves() -> None:
    state = replay(trace(read_graph(find_sample("lesson-in-place-chain").path)).runs[0])
    for in_place, most in ((True, 8), (False, 12)):
        (one,) = instances(state, in_place)
        assert lower_bound(one.instance) == most * MIB
        assert {solve(one.instance, planner).peak for planner in ("ggml", "offsets_by_size")} == {most * MIB}
