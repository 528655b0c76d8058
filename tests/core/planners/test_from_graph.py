"""Graphs as planning instances: lifetimes by liveness alone, ggml's own placement beside them."""

import dataclasses
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from galloscope.core.check.liveness import live_steps
from galloscope.core.errors import InputError
from galloscope.core.explain.stats import stats
from galloscope.core.files.graph_json import read_graph
from galloscope.core.op import Op
from galloscope.core.planners.bound import lower_bound, peak_bytes
from galloscope.core.planners.from_graph import GraphInstance, instances
from galloscope.core.planners.instance import Gap
from galloscope.core.planners.pipeline.intervals import Because, Interval
from galloscope.core.planners.pipeline.order import dependencies, step_order
from galloscope.core.planners.validate import Verdict, validate
from galloscope.core.replay import replay_all
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.core.tensor import Flag
from galloscope.tests.corpora import CASES, SMALL, graph_path

UNSOUND = {
    ("a_leaf_view_early_free", 0): Verdict.OVERLAP,
    ("a_realloc_topology_hazard", 1): Verdict.OVERLAP,
    ("a_chunk_16", 0): Verdict.OUT_OF_CHUNK,
    ("r0023", 0): Verdict.OUT_OF_CHUNK,
    ("r0143", 0): Verdict.OUT_OF_CHUNK,
    ("r0153", 0): Verdict.OUT_OF_CHUNK,
}
"""Where ggml itself breaks a rule: two hazards that the checker knows, and a 16th chunk, which heeds no limit."""


def states(name: str) -> Iterator[State]:
    """Each is to be read before the next one is asked for: they share their buffers."""
    return replay_all(trace(read_graph(graph_path(name))).runs)


def run(name: str, number: int) -> State:
    return next(islice(states(name), number, None))


def first(name: str) -> State:
    return run(name, 0)


def live_at_most(state: State, one: GraphInstance) -> int:
    """The bound counted without any of the code under test: bytes needed at each step, by tensor, chains by their max.

    A child that took its parent's memory at the parent's last step adds nothing there.
    """
    buffer = one.buffer
    align, buft = state.buffers[buffer].buft.align, state.buffers[buffer].buft
    places = state.places or state.lifetimes
    live = {t: span for t, span in (live_steps(state) or {}).items() if t in places and places[t].buffer == buffer}
    if not state.n_steps:
        live = {t: (0, 0) for t in places if places[t].buffer == buffer}
    size = {t: -(-buft.alloc_size(t, state.tensors, state.src[t]) // align) * align for t in live}
    per_step = np.zeros(state.n_steps + 2, dtype=np.int64)
    for tensor, (start, end) in live.items():
        per_step[start] += size[tensor]
        per_step[end + 1] -= size[tensor]
    for step, slot in state.plan_reuse.items():
        if step < state.n_steps:
            child = state.alloc_nodes[step][0]
            parent = state.src[child][slot] if slot < len(state.src[child]) else -1
            if parent in live and child in live and live[parent][1] == live[child][0] == step:

                def spot(tensor: int) -> tuple[int, int]:
                    return places[tensor].chunk, places[tensor].offset

                if spot(parent) == spot(child):
                    shared = min(size[parent], size[child])
                    per_step[step] -= shared
                    per_step[step + 1] += shared
    return int(per_step.cumsum().max(initial=0))


@pytest.mark.parametrize("name", CASES)
def test_ggml_is_valid_against_liveness_and_as_large_as_stats_says(name: str) -> None:
    for number, state in enumerate(states(name)):
        if state.ok is not True:
            continue
        devices = stats(state)["devices"]
        found = instances(state)
        assert [one.instance.name for one in found] == [device["name"] for device in devices]
        for one, device in zip(found, devices, strict=True):
            assert one.ggml is not None
            judged = validate(one.instance, one.ggml).verdict
            if judged is not Verdict.GOOD:
                assert judged is UNSOUND[name, number]
            peak, bound = peak_bytes(one.instance, one.ggml), lower_bound(one.instance)
            assert peak == device["compute_bytes"] or (not state.reserved and peak < device["compute_bytes"])
            assert bound == live_at_most(state, one)
            if (name, number) not in UNSOUND:
                assert bound <= device["peak_live_bytes"], "ggml keeps bytes as long as they are needed, or longer"


@pytest.mark.parametrize(("name", "number"), UNSOUND)
def test_the_validator_says_where_ggml_is_unsound(name: str, number: int) -> None:
    verdicts = {validate(one.instance, one.ggml).verdict for one in instances(run(name, number)) if one.ggml}
    assert UNSOUND[name, number] in verdicts


@pytest.mark.parametrize("name", SMALL[::4])
@pytest.mark.parametrize("order", ["ggml", "kahn", "dfs"])
def test_every_tensor_is_in_one_buffer_with_or_without_in_place(name: str, order: str) -> None:
    for state in states(name):
        if state.ok is not True:
            continue
        placed = set(state.places or state.lifetimes)
        chained, plain = instances(state, True, order), instances(state, False, order)
        for found in (chained, plain):
            members = [t for one in found for group in one.members for t in group]
            assert len(set(members)) == len(members)
            assert {t for t in members if state.tensors[t].view_src < 0} == placed
            for one in found:
                assert all(ids[0] == owner.tensor for ids, owner in zip(one.members, _owners(one), strict=True))
        assert sum(len(one.instance) for one in plain) == len(placed)
        if all(state.buffers[one.buffer].buft.plain for one in chained):
            heirs = sum(i.because is Because.IN_PLACE for one in chained for i in one.intervals)
            assert sum(len(one.instance) for one in chained) == len(placed) - heirs


def _owners(one: GraphInstance) -> list[Interval]:
    intervals = {i.tensor: i for i in one.intervals}
    return [intervals[group[0]] for group in one.members]


def test_with_in_place_the_bound_is_never_larger() -> None:
    for name in SMALL[::7]:
        for state in states(name):
            if state.reserved and state.ok:
                for one, other in zip(instances(state), instances(state, in_place=False), strict=True):
                    if len(state.buffers) == 1:
                        assert lower_bound(one.instance) <= lower_bound(other.instance)


def test_without_in_place_the_engine_is_asked_again() -> None:
    state = first("llama-prefill-fa1-reserve")
    (chained,), (plain,) = instances(state), instances(state, in_place=False)
    assert chained.ggml is not None
    assert plain.ggml is not None
    assert len(plain.instance) > len(chained.instance)
    assert validate(plain.instance, plain.ggml).good
    assert peak_bytes(plain.instance, plain.ggml) == 107776
    assert peak_bytes(chained.instance, chained.ggml) == 91392


def test_a_smaller_heir_frees_the_tail_as_a_window() -> None:
    """free_extra: `scaled` takes the memory of the matmul without its scratch, so less is needed from the next step."""
    state = first("a_free_extra")
    (one,) = instances(state)
    ((index, gaps),) = one.instance.gaps.items()
    owner, heir = one.members[index][:2]
    born = next(i.birth for i in one.intervals if i.tensor == heir)
    size = int(one.instance.size[index])
    assert size == state.lifetimes[owner].size > state.lifetimes[heir].size
    assert gaps == (Gap(born + 1, int(one.instance.upper[index]), 0, state.lifetimes[heir].size),)


def test_a_chain_that_would_break_its_parent_is_two_buffers() -> None:
    """Else the hazard would be folded away, and no validator could see it."""
    state = first("llama-prefill-fa1-reserve")
    child, parent = next(iter(state.reused.items()))
    state.flags[parent] |= Flag.OUTPUT
    (one,) = instances(state)
    assert child in {group[0] for group in one.members}
    assert one.ggml is not None
    judged = validate(one.instance, one.ggml)
    assert judged.verdict is Verdict.OVERLAP
    assert {one.instance.ids[k] for k in judged.buffers} == {state.names[parent], state.names[child]}


def test_equal_names_get_their_number() -> None:
    state = first("llama-prefill-fa1-reserve")
    twins = [group[0] for group in instances(state)[0].members[:2]]
    state.names[twins[0]] = state.names[twins[1]] = "twin"
    assert instances(state)[0].instance.ids[:2] == (f"twin#{twins[0]}", f"twin#{twins[1]}")


def test_chunks_of_ggml_are_kept() -> None:
    state = first("llama_4l-g1chunk-prefill-fa0-reserve")
    gpu = next(one for one in instances(state) if one.instance.name == "GPU0")
    assert gpu.instance.max_chunk == state.buffers[gpu.buffer].buft.max_size
    assert gpu.ggml is not None
    assert gpu.ggml.chunks is not None
    assert len(set(gpu.ggml.chunks.tolist())) == len(state.buffers[gpu.buffer].chunks)


@pytest.mark.parametrize("name", ["a_free_blocks_256", "s_p4_view_of_plain_leaf"])
def test_where_ggml_stops_there_is_nothing_to_compare(name: str) -> None:
    with pytest.raises(InputError, match=r"has no plan to compare with, .* ggml stops with"):
        instances(first(name))


@pytest.mark.parametrize("order", ["kahn", "dfs"])
@pytest.mark.parametrize("name", SMALL[::3])
def test_other_orders_keep_dependencies_and_splits(name: str, order: str) -> None:
    state = first(name)
    steps = step_order(state, order)
    assert sorted(steps) == list(range(state.n_steps))
    turn = {step: at for at, step in enumerate(steps)}
    for step, needed in enumerate(dependencies(state)):
        assert all(turn[one] < turn[step] for one in needed)
    split_of = {node: number for number, one in enumerate(state.splits) for node in state.nodes[one.start : one.end]}
    splits = [split_of[node] for step in steps if (node := state.alloc_nodes[step][0]) in split_of]
    assert splits == sorted(splits)


def test_a_write_waits_for_the_readers_of_what_it_overwrites() -> None:
    """KV caches: the attention reads what the copy has written, and no source says so."""
    state = first("llama-decode-fa0-reserve")
    before = dependencies(state)
    writes = [step for step, (node, _) in enumerate(state.alloc_nodes) if state.names[node].startswith("cache")]
    writes = [step for step in writes if state.tensors[state.alloc_nodes[step][0]].op is Op.SET_ROWS]
    assert len(writes) == 4
    for step in writes:
        cache = state.tensors[state.alloc_nodes[step][0]].view_src
        later = [
            at
            for at, (node, _) in enumerate(state.alloc_nodes)
            if at > step and any(source >= 0 and state.tensors[source].view_src == cache for source in state.src[node])
        ]
        assert later
        assert all(step in before[at] for at in later)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(InputError, match="no order of steps is named 'bfs'"):
        instances(first("llama-decode-fa1-reserve"), order="bfs")


def test_the_instance_is_not_the_engines() -> None:
    """Nothing of the placement is in the columns: the lifetimes stay when every free of the log is taken out."""
    state = first("llama-prefill-fa0-reserve")
    before = instances(state)[0].instance
    for life in state.lifetimes.values():
        life.dies, life.freed = state.n_steps, False
    after = instances(state)[0].instance
    for column in ("lower", "upper", "size"):
        assert (getattr(before, column) == getattr(after, column)).all()
    assert dataclasses.asdict(before)["gaps"] == dataclasses.asdict(after)["gaps"]
