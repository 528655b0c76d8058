"""The shortest list of roots whose expansion gives a captured graph, node for node and leaf for leaf."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Root
from ..op import Op
from .layouts import FLAG_COMPUTE
from .messages import RawGraph, RawTensor

NONE = list(Op).index(Op.NONE)
PARAM = 4
"""GGML_TENSOR_FLAG_PARAM."""


class NoRoots(Exception):
    """No calls of ggml_build_forward_expand give this graph."""


def is_computed(tensor: RawTensor) -> bool:
    """It has no COMPUTE flag only when every expand that reached it was a ggml_build_forward_order."""
    return tensor.op == NONE or bool(tensor.flags & FLAG_COMPUTE)


def minimal_roots(graph: RawGraph) -> tuple[Root, ...]:
    """Roots in call order, by position.

    llama.cpp expands several tensors while it builds. A root appends a run of nodes with itself at the end, so each
    other node of the run is used inside it. Dropping nodes from the front of such a run leaves one, hence taking the
    longest each time is the best. A leaf that comes earlier than any run explains is a root of its own.

    Raises:
        NoRoots: the graph was not made in this way.
    """
    tensors, end = graph.tensors, len(graph.tensors)
    nodes = range(end - graph.n_nodes, end)
    walk = _Walk(tensors)
    first_user = _first_users(tensors, nodes)
    roots: list[int] = []
    node, leaf = nodes.start, 0
    while node < end or leaf < graph.n_leafs:
        for root in _run_ends(first_user, node, end):
            after = walk.expand(root, node, leaf)
            if after is not None:
                break
        else:
            if leaf == graph.n_leafs:
                raise NoRoots(f"no root explains node {node - nodes.start} of the graph")
            root, after = leaf, walk.expand(leaf, node, leaf)
            assert after is not None
        roots.append(root)
        node, leaf = after
    made = tuple(Root(root, is_computed(tensors[root])) for root in roots)
    _check_compute(walk, tensors, nodes, made)
    return made


def _first_users(tensors: Sequence[RawTensor], nodes: range) -> list[int]:
    """For each tensor the first node that uses it; the number of tensors for none."""
    first = [len(tensors)] * len(tensors)
    for node in reversed(nodes):
        for source in tensors[node].src:
            if source >= 0:
                first[source] = node
    return first


def _run_ends(first_user: list[int], node: int, end: int) -> list[int]:
    """Where a run that begins at `node` may end, the farthest first."""
    ends, used_until = [], node
    for at in range(node, end):
        if used_until <= at:
            ends.append(at)
        used_until = max(used_until, first_user[at])
        if used_until >= end:
            break
    return ends[::-1]


class _Walk:
    """ggml_visit_parents on positions."""

    def __init__(self, tensors: Sequence[RawTensor]) -> None:
        self.src = [[s for s in tensor.src if s >= 0] for tensor in tensors]
        self.leaf = [tensor.op == NONE and not tensor.flags & PARAM for tensor in tensors]
        self.seen = bytearray(len(tensors))

    def expand(self, root: int, node: int, leaf: int) -> tuple[int, int] | None:
        """Append what is new below `root` if that is `node`, `node` + 1 ... up to the root, and `leaf`, `leaf` + 1 ...

        Returns:
            The next node and leaf, or None where something else would be appended; nothing is then.
        """
        if self.seen[root]:
            return None
        new, path = [root], [(root, iter(self.src[root]))]
        seen = self.seen
        seen[root] = 1
        while path:
            tensor, sources = path[-1]
            child = next((s for s in sources if not seen[s]), None)
            if child is not None:
                seen[child] = 1
                new.append(child)
                path.append((child, iter(self.src[child])))
                continue
            path.pop()
            if self.leaf[tensor] and tensor == leaf:
                leaf += 1
            elif not self.leaf[tensor] and tensor == node:
                node += 1
            else:
                for one in new:
                    seen[one] = 0
                return None
        return node, leaf


def _check_compute(walk: _Walk, tensors: Sequence[RawTensor], nodes: range, roots: tuple[Root, ...]) -> None:
    """A computing root flags all that it reaches: that must give the captured flags."""
    reached = bytearray(len(tensors))
    stack = [root.tensor for root in roots if root.compute]
    while stack:
        tensor = stack.pop()
        if not reached[tensor]:
            reached[tensor] = 1
            stack += walk.src[tensor]
    wrong = [node for node in nodes if is_computed(tensors[node]) != bool(reached[node])]
    if wrong:
        raise NoRoots(f"the COMPUTE flag of {tensors[wrong[0]].name!r} is not explained by any root")
