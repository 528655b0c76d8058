"""The law: replaying a log gives exactly the state the engine ended with; a log written and read back is equal."""

import json
import typing
from itertools import pairwise

import pytest
from hypothesis import given

from galloscope.core import events as ev
from galloscope.core.allocator.free_blocks import ENDLESS
from galloscope.core.files.graph_json import parse_graph, read_graph
from galloscope.core.files.graph_write import dump_graph
from galloscope.core.files.log_json import dump_log, load_log
from galloscope.core.graph import Problem
from galloscope.core.replay import HANDLERS, NO_CHANGE, replay
from galloscope.core.state import State
from galloscope.tests import strategies
from galloscope.tests.core.engine import Ended, run_engine
from galloscope.tests.corpora import CASES, SMALL, graph_path


def test_every_event_is_folded_or_named_as_changing_nothing() -> None:
    assert set(HANDLERS) | set(NO_CHANGE) == set(typing.get_args(ev.Event))
    assert not set(HANDLERS) & set(NO_CHANGE)


@pytest.mark.parametrize("name", CASES)
def test_replay_is_the_engine(name: str) -> None:
    hold_law(read_graph(graph_path(name)))


@given(strategies.graphs())
def test_replay_is_the_engine_on_any_graph(document: strategies.Document) -> None:
    hold_law(parse_graph(json.dumps(document).encode()))


@pytest.mark.parametrize("name", SMALL)
def test_graph_written_and_read_is_equal(name: str) -> None:
    problem = read_graph(graph_path(name))
    assert parse_graph(dump_graph(problem)) == problem


@given(strategies.graphs())
def test_any_graph_written_and_read_is_equal(document: strategies.Document) -> None:
    problem = parse_graph(json.dumps(document).encode())
    assert parse_graph(dump_graph(problem)) == problem


def hold_law(problem: Problem) -> None:
    for ended in run_engine(problem):
        hold(ended)


def hold(ended: Ended) -> None:
    """The law of one run."""
    read_back = load_log(dump_log(ended.run.events))
    assert read_back == ended.run.events
    assert [type(event) for event in read_back] == [type(event) for event in ended.run.events]
    state = replay(ended.run)
    assert state.names == ended.columns.name
    assert state.tensors == ended.columns.tensors
    assert [tuple(src) for src in ended.columns.src] == state.src
    assert state.flags == ended.columns.flags
    assert (state.nodes, state.leafs) == (ended.columns.nodes, ended.columns.leafs)
    if ended.run.abort is None:
        compare_plan(ended, state)
        compare_split(ended, state)


def compare_split(ended: Ended, state: State) -> None:
    splitter = ended.splitter
    if splitter is None:
        return
    assert state.backend_ids[: state.n_graph] == splitter.assignment.ids
    assert state.causes[: state.n_graph] == splitter.assignment.causes
    assert [(s.backend, s.start, s.end, s.inputs) for s in state.splits] == [
        (s.backend, s.start, s.end, s.inputs) for s in splitter.splits
    ]
    copies: dict[tuple[int, int], list[int]] = {}
    for one in state.copies:
        copies.setdefault((one.src, one.backend), []).append(one.tensor)
    assert copies == splitter.copies
    assert state.graph_inputs == splitter.graph_inputs


def compare_plan(ended: Ended, state: State) -> None:
    gallocr = ended.gallocr
    for buffer, one in enumerate(state.buffers):
        assert one.chunks == [chunk.max_size for chunk in gallocr.blocks[buffer].chunks]
        assert one.real == [size for size in gallocr.real[buffer] or [] if size]
    if not state.reserved:
        return
    slots = [gallocr.leaf_slots[i] for i in range(len(state.alloc_leafs))]
    slots += [slot for slot, _ in gallocr.node_slots]
    tensors = [tensor for tensor, _ in state.alloc_leafs + state.alloc_nodes]
    for tensor, slot in zip(tensors, slots, strict=True):
        life = state.lifetimes.get(tensor)
        if life is None:
            assert slot is None
        else:
            assert slot is not None
            assert (life.buffer, life.chunk, life.offset) == (gallocr.first[slot[0]], slot[1], slot[2])
    compare_free_blocks(ended, state)


def compare_free_blocks(ended: Ended, state: State) -> None:
    """What is free at the end is what no living lifetime covers; empty blocks hold nothing."""
    taken: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for life in (*state.lifetimes.values(), *state.earlier):
        if not life.freed and life.child < 0 and life.size:
            taken.setdefault((life.buffer, life.chunk), []).append((life.offset, life.offset + life.size))
    for buffer, blocks in enumerate(ended.gallocr.blocks):
        if ended.gallocr.first[buffer] != buffer:
            continue
        for c, chunk in enumerate(blocks.chunks):
            free = [(o, o + s) for o, s in zip(chunk.offsets, chunk.sizes, strict=True) if s]
            pieces = sorted(free + taken.get((buffer, c), []))
            assert all(a[1] == b[0] for a, b in pairwise(pieces)), "gaps or overlaps"
            assert not pieces or pieces[0][0] == 0
            merged = [a for a, b in pairwise(free) if a[1] == b[0]]
            assert not merged, "neighbours that should have joined"
            assert not free or free[-1][1] <= ENDLESS
