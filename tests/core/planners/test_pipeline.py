"""The visible stages of planning: each is right, and folding their events gives what they returned."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.planners import ggml
from galloscope.core.planners.bound import lower_bound, peak_bytes
from galloscope.core.planners.from_graph import GraphInstance
from galloscope.core.planners.from_graph import instances as graph_instances
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.pipeline.events import Clique, from_json, to_json
from galloscope.core.planners.pipeline.interference import interference
from galloscope.core.planners.pipeline.intervals import Because, intervals
from galloscope.core.planners.pipeline.order import depth_first, kahn, step_order
from galloscope.core.planners.pipeline.record import record_pipeline
from galloscope.core.planners.pipeline.replay import PipelineState, replay
from galloscope.core.planners.planner import Budget, Constraint, Plan
from galloscope.tests.core.planners.instances import instances
from galloscope.tests.core.planners.test_from_graph import first

GRAPHS = ["llama-prefill-fa0-reserve", "qwen3moe-g1ngl1-prefill-fa1-reserve", "a_free_extra", "s_parallel"]


def check_law(source: GraphInstance | Instance, plan: Plan, up_to: int = 600) -> PipelineState:
    """Replaying the events gives what the stages returned; so does reading them back from JSON."""
    events = record_pipeline(source, plan, "ggml", up_to)
    assert from_json(to_json(events)) == events
    state = replay(events)
    instance = source
    if isinstance(source, GraphInstance):
        instance = source.instance
        assert state.steps == list(source.steps)
        assert state.intervals == list(source.intervals)
        assert [group.members for group in state.groups] == list(source.members)
    assert isinstance(instance, Instance)
    assert [group.size for group in state.groups] == instance.size.tolist()
    graph = interference(instance, up_to)
    assert (tuple(state.pairs), tuple(state.cliques)) == (graph.pairs or (), graph.cliques)
    assert state.plan.offsets.tolist() == plan.offsets.tolist()
    if plan.chunks is not None:
        again = state.plan.chunks
        assert again is not None
        assert again.tolist() == plan.chunks.tolist()
    assert state.result is not None
    assert (state.result.peak, state.result.bound) == (peak_bytes(instance, plan), lower_bound(instance))
    return state


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_law_on_graphs(name: str, in_place: bool) -> None:
    for one in graph_instances(first(name), in_place):
        assert one.ggml is not None
        check_law(one, one.ggml)
        check_law(one, one.ggml, up_to=0)


@given(instances(asks=frozenset({Constraint.ALIGNMENT, Constraint.GAPS})))
def test_the_law_on_lists(instance: Instance) -> None:
    check_law(instance, ggml.run(instance, None, Budget()))


# order


@st.composite
def acyclic(draw: st.DrawFn) -> list[list[int]]:
    count = draw(st.integers(0, 12))
    shuffled = draw(st.permutations(range(count)))
    before: list[list[int]] = [[] for _ in range(count)]
    for at, item in enumerate(shuffled):
        before[item] = draw(st.lists(st.sampled_from(shuffled[:at]), unique=True)) if at else []
    return before


@given(acyclic(), st.sampled_from([kahn, depth_first]))
def test_orders_are_topological(before: list[list[int]], sort: object) -> None:
    assert callable(sort)
    order = sort(before, [str(item) for item in range(len(before))])
    turn = {item: at for at, item in enumerate(order)}
    assert sorted(order) == list(range(len(before)))
    assert all(turn[earlier] < turn[item] for item, items in enumerate(before) for earlier in items)


def test_kahn_goes_breadth_first_and_dfs_depth_first() -> None:
    """Two branches a1-a2 and b1-b2 that meet: Kahn alternates, depth-first ends one before it begins the other."""
    names = ["a1", "b1", "a2", "b2", "end"]
    before: list[list[int]] = [[], [], [0], [1], [2, 3]]
    assert [names[item] for item in kahn(before, names)] == ["a1", "b1", "a2", "b2", "end"]
    assert [names[item] for item in depth_first(before, names)] == ["a1", "a2", "b1", "b2", "end"]


@pytest.mark.parametrize("sort", [kahn, depth_first])
def test_a_cycle_is_shown_by_names(sort: object) -> None:
    assert callable(sort)
    names = ["free", "one", "two", "three", "after"]
    with pytest.raises(InputError) as caught:
        sort([[], [3, 0], [1], [2], [3]], names)
    assert "one <- three <- two <- one" in str(caught.value)
    assert "after" not in str(caught.value)
    with pytest.raises(InputError, match="alone <- alone"):
        sort([[0]], ["alone"])


@given(acyclic(), st.data())
def test_any_cycle_is_found(before: list[list[int]], data: st.DataObject) -> None:
    edges = [(item, earlier) for item, items in enumerate(before) for earlier in items]
    if not edges:
        return
    item, earlier = data.draw(st.sampled_from(edges))
    before[earlier].append(item)
    for sort in (kahn, depth_first):
        with pytest.raises(InputError, match="in a circle"):
            sort(before, [str(one) for one in range(len(before))])


@pytest.mark.parametrize(
    ("name", "order", "device", "before", "after"),
    [
        ("gemma3-g2full-prefill-fa0-reserve", "kahn", 1, 346112, 354304),
        ("phi3-g1ngl1-prefill-fa0-reserve", "dfs", 1, 81792, 89984),
    ],
)
def test_another_order_changes_the_bound(name: str, order: str, device: int, before: int, after: int) -> None:
    state = first(name)
    assert lower_bound(graph_instances(state)[device].instance) == before
    assert lower_bound(graph_instances(state, order=order)[device].instance) == after


# intervals


def test_intervals_tell_their_owner_and_why() -> None:
    state = first("llama-prefill-fa0-reserve")
    found = {state.names[one.tensor]: one for one in intervals(state, step_order(state, "ggml"), state.reused)}
    query = found["Qcur-0~2"]
    assert (query.because, state.names[query.of], state.names[query.owner]) == (Because.VIEW, "Qcur-0", "Qcur-0")
    heir = next(one for one in found.values() if one.because is Because.IN_PLACE)
    assert state.reused[heir.tensor] == heir.of
    parent = next(one for one in found.values() if one.tensor == heir.of)
    assert parent.death == heir.birth + 1
    assert parent.until == heir.tensor
    assert found["inp_pos"].birth == 0
    output = next(one for one in found.values() if state.flags[one.tensor] & 2 and one.because is not Because.VIEW)
    assert (output.death, output.until) == (state.n_steps, -1)


# interference


def conflicts(instance: Instance) -> set[tuple[int, int]]:
    """The slow way: step by step at every border."""

    def needs(buffer: int, step: int) -> bool:
        if not instance.lower[buffer] <= step < instance.upper[buffer] or not instance.size[buffer]:
            return False
        return all(not (g.lower <= step < g.upper and g.low == g.high) for g in instance.gaps.get(buffer, ()))

    steps = {*instance.lower.tolist()} | {g.upper for gaps in instance.gaps.values() for g in gaps}
    pairs = combinations(range(len(instance)), 2)
    return {(i, j) for i, j in pairs if any(needs(i, step) and needs(j, step) for step in steps)}


@given(instances(asks=frozenset({Constraint.GAPS})))
def test_pairs_and_cliques_are_the_same_graph(instance: Instance) -> None:
    graph = interference(instance, 10_000)
    assert set(graph.pairs or ()) == conflicts(instance)
    state = PipelineState(cliques=list(graph.cliques))
    covered = {pair for k in range(len(graph.cliques)) for pair in combinations(sorted(state.members(k)), 2)}
    assert covered == conflicts(instance)
    assert max((clique.bytes for clique in graph.cliques), default=0) == lower_bound(instance)
    assert interference(instance, 0).pairs == (None if graph.pairs else ())


def test_cliques_are_told_by_their_differences() -> None:
    instance = Instance.of([0, 0, 2, 3, 5], [2, 4, 6, 6, 6], [1, 2, 4, 8, 16], gaps={1: (Gap(1, 2),)})
    assert interference(instance).cliques == (
        Clique(0, 1, 3, (0, 1), ()),
        Clique(3, 4, 14, (1, 2, 3), (0, 1)),
        Clique(5, 6, 28, (4,), (1,)),
    )


# places


def test_what_each_buffer_rests_on() -> None:
    """c lies on a and on b, d floats, e lies where a hole ends that its alignment leaves."""
    instance = Instance.of([0, 2, 0, 4, 6, 6], [2, 4, 4, 6, 8, 8], [8, 8, 4, 4, 3, 4], alignment=[1, 1, 1, 1, 1, 4])
    placed = {one.buffer: one for one in check_law(instance, _at(0, 0, 8, 20, 0, 4)).placed}
    assert [placed[number].on for number in range(6)] == [(), (), (0, 1), (), (), (4,)]


def test_the_order_of_placing_is_the_planners() -> None:
    plan = Plan(_at(4, 0).offsets, order=_at(0, 1).offsets)
    instance = Instance.of([0, 0], [1, 1], [4, 4])
    assert [one.buffer for one in check_law(instance, plan).placed] == [0, 1]
    assert [one.buffer for one in check_law(instance, _at(4, 0)).placed] == [1, 0]


def _at(*offsets: int) -> Plan:
    return Plan(np.array(offsets, dtype=np.int64))
