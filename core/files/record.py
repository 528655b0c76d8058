"""The decision record of a run: the format of the conformance corpora, written from the log alone.

ggml's own lists (`passes`, `events`, `compute` ...) hold exactly what real ggml's recording hooks print; what
galloscope knows beyond that (refusals, passed-over candidates) stands under `refusals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import events as ev
from ..graph import Mode
from ..log import Run
from ..op import Op
from ..replay import replay_all
from ..session import Session
from ..state import State

Row = tuple[object, ...]


def session_record(session: Session) -> dict[str, Any]:
    """One object for a single graph, {"runs": [...]} for a sequence."""
    records = [run_record(run, state) for run, state in zip(session.runs, replay_all(session.runs), strict=True)]
    return records[0] if len(session.problem.requests) == 1 else {"runs": records}


def run_record(run: Run, state: State) -> dict[str, Any]:
    """What was decided in one run, keys in the order of the format's description; `state` is the replayed run."""
    sched = run.problem.config.mode is Mode.SCHED
    events, compute = _lists(run, state)
    record: dict[str, Any] = {"graph": _graph(state)}
    if state.abort is not None:
        record["abort"] = state.abort
    else:
        record["ok"] = bool(state.ok)
    if sched:
        record["passes"] = _passes(state)
    if state.abort is not None:
        record["events"] = events
        record["refusals"] = _refusals(run, state)
        return record
    if sched and not run.request.reserve:
        record.update(_split_keys(run, state))
    record["buffers"] = [_buffer(buffer) for buffer in state.buffers]
    names = state.names
    record["tensors"] = [
        (names[tensor], place.buffer, place.chunk, place.offset, place.size) for tensor, place in state.places.items()
    ]
    record["events"] = events
    if compute is not None:
        record["compute"] = compute
    record["refusals"] = _refusals(run, state)
    return record


def _graph(state: State) -> dict[str, Any]:
    names, tensors = state.names, state.tensors
    listed = state.nodes + state.leafs
    graph: dict[str, Any] = {
        "nodes": [names[t] for t in state.nodes],
        "leafs": [names[t] for t in state.leafs],
        "use_counts": {names[t]: state.use_counts[t] for t in listed},
        "nbytes": {names[t]: tensors[t].nbytes for t in listed},
    }
    idle = [names[t] for t in state.nodes if t not in state.computed and tensors[t].op is not Op.NONE]
    if idle:
        graph["no_compute"] = idle
    return graph


def pass_changes(state: State) -> Iterator[tuple[ev.PassName, list[tuple[int, int, ev.Cause, int]]]]:
    """Per pass the (tensor, backend, cause, by) that differ from before it, leafs then nodes in graph order."""
    position = {tensor: i for i, tensor in enumerate(state.leafs + state.nodes)}
    after: dict[int, tuple[int, ev.Cause | None]] = {}
    for one in state.passes:
        last = {write[0]: write for write in one.writes}
        changed = [write for tensor, write in last.items() if after.get(tensor, (-1, None)) != (write[1], write[2])]
        after.update((write[0], (write[1], write[2])) for write in changed)
        changed.sort(key=lambda write: position.get(write[0], -1))
        if one.done:
            yield one.name, [write for write in changed if write[0] in position]


def _passes(state: State) -> list[dict[str, Any]]:
    names = state.names
    return [
        {"pass": name, "changed": [(names[tensor], backend, cause) for tensor, backend, cause, _ in changed]}
        for name, changed in pass_changes(state)
    ]


def _split_keys(run: Run, state: State) -> dict[str, Any]:
    names = state.names
    keys: dict[str, Any] = {
        "splits": [
            {"backend": s.backend, "start": s.start, "end": s.end, "inputs": [names[t] for t in s.inputs]}
            for s in state.splits
        ]
    }
    if run.problem.config.n_copies > 1:
        keys["graph_inputs"] = [names[t] for t in state.graph_inputs]
    keys["copies"] = [(names[c.tensor], names[c.src], c.backend, c.copy_no, c.cause) for c in state.copies]
    keys["rewrites"] = [(names[node], slot, names[copy]) for node, slot, copy in state.rewrites]
    keys["cur_copy"] = state.cur_copy
    keys["alloc_nodes"] = [(names[t], b) for t, b in state.alloc_nodes]
    keys["alloc_leafs"] = [(names[t], b) for t, b in state.alloc_leafs]
    return keys


def _buffer(buffer: Any) -> dict[str, Any]:
    row = {
        "buft": buffer.buft.name,
        "chunks": list(buffer.chunks),
        "size": sum(buffer.real) if buffer.same_as < 0 else 0,
    }
    if buffer.same_as >= 0:
        row["same_as"] = buffer.same_as
    return row


def _lists(run: Run, state: State) -> tuple[list[Row], list[Row] | None]:
    """ggml's event list and its compute list (None when the loop was not followed)."""
    rows = _Rows(state)
    writers: dict[type, Callable[[Any], Row]] = {kind: getattr(rows, name) for kind, name in WRITERS.items()}
    events: list[Row] = []
    compute: list[Row] | None = None
    into = events
    for event in run.events:
        write = writers.get(type(event))
        if write is not None:
            into.append(write(event))
        elif type(event) is ev.Begin and event.stage is ev.Stage.COMPUTE and not run.problem.config.direct:
            into = compute = []
    return events, compute


class _Rows:
    """One event as ggml's hooks print it, tensors by name."""

    def __init__(self, state: State) -> None:
        self.names = state.names
        self.backend = [backend.name for backend in state.backends]
        self.buft = [buffer.buft.name for buffer in state.buffers]

    def ids_changed(self, e: ev.IdsChanged) -> Row:
        return ("backend_ids_changed",)

    def needs_realloc(self, e: ev.NeedsRealloc) -> Row:
        if e.tensor < 0:
            return ("needs_realloc", e.what, e.first, e.second)
        if e.what == "node":
            return ("needs_realloc", "node", e.first, self.names[e.tensor])
        return ("needs_realloc", "src", e.first, e.second, self.names[e.tensor])

    def reserve(self, e: ev.Reserve) -> Row:
        return ("reserve", e.n_nodes, e.n_leafs)

    def phase(self, e: ev.Phase) -> Row:
        return ("phase", e.name)

    def execute(self, e: ev.Exec) -> Row:
        return ("exec", self.names[e.node], e.buffer)

    def new_chunk(self, e: ev.NewChunk) -> Row:
        return ("new_chunk", e.buffer, e.chunk, e.capacity)

    def alloc(self, e: ev.Alloc) -> Row:
        return ("alloc", self.names[e.tensor], e.buffer, e.chunk, e.offset, e.size, e.fit, e.detail)

    def free(self, e: ev.Free) -> Row:
        return ("free", self.names[e.tensor], e.buffer, e.chunk, e.offset, e.size)

    def keep(self, e: ev.Keep) -> Row:
        return ("keep", self.names[e.tensor])

    def reuse(self, e: ev.Reuse) -> Row:
        return ("reuse", self.names[e.child], self.names[e.parent], e.buffer, e.chunk, e.offset)

    def no_reuse(self, e: ev.NoReuse) -> Row:
        return ("no_reuse", self.names[e.child], self.names[e.parent], e.reason)

    def free_extra(self, e: ev.FreeExtra) -> Row:
        names = self.names
        return ("free_extra", names[e.parent], names[e.child], e.buffer, e.chunk, e.offset, e.size)

    def view_done(self, e: ev.ViewDone) -> Row:
        return ("view_done", self.names[e.view], self.names[e.base], e.children, e.views)

    def buffer_alloc(self, e: ev.BufferAlloc) -> Row:
        return ("buffer_alloc", self.buft[e.buffer], e.size)

    def buffer_free(self, e: ev.BufferFree) -> Row:
        return ("buffer_free", self.buft[e.buffer], e.size)

    def sync(self, e: ev.Sync) -> Row:
        return ("sync", self.backend[e.backend])

    def event_sync(self, e: ev.EventSync) -> Row:
        return ("event_sync", self.backend[e.backend], e.copy_no)

    def event_wait(self, e: ev.EventWait) -> Row:
        return ("event_wait", self.backend[e.backend], self.backend[e.owner], e.copy_no)

    def event_record(self, e: ev.EventRecord) -> Row:
        return ("event_record", self.backend[e.backend], e.copy_no)

    def transfer(self, e: ev.Transfer) -> Row:
        return (e.what, self.names[e.tensor], e.offset, e.size)

    def async_transfer(self, e: ev.AsyncTransfer) -> Row:
        return (e.what, self.backend[e.backend], self.names[e.tensor], e.offset, e.size)

    def copy_async(self, e: ev.CopyAsync) -> Row:
        names = self.names
        return ("cpy_async", self.backend[e.src_backend], self.backend[e.backend], names[e.src], names[e.tensor], e.ok)

    def call_copy(self, e: ev.CallCopy) -> Row:
        names = self.names
        return ("copy_cb", self.backend[e.backend], names[e.src], names[e.tensor], names[e.first_node], e.n_nodes)

    def copy_called(self, e: ev.CopyCalled) -> Row:
        return ("copy_cb_done", e.done)

    def launch(self, e: ev.Launch) -> Row:
        return ("compute", self.backend[e.backend], e.n_nodes, self.names[e.first], self.names[e.last])


WRITERS: dict[type, str] = {
    ev.IdsChanged: "ids_changed", ev.NeedsRealloc: "needs_realloc", ev.Reserve: "reserve", ev.Phase: "phase",
    ev.Exec: "execute", ev.NewChunk: "new_chunk", ev.Alloc: "alloc", ev.Free: "free", ev.Keep: "keep",
    ev.Reuse: "reuse", ev.NoReuse: "no_reuse", ev.FreeExtra: "free_extra", ev.ViewDone: "view_done",
    ev.BufferAlloc: "buffer_alloc", ev.BufferFree: "buffer_free", ev.Sync: "sync", ev.EventSync: "event_sync",
    ev.EventWait: "event_wait", ev.EventRecord: "event_record", ev.Transfer: "transfer",
    ev.AsyncTransfer: "async_transfer", ev.CopyAsync: "copy_async", ev.CallCopy: "call_copy",
    ev.CopyCalled: "copy_called", ev.Launch: "launch",
}  # fmt: skip
"""The events that real ggml's hooks print too."""


def _refusals(run: Run, state: State) -> dict[str, Any]:
    """What was asked and answered no, and what was looked at and passed over."""
    names = state.names
    backend = [one.name for one in state.backends]
    blocks = [
        (
            names[e.tensor],
            e.buffer,
            e.needed,
            [(chunk, offset, size, e.needed - size) for chunk, offset, size in e.blocks],
        )
        for e in run.events
        if type(e) is ev.PassOver
    ]
    return {
        "backends": [(names[t], backend[b], reason) for (t, b), reason in state.refused.items()],
        "offload": [(names[t], backend[b], reason) for (t, b), reason in state.declined.items()],
        "candidates": [(names[t], [(backend[b], count) for b, count in rows]) for t, rows in state.weighed.items()],
        "upgrades": [(names[t], backend[b], names[source]) for t, b, source in state.not_upgraded],
        "blocks": blocks,
    }
