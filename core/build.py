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


def is_leaf(op: Op, flags: int) -> bool:
    """A tensor without op is a leaf, unless it is a trainable parameter."""
    return op is Op.NONE and not flags & Flag.PARAM


def name_all(graph: Graph, nodes: list[int], leafs: list[int]) -> list[str]:
    """Every tensor's name; unnamed ones get ggml's `node_%d` / `leaf_%d`, made unique with `~2`, or `#id` if unlisted."""
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
    tensors = graph.tensors
    visited = bytearray(len(tensors))
    computed = bytearray(len(tensors))
    nodes: list[int] = []
    leafs: list[int] = []
    backwards = order is Order.RIGHT_TO_LEFT
    for root in graph.roots:
        compute = root.compute
        top = root.tensor
        if visited[top]:
            if compute:
                _mark(graph, top, computed, record)
            continue
        visited[top] = 1
        stack = [(top, _slots(tensors[top].src, backwards), -1, -1)]
        while stack:
            tensor, slots, parent, via = stack[-1]
            src = tensors[tensor].src
            for slot in slots:
                source = src[slot]
                if source < 0:
                    continue
                if not visited[source]:
                    visited[source] = 1
                    stack.append((source, _slots(tensors[source].src, backwards), tensor, slot))
                    break
                if compute and not computed[source]:
                    _mark(graph, source, computed, record)
            else:
                stack.pop()
                node = tensors[tensor]
                runs = compute and node.op is not Op.NONE
                computed[tensor] |= runs
                leaf = is_leaf(node.op, node.flags)
                (leafs if leaf else nodes).append(tensor)
                record(Visit(tensor, leaf, runs, parent, via))
    return Built(nodes, leafs, name_all(graph, nodes, leafs))


def _slots(src: tuple[int, ...], backwards: bool) -> object:
    slots = range(len(src))
    return iter(reversed(slots) if backwards else slots)


def _mark(graph: Graph, top: int, computed: bytearray, record: Callable[[Event], object]) -> None:
    """Set COMPUTE on a tensor listed earlier and on its sources that lack it, slots 0..9 whatever the order."""
    tensors = graph.tensors
    stack = [top]
    seen = set()
    while stack:
        tensor = stack.pop()
        if computed[tensor] or tensor in seen:
            continue
        seen.add(tensor)
        if tensors[tensor].op is not Op.NONE:
            computed[tensor] = 1
            record(MarkCompute(tensor))
        stack.extend(source for source in reversed(tensors[tensor].src) if source >= 0)
