"""What must hold for any timeline, said in the plainest way; nothing of core/timeline's own code is used."""

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

from galloscope.core.files.graph_json import parse_graph
from galloscope.core.log import Run
from galloscope.core.replay import replay
from galloscope.core.session import Session, trace
from galloscope.core.state import State
from galloscope.core.timeline.cost import Cost, assumed
from galloscope.core.timeline.lanes import Span, Timeline
from galloscope.core.timeline.simulate import simulate


def opened(document: dict[str, Any]) -> tuple[Run, State, Cost]:
    """The first run of a graph document, with the assumed rates."""
    session: Session = trace(parse_graph(json.dumps(document).encode()))
    run = session.runs[0]
    state = replay(run)
    return run, state, assumed(state.backends)


def timeline_of(document: dict[str, Any], batches: int = 1) -> tuple[Timeline, State]:
    run, state, cost = opened(document)
    return simulate(run, state, cost, batches), state


def hold(timeline: Timeline, state: State) -> None:
    """Every law of a simulated timeline."""
    no_overlap(timeline)
    waits_end_with_what_they_wait_for(timeline)
    compute_is_the_nodes(timeline)
    the_host_goes_through_its_events_in_order(timeline)
    a_device_runs_its_splits_in_order(timeline)
    every_span_ends_in_time(timeline)
    values_exist_before_they_move_and_arrive_before_they_are_read(timeline, state)
    nothing_is_overwritten_while_it_is_read(timeline, state)


def on_lane(timeline: Timeline, lane: int) -> list[Span]:
    return sorted((s for s in timeline.spans if s.lane == lane), key=lambda s: (s.start, s.end))


def no_overlap(timeline: Timeline) -> None:
    for lane in range(len(timeline.lanes)):
        spans = on_lane(timeline, lane)
        for before, after in pairwise(spans):
            assert before.end <= after.start, (before, after)


def waits_end_with_what_they_wait_for(timeline: Timeline) -> None:
    for span in timeline.spans:
        assert span.start <= span.end
        if span.kind.value in ("wait", "held"):
            assert span.end >= timeline.spans[span.cause].end
            assert span.lane != timeline.spans[span.cause].lane
        elif span.cause >= 0:
            assert span.start >= timeline.spans[span.cause].end


def compute_is_the_nodes(timeline: Timeline) -> None:
    spans = [s for s in timeline.spans if s.kind.value == "compute"]
    assert sum(s.end - s.start for s in spans) == timeline.batches * sum(timeline.nodes.ns)
    for batch in range(timeline.batches):
        rows = [row for s in spans if s.batch == batch for row in range(s.first, s.first + s.count)]
        assert rows == list(range(len(timeline.nodes.tensor)))


def the_host_goes_through_its_events_in_order(timeline: Timeline) -> None:
    host = on_lane(timeline, len(timeline.lanes) - 1)
    assert [(s.batch, s.tick) for s in host] == sorted((s.batch, s.tick) for s in host)


def a_device_runs_its_splits_in_order(timeline: Timeline) -> None:
    for lane in range(0, len(timeline.lanes) - 1, 2):
        spans = [s for s in on_lane(timeline, lane) if s.kind.value == "compute"]
        assert [(s.batch, s.split) for s in spans] == sorted((s.batch, s.split) for s in spans)


def every_span_ends_in_time(timeline: Timeline) -> None:
    assert timeline.total >= max((s.end for s in timeline.spans), default=0)


def values_exist_before_they_move_and_arrive_before_they_are_read(timeline: Timeline, state: State) -> None:
    row_of = {node: row for row, node in enumerate(state.nodes)}
    made = {}
    for span in timeline.spans:
        if span.kind.value == "compute":
            for row in range(span.first, span.first + span.count):
                made[span.batch, row] = span
    computed = {(s.batch, s.split): s for s in timeline.spans if s.kind.value == "compute"}
    for span in timeline.spans:
        if span.kind.value != "copy":
            continue
        reader = computed[span.batch, span.split]
        assert span.end <= reader.start, "a split begins when its inputs are there"
        at = row_of.get(span.source)
        if at is not None and at < reader.first:  # ggml itself copies some views too early: s_pin_view
            assert span.start >= made[span.batch, at].end, "what is copied has been computed"


def nothing_is_overwritten_while_it_is_read(timeline: Timeline, state: State) -> None:
    """By a copy that the host makes: its waits are there for that."""
    readers: dict[int, list[Span]] = defaultdict(list)
    copied = {s.tensor for s in timeline.spans if s.kind.value == "copy"}
    same = defaultdict(list)
    for copy in state.copies:
        same[copy.src, copy.backend].append((copy.copy_no, copy.tensor))
    n_copies = timeline.n_copies
    for span in timeline.spans:
        if span.kind.value == "compute":
            for row in range(span.first, span.first + span.count):
                for source in state.src[state.nodes[row]]:
                    for numbered in same.values():
                        if any(tensor == source for _, tensor in numbered):
                            number = (state.cur_copy + span.batch) % n_copies
                            tensor = dict(numbered)[number]
                            if tensor in copied:
                                readers[tensor].append(span)
    held = {timeline.spans[s.cause] for s in timeline.spans if s.kind.value == "held"}
    for span in held:
        if span.kind.value == "copy" and span.tensor >= 0:
            for reader in readers[span.tensor]:
                if reader.batch < span.batch:
                    assert span.start >= reader.end
