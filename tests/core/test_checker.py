"""The independent checker: silent on every sound plan, loud on the hazards that ggml has."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.check.checker import Verdict, Violation, check
from galloscope.core.check.liveness import live_steps
from galloscope.core.files.graph_json import read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.tests.corpora import CASES, SMALL, graph_path

HAZARDS = {("a_leaf_view_early_free", 0), ("a_realloc_topology_hazard", 1)}


def states(name: str) -> list[State]:
    return [replay(run) for run in trace(read_graph(graph_path(name))).runs]


@pytest.mark.parametrize("name", CASES)
def test_flags_the_hazards_and_nothing_else(name: str) -> None:
    for number, state in enumerate(states(name)):
        if state.abort is None:
            assert bool(check(state)) == ((name, number) in HAZARDS)


def test_names_who_overwrites_whom_and_when() -> None:
    stale = states("a_realloc_topology_hazard")[1]
    (hit,) = check(stale)
    assert (hit.verdict, stale.names[hit.tensor], stale.names[hit.other], hit.step) == (Verdict.OVERLAP, "c", "a", 2)


@given(st.sampled_from(SMALL), st.data())
def test_a_tensor_moved_onto_a_living_one_is_flagged(name: str, data: st.DataObject) -> None:
    """Whatever is put on top of bytes that are still needed is found, at the step where the later one is born."""
    state = states(name)[0]
    live = live_steps(state)
    if state.abort is not None or check(state):
        return
    homes = {t: life for t, life in state.lifetimes.items() if t in live and state.tensors[t].nbytes}
    pairs = [
        (one, other)
        for one in homes
        for other in homes
        if one != other
        and (homes[one].buffer, homes[one].chunk) == (homes[other].buffer, homes[other].chunk)
        and live[one][0] < live[other][0] < live[one][1]
    ]
    if not pairs:
        return
    victim, mover = data.draw(st.sampled_from(pairs[:200]))
    state.places.clear()
    state.lifetimes[mover] = dataclasses.replace(homes[mover], offset=homes[victim].offset)
    assert Violation(Verdict.OVERLAP, mover, victim, live[mover][0]) in check(state)


def test_outside_and_misaligned() -> None:
    state = states("a_alignment")[0]
    tensor = next(iter(state.places))
    place = state.places[tensor]
    state.places[tensor] = dataclasses.replace(place, offset=place.offset + 1)
    assert Violation(Verdict.MISALIGNED, tensor) in check(state)
    state.places[tensor] = dataclasses.replace(place, offset=place.offset + (1 << 40))
    assert Violation(Verdict.OUTSIDE, tensor) in check(state)


def test_an_equal_address_alone_excuses_nothing() -> None:
    """The re-use decision is what excuses a shared address: without it the same placement is a violation."""
    state = states("a_inplace_on_input")[0]
    assert not check(state)
    assert state.plan_reuse
    state.plan_reuse.clear()
    assert {hit.verdict for hit in check(state)} == {Verdict.OVERLAP}
