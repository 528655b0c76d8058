"""The obvious way to run a graph: an array of its own for every tensor, the nodes in order, no plan at all.

What planned execution is compared with. It knows neither splits nor copies nor offsets: only the graph as it was built.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backends.backend import Backend, Memory, Span
from ..backends.kernel import Call
from ..dtypes import Shape
from ..log import Run
from ..op import VIEW_OPS, Op
from ..state import State
from ..tensor import Flag, Tensor
from .feed import Bytes, Feed, Zeros
from .result import Execution, NodeRun

Key = tuple[str, int, Shape, Shape]


def _key(tensor: Tensor) -> Key:
    return tensor.name, tensor.dtype.id, tensor.ne, tensor.nb


def _is_work(tensor: Tensor) -> bool:
    return tensor.op is not Op.NONE and tensor.op not in VIEW_OPS and tensor.nbytes > 0


def _last_uses(graph: Sequence[Tensor], computed: Sequence[int]) -> dict[int, list[int]]:
    """Position -> owners of bytes that are read for the last time there."""
    uses: dict[int, int] = {}
    for number, node in enumerate(computed):
        for source in graph[node].src:
            if source >= 0:
                uses[_owner(graph, source)] = number
        owner = _owner(graph, node)
        if owner in uses:
            uses[owner] = number
    ends: dict[int, list[int]] = {}
    for owner, number in uses.items():
        if not graph[owner].flags & Flag.OUTPUT:
            ends.setdefault(number, []).append(owner)
    return ends


def _owner(graph: Sequence[Tensor], tensor: int) -> int:
    base = graph[tensor].view_src
    return base if base >= 0 else tensor


class Naive:
    """Runs graph after graph; only weights and caches stay."""

    def __init__(self, backend: Backend) -> None:
        """With no memory yet."""
        self.backend = backend
        self.externals: dict[Key, Memory] = {}
        self.unwritten: set[Key] = set()
        self.own: dict[int, Memory] = {}
        self.written: set[int] = set()
        self.state: State | None = None
        self.feed: Feed = Zeros()

    def run(self, run: Run, state: State, feed: Feed) -> Execution:
        """Compute the graph of a run.

        Args:
            run: the graph.
            state: for the order of its nodes and their COMPUTE flags.
            feed: as for the executor.

        Raises:
            InputError: a node cannot be computed.
        """
        execution = Execution(state)
        began = time.perf_counter()
        for node, start, seconds in self.steps(run, state, feed):
            execution.nodes.append(NodeRun(node, 0, 0, start - began, seconds))
        execution.seconds = time.perf_counter() - began
        return execution

    def steps(self, run: Run, state: State, feed: Feed) -> Iterator[tuple[int, float, float]]:
        """The same, one node at a time: its id, when it began and the seconds it took.

        What no later node reads is given back after the next step, except what no node reads at all.
        """
        self.own, self.state, self.feed = {}, state, feed
        graph = run.request.graph.tensors
        self.written = {graph[node].view_src for node in state.nodes if graph[node].op not in VIEW_OPS}
        for tensor in (*state.leafs, *state.nodes):
            one = graph[tensor]
            if one.op is Op.NONE and one.view_src < 0:
                self._fill(tensor)
        computed = [node for node in state.nodes if node in state.computed and _is_work(graph[node])]
        last = _last_uses(graph, computed)
        for number, node in enumerate(computed):
            one = graph[node]
            call = Call(one, tuple(graph[s] if s >= 0 else None for s in one.src))
            start = time.perf_counter()
            with np.errstate(all="ignore"):
                self.backend.prepare(call, self._span(node), [self._span(s) if s >= 0 else None for s in one.src])()
            yield node, start, time.perf_counter() - start
            for owner in last.get(number, ()):
                if graph[owner].buft < 0:
                    del self.own[owner]

    def values(self, tensor: int) -> npt.NDArray[Any]:
        """A copy of a tensor's values by its id in the graph: shape ne reversed."""
        return self.backend.values(self._graph()[tensor], self._span(tensor))

    def elements(self, tensor: int) -> npt.NDArray[np.uint8]:
        """The bytes of its elements."""
        return self.backend.elements(self._graph()[tensor], self._span(tensor))

    def _graph(self) -> Any:
        assert self.state is not None
        return self.state.tensors

    def _fill(self, tensor: int) -> None:
        one = self._graph()[tensor]
        key = _key(one)
        if one.buft < 0:
            self.own[tensor] = self._filled(one.nbytes, self.feed.leaf(one))
        elif key in self.externals and not (tensor in self.written and key in self.unwritten):
            self.own[tensor] = self.externals[key]
        elif one.is_weight and tensor not in self.written:
            self.own[tensor] = self.externals[key] = self.backend.weight(one, lambda: self.feed.external(one))
            self.unwritten.add(key)
        else:  # a weight that is written to needs bytes of its own, whatever read it before
            self.own[tensor] = self.externals[key] = self._filled(one.nbytes, self.feed.external(one))
            self.unwritten.discard(key)

    def _filled(self, size: int, data: Bytes | None) -> Memory:
        memory = self.backend.buffer(size)
        if data is not None:
            self.backend.write(memory, 0, data)
        return memory

    def _span(self, tensor: int) -> Span:
        one = self._graph()[tensor]
        owner, start = (one.view_src, one.view_offs) if one.view_src >= 0 else (tensor, 0)
        base = self._graph()[owner]
        if base.buft >= 0 and owner not in self.own:  # the base of a view, itself in no graph
            self._fill(owner)
        memory = self.own.get(owner)
        if memory is None:
            memory = self.own[owner] = self.backend.buffer(base.nbytes)
        return Span(memory, start, base.buft >= 0 and _key(base) in self.unwritten)
