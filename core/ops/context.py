"""The list of a graph under construction: ggml_cgraph as ggml_build_forward_expand fills it."""

from __future__ import annotations

from typing import NamedTuple

from ..dtypes import nbytes
from ..graph import Graph, Root
from ..op import Op
from ..tensor import Flag, Tensor
from .lazy import Lazy

_PARAM = int(Flag.PARAM)


class Listed(NamedTuple):
    """A finished graph and the id of each tensor in it."""

    graph: Graph
    ids: dict[Lazy, int]


class Context:
    """Nodes and leafs in the order ggml lists them; what has no name gets `node_%d` or `leaf_%d` on the way.

    The order of the calls matters: a view that is made of a tensor before it is listed takes over an empty name, later
    it would take over `node_5`.
    """

    def __init__(self) -> None:
        """An empty graph."""
        self.nodes: list[Lazy] = []
        self.leafs: list[Lazy] = []
        self.roots: list[tuple[Lazy, bool]] = []
        self._listed: set[Lazy] = set()
        self._computed: set[Lazy] = set()

    def expand(self, root: Lazy, compute: bool = True) -> None:
        """ggml_build_forward_expand, or ggml_build_forward_order when `compute` is false."""
        if root not in self._listed:
            self._visit(root)
        elif not compute or root in self._computed:
            return  # nothing is listed and nothing marked: such a root leaves no trace
        self.roots.append((root, compute))
        if compute:
            self._mark(root)

    def select(self, tensors: list[Lazy], chosen: int) -> Lazy:
        """ggml_build_forward_select: list all, compute only the chosen one."""
        for i, tensor in enumerate(tensors):
            self.expand(tensor, compute=i == chosen)
        return tensors[chosen]

    def _visit(self, root: Lazy) -> None:
        """Depth first, post order, sources 0..9, as ggml_visit_parents_graph."""
        listed = self._listed
        listed.add(root)
        path = [(root, iter(root.src))]
        while path:
            tensor, sources = path[-1]
            for source in sources:
                if source is not None and source not in listed:
                    listed.add(source)
                    path.append((source, iter(source.src)))
                    break
            else:
                path.pop()
                self._list(tensor)

    def _list(self, tensor: Lazy) -> None:
        leaf = tensor.op is Op.NONE and not tensor.flags & _PARAM
        members = self.leafs if leaf else self.nodes
        if not tensor.name:
            tensor.set_name(f"{'leaf' if leaf else 'node'}_{len(members)}")
        members.append(tensor)

    def _mark(self, root: Lazy) -> None:
        computed, stack = self._computed, [root]
        while stack:
            tensor = stack.pop()
            if tensor not in computed:
                computed.add(tensor)
                stack.extend(source for source in tensor.src if source is not None)

    def members(self) -> list[Lazy]:
        """Leafs, then owners of views that nothing reads, then nodes."""
        listed = self._listed
        bases: dict[Lazy, None] = {}
        for tensor in (*self.leafs, *self.nodes):
            if tensor.view_src is not None and tensor.view_src not in listed:
                bases[tensor.view_src] = None
        return [*self.leafs, *bases, *self.nodes]

    def finish(self, names: list[str]) -> Listed:
        """The graph as values; `names` are unique, one for each of `members()`."""
        members = self.members()
        ids = {tensor: i for i, tensor in enumerate(members)}
        tensors = tuple(_tensor(tensor, ids, name) for tensor, name in zip(members, names, strict=True))
        roots = tuple(Root(ids[tensor], compute) for tensor, compute in self.roots)
        return Listed(Graph(tensors, roots), ids)


def _tensor(lazy: Lazy, ids: dict[Lazy, int], name: str) -> Tensor:
    src, params = lazy.src, lazy.op_params
    while src and src[-1] is None:
        src = src[:-1]
    while params and not params[-1]:
        params = params[:-1]
    return Tensor(
        name=name,
        op=lazy.op,
        dtype=lazy.dtype,
        ne=lazy.ne,
        nb=lazy.nb,
        src=tuple(-1 if source is None else ids[source] for source in src),
        nbytes=nbytes(lazy.dtype, lazy.ne, lazy.nb),
        view_src=-1 if lazy.view_src is None else ids[lazy.view_src],
        view_offs=lazy.view_offs,
        flags=lazy.flags,
        op_params=params,
    )
