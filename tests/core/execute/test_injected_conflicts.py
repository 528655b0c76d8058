"""Offsets moved on purpose: the guard must flag every conflict of lifetimes that this makes, and nothing else.

What a conflict is, is worked out by comparing all pairs, without the guard, the checker or the allocator.
"""

import copy
import random
from collections import Counter

import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.execute.conflict import Conflict
from galloscope.core.execute.executor import Executor, Settings
from galloscope.core.execute.feed import Zeros
from galloscope.core.execute.layout import Layout, layout_of
from galloscope.core.execute.runnable import runnable
from galloscope.core.files.graph_json import read_graph
from galloscope.core.log import Run
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.tests.core.execute.conflicts import conflicts
from galloscope.tests.corpora import GOLDEN, graph_path

RANDOM = sorted(path.name.split(".graph.json")[0] for path in GOLDEN.glob("random/*.graph.json*"))


def flagged(run: Run, state: State, layout: Layout) -> Conflict | None:
    try:
        Executor(make_backend("digest"), Settings(guard=True, stats=False)).run(run, state, Zeros(), layout=layout)
    except Conflict as found:
        return found
    return None


def first_run(name: str) -> tuple[Run, State] | None:
    """The first run of a case; None where ggml stops, or nothing is placed."""
    run = trace(runnable(read_graph(graph_path(name)))).runs[0]
    state = replay(run)
    return (run, state) if run.abort is None and state.places else None


@pytest.mark.parametrize("part", range(4))
def test_every_conflict_is_flagged_and_nothing_else(part: int) -> None:
    chance = random.Random(part)
    counts: Counter[str] = Counter()
    for name in RANDOM[part::4]:
        found = first_run(name)
        if found is None:
            continue
        run, state = found
        layout = layout_of(state)
        if conflicts(state, dict(layout.at)):
            continue  # ggml's own plan is not sound: an INPUT among the nodes
        own = flagged(run, state, layout)
        if own is not None:
            assert "made before a node wrote to it in place" in str(own)  # the graph itself, not the plan
            continue
        movable = [tensor for tensor, place in layout.at.items() if place.size]
        for _ in range(4):
            moved = chance.choice(movable)
            place = layout.at[moved]
            align = state.buffers[place.buffer].buft.align
            room = (layout.chunks[place.buffer, place.chunk] - place.size) // align
            at = {**layout.at, moved: place._replace(offset=chance.randint(0, max(room, 0)) * align)}
            expected = conflicts(state, at)
            seen = flagged(run, state, Layout(at, layout.chunks))
            assert (seen is not None) == bool(expected), (name, state.names[moved], place, at[moved], seen)
            counts["conflict" if expected else "clean"] += 1
    assert counts["conflict"] > 60
    assert counts["clean"] > 10


def test_two_tensors_and_the_step_are_named() -> None:
    found = next(filter(None, map(first_run, RANDOM)))
    assert found is not None
    run, state = found
    layout = layout_of(state)
    keys = Counter((place.buffer, place.chunk) for place in layout.at.values() if place.size)
    crowded = keys.most_common(1)[0][0]
    at = {t: place._replace(offset=0) if place[:2] == crowded else place for t, place in layout.at.items()}
    seen = flagged(run, state, Layout(at, layout.chunks))
    assert seen is not None
    assert seen.tensor >= 0
    assert state.names[seen.tensor] in str(seen)
    assert seen.other < 0 or state.names[seen.other] in str(seen)
    assert seen.events == tuple(sorted(seen.events))
    for tick in seen.events:
        event = run.events[tick]
        named = {getattr(event, field, -1) for field in ("tensor", "child", "parent")}
        assert named & {seen.tensor, seen.other}


def test_the_layout_is_not_changed() -> None:
    found = next(filter(None, map(first_run, RANDOM)))
    assert found is not None
    run, state = found
    layout = layout_of(state)
    before = copy.deepcopy(dict(layout.at))
    flagged(run, state, layout)
    assert dict(layout.at) == before
