"""ggml among the planners: the engine's own placement for graphs, its free blocks over lifetimes for lists."""

import dataclasses

import pytest
from hypothesis import given

from galloscope.core.planners import ggml
from galloscope.core.planners.bound import lower_bound, peak_bytes
from galloscope.core.planners.from_graph import instances as graph_instances
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.planner import Budget, Constraint, Plan, Refused
from galloscope.core.planners.solve import solve
from galloscope.core.planners.validate import validate
from galloscope.core.state import State
from galloscope.tests.core.planners.instances import instances
from galloscope.tests.core.planners.test_from_graph import first, run, states


def planned(instance: Instance) -> Plan:
    return ggml.run(instance, None, Budget())


def as_list(instance: Instance) -> Instance:
    """The same buffers without their engine."""
    return Instance(**{one.name: getattr(instance, one.name) for one in dataclasses.fields(Instance)})


@pytest.mark.parametrize("name", ["llama-prefill-fa1-reserve", "qwen3moe-g1ngl1-prefill-fa1-reserve", "a_free_extra"])
def test_of_a_graph_it_is_the_engines_own_placement(name: str) -> None:
    state = first(name)
    for one in graph_instances(state):
        plan = planned(one.instance)
        assert plan is one.ggml
        for group, offset in zip(one.members, plan.offsets.tolist(), strict=True):
            tensors = [tensor for tensor in group if tensor in state.lifetimes]
            assert tensors
            assert {state.lifetimes[tensor].offset for tensor in tensors} == {offset}


@pytest.mark.parametrize("name", ["a_best_fit", "a_best_fit_other_chunk", "a_chunks", "a_chain_reuse", "a_diamond"])
def test_over_lifetimes_it_finds_what_the_engine_finds(name: str) -> None:
    """Where ggml keeps nothing longer than needed, its free blocks over the lifetimes give the same addresses."""
    state = first(name)
    for one in graph_instances(state):
        assert one.ggml is not None
        assert planned(as_list(one.instance)).offsets.tolist() == one.ggml.offsets.tolist()


def test_the_smallest_hole_first_and_the_last_block_last() -> None:
    """Holes of 30 at 0 and 20 at 40; 20 takes the tight one, 25 the other, 40 only fits behind."""
    instance = Instance.of(
        [0, 0, 0, 0, 5, 6, 7],
        [4, 9, 4, 9, 9, 9, 9],
        [30, 10, 20, 10, 20, 25, 40],
        ids=["a", "b", "c", "d", "e", "f", "g"],
    )
    assert planned(instance).offsets.tolist() == [0, 30, 40, 60, 40, 0, 70]


@given(instances(asks=ggml.PLANNER.honours - {Constraint.MAX_CHUNK}))
def test_valid_and_not_below_the_bound(instance: Instance) -> None:
    plan = planned(instance)
    assert validate(instance, plan).good
    assert peak_bytes(instance, plan) >= lower_bound(instance)


@given(instances(asks=frozenset({Constraint.MAX_CHUNK})))
def test_chunks_keep_their_limit(instance: Instance) -> None:
    outcome = solve(instance, "ggml")
    assert outcome.solved or "its last chunk, the 16th" in outcome.refused


def test_a_buffer_larger_than_a_chunk_gets_one_of_its_own() -> None:
    instance = Instance.of([0, 0, 2, 2], [2, 2, 4, 4], [10, 50, 30, 15], max_chunk=20)
    plan = planned(instance)
    assert plan.chunks is not None
    assert list(zip(plan.chunks.tolist(), plan.offsets.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 0), (1, 30)]
    assert validate(instance, plan).good
    assert solve(instance, "ggml").peak == 60


def test_one_alignment_for_all_and_says_so() -> None:
    plan = planned(Instance.of([0, 0, 0], [1, 1, 1], [5, 5, 5], alignment=[1, 8, 4]))
    assert plan.offsets.tolist() == [0, 8, 16]
    assert plan.note == "one alignment for all buffers: 8 bytes"


def test_alignments_without_a_common_multiple_are_refused() -> None:
    primes = [1_000_003, 1_000_033, 1_000_037, 1_000_039]
    with pytest.raises(Refused, match="one alignment for all buffers"):
        planned(Instance.of([0] * 4, [1] * 4, [5] * 4, alignment=primes))


def test_where_the_allocator_would_abort_it_refuses() -> None:
    """Every second of 600 buffers dies before the last one is born: more than 256 holes that do not touch."""
    count = 600
    upper = [2 + number % 2 for number in range(count)]
    instance = Instance.of([0] * count + [2], [*upper, 3], [8] * (count + 1))
    assert "out of free blocks" in solve(instance, "ggml").refused
    instance = Instance.of([0] * 40, [1] * 40, [8] * 40, max_chunk=8)
    assert solve(instance, "ggml").refused.startswith("ggml needs 200 bytes in its last chunk, the 16th")


def test_it_plans_its_own_order_only() -> None:
    (one,) = graph_instances(first("llama-prefill-fa1-reserve"), order="kahn")
    assert one.ggml is None
    assert solve(one.instance, "ggml").refused == (
        "ggml plans the steps in the order of the graph, so it has no plan for another one"
    )


def test_a_hazard_of_ggml_is_not_passed_on() -> None:
    (one,) = graph_instances(run("a_realloc_topology_hazard", 1))
    outcome = solve(one.instance, "ggml")
    assert not outcome.solved
    assert outcome.plan is None
    assert "share bytes" in outcome.note


def test_what_nobody_reads_is_what_the_engine_keeps() -> None:
    """The engine never frees a result without readers; over the lifetimes its memory is used again."""

    def peaks(state: State) -> tuple[int, int]:
        (one,) = graph_instances(state)
        assert one.ggml is not None
        return peak_bytes(one.instance, one.ggml), peak_bytes(one.instance, planned(as_list(one.instance)))

    assert peaks(first("a_unused_node")) == (768, 512)
    assert all(engine == lists for engine, lists in map(peaks, states("a_best_fit")))
