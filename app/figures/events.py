"""Events in words: what happened at one tick of the log, one short sentence each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import events as ev
from ...core.explain.answers import REFUSAL_WORDS
from ...core.explain.sentence import Sentence, count, name
from ...core.state import State
from ...core.text import bytes_text, hex_text
from .causes import PASS_WORDS, cause_words, pass_title

PHASES = {
    ev.AllocPhase.LEAFS: "first the leafs get memory",
    ev.AllocPhase.INPUTS: "then the inputs among the nodes",
    ev.AllocPhase.NODES: "then the nodes, in the order of execution",
}
STAGES = {
    ev.Stage.BUILD: "the graph is put in order",
    ev.Stage.SCHEDULE: "the scheduler chooses devices",
    ev.Stage.ALLOCATE: "the allocator plans memory",
    ev.Stage.COMPUTE: "the graph is computed",
}
SPLITS = {
    ev.SplitReason.FIRST: "the first one",
    ev.SplitReason.BACKEND: "the device changes",
    ev.SplitReason.WEIGHT: "a weight that the device cannot read starts a new one",
}


def in_words(state: State, event: ev.Event) -> Sentence:
    """One event as a sentence; its topic is the kind of event, its tensor whom it is about."""
    text, tensor = WORDS[type(event)](_Names(state), event)
    return Sentence(type(event).__name__, text, tensor=tensor)


class _Names:
    """Ids to what a reader calls them."""

    def __init__(self, state: State) -> None:
        self.state = state

    def t(self, tensor: int) -> str:
        return name(self.state.names[tensor]) if tensor >= 0 else "nothing"

    def d(self, backend: int) -> str:
        return self.state.backends[backend].name if backend >= 0 else "no device"

    def b(self, buffer: int, chunk: int = 0) -> str:
        one = self.state.buffers[buffer]
        return f"{one.buft.name} #{chunk}" if len(one.chunks) > 1 else one.buft.name

    def block(self, chunk: int, offset: int, size: int) -> str:
        return f"{bytes_text(size)} at {hex_text(offset)}" + (f" of chunk {chunk}" if chunk else "")


_Words = Callable[[_Names, Any], tuple[str, int]]


def _visit(n: _Names, e: ev.Visit) -> tuple[str, int]:
    kind = "leaf" if e.leaf else "node"
    via = f", reached from {n.t(e.parent)}" if e.parent >= 0 else ", a root"
    return f"{n.t(e.tensor)} is listed as {kind}{via}", e.tensor


def _assign(n: _Names, e: ev.Assign) -> tuple[str, int]:
    by = f", because of {n.t(e.by)}" if e.by >= 0 else ""
    return f"{n.t(e.tensor)} goes to {n.d(e.backend)} ({e.cause.value}: {cause_words(e.cause)}{by})", e.tensor


def _split(n: _Names, e: ev.Split) -> tuple[str, int]:
    by = f", made by {n.t(e.by)}" if e.by >= 0 else ""
    return f"a split on {n.d(e.backend)} starts at node {e.start:,}: {SPLITS[e.reason]}{by}", e.by


def _copy(n: _Names, e: ev.Copy) -> tuple[str, int]:
    if e.tensor == e.src:
        return f"{n.t(e.src)} stands for its own copy {e.copy_no} on {n.d(e.backend)}", e.tensor
    return f"{n.t(e.tensor)} is made on {n.d(e.backend)}: copy {e.copy_no} of {n.t(e.src)}", e.tensor


def _dependency(n: _Names, e: ev.Dependency) -> tuple[str, int]:
    return f"{n.t(e.tensor)} keeps {', '.join(n.t(s) for s in e.sources)} alive until here", e.tensor


def _needs_realloc(n: _Names, e: ev.NeedsRealloc) -> tuple[str, int]:
    if e.tensor < 0:
        return f"the plan does not fit: {e.first:,} {e.what[2:]} planned, {e.second:,} now", -1
    return (
        f"the plan does not fit: {n.t(e.tensor)} needs {bytes_text(e.needed)}, {bytes_text(e.recorded)} were planned",
        e.tensor,
    )


def _pass_over(n: _Names, e: ev.PassOver) -> tuple[str, int]:
    small = [size for _, _, size in e.blocks if size < e.needed]
    too_small = f", {count(len(small), 'is', 'are')} too small" if small else ""
    looked = count(len(e.blocks), "free block")
    return f"looking for {bytes_text(e.needed)} for {n.t(e.tensor)}: {looked} passed over{too_small}", e.tensor


def _alloc(n: _Names, e: ev.Alloc) -> tuple[str, int]:
    how = {
        ev.Fit.FIT: f"the smallest free block that fits ({bytes_text(e.detail or 0)})",
        ev.Fit.LAST: "from the open end of the chunk",
        ev.Fit.NEW: "in a new chunk",
    }[e.fit]
    where = f"{hex_text(e.offset)} of {n.b(e.buffer, e.chunk)}"
    return f"{n.t(e.tensor)} takes {bytes_text(e.size)} at {where}, {how}", e.tensor


def _buffer_fail(n: _Names, e: ev.BufferFail) -> tuple[str, int]:
    limit = bytes_text(e.limit)
    return f"a buffer of {bytes_text(e.size)} for {n.b(e.buffer)} cannot be made: {limit} is the most", -1


def _place(n: _Names, e: ev.Place) -> tuple[str, int]:
    return f"{n.t(e.tensor)} gets its address: {hex_text(e.offset)} of {n.b(e.buffer, e.chunk)}", e.tensor


def _no_reuse(n: _Names, e: ev.NoReuse) -> tuple[str, int]:
    return f"{n.t(e.child)} cannot take the memory of {n.t(e.parent)}: {REFUSAL_WORDS[e.reason]}", e.child


def _view_done(n: _Names, e: ev.ViewDone) -> tuple[str, int]:
    left = f"{count(e.children, 'reader')} and {count(e.views, 'view')} of {n.t(e.base)} are left"
    return f"the view {n.t(e.view)} is used up; {left}", e.view


def _transfer(n: _Names, e: ev.Transfer) -> tuple[str, int]:
    verb = "writes" if e.what.startswith("set") else "reads"
    return f"the host {verb} {bytes_text(e.size)} of {n.t(e.tensor)}", e.tensor


def _async_transfer(n: _Names, e: ev.AsyncTransfer) -> tuple[str, int]:
    verb = "write" if e.what.startswith("set") else "read"
    return f"{n.d(e.backend)} queues a {verb} of {bytes_text(e.size)} of {n.t(e.tensor)}", e.tensor


def _copy_async(n: _Names, e: ev.CopyAsync) -> tuple[str, int]:
    verb = "queues" if e.ok else "refuses to queue"
    return f"{n.d(e.backend)} {verb} the copy of {n.t(e.src)} from {n.d(e.src_backend)}", e.tensor


def _launch(n: _Names, e: ev.Launch) -> tuple[str, int]:
    return f"{n.d(e.backend)} computes {count(e.n_nodes, 'node')}, {n.t(e.first)} to {n.t(e.last)}", e.first


WORDS: dict[type, _Words] = {
    ev.Begin: lambda n, e: (STAGES[e.stage], -1),
    ev.Visit: _visit,
    ev.MarkCompute: lambda n, e: (f"{n.t(e.tensor)} is to be computed after all", e.tensor),
    ev.Pass: lambda n, e: (f"{pass_title(e.name)} begins: {PASS_WORDS[e.name][3]}", -1),
    ev.PassDone: lambda n, e: (f"{pass_title(e.name)} is done", -1),
    ev.Assign: _assign,
    ev.Refuse: lambda n, e: (f"{n.d(e.backend)} refuses {n.t(e.tensor)}: {e.reason}", e.tensor),
    ev.Decline: lambda n, e: (f"{n.d(e.backend)} does not take {n.t(e.tensor)} over: {e.reason}", e.tensor),
    ev.Weigh: lambda n, e: (f"{n.d(e.backend)} can read {count(e.readable, 'source')} of {n.t(e.tensor)}", e.tensor),
    ev.CannotUpgrade: lambda n, e: (f"{n.t(e.tensor)} stays: {n.d(e.backend)} cannot read {n.t(e.src)}", e.tensor),
    ev.Split: _split,
    ev.SplitInput: lambda n, e: (f"{n.t(e.tensor)} becomes an input of the split", e.tensor),
    ev.Copy: _copy,
    ev.Rewrite: lambda n, e: (f"source {e.slot} of {n.t(e.node)} is now {n.t(e.copy)}", e.node),
    ev.GraphInput: lambda n, e: (f"{n.t(e.tensor)} is an input of the whole graph", e.tensor),
    ev.Dependency: _dependency,
    ev.AllocGraph: lambda n, e: (f"the allocator gets {len(e.nodes):,} nodes and {len(e.leafs):,} leafs", -1),
    ev.IdsChanged: lambda n, e: (f"{e.what} {e.position:,} moved from {n.d(e.old)} to {n.d(e.new)}: plan anew", -1),
    ev.NeedsRealloc: _needs_realloc,
    ev.Reserve: lambda n, e: (f"a new plan for {e.n_nodes:,} nodes and {e.n_leafs:,} leafs", -1),
    ev.Phase: lambda n, e: (PHASES[e.name], -1),
    ev.Exec: lambda n, e: (f"{n.t(e.node)} runs", e.node),
    ev.NewChunk: lambda n, e: (f"chunk {e.chunk} of {n.b(e.buffer)} is opened", -1),
    ev.PassOver: _pass_over,
    ev.Alloc: _alloc,
    ev.Free: lambda n, e: (f"{n.t(e.tensor)} gives back {n.block(e.chunk, e.offset, e.size)}", e.tensor),
    ev.Keep: lambda n, e: (f"{n.t(e.tensor)} is an output and keeps its memory", e.tensor),
    ev.Reuse: lambda n, e: (f"{n.t(e.child)} takes the memory of {n.t(e.parent)}, in place", e.child),
    ev.NoReuse: _no_reuse,
    ev.FreeExtra: lambda n, e: (f"{n.t(e.parent)} was larger: {n.block(e.chunk, e.offset, e.size)} are free", e.parent),
    ev.ViewDone: _view_done,
    ev.BufferAlloc: lambda n, e: (f"a buffer of {bytes_text(e.size)} is allocated for {n.b(e.buffer)}", -1),
    ev.BufferFree: lambda n, e: (f"the buffers of {n.b(e.buffer)} ({bytes_text(e.size)}) are released", -1),
    ev.BufferFail: _buffer_fail,
    ev.Place: _place,
    ev.Sync: lambda n, e: (f"waits until {n.d(e.backend)} is idle", -1),
    ev.EventSync: lambda n, e: (f"waits for copy {e.copy_no} of {n.d(e.backend)}", -1),
    ev.EventWait: lambda n, e: (f"{n.d(e.backend)} waits for copy {e.copy_no} of {n.d(e.owner)}", -1),
    ev.EventRecord: lambda n, e: (f"{n.d(e.backend)} marks copy {e.copy_no} as done", -1),
    ev.Transfer: _transfer,
    ev.AsyncTransfer: _async_transfer,
    ev.CopyAsync: _copy_async,
    ev.CallCopy: lambda n, e: (f"the copy callback is asked about {n.t(e.src)}", e.tensor),
    ev.CopyCalled: lambda n, e: ("it made the copy itself" if e.done else "it leaves the copy to the scheduler", -1),
    ev.Launch: _launch,
    ev.Done: lambda n, e: ("done" if e.ok else "alloc_graph returns false: the graph was not allocated", -1),
    ev.Abort: lambda n, e: (f"**real ggml stops here**: {name(e.message)}", -1),
}
"""A sentence for each kind of event."""
