"""Perfetto's (and Chrome's) JSON trace format: a process per device, its lanes as threads, arrows for waits.

Times are microseconds as numbers with the nanoseconds behind the point, so a reader gets every span back exactly.
Source: the Trace Event Format document of Chromium; https://ui.perfetto.dev opens it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..state import State
from .cost import HOST, Cost, cost_numbers
from .lanes import Kind, Lane, Timeline
from .words import node_facts, process_title, span_facts, span_title, tensor_name


def perfetto_json(timeline: Timeline, state: State, cost: Cost) -> bytes:
    """The trace as a file, with the rates that it was simulated with."""
    events: list[dict[str, Any]] = []
    for lane in timeline.lanes:
        pid, tid = _ids(timeline, lane)
        if lane.what != "copy":
            events.append(_meta("process_name", pid, tid, name=process_title(timeline, lane.backend)))
            events.append(_meta("process_sort_index", pid, tid, sort_index=pid))
        events.append(_meta("thread_name", pid, tid, name=lane.what))
        events.append(_meta("thread_sort_index", pid, tid, sort_index=tid))
    for number, span in enumerate(timeline.spans):
        pid, tid = _ids(timeline, timeline.lanes[span.lane])
        facts = {"span": number, **span_facts(timeline, state, span)}
        events.append(_slice(span_title(timeline, state, span), span.kind.value, pid, tid, span.start, span.end, facts))
        for row in range(span.first, span.first + span.count):
            took = timeline.nodes.ns[row]
            if took:
                at = span.start + timeline.nodes.offset[row]
                name = tensor_name(state, timeline.nodes.tensor[row])
                events.append(_slice(name, "node", pid, tid, at, at + took, node_facts(timeline, state, row)))
        if span.kind is Kind.WAIT:
            cause = timeline.spans[span.cause]
            from_pid, from_tid = _ids(timeline, timeline.lanes[cause.lane])
            # An arrow holds on to the slice that is open then.
            events.append(_arrow("s", number, from_pid, from_tid, max(cause.end - 1, cause.start)))
            events.append({**_arrow("f", number, pid, tid, max(span.end - 1, span.start)), "bp": "e"})
    about: dict[str, Any] = {
        "simulated": not timeline.measured,
        "batches": timeline.batches,
        "n_copies": timeline.n_copies,
        "total_ns": timeline.total,
    }
    if not timeline.measured:
        about["assumed_rates"] = cost_numbers(cost)
    document = {"displayTimeUnit": "ns", "otherData": about, "traceEvents": events}
    return msgspec.json.encode(document) + b"\n"


def _ids(timeline: Timeline, lane: Lane) -> tuple[int, int]:
    """Process and thread; 0 is taken by the idle process of a real trace."""
    backend = len(timeline.names) if lane.backend == HOST else lane.backend
    return backend + 1, 2 * backend + 1 + (lane.what == "copy")


def _meta(what: str, pid: int, tid: int, **args: object) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}


def _slice(name: str, kind: str, pid: int, tid: int, start: int, end: int, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X", "name": name, "cat": kind, "pid": pid, "tid": tid,
        "ts": start / 1000, "dur": (end - start) / 1000, "args": args,
    }  # fmt: skip


def _arrow(phase: str, number: int, pid: int, tid: int, at: int) -> dict[str, Any]:
    return {"ph": phase, "id": number, "name": "wait", "cat": "wait", "pid": pid, "tid": tid, "ts": at / 1000}
