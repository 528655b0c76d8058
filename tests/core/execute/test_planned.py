"""Planned execution, poisoned and guarded, equals naive execution bit for bit."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from galloscope.app.samples import Sample, samples
from galloscope.core.backends.backend import make_backend
from galloscope.core.errors import GalloscopeError, InputError
from galloscope.core.execute.compare import Compared, compare
from galloscope.core.execute.conflict import Conflict
from galloscope.core.execute.executor import Settings
from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.execute.layout import Layout, layout_of, moved
from galloscope.core.execute.runnable import runnable
from galloscope.core.files.graph_json import parse_graph, read_graph
from galloscope.core.graph import Problem
from galloscope.core.llama.options import GraphMode
from galloscope.core.log import Run
from galloscope.core.planners.from_graph import instances
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Budget
from galloscope.core.planners.solve import solve
from galloscope.core.replay import replay, replay_all
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.tests.core.execute.conflicts import conflicts
from galloscope.tests.core.execute.problems import MODELS_MADE, problem_of
from galloscope.tests.corpora import GOLDEN, graph_path
from galloscope.tests.strategies import Document, graphs

WATCHED = Settings(poison=True, guard=True, stats=False)
RANDOM = sorted(path.name.split(".graph.json")[0] for path in GOLDEN.glob("random/*.graph.json*"))
HAND = sorted(path.name.split(".graph.json")[0] for path in GOLDEN.glob("hand/*.graph.json*"))
UNSOUND = {"a_leaf_view_early_free", "a_realloc_topology_hazard", "s_pin_view"}
"""Plans of ggml that lose bytes, see test_hazards."""
IN_PLACE_AFTER_COPY = {"r0048", "r0086", "r0177"}
"""Graphs that write to a tensor in place after the scheduler has copied it."""
NO_LAYOUT = {"a_realloc_multi", "b_view_not_a_src"}
"""The plan in force does not fit and stays; a view of something that is in no graph."""
TOO_LARGE = {"lesson-decoder-layer"}
"""With real numbers: 400 million multiplications in each of 1000 tokens."""


def both_ways(problem: Problem, backend: str = "numpy", seed: int = 1) -> list[Compared]:
    session = trace(problem)
    runs = [run for run in session.runs if run.abort is None]
    return compare(runs, RandomFeed(problem.requests[-1].graph, seed), lambda: make_backend(backend), WATCHED)


def assert_equal(found: list[Compared]) -> None:
    assert found
    for one in found:
        names = one.execution.state.names
        assert one.equal, [(names[d.node], d.byte) for d in one.differences[:3]] + one.caches
        assert one.nodes


@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("gpus", [0, 1, 2])
@pytest.mark.parametrize("model", MODELS_MADE)
def test_models_on_devices_with_copies(model: str, gpus: int, copies: int) -> None:
    if copies > 1 and not gpus:
        pytest.skip("one device copies nothing")
    problem = problem_of(model, gpus, copies, batches=1 if copies == 1 else 3)
    found = both_ways(problem)
    assert_equal(found)
    assert {one.execution.state.cur_copy for one in found} == set(range(min(copies, len(found))))
    splits = found[-1].execution.state.splits
    assert len({split.backend for split in splits}) >= min(gpus + 1, 2)


@pytest.mark.parametrize("mode", list(GraphMode))
@pytest.mark.parametrize("model", MODELS_MADE)
def test_flash_attention(model: str, mode: GraphMode) -> None:
    assert_equal(both_ways(problem_of(model, 2, 1, mode, True)))


def available() -> int:
    """Bytes of memory that nobody needs."""
    lines = Path("/proc/meminfo").read_text().splitlines() if Path("/proc/meminfo").exists() else []
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")), 1 << 62)


def attempted(problem: Problem, backend: str) -> list[Compared] | GalloscopeError:
    """The comparison, or why there is none."""
    try:
        return both_ways(problem, backend)
    except (InputError, Conflict) as error:
        return error


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_samples(sample: Sample) -> None:
    """With numbers where they are small and possible; else as fingerprints, which any shape and size has."""
    if sample.name == "lesson-stale-plan":
        with pytest.raises(Conflict, match="result"):
            both_ways(runnable(read_graph(sample.path)), "digest")
        return
    if sample.name == "lesson-no-device":
        assert trace(read_graph(sample.path)).runs[-1].abort
        return
    problem = runnable(read_graph(sample.path))
    if sample.name.startswith("llama70b") and available() < 12 << 30:
        pytest.skip("80 layers of caches, three times over, need 12 GiB of free memory")
    numbers = sample.name not in TOO_LARGE and not sample.name.startswith(("gemma3", "llama70b"))
    found = attempted(problem, "numpy" if numbers else "digest")
    if numbers and isinstance(found, InputError):  # a lesson about addresses, with shapes that no op has
        assert "node " in str(found)
        found = both_ways(problem, "digest")
    assert isinstance(found, list)
    assert_equal(found)


@pytest.mark.parametrize("name", [*RANDOM, *HAND])
def test_recorded_graphs(name: str) -> None:
    problem = runnable(read_graph(graph_path(name)))
    if not any(run.abort is None for run in trace(problem).runs):
        return
    found = attempted(problem, "digest")
    if name in UNSOUND | IN_PLACE_AFTER_COPY:
        assert isinstance(found, Conflict)
        return
    if name in NO_LAYOUT:
        assert isinstance(found, InputError)
        return
    assert isinstance(found, list), found
    assert all(one.equal for one in found)
    numbers = attempted(problem, "numpy")
    if isinstance(numbers, list):
        assert all(one.equal for one in numbers)
    else:
        assert "node " in str(numbers)  # no op has these shapes


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_random_graphs(document: Document) -> None:
    """Equal, or the guard says why not: a plan that is not sound, or a graph that is not."""
    problem = runnable(parse_graph(json.dumps(document).encode()))
    found = attempted(problem, "digest")
    if isinstance(found, Conflict):
        of_the_graph = "in place" in str(found) or "nobody has written" in str(found)
        states = list(replay_all(run for run in trace(problem).runs if run.abort is None))
        assert of_the_graph or any(conflicts(state, dict(layout_of(state).at)) for state in states if state.places)
    elif isinstance(found, list):
        assert all(one.equal for one in found)
    else:
        assert any(why in str(found) for why in ("no memory", "does not fit", "too long")), found


def planned_by(name: str, state: State) -> Layout | None:
    """The layout of another planner; None where it refuses one of the buffers."""
    chosen = []
    for instance in instances(state):
        outcome = solve(instance.instance, name, budget=Budget(2.0))
        if outcome.plan is None:
            return None
        chosen.append((instance, outcome.plan))
    return moved(layout_of(state), chosen)


def cases() -> Iterator[tuple[str, Problem]]:
    for model in MODELS_MADE:
        yield f"{model} on two GPUs", problem_of(model, 2, 1)
        yield f"{model} in a pipeline", problem_of(model, 2, 4)
    yield "llama decode on the CPU", problem_of("llama", 0, 1, GraphMode.DECODE, True)
    for name in RANDOM[::40]:
        yield name, runnable(read_graph(graph_path(name)))


CASES = dict(cases())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("planner", PLANNERS)
def test_every_planner(planner: str, case: str) -> None:
    problem = CASES[case]
    runs: list[Run] = [run for run in trace(problem).runs if run.abort is None][:2]
    layouts: dict[int, Layout | None] = {}

    def layout(state: State) -> Layout:
        layouts[id(state)] = found = planned_by(planner, state)
        return found or layout_of(state)

    backend = "digest" if case.startswith("r0") else "numpy"
    found = compare(runs, RandomFeed(runs[-1].request.graph, 1), lambda: make_backend(backend), WATCHED, layout)
    for one in found:
        assert one.equal
    if planner in ("ggml", "best"):
        assert all(layouts.values())


def test_one_offset_moved_on_purpose_is_seen() -> None:
    """The comparison can fail: another tensor's bytes, no guard, and the results are not equal."""
    problem = problem_of("llama", 0, 1)
    run = trace(problem).runs[-1]
    state = replay(run)
    layout = layout_of(state)
    computed = [node for node in state.nodes if node in layout.at and node in state.computed]
    step = {node: number for number, node in enumerate(computed)}
    victim, other = next(
        (source, between)
        for reader in computed
        for source in state.src[reader]
        for between in computed
        if step.get(source, len(step)) < step[between] < step[reader]
    )
    at = {**layout.at, other: layout.at[other]._replace(offset=layout.at[victim].offset)}
    wrong = Layout(at, layout.chunks)
    found = compare([run], RandomFeed(problem.requests[-1].graph, 1), lambda: make_backend("numpy"),
                    Settings(stats=False), lambda _: wrong)  # fmt: skip
    assert any(not one.equal for one in found)


def test_states_are_read_in_order() -> None:
    """A session with several runs is compared run by run, on the same buffers."""
    problem = problem_of("llama", 2, 4, batches=3)
    session = trace(problem)
    placed = [state for state in replay_all(session.runs) if state.places]
    assert len(both_ways(problem)) == len(placed) == 3
