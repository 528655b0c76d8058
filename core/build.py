"""Graph building: the order of the nodes (ggml_build_forward_expand, _order; ggml_visit_parents_graph in ggml.c).

Depth first, post order, sources 0..9 (or 9..0), each tensor once. Iterative, so that a chain of any length fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .events import Event, MarkCompute, Visit
from .graph import Graph, Order
from .op import Op
from .tensor import Flag


class Built(NamedTuple):
    """Node and leaf ids in graph order, and the name of every tensor of the graph (automatic ones filled in)."""

    nodes: list[int]
    leafs: list[int]
    names: list[str]


_PARAM = int(Flag.PARAM)


def is_leaf(op: Op, flags: int) -> bool:
    """A tensor without op is a leaf, unless it is a trainable parameter."""
    return op is Op.NONE and not flags & _PARAM


def name_all(graph: Graph, nodes: list[int], leafs: list[int]) -> list[str]:
    """Every tensor's name; unnamed ones get ggml's `node_%d` / `leaf_%d`, unique by `~2`, or `#id` when not listed."""
    names = [tensor.name for tensor in graph.tensors]
    if all(names):
        return names
    taken = set(names)
    for kind, members in (("node", nodes), ("leaf", leafs)):
        for position, tensor in enumerate(members):
            if not names[tensor]:
                name, count = f"{kind}_{position}", 2
                while name in taken:
                    name, count = f"{kind}_{position}~{count}", count + 1
                taken.add(name)
                names[tensor] = name
    return [name or f"#{tensor}" for tensor, name in enumerate(names)]


def build_forward(graph: Graph, order: Order, record: Callable[[Event], object]) -> Built:
    """Visit the roots in call order and list what they reach.

    The caller guarantees that sources form no cycle (the file reader shows the path of one).
    """
    builder = _Builder(graph, order is Order.RIGHT_TO_LEFT, record)
    for root in graph.roots:
        builder.add(root.tensor, root.compute)
    return Built(builder.nodes, builder.leafs, name_all(graph, builder.nodes, builder.leafs))


class _Builder:
    """The walk's state: what is listed, and from where COMPUTE has been passed on already."""

    def __init__(self, graph: Graph, backwards: bool, record: Callable[[Event], object]) -> None:
        tensors = graph.tensors
        self.src = [tensor.src[::-1] for tensor in tensors] if backwards else [tensor.src for tensor in tensors]
        self.backwards = backwards
        self.tensors = tensors
        self.record = record
        self.has_op = [tensor.op is not Op.NONE for tensor in tensors]
        self.leaf = [is_leaf(tensor.op, tensor.flags) for tensor in tensors]
        self.cursors = [0] * len(tensors)
        self.visited = bytearray(len(tensors))
        self.passed_on = bytearray(len(tensors))
        self.nodes: list[int] = []
        self.leafs: list[int] = []

    def add(self, root: int, compute: bool) -> None:
        """List the root and what it reaches; or, when it is listed, pass the COMPUTE flag on."""
        if self.visited[root]:
            if compute and not self.passed_on[root]:
                self._mark(root)
            return
        srcs, visited, passed_on, cursors = self.src, self.visited, self.passed_on, self.cursors
        visited[root] = 1
        path = [root]
        while path:
            tensor = path[-1]
            src = srcs[tensor]
            cursor, n_src = cursors[tensor], len(src)
            while cursor < n_src:
                source = src[cursor]
                cursor += 1
                if source < 0:
                    continue
                if not visited[source]:
                    visited[source] = 1
                    if srcs[source]:
                        path.append(source)
                        break
                    self._list(source, compute, tensor, n_src - cursor if self.backwards else cursor - 1)
                elif compute and not passed_on[source]:
                    self._mark(source)
            else:
                path.pop()
                if not path:
                    self._list(tensor, compute, -1, -1)
                    break
                parent = path[-1]
                via = cursors[parent]
                self._list(tensor, compute, parent, len(srcs[parent]) - via if self.backwards else via - 1)
                continue
            cursors[tensor] = cursor

    def _list(self, tensor: int, compute: bool, parent: int, slot: int) -> None:
        leaf = self.leaf[tensor]
        (self.leafs if leaf else self.nodes).append(tensor)
        if compute:
            self.passed_on[tensor] = 1
        self.record(Visit(tensor, leaf, compute and self.has_op[tensor], parent, slot))

    def _mark(self, top: int) -> None:
        """Set COMPUTE on a tensor listed earlier and on its sources that lack it, slots 0..9 whatever the order."""
        stack = [top]
        while stack:
            tensor = stack.pop()
            if self.passed_on[tensor]:
                continue
            self.passed_on[tensor] = 1
            if self.has_op[tensor]:
                self.record(MarkCompute(tensor))
            stack.extend(source for source in reversed(self.tensors[tensor].src) if source >= 0)
