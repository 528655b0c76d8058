"""What a session needs to know about one of its runs, read from the run's own log."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..events import (
    Abort,
    Alloc,
    AllocGraph,
    BufferAlloc,
    BufferFail,
    BufferFree,
    IdsChanged,
    NeedsRealloc,
    NewChunk,
    Place,
    Reserve,
    Split,
    SplitInput,
    Visit,
)
from ..log import Run
from ..replay import replay
from ..tensor import Flag
from .log import RunOf

Input = tuple[str, str, int, int, int, int]
"""Name, type, and elements per dimension of an INPUT leaf."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Of one graph.

    Attributes:
        n_nodes: of the graph as built.
        n_leafs: of the graph as built.
        n_inputs: other tensors made in the graph's pool: inputs and constants, and what is not listed in the graph.
        splits: (backend, first node, behind the last, inputs).
        sched_nodes: of the allocation graph: copies and dependencies counted.
        sched_leafs: of the allocation graph.
        ids_changed: (node or leaf, position, old backend, new backend) against the previous split, None for none; asked
            only where a graph is placed.
        needs_realloc: why the plan in force did not fit, as ggml says it; None when it did (or was not asked).
        reserved: a plan was made.
        compute_sizes: bytes of the compute buffer of each backend, in the order of `Setup.bufts`; a backend that shares
            the buffer of one before it has 0.
        buffers_made: (backend, bytes) of each buffer that was made.
        failed: (backend, bytes, limit) of a buffer that could not be made, None for none.
        generation: number of the run that made the buffers in force, -1 before there are any.
        peaks: bytes that the plan in force needs, like `compute_sizes`.
        places: (backend, chunk, offset) of each placed tensor in the order of placing: leafs, then nodes.
        placed: ids of those tensors.
        inputs: (name, type, ne0, ne1, ne2, ne3) of the INPUT leafs, in their order.
        sched_inputs: the same of the allocation graph, where pipeline copies bring each input once more.
        abort: ggml's text where it would stop, "" where it would not.
    """

    n_nodes: int
    n_leafs: int
    n_inputs: int
    splits: tuple[tuple[int, int, int, int], ...]
    sched_nodes: int
    sched_leafs: int
    ids_changed: tuple[str, int, int, int] | None
    needs_realloc: tuple[str | int, ...] | None
    reserved: bool
    compute_sizes: tuple[int, ...]
    buffers_made: tuple[tuple[int, int], ...]
    failed: tuple[int, int, int] | None
    generation: int
    peaks: tuple[int, ...]
    places: tuple[tuple[int, int, int], ...]
    placed: tuple[int, ...]
    inputs: tuple[Input, ...]
    sched_inputs: tuple[Input, ...]
    abort: str


class FactsBook:
    """The facts of every run of a session, each read once."""

    def __init__(self, runs: Sequence[RunOf]) -> None:
        """Nothing is read yet; `runs` may still grow."""
        self._runs = runs
        self._facts: dict[int, RunFacts] = {}
        self._numbers: dict[int, int] = {}

    def facts(self, number: int) -> RunFacts:
        """Of one run; those of the runs it builds on are read first."""
        chain = [number]
        while chain[-1] not in self._facts:
            previous = self._runs[chain[-1]].run.previous
            if previous is None:
                break
            chain.append(self._number(previous))
        for at in reversed(chain):
            if at not in self._facts:
                previous = self._runs[at].run.previous
                before = None if previous is None else self._facts[self._number(previous)]
                self._facts[at] = _Reader(self._runs[at], at, before).facts()
        return self._facts[number]

    def _number(self, run: Run) -> int:
        for number in range(len(self._numbers), len(self._runs)):
            self._numbers[id(self._runs[number].run)] = number
        return self._numbers[id(run)]


class _Reader:
    """One pass over the events of a run."""

    def __init__(self, one: RunOf, number: int, before: RunFacts | None) -> None:
        self.run, self.number, self.n_unlisted = one.run, number, one.made.n_unlisted
        run = one.run
        bufts = [backend.buft for backend in run.problem.backends]
        nothing = (0,) * len(bufts)
        self.nodes: list[int] = []
        self.leafs: list[int] = []
        self.splits: list[list[int]] = []
        self.graph: AllocGraph | None = None
        self.ids_changed: IdsChanged | None = None
        self.needs_realloc: NeedsRealloc | None = None
        self.reserved = False
        self.real = list(before.compute_sizes if before else nothing)
        self.peaks = list(before.peaks if before else nothing)
        self.chunks: dict[tuple[int, int], int] = {}
        self.made: list[tuple[int, int]] = []
        self.failed: tuple[int, int, int] | None = None
        self.generation = before.generation if before else -1
        self.placed: list[int] = []
        self.places: list[tuple[int, int, int]] = []
        self.abort = ""
        self.first = [bufts.index(buft) for buft in bufts]

    def facts(self) -> RunFacts:
        """Read everything."""
        for event in self.run.events:
            handle = _HANDLERS.get(type(event))
            if handle is not None:
                handle(self, event)
        if self.splits:
            self.splits[-1][2] = len(self.nodes)
        if self.reserved:
            self.peaks = [0] * len(self.peaks)
            for (buffer, _), size in self.chunks.items():
                self.peaks[self.first[buffer]] += size
        tensors = self.run.request.graph.tensors
        graph, changed = self.graph, self.ids_changed
        return RunFacts(
            n_nodes=len(self.nodes),
            n_leafs=len(self.leafs),
            n_inputs=sum(tensors[leaf].buft < 0 for leaf in self.leafs) + self.n_unlisted,
            splits=tuple((backend, start, end, inputs) for backend, start, end, inputs in self.splits),
            sched_nodes=len(graph.nodes) if graph else 0,
            sched_leafs=len(graph.leafs) if graph else 0,
            ids_changed=(changed.what, changed.position, changed.old, changed.new) if changed else None,
            needs_realloc=self._misfit(),
            reserved=self.reserved,
            compute_sizes=tuple(self.real),
            buffers_made=tuple(self.made),
            failed=self.failed,
            generation=self.generation,
            peaks=tuple(self.peaks),
            places=tuple(self.places),
            placed=tuple(self.placed),
            inputs=self._inputs(self.leafs),
            sched_inputs=self._inputs(graph.leafs if graph else ()),
            abort=self.abort,
        )

    def _inputs(self, leafs: Sequence[int]) -> tuple[Input, ...]:
        tensors = self.run.request.graph.tensors
        own = (tensors[leaf] for leaf in leafs if leaf < len(tensors))  # the others are the scheduler's copies
        return tuple((plain_name(one.name), one.dtype.name, *one.ne) for one in own if one.flags & Flag.INPUT)

    def _misfit(self) -> tuple[str | int, ...] | None:
        """The row of the decision record."""
        event = self.needs_realloc
        if event is None:
            return None
        if event.tensor < 0:
            return event.what, event.first, event.second
        at = (event.first,) if event.what == "node" else (event.first, event.second)
        return event.what, *at, name_of(self.run, event.tensor), max(event.recorded, 0), event.needed

    def visit(self, event: Visit) -> None:
        (self.leafs if event.leaf else self.nodes).append(event.tensor)

    def split(self, event: Split) -> None:
        if self.splits:
            self.splits[-1][2] = event.start
        self.splits.append([event.backend, event.start, event.start, 0])

    def split_input(self, event: SplitInput) -> None:
        self.splits[-1][3] += 1

    def alloc_graph(self, event: AllocGraph) -> None:
        self.graph = event

    def change(self, event: IdsChanged) -> None:
        self.ids_changed = event

    def realloc(self, event: NeedsRealloc) -> None:
        self.needs_realloc = event

    def reserve(self, event: Reserve) -> None:
        self.reserved = True
        self.chunks.clear()

    def new_chunk(self, event: NewChunk) -> None:
        self.chunks[event.buffer, event.chunk] = 0

    def alloc(self, event: Alloc) -> None:
        key = event.buffer, event.chunk
        self.chunks[key] = max(self.chunks.get(key, 0), event.offset + event.size)

    def buffer_free(self, event: BufferFree) -> None:
        self.real[event.buffer] = 0

    def buffer_alloc(self, event: BufferAlloc) -> None:
        self.real[event.buffer] += event.size
        self.made.append((event.buffer, event.size))
        self.generation = self.number

    def buffer_fail(self, event: BufferFail) -> None:
        self.real[event.buffer] = 0
        self.failed = event.buffer, event.size, event.limit
        self.generation = self.number

    def place(self, event: Place) -> None:
        self.placed.append(event.tensor)
        self.places.append((event.buffer, event.chunk, event.offset))

    def stop(self, event: Abort) -> None:
        self.abort = event.message


_HANDLERS: dict[type, Callable[[_Reader, Any], None]] = {
    Visit: _Reader.visit,
    Split: _Reader.split,
    SplitInput: _Reader.split_input,
    AllocGraph: _Reader.alloc_graph,
    IdsChanged: _Reader.change,
    NeedsRealloc: _Reader.realloc,
    Reserve: _Reader.reserve,
    NewChunk: _Reader.new_chunk,
    Alloc: _Reader.alloc,
    BufferFree: _Reader.buffer_free,
    BufferAlloc: _Reader.buffer_alloc,
    BufferFail: _Reader.buffer_fail,
    Place: _Reader.place,
    Abort: _Reader.stop,
}


def name_of(run: Run, tensor: int) -> str:
    """What ggml calls a tensor of a run, copies of the scheduler included."""
    tensors = run.request.graph.tensors
    if tensor < len(tensors) and tensors[tensor].name:
        return plain_name(tensors[tensor].name)
    return plain_name(replay(run).names[tensor])


def plain_name(name: str) -> str:
    """Without what the builders add to tell apart tensors that ggml calls the same: `norm-0~2`."""
    return _NUMBER.sub("", name)


_NUMBER = re.compile(r"~[0-9]+")
