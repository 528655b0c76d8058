"""The shortest list of roots whose expansion gives a captured graph, node for node and leaf for leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    other node of the run is used inside it. Dropping nodes or leafs from the front of such a run leaves one, so being
    farther in both never needs more roots, and the longest run is better than any shorter. A leaf may be a root of its
    own: where a longer run is possible, it is worth a try, since it may be what the longer run waits for.

    Raises:
        NoRoots: the graph was not made in this way.
    """
    tensors, end = graph.tensors, len(graph.tensors)
    nodes = range(end - graph.n_nodes, end)
    walk = _Walk(tensors, nodes.start)
    first_user = _first_users(tensors, nodes)
    start, goal = (nodes.start, 0), (end, graph.n_leafs)
    came: dict[_At, tuple[_At, int]] = {}
    reached = [start]
    while goal not in reached:
        found: list[_At] = []
        for at in reached:
            for root, after in walk.roots(at, _run_ends(first_user, at[0], end), graph.n_leafs):
                if after not in came:
                    came[after] = at, root
                    found.append(after)
        if not found:
            stuck = max(node for node, _ in reached) - nodes.start
            raise NoRoots(f"no root explains node {stuck} of the graph")
        reached = [at for at in found if not any(_is_behind(at, other) for other in found)]
    roots: list[int] = []
    at = goal
    while at != start:
        at, root = came[at]
        roots.append(root)
    made = [Root(root, is_computed(tensors[root])) for root in reversed(roots)]
    made += _marks(walk, tensors, nodes, made)
    _check_compute(walk, tensors, nodes, made)
    return tuple(made)


_At = tuple[int, int]
"""The next node and the next leaf that no root has appended yet."""


def _is_behind(at: _At, other: _At) -> bool:
    return at != other and at[0] <= other[0] and at[1] <= other[1]


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

    def __init__(self, tensors: Sequence[RawTensor], first_node: int) -> None:
        self.src = [[s for s in tensor.src if s >= 0] for tensor in tensors]
        self.leaf = [tensor.op == NONE and not tensor.flags & PARAM for tensor in tensors]
        self.first_node = first_node

    def roots(self, at: _At, ends: list[int], n_leafs: int) -> Iterator[tuple[int, _At]]:
        """The roots that can come next, and what comes after each: the longest run, and a leaf where it may help."""
        for root in ends:
            after = self.expand(root, *at)
            if after is not None:
                yield root, after
                if root == ends[0]:
                    return
                break
        node, leaf = at
        if leaf < n_leafs:
            yield leaf, (node, leaf + 1)

    def expand(self, root: int, node: int, leaf: int) -> _At | None:
        """Append what is new below `root` if that is `node`, `node` + 1 ... up to the root, and `leaf`, `leaf` + 1 ...

        Returns:
            The next node and leaf, or None where something else would be appended.
        """
        first, next_leaf, new = node, leaf, {root}

        def is_new(tensor: int) -> bool:
            """Neither appended before, nor on the way."""
            return not (tensor < leaf or self.first_node <= tensor < first or tensor in new)

        path = [(root, iter(self.src[root]))]
        while path:
            tensor, sources = path[-1]
            child = next((s for s in sources if is_new(s)), None)
            if child is not None:
                new.add(child)
                path.append((child, iter(self.src[child])))
                continue
            path.pop()
            if self.leaf[tensor] and tensor == next_leaf:
                next_leaf += 1
            elif not self.leaf[tensor] and tensor == node:
                node += 1
            else:
                return None
        return node, next_leaf


def _marks(walk: _Walk, tensors: Sequence[RawTensor], nodes: range, roots: Sequence[Root]) -> Iterator[Root]:
    """Roots that append nothing: of the branches of a ggml_build_forward_select the computed one can be the smaller."""
    reached = _reached(walk, len(tensors), roots)
    for node in reversed(nodes):
        if is_computed(tensors[node]) and not reached[node]:
            root = Root(node, compute=True)
            yield root
            reached = bytes(map(int.__or__, reached, _reached(walk, len(tensors), [root])))


def _reached(walk: _Walk, n_tensors: int, roots: Sequence[Root]) -> bytes:
    """Which tensors computing roots flag: all that they reach."""
    reached = bytearray(n_tensors)
    stack = [root.tensor for root in roots if root.compute]
    while stack:
        tensor = stack.pop()
        if not reached[tensor]:
            reached[tensor] = 1
            stack += walk.src[tensor]
    return bytes(reached)


def _check_compute(walk: _Walk, tensors: Sequence[RawTensor], nodes: range, roots: Sequence[Root]) -> None:
    """That must give the captured flags."""
    reached = _reached(walk, len(tensors), roots)
    wrong = [node for node in nodes if is_computed(tensors[node]) != bool(reached[node])]
    if wrong:
        raise NoRoots(f"the COMPUTE flag of {tensors[wrong[0]].name!r} is not explained by any root")
