"""Poison and the comparison of everything that a node does not own."""

import json
from typing import Any

import numpy as np
import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.check.liveness import live_steps
from galloscope.core.execute import untouched
from galloscope.core.execute.conflict import Conflict
from galloscope.core.execute.executor import Executor, Settings
from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.execute.hooks import Hooks
from galloscope.core.execute.layout import Layout, layout_of
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.tensor import Flag
from galloscope.tests.core.execute.problems import problem_of

PROBLEM = problem_of("qwen3moe", 2, 1)
RUN = trace(PROBLEM).runs[-1]
STATE = replay(RUN)
FEED = RandomFeed(PROBLEM.requests[-1].graph, 1)


@pytest.mark.parametrize("far", [False, True])
def test_a_stray_write_is_found(far: bool) -> None:
    """Beside the result of the node, or at the other end of the memory."""
    executor = Executor(make_backend("numpy"), Settings(guard=True))
    count = 0

    def scribble(node: int) -> None:
        nonlocal count
        count += 1
        if count == 20:
            span = executor._last().span(node)
            at = span.start + STATE.tensors[node].nbytes if not far else (span.start + span.memory.size // 2)
            span.memory[at % span.memory.size] ^= 0x55

    with pytest.raises(Conflict, match="has changed, which is not its own"):
        executor.run(RUN, STATE, FEED, Hooks(node=scribble))


def test_the_window_goes_through_thousands_of_caches_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each counts for more than its few bytes, and a stray write to any of them is seen before the window is back."""
    monkeypatch.setattr(untouched, "WINDOW", 4 * untouched.LEAST)
    caches = [f"k{number}" for number in range(40)]
    tensors: list[dict[str, Any]] = [{"name": name, "ne": [8], "alloc_in": "CPU"} for name in caches]
    sums = [(f"t{number}", [f"t{number - 1}" if number else "k0", caches[number % 40]]) for number in range(100)]
    tensors += [{"name": name, "op": "ADD", "src": sources, "ne": [8]} for name, sources in sums]
    problem = parse_graph(json.dumps({"tensors": tensors, "outputs": ["t99"]}).encode())
    run = trace(problem).runs[-1]
    executor = Executor(make_backend("numpy"), Settings(guard=True))
    seen = []

    def scribble(node: int) -> None:
        seen.append(node)
        if len(seen) == 60:
            memory = next(memory for key, memory in executor.arena.externals.items() if key[0] == "k7")
            memory[5] ^= 0x55

    with pytest.raises(Conflict, match=r"byte 5 of .*'k7'"):
        executor.run(run, replay(run), RandomFeed(run.request.graph, 1), Hooks(node=scribble))
    assert 60 < len(seen) <= 60 + 11


def test_what_is_dead_is_poisoned_and_what_is_kept_is_not() -> None:
    executor = Executor(make_backend("numpy"), Settings(poison=True, guard=True))
    executor.run(RUN, STATE, FEED)
    layout = layout_of(STATE)
    live = live_steps(STATE)
    outputs = [t for t in layout.at if STATE.flags[t] & Flag.OUTPUT and t in live]
    assert outputs
    for tensor in outputs:
        assert np.isfinite(executor.values(tensor)).all()
    alone = [t for t, place in layout.at.items() if place.size and _last_there(layout, live, t)]
    dead = [t for t in alone if not STATE.flags[t] & Flag.OUTPUT and live[t][1] < STATE.n_steps - 1 and _has_reader(t)]
    kinds = set()
    for tensor in dead:
        place = layout.at[tensor]
        held = executor.arena.chunks[place.buffer, place.chunk][place.offset : place.offset + place.size]
        integer = STATE.tensors[tensor].dtype.name.startswith("i")
        assert set(held.tolist()) == {0xA5 if integer else 0xFF}, STATE.names[tensor]
        kinds.add(integer)
    assert kinds == {False, True}


def _has_reader(tensor: int) -> bool:
    return any(tensor in STATE.src[node] for node in STATE.nodes)


def _last_there(layout: Layout, live: dict[int, tuple[int, int]], tensor: int) -> bool:
    """Nothing that was born later lies on its bytes."""
    place = layout.at[tensor]
    return tensor in live and not any(
        other != tensor
        and other in live
        and live[other][1] >= live[tensor][1]
        and layout.at[other][:2] == place[:2]
        and layout.at[other].offset < place.offset + place.size
        and place.offset < layout.at[other].offset + layout.at[other].size
        for other in layout.at
    )


def test_poison_shows_in_what_is_read_too_late() -> None:
    """A plan that gives bytes back before their last reader: without poison the old numbers may still be there."""
    run, state = RUN, STATE
    layout = layout_of(state)
    live = live_steps(state)
    victim = max(
        (t for t, place in layout.at.items() if t in live and place.size and not state.flags[t] & Flag.OUTPUT),
        key=lambda t: live[t][1] - live[t][0],
    )
    executor = Executor(make_backend("numpy"), Settings(poison=True, stats=True))
    step = {node: number for number, (node, _) in enumerate(state.alloc_nodes)}
    place = layout.at[victim]

    def give_back_early(node: int) -> None:
        if step[node] >= sum(live[victim]) // 2:
            executor.arena.chunks[place.buffer, place.chunk][place.offset : place.offset + place.size] = 0xFF

    execution = executor.run(run, state, FEED, Hooks(node=give_back_early))
    assert any(node.nans for node in execution.nodes)
    clean = Executor(make_backend("numpy"), Settings(poison=True)).run(run, state, FEED)
    assert not any(node.nans for node in clean.nodes)
