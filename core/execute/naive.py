"""The obvious way to run a graph: an array of its own for every tensor, the nodes in order, no plan at all.

What planned execution is compared with. It knows neither splits nor copies nor offsets: only the graph as it was built.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backends.backend import Backend, Memory, Span
from ..backends.kernel import Call
from ..dtypes import Shape
from ..log import Run
from ..op import VIEW_OPS, Op
from ..state import State
from ..tensor import Tensor
from .feed import Bytes, Feed
from .result import Execution, NodeRun

Key = tuple[str, int, Shape, Shape]


def _key(tensor: Tensor) -> Key:
    return tensor.name, tensor.dtype.id, tensor.ne, tensor.nb


class Naive:
    """Runs graph after graph; only weights and caches stay."""

    def __init__(self, backend: Backend) -> None:
        """With no memory yet."""
        self.backend = backend
        self.externals: dict[Key, Memory] = {}
        self.own: dict[int, Memory] = {}
        self.written: set[int] = set()
        self.state: State | None = None

    def run(self, run: Run, state: State, feed: Feed, seen: Callable[[int], None] | None = None) -> Execution:
        """Compute the graph of a run.

        Args:
            run: the graph.
            state: for the order of its nodes and their COMPUTE flags.
            feed: as for the executor.
            seen: called after each node, with its id.

        Raises:
            InputError: a node cannot be computed.
        """
        self.own, self.state = {}, state
        graph = run.request.graph.tensors
        execution = Execution(state)
        began = time.perf_counter()
        self.written = {graph[node].view_src for node in state.nodes if graph[node].op not in VIEW_OPS}
        for tensor in (*state.leafs, *state.nodes):
            one = graph[tensor]
            if one.op is Op.NONE and one.view_src < 0:
                self._fill(tensor, feed)
        with np.errstate(all="ignore"):
            for node in state.nodes:
                one = graph[node]
                if node not in state.computed or one.op is Op.NONE or one.op in VIEW_OPS or not one.nbytes:
                    continue
                call = Call(one, tuple(graph[s] if s >= 0 else None for s in one.src))
                start = time.perf_counter()
                self.backend.prepare(call, self._span(node), [self._span(s) if s >= 0 else None for s in one.src])()
                execution.nodes.append(NodeRun(node, 0, 0, start - began, time.perf_counter() - start))
                if seen is not None:
                    seen(node)
        execution.seconds = time.perf_counter() - began
        return execution

    def values(self, tensor: int) -> npt.NDArray[Any]:
        """A copy of a tensor's values by its id in the graph: shape ne reversed."""
        return self.backend.values(self._graph()[tensor], self._span(tensor))

    def elements(self, tensor: int) -> npt.NDArray[np.uint8]:
        """The bytes of its elements."""
        return self.backend.elements(self._graph()[tensor], self._span(tensor))

    def _graph(self) -> Any:
        assert self.state is not None
        return self.state.tensors

    def _fill(self, tensor: int, feed: Feed) -> None:
        one = self._graph()[tensor]
        key = _key(one)
        if one.buft < 0:
            self.own[tensor] = self._filled(one.nbytes, feed.leaf(one))
        elif key in self.externals:
            self.own[tensor] = self.externals[key]
        elif one.is_weight and tensor not in self.written:
            self.own[tensor] = self.externals[key] = self.backend.weight(one, lambda: feed.external(one))
        else:
            self.own[tensor] = self.externals[key] = self._filled(one.nbytes, feed.external(one))

    def _filled(self, size: int, data: Bytes | None) -> Memory:
        memory = self.backend.buffer(size)
        if data is not None:
            self.backend.write(memory, 0, data)
        return memory

    def _span(self, tensor: int) -> Span:
        one = self._graph()[tensor]
        owner, start = (one.view_src, one.view_offs) if one.view_src >= 0 else (tensor, 0)
        base = self._graph()[owner]
        memory = self.own.get(owner)
        if memory is None and base.buft >= 0:
            memory = self.externals.get(_key(base))
        if memory is None:
            memory = self.own[owner] = self.backend.buffer(base.nbytes)
        return Span(memory, start, bool(base.is_weight) and owner not in self.written)
