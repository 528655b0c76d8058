"""The clocks: laws on every kind of graph, and scenarios by name."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.compute_events import (
    AsyncTransfer,
    CopyAsync,
    EventRecord,
    EventSync,
    EventWait,
    Launch,
    Sync,
    Transfer,
)
from galloscope.core.errors import InputError
from galloscope.core.execute.result import Execution, NodeRun
from galloscope.core.execute.runnable import runnable
from galloscope.core.files.graph_json import parse_graph, read_graph
from galloscope.core.log import Run
from galloscope.core.replay import replay, replay_all
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.core.timeline.clocks import Engine
from galloscope.core.timeline.cost import assumed
from galloscope.core.timeline.events import batch_of, told_of
from galloscope.core.timeline.lanes import Kind
from galloscope.core.timeline.simulate import measured, simulate
from galloscope.core.timeline.totals import totals_of
from galloscope.tests import strategies
from galloscope.tests.core.timeline.checker import hold, no_overlap, on_lane, opened, timeline_of
from galloscope.tests.core.timeline.machines import chain, cpu_only
from galloscope.tests.corpora import SMALL, graph_path

SAMPLES = Path(__file__).resolve().parents[3] / "sample_graphs"
BIG = "llama70b_q4k-g2ngl60-prefill-fa1-reserve-noalloc"


def checked(run: Run, state: State, batches: int) -> None:
    try:
        timeline = simulate(run, state, assumed(state.backends), batches)
    except InputError:
        assert state.abort is not None or not state.nodes or not any(s.end > s.start for s in state.splits)
        return
    hold(timeline, state)
    totals = totals_of(timeline)
    path = sum(timeline.spans[i].end - timeline.spans[i].start for i in totals.path)
    assert timeline.total >= path
    for use in totals.devices:
        assert use.compute + sum(use.idle.values()) == timeline.total


@pytest.mark.parametrize("name", SMALL)
def test_laws_hold_on_every_recorded_case(name: str) -> None:
    session = trace(read_graph(graph_path(name)))
    for run, state in zip(session.runs, replay_all(session.runs), strict=True):
        checked(run, state, 3)


@given(strategies.graphs(("sched", "galloc"), max_ops=24), st.integers(1, 6))
def test_laws_hold_on_any_graph(document: strategies.Document, batches: int) -> None:
    session = trace(parse_graph(json.dumps(document).encode()))
    for run, state in zip(session.runs, replay_all(session.runs), strict=True):
        checked(run, state, batches)


def test_one_cpu_takes_as_long_as_its_nodes() -> None:
    timeline, _ = timeline_of(cpu_only(), 3)
    assert timeline.total == 3 * sum(timeline.nodes.ns)
    assert timeline.nodes.ns[1] == 0, "a view takes no time"
    assert all(ns > 0 for row, ns in enumerate(timeline.nodes.ns) if row != 1)


def test_pipeline_copies_let_devices_overlap() -> None:
    """Two devices with equal work: with four copies both compute at once, and four batches take the time of 2.5."""
    one, _ = timeline_of(chain(2, parallel=True, width=4096), 1)
    four, state = timeline_of(chain(2, parallel=True, width=4096), 4)
    hold(four, state)
    assert four.n_copies == 4
    first, second = ([s for s in on_lane(four, lane) if s.kind is Kind.COMPUTE] for lane in (0, 2))
    assert all(a.start < b.end and b.start < a.end for a, b in zip(first[1:], second, strict=False))
    assert four.total < 0.7 * 4 * one.total


def test_without_copies_a_blocking_copy_keeps_devices_apart() -> None:
    """The same devices without events and queues: the host carries every copy and nothing overlaps."""
    document = chain(2, parallel=False, width=4096)
    for backend in document["backends"][:2]:
        backend["async"] = False
    one, _ = timeline_of(document, 1)
    four, state = timeline_of(document, 4)
    hold(four, state)
    assert four.n_copies == 1
    assert four.total == 4 * one.total
    spans = sorted((s for s in four.spans if s.kind is Kind.COMPUTE), key=lambda s: s.start)
    assert all(a.end <= b.start for a, b in pairwise(spans))


def test_without_copies_the_host_waits_for_the_batch_before() -> None:
    """Queues without pipeline copies: an input may only be written when its device has finished the batch before."""
    four, state = timeline_of(chain(3, parallel=False, width=4096), 4)
    hold(four, state)
    waits = [s for s in four.spans if s.kind is Kind.WAIT and s.lane == len(four.lanes) - 1]
    assert any(four.spans[s.cause].batch < s.batch for s in waits)
    pipelined, _ = timeline_of(chain(3, parallel=True, width=4096), 4)
    early = [s for s in pipelined.spans if s.kind is Kind.WAIT and s.lane == len(pipelined.lanes) - 1]
    assert not early, "four batches find four free copies"


def test_a_fifth_batch_waits_for_the_first() -> None:
    five, state = timeline_of(chain(2, parallel=True, width=4096), 5)
    hold(five, state)
    waits = [s for s in five.spans if s.kind is Kind.WAIT and s.lane == len(five.lanes) - 1]
    assert waits
    assert {(s.batch, five.spans[s.cause].batch) for s in waits} == {(4, 0)}


def test_a_device_waits_for_what_the_one_before_makes() -> None:
    timeline, _ = timeline_of(chain(2, parallel=True, width=4096), 1)
    wait = next(s for s in timeline.spans if s.kind is Kind.WAIT and s.lane == 2)
    copy = timeline.spans[wait.cause]
    assert (copy.kind, copy.lane, copy.backend, copy.other) == (Kind.COPY, 1, 0, 1)
    first = next(s for s in timeline.spans if s.kind is Kind.COMPUTE and s.lane == 0)
    assert copy.start == first.end
    assert wait.end == copy.end


def test_a_reserved_graph_is_shown_as_if_it_ran() -> None:
    document = {**chain(2, parallel=True), "reserve": True}
    reserved, _ = timeline_of(document, 2)
    ran, _ = timeline_of(chain(2, parallel=True), 2)
    assert reserved.as_if
    assert not ran.as_if
    strip = [(s.lane, s.kind, s.start, s.end, s.batch, s.split, s.nbytes) for s in ran.spans]
    assert [(s.lane, s.kind, s.start, s.end, s.batch, s.split, s.nbytes) for s in reserved.spans] == strip
    assert {s.tick for s in reserved.spans} == {-1}


def test_ticks_are_those_of_the_log() -> None:
    run, state, cost = opened(chain(2, parallel=True))
    timeline = simulate(run, state, cost)
    for span in timeline.spans:
        if span.kind is Kind.COMPUTE:
            assert isinstance(run.events[span.tick], Launch)


@pytest.mark.parametrize("parallel", [True, False])
def test_later_batches_are_told_what_the_scheduler_would_tell_them(parallel: bool) -> None:
    """The events of batch k, made by turning the copies, against a log in which the graph really ran k times."""
    problem = parse_graph(json.dumps(chain(3, parallel=parallel)).encode())
    session = trace(runnable(problem, 6))
    states = list(replay_all(session.runs))
    told, _ = told_of(session.runs[0], states[0])
    for k, (run, state) in enumerate(zip(session.runs, states, strict=True)):
        here = batch_of(told, states[0], problem.config.n_copies, k)
        really = told_of(run, state)[0]
        assert [_by_name(one.event, states[0]) for one in here] == [_by_name(one.event, state) for one in really]
        assert [one.split for one in here] == [one.split for one in really]


def _by_name(event: object, state: State) -> tuple[object, ...]:
    match event:
        case Sync(backend=b):
            return ("sync", b)
        case EventSync(backend=b, copy_no=c):
            return ("event_sync", b, c)
        case EventWait(backend=b, owner=o, copy_no=c):
            return ("event_wait", b, o, c)
        case EventRecord(backend=b, copy_no=c):
            return ("event_record", b, c)
        case Transfer(what=w, tensor=t, offset=o, size=n):
            return (w, state.names[t], o, n)
        case AsyncTransfer(what=w, backend=b, tensor=t, offset=o, size=n):
            return (w, b, state.names[t], o, n)
        case CopyAsync(src_backend=a, backend=b, src=s, tensor=t, ok=ok):
            return (a, b, state.names[s], state.names[t], ok)
        case Launch(backend=b, n_nodes=n, first=f, last=l):
            return (b, n, state.names[f], state.names[l])
    raise AssertionError(event)


def test_an_aborted_run_has_no_timeline() -> None:
    session = trace(read_graph(graph_path(next(n for n in SMALL if trace(read_graph(graph_path(n))).runs[-1].abort))))
    run = session.runs[-1]
    with pytest.raises(InputError, match="ggml stops"):
        simulate(run, replay(run), assumed(run.problem.backends))


@pytest.mark.parametrize("batches", [0, 65])
def test_the_number_of_batches_is_checked(batches: int) -> None:
    run, state, cost = opened(cpu_only())
    with pytest.raises(InputError, match="from 1 to 64"):
        simulate(run, state, cost, batches)


def test_the_cost_grows_with_the_events() -> None:
    """Twice the batches are twice the spans, and the nodes are counted once: no timing, only amounts."""
    session = trace(read_graph(SAMPLES / f"{BIG}.graph.json.gz"))
    run, state = session.runs[0], replay(session.runs[0])
    one, four = (simulate(run, state, assumed(state.backends), k) for k in (1, 4))
    assert abs(len(four.spans) - 4 * len(one.spans)) <= 0.1 * len(four.spans)
    assert one.nodes == four.nodes
    no_overlap(four)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=30))
def test_an_engine_takes_the_first_gap(wishes: list[tuple[int, int]]) -> None:
    engine, busy = Engine(), set[int]()
    for number, (earliest, length) in enumerate(wishes):
        start, behind = engine.take(earliest, length, number)
        want = next(t for t in range(2000) if t >= earliest and not busy & set(range(t, t + length)))
        assert start == want
        assert (behind >= 0) == (start > earliest)
        busy |= set(range(start, start + length))
    assert engine.starts == sorted(engine.starts)


def test_measured_lanes_are_the_real_times() -> None:
    _, state, _ = opened(chain(2, parallel=True))
    nodes = state.nodes
    runs = [
        NodeRun(nodes[0], 0, 0, 0.001, 0.002),
        NodeRun(nodes[1], 0, 0, 0.0035, 0.0005),
        NodeRun(nodes[2], 1, 1, 0.0039999, 0.001),
    ]
    timeline = measured(Execution(state, runs, [], 0.005))
    assert timeline.measured
    assert [(s.lane, s.start, s.end, s.split, s.count) for s in timeline.spans] == [
        (0, 1_000_000, 4_000_000, 0, 2),
        (2, 4_000_000, 4_999_900, 1, 1),
    ]
    assert timeline.nodes.offset == [0, 2_500_000, 0]
    assert timeline.nodes.ns == [2_000_000, 500_000, 999_900]
    assert timeline.total == 4_999_900
    no_overlap(timeline)
    use = totals_of(timeline).devices[0]
    assert use.compute == 2_500_000  # what passes between two kernels is no computing
    assert use.compute + sum(use.idle.values()) == timeline.total


def test_an_execution_without_nodes_has_no_spans() -> None:
    _, state, _ = opened(cpu_only())
    timeline = measured(Execution(state))
    assert timeline.spans == []
    assert timeline.total == 0
