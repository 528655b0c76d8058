"""The fold of a log: `replay(run)` gives the state that the engine ended with, from the events alone.

All views, reports and records read this state. The law that keeps it honest, tested on every input: it equals the
engine's own final state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import events as ev
from .build import name_all
from .columns import copy_of, dependency_on
from .graph import Mode
from .log import Run
from .state import BufferState, CopyState, Lifetime, PassChanges, Place, SplitState, State
from .tensor import Flag


def replay(run: Run, until: int | None = None) -> State:
    """The state after the run's events, or after the first `until` of them.

    A run inherits the plan and the buffers of the runs before it, so those are replayed too.
    """
    chain = [run]
    while chain[-1].previous is not None:
        chain.append(chain[-1].previous)
    before: State | None = None
    for one in reversed(chain[1:]):
        before = _fold(one, before, one.events)
    return _fold(run, before, run.events if until is None else run.events[:until])


def replay_all(runs: Iterable[Run]) -> Iterator[State]:
    """The state after each run of a session, in order, each read before the next one is asked for."""
    before: State | None = None
    for run in runs:
        before = _fold(run, before, run.events)
        yield before


def _fold(run: Run, before: State | None, events: Iterable[ev.Event]) -> State:
    fold = Fold(run, before)
    fold.feed(events)
    return fold.finish()


def first_state(run: Run, before: State | None) -> State:
    """The state before any event; buffers and plan are what the run before left."""
    problem, graph = run.problem, run.request.graph
    if before is None:
        ids = [backend.buft for backend in problem.backends]
        kept: list[BufferState] = []
        for buffer, buft in enumerate(ids):
            first = ids.index(buft)
            shared = kept[first] if first < buffer else None
            kept.append(
                BufferState(problem.bufts[buft], shared.chunks if shared else [], shared.real if shared else [],
                            first if shared else -1)
            )  # fmt: skip
    else:
        kept = before.buffers
    count = len(graph.tensors)
    return State(
        tensors=list(graph.tensors),
        names=[tensor.name for tensor in graph.tensors],
        backends=problem.backends,
        bufts=problem.bufts,
        n_graph=count,
        src=[tensor.src for tensor in graph.tensors],
        flags=[tensor.flags for tensor in graph.tensors],
        buffers=kept,
        backend_ids=[-1] * count,
        causes=[None] * count,
        came_from=[-1] * count,
        plan_reuse=before.plan_reuse if before is not None else {},
        inherits=before is not None,
    )


class Fold:
    """Feeds events into a state, one handler per kind of event."""

    def __init__(self, run: Run, before: State | None) -> None:
        """Start before the first event of `run`, with what the run before left."""
        self.run = run
        self.state = first_state(run, before)
        self.step_of: dict[int, int] = {}
        self.step = 0
        self.pipelined = run.problem.config.n_copies > 1

    def feed(self, events: Iterable[ev.Event]) -> None:
        """Fold the events in."""
        handlers: dict[type, Callable[[Any], None]] = {kind: getattr(self, name) for kind, name in HANDLERS.items()}
        for event in events:
            handle = handlers.get(type(event))
            if handle is not None:
                handle(event)

    def finish(self) -> State:
        """Close what is still open at the end: names, split ends, lifetimes."""
        state = self.state
        if state.splits:
            state.splits[-1].end = len(state.nodes)
        for life in state.lifetimes.values():
            if life.dies < 0:
                life.dies = state.n_steps
        return state

    # graph building

    def _visit(self, event: ev.Visit) -> None:
        state = self.state
        tensor = event.tensor
        (state.leafs if event.leaf else state.nodes).append(tensor)
        counts = state.use_counts
        counts.setdefault(tensor, 0)
        for source in state.src[tensor]:
            if source >= 0:
                counts[source] = counts.get(source, 0) + 1
        if event.compute:
            state.computed.add(tensor)

    def _mark_compute(self, event: ev.MarkCompute) -> None:
        self.state.computed.add(event.tensor)

    def _begin(self, event: ev.Begin) -> None:
        if event.stage is ev.Stage.BUILD:
            return
        state = self.state
        if not all(state.names):
            state.names[: state.n_graph] = name_all(self.run.request.graph, state.nodes, state.leafs)

    # scheduler

    def _start_pass(self, event: ev.Pass) -> None:
        self.state.passes.append(PassChanges(event.name))

    def _end_pass(self, event: ev.PassDone) -> None:
        self.state.passes[-1].done = True

    def _assign(self, event: ev.Assign) -> None:
        tensor, backend, cause, by = event.tensor, event.backend, event.cause, event.by
        state = self.state
        state.backend_ids[tensor] = backend
        state.causes[tensor] = cause
        state.came_from[tensor] = by
        state.passes[-1].writes.append((tensor, backend, cause, by))

    def _refuse(self, event: ev.Refuse) -> None:
        self.state.refused[event.tensor, event.backend] = event.reason

    def _decline(self, event: ev.Decline) -> None:
        self.state.declined[event.tensor, event.backend] = event.reason

    def _weigh(self, event: ev.Weigh) -> None:
        self.state.weighed.setdefault(event.tensor, []).append((event.backend, event.readable))

    def _cannot_upgrade(self, event: ev.CannotUpgrade) -> None:
        self.state.not_upgraded.append((event.tensor, event.backend, event.src))

    def _split(self, event: ev.Split) -> None:
        splits = self.state.splits
        if splits:
            splits[-1].end = event.start
        splits.append(SplitState(event.backend, event.start, event.start, event.reason, event.by))

    def _split_input(self, event: ev.SplitInput) -> None:
        self.state.splits[-1].inputs.append(event.tensor)

    def _copy(self, event: ev.Copy) -> None:
        state = self.state
        tensor, source, backend, copy_no, cause = event.tensor, event.src, event.backend, event.copy_no, event.cause
        if tensor != source:
            name = f"{state.backends[backend].name}#{state.names[source]}#{copy_no}"
            self._add(copy_of(state.tensors[source], name, pipelined=self.pipelined), (), backend, cause, source)
        else:
            state.flags[tensor] |= Flag.INPUT | Flag.OUTPUT
        state.copies.append(CopyState(tensor, source, backend, copy_no, cause))

    def _rewrite(self, event: ev.Rewrite) -> None:
        state = self.state
        src = list(state.src[event.node])
        src[event.slot] = event.copy
        state.src[event.node] = tuple(src)
        state.rewrites.append((event.node, event.slot, event.copy))

    def _graph_input(self, event: ev.GraphInput) -> None:
        self.state.graph_inputs.append(event.tensor)

    def _dependency(self, event: ev.Dependency) -> None:
        state = self.state
        first = event.sources[0]
        made = dependency_on(first, state.tensors[first], state.names[first], event.sources)
        self._add(made, event.sources, -1, None, first)
        state.dependencies[event.tensor] = event.sources

    def _add(self, tensor: Any, src: tuple[int, ...], backend: int, cause: ev.Cause | None, by: int) -> None:
        state = self.state
        state.tensors.append(tensor)
        state.names.append(tensor.name)
        state.src.append(src)
        state.flags.append(tensor.flags)
        state.backend_ids.append(backend)
        state.causes.append(cause)
        state.came_from.append(by)

    def _alloc_graph(self, event: ev.AllocGraph) -> None:
        state = self.state
        state.alloc_nodes = list(zip(event.nodes, event.node_buffers, strict=True))
        state.alloc_leafs = list(zip(event.leafs, event.leaf_buffers, strict=True))
        state.cur_copy = event.cur_copy
        self.step_of = {node: step for step, node in enumerate(event.nodes)}
        if self.run.problem.config.mode is Mode.GALLOC:
            for tensor, buffer in state.alloc_nodes + state.alloc_leafs:
                state.backend_ids[tensor] = buffer
        for node in state.dependencies:
            state.backend_ids[node] = -1
        for tensor, buffer in state.alloc_nodes:
            if tensor in state.dependencies:
                state.backend_ids[tensor] = buffer

    # allocator

    def _ids_changed(self, event: ev.IdsChanged) -> None:
        self.state.realloc_reason = f"{event.what} {event.position} moved from backend {event.old} to {event.new}"

    def _needs_realloc(self, event: ev.NeedsRealloc) -> None:
        state = self.state
        if event.tensor < 0:
            state.realloc_reason = f"{event.what} went from {event.first} to {event.second}"
        else:
            state.realloc_reason = (
                f"{state.names[event.tensor]} needs {event.needed} bytes, its place holds {max(event.recorded, 0)}"
            )

    def _reserve(self, event: ev.Reserve) -> None:
        state = self.state
        state.reserved = True
        for buffer in state.buffers:
            buffer.chunks.clear()
        state.lifetimes.clear()
        state.earlier.clear()
        state.plan_reuse = {}
        state.no_reuse.clear()
        state.reused.clear()
        self.step = 0

    def _execute(self, event: ev.Exec) -> None:
        self.step += 1

    def _new_chunk(self, event: ev.NewChunk) -> None:
        self.state.buffers[event.buffer].chunks.append(0)

    def _alloc(self, event: ev.Alloc) -> None:
        tensor, buffer, chunk, offset, size = event.tensor, event.buffer, event.chunk, event.offset, event.size
        state = self.state
        chunks = state.buffers[buffer].chunks
        chunks[chunk] = max(chunks[chunk], offset + size)
        before = state.lifetimes.get(tensor)
        if before is not None:
            state.earlier.append(before)
        same_as = state.buffers[buffer].same_as
        state.lifetimes[tensor] = Lifetime(
            tensor, buffer if same_as < 0 else same_as, chunk, offset, size, self.step, -1
        )

    def _free(self, event: ev.Free) -> None:
        life = self.state.lifetimes[event.tensor]
        life.dies = self.step
        life.freed = True

    def _keep(self, event: ev.Keep) -> None:
        self.state.lifetimes[event.tensor].kept = True

    def _reuse(self, event: ev.Reuse) -> None:
        lifetimes = self.state.lifetimes
        parent = lifetimes[event.parent]
        parent.dies = self.step
        parent.child = event.child
        lifetimes[event.child] = Lifetime(
            event.child, parent.buffer, parent.chunk, parent.offset, parent.size, self.step, -1, event.parent
        )
        self.state.reused[event.child] = event.parent
        self.state.plan_reuse[self.step_of[event.child]] = self.state.src[event.child].index(event.parent)

    def _no_reuse(self, event: ev.NoReuse) -> None:
        self.state.no_reuse.append((event.child, event.parent, event.reason, event.number))

    def _free_extra(self, event: ev.FreeExtra) -> None:
        self.state.lifetimes[event.child].size -= event.size

    def _buffer_alloc(self, event: ev.BufferAlloc) -> None:
        self.state.buffers[event.buffer].real.append(event.size)

    def _buffer_free(self, event: ev.BufferFree) -> None:
        self.state.buffers[event.buffer].real.clear()

    def _place(self, event: ev.Place) -> None:
        self.state.places[event.tensor] = Place(event.buffer, event.chunk, event.offset, event.size)

    # the end

    def _done(self, event: ev.Done) -> None:
        self.state.ok = event.ok

    def _aborted(self, event: ev.Abort) -> None:
        self.state.abort = event.message


HANDLERS: dict[type, str] = {
    ev.Begin: "_begin", ev.Visit: "_visit", ev.MarkCompute: "_mark_compute",
    ev.Pass: "_start_pass", ev.PassDone: "_end_pass", ev.Assign: "_assign", ev.Refuse: "_refuse",
    ev.Decline: "_decline", ev.Weigh: "_weigh", ev.CannotUpgrade: "_cannot_upgrade",
    ev.Split: "_split", ev.SplitInput: "_split_input", ev.Copy: "_copy",
    ev.Rewrite: "_rewrite", ev.GraphInput: "_graph_input", ev.Dependency: "_dependency",
    ev.AllocGraph: "_alloc_graph", ev.IdsChanged: "_ids_changed", ev.NeedsRealloc: "_needs_realloc",
    ev.Reserve: "_reserve", ev.Exec: "_execute", ev.NewChunk: "_new_chunk", ev.Alloc: "_alloc", ev.Free: "_free",
    ev.Keep: "_keep", ev.Reuse: "_reuse", ev.NoReuse: "_no_reuse", ev.FreeExtra: "_free_extra",
    ev.BufferAlloc: "_buffer_alloc", ev.BufferFree: "_buffer_free", ev.Place: "_place",
    ev.Done: "_done", ev.Abort: "_aborted",
}  # fmt: skip
"""The handler of every kind of event that changes the state."""

NO_CHANGE = (
    ev.Phase, ev.PassOver, ev.ViewDone, ev.BufferFail, ev.Sync, ev.EventSync, ev.EventWait, ev.EventRecord,
    ev.Transfer, ev.AsyncTransfer, ev.CopyAsync, ev.CallCopy, ev.CopyCalled, ev.Launch,
)  # fmt: skip
"""Events that tell what happened on the way. A test compares both lists with the `Event` union."""
