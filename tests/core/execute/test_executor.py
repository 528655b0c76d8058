"""The executor: what it tells the devices, its hooks, the experts it copies, what it skips and what it keeps."""

from typing import Any

import msgspec
import numpy as np
import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.compute_events import AsyncTransfer, Transfer
from galloscope.core.errors import InputError
from galloscope.core.events import Begin, Stage
from galloscope.core.execute.arena import external_key
from galloscope.core.execute.compare import compare
from galloscope.core.execute.executor import Executor, Settings
from galloscope.core.execute.feed import Zeros
from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.execute.hooks import Hooks
from galloscope.core.execute.layout import layout_of
from galloscope.core.execute.runnable import runnable
from galloscope.core.files.graph_json import parse_graph, read_graph
from galloscope.core.graph import Request
from galloscope.core.llama.options import GraphMode
from galloscope.core.log import Run
from galloscope.core.op import Op
from galloscope.core.replay import replay, replay_all
from galloscope.core.session import trace
from galloscope.tests.core.execute.problems import problem_of
from galloscope.tests.corpora import GOLDEN, graph_path

SCHEDULED = sorted(path.name.split(".graph.json")[0] for path in GOLDEN.glob("hand/s*.graph.json*"))


def told(run: Run) -> list[Any]:
    """The events of a run's compute loop as the trace has them."""
    starts = [i for i, event in enumerate(run.events) if isinstance(event, Begin) and event.stage is Stage.COMPUTE]
    return run.events[starts[-1] + 1 : -1] if starts else []


@pytest.mark.parametrize("name", SCHEDULED)
def test_what_the_devices_are_told_is_what_was_traced(name: str) -> None:
    problem = runnable(read_graph(graph_path(name)))
    session = trace(problem)
    executor = Executor(make_backend("digest"), Settings(stats=False))
    feed = RandomFeed(problem.requests[-1].graph, 1)
    for run, state in zip(session.runs, replay_all(session.runs), strict=True):
        if run.abort is not None or not state.places:
            continue
        has_experts = any(tensor.op is Op.MUL_MAT_ID for tensor in state.tensors)
        events = executor.run(run, state, feed).events
        if has_experts:  # the ids of a run are its own
            events = [event for event in events if not _of_experts(event)]
            assert events == [event for event in told(run) if not _of_experts(event)]
        else:
            assert events == told(run)


def _of_experts(event: Any) -> bool:
    return isinstance(event, (AsyncTransfer, Transfer)) and event.what.startswith("set")


def moe() -> tuple[Run, Any, RandomFeed]:
    problem = read_graph(graph_path("s_moe"))
    session = trace(problem)
    return session.runs[0], replay(session.runs[0]), RandomFeed(problem.requests[0].graph, 3)


def test_only_the_experts_that_the_ids_name_are_copied() -> None:
    run, state, feed = moe()
    node = next(n for n in state.nodes if state.tensors[n].op is Op.MUL_MAT_ID)
    weight = state.tensors[node].src[0]
    copy = state.src[node][0]
    executor = Executor(make_backend("numpy"), Settings(guard=True))
    used: set[int] = set()
    copied: list[Any] = []

    def look(computed: int) -> None:
        if computed == node:
            used.update(executor.values(state.src[node][2]).reshape(-1).tolist())
            copied.append(executor.values(copy)[0])

    execution = executor.run(run, state, feed, Hooks(node=look))
    size = state.tensors[weight].nb[2]
    there = [event for event in execution.events if isinstance(event, AsyncTransfer) and event.what == "set_async"]
    covered = {(event.offset + k * size) // size for event in there for k in range(event.size // size)}
    assert covered == used
    assert 0 < len(used) < state.tensors[weight].ne[2]
    whole = executor.values(weight)[0]
    for expert in used:
        assert np.array_equal(copied[0][expert], whole[expert])
    unused = next(expert for expert in range(len(whole)) if expert not in used and expert - 1 not in used)
    assert not np.array_equal(copied[0][unused], whole[unused])


def test_the_eval_callback_ends_a_split() -> None:
    problem = problem_of("llama", 2, 1)
    run = trace(problem).runs[-1]
    state = replay(run)
    asked: list[tuple[int, bool]] = []

    def stop_at_the_third(node: int, ask: bool) -> bool:
        asked.append((node, ask))
        return len([one for one in asked if one[1]]) >= 3 if ask else False

    executor = Executor(make_backend("numpy"))
    execution = executor.run(run, state, RandomFeed(problem.requests[-1].graph, 1), Hooks(eval=stop_at_the_third))
    first = state.splits[0]
    ended = [node for node, ask in asked if not ask]
    assert ended, "the callback was told about a result"
    assert all(node not in [one.node for one in execution.nodes] for node in state.nodes[first.start + 3 : first.end])


def test_the_eval_callback_sees_every_node_in_order() -> None:
    problem = problem_of("qwen2", 1, 1)
    run = trace(problem).runs[-1]
    state = replay(run)
    seen: list[int] = []

    def look(node: int, ask: bool) -> bool:
        if ask:
            seen.append(node)
        return True

    executor = Executor(make_backend("numpy"))
    executor.run(run, state, RandomFeed(problem.requests[-1].graph, 1), Hooks(eval=look))
    assert seen == state.nodes


def test_the_copy_callback_may_do_the_copy() -> None:
    problem = problem_of("llama", 2, 1)
    run = trace(problem).runs[-1]
    state = replay(run)
    asked: list[tuple[int, int]] = []

    def keep_out(source: int, copy: int) -> bool:
        asked.append((source, copy))
        return True

    feed = RandomFeed(problem.requests[-1].graph, 1)
    right = Executor(make_backend("numpy"))
    wrong = Executor(make_backend("numpy"))
    right.run(run, state, feed)
    wrong.run(run, state, feed, Hooks(copy=keep_out))
    assert {copy.src for copy in state.copies} >= {source for source, _ in asked}
    assert asked
    assert not np.array_equal(right.values(state.nodes[-1]), wrong.values(state.nodes[-1]))


def test_nodes_without_the_compute_flag_are_skipped() -> None:
    problem = problem_of("llama", 0, 1)
    run = trace(problem).runs[-1]
    state = replay(run)
    skipped = [node for node in state.nodes if node not in state.computed]
    assert skipped
    execution = Executor(make_backend("numpy")).run(run, state, RandomFeed(problem.requests[-1].graph, 1))
    assert not {one.node for one in execution.nodes} & set(skipped)


def test_caches_stay_and_inputs_do_not() -> None:
    problem = problem_of("llama", 0, 1, GraphMode.DECODE, batches=2)
    runs = trace(problem).runs
    feed = RandomFeed(problem.requests[-1].graph, 1)
    executor = Executor(make_backend("numpy"), Settings(poison=True))
    states = list(replay_all(runs))
    executor.run(runs[0], states[0], feed)
    state = states[0]
    cache = next(t for t, one in enumerate(state.tensors) if one.buft >= 0 and not one.is_weight)
    filled = executor.values(cache)
    assert np.any(filled)
    held = executor.arena.externals[external_key(state.tensors[cache])]
    executor.run(runs[1], states[1], feed)
    assert executor.arena.externals[external_key(state.tensors[cache])] is held
    assert np.array_equal(executor.values(cache), filled)  # the same token into the same cell


def test_running_twice_gives_the_same() -> None:
    """Poison between the runs, and everything is filled anew."""
    problem = problem_of("gemma3", 2, 1)
    run = trace(problem).runs[-1]
    state = replay(run)
    feed = RandomFeed(problem.requests[-1].graph, 1)
    executor = Executor(make_backend("numpy"), Settings(poison=True, guard=True))
    executor.run(run, state, feed)
    first = executor.values(state.nodes[-1])
    executor.run(run, state, feed)
    assert np.array_equal(executor.values(state.nodes[-1]), first)


def test_a_reservation_cannot_run() -> None:
    problem = problem_of("llama", 1, 1)
    only = msgspec.structs.replace(problem, requests=(Request(problem.requests[0].graph, reserve=True),))
    state = replay(trace(only).runs[0])
    with pytest.raises(InputError, match="only reserves"):
        layout_of(state)


def test_a_view_past_its_base_is_one_sentence() -> None:
    graph = b"""{"mode": "galloc", "backends": [{"name": "CPU"}], "outputs": ["b"], "tensors": [
        {"name": "x", "ne": [8], "flags": ["input"]},
        {"name": "v", "op": "VIEW", "src": ["x"], "ne": [8], "view_offs": 16},
        {"name": "b", "op": "SQR", "src": ["v"], "ne": [8]}]}"""
    run = trace(parse_graph(graph)).runs[0]
    with pytest.raises(InputError, match="view is too long"):
        Executor(make_backend("numpy")).run(run, replay(run), Zeros())


def test_no_kernel_is_one_sentence() -> None:
    graph = b"""{"mode": "galloc", "backends": [{"name": "CPU"}], "outputs": ["b"], "tensors": [
        {"name": "x", "ne": [8], "flags": ["input"]},
        {"name": "b", "op": "WIN_PART", "src": ["x"], "ne": [8]}]}"""
    runs = trace(parse_graph(graph)).runs
    with pytest.raises(InputError, match="--backend digest needs none"):
        Executor(make_backend("numpy")).run(runs[0], replay(runs[0]), Zeros())
    assert compare(runs, Zeros(), lambda: make_backend("digest"))[0].equal


def test_a_reservation_is_followed_by_its_run() -> None:
    problem = problem_of("llama", 1, 1)
    only = msgspec.structs.replace(problem, requests=(Request(problem.requests[0].graph, reserve=True),))
    both = runnable(only, batches=2)
    assert [request.reserve for request in both.requests] == [True, None, None]
    found = compare(trace(both).runs, RandomFeed(both.requests[-1].graph, 1), lambda: make_backend("numpy"))
    assert len(found) == 2
    assert all(one.equal for one in found)
