"""The working columns of one run: what the hot loops read, as plain lists indexed by tensor id.

The scheduler rewrites sources and adds tensors (copies, dependency nodes), so each run works on its own columns while
the `Graph` itself never changes: in ggml, too, a graph is used up by the split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .build import Built, build_forward
from .events import Event
from .graph import Graph, Order
from .op import Op
from .tensor import MAX_NAME, Flag, Tensor

Record = Callable[[Event], object]


class Columns:
    """Lists over tensor ids; ids from `n_graph` on are tensors that the scheduler made."""

    def __init__(self, graph: Graph, built: Built) -> None:
        """Take the columns out of a built graph."""
        tensors = graph.tensors
        self.graph = graph
        self.n_graph = len(tensors)
        self.nodes = built.nodes
        self.leafs = built.leafs
        self.tensors: list[Tensor] = list(tensors)
        self.name = built.names
        self.op: list[Op] = [t.op for t in tensors]
        self.src: list[Sequence[int]] = [t.src for t in tensors]
        self.view_src = [t.view_src for t in tensors]
        self.flags = [t.flags for t in tensors]
        self.nbytes = [t.nbytes for t in tensors]
        self.buft = [t.buft for t in tensors]

    def base_buft(self, tensor: int) -> int:
        """Buffer type of the buffer the tensor lay in before planning, through its base for a view; -1 for none."""
        base = self.view_src[tensor]
        return self.buft[base if base >= 0 else tensor]

    def add(self, tensor: Tensor, src: Sequence[int] = ()) -> int:
        """List a tensor made by the scheduler; returns its id."""
        self.tensors.append(tensor)
        self.name.append(tensor.name)
        self.op.append(tensor.op)
        self.src.append(src)
        self.view_src.append(tensor.view_src)
        self.flags.append(tensor.flags)
        self.nbytes.append(tensor.nbytes)
        self.buft.append(-1)
        return len(self.tensors) - 1

    def rewrite(self, node: int, slot: int, tensor: int) -> None:
        """node.src[slot] = tensor."""
        src = self.src[node]
        if not isinstance(src, list):
            src = self.src[node] = list(src)
        src[slot] = tensor


def prepare(graph: Graph, order: Order, record: Record) -> Columns:
    """Build the forward graph, record each visit, and hand out the columns."""
    return Columns(graph, build_forward(graph, order, record))


def cut_name(name: str) -> str:
    """A name as ggml_format_name keeps it: what does not fit into 63 bytes is lost.

    >>> cut_name("GPU0#" + "x" * 60 + "#0")[-3:]
    'xxx'
    """
    return name if len(name) * 4 < MAX_NAME else name.encode()[: MAX_NAME - 1].decode(errors="ignore")


def copy_of(source: Tensor, name: str, *, pipelined: bool) -> Tensor:
    """A scheduler copy: same shape and strides, no op (ggml_dup_tensor_layout); never overwritten if pipelined."""
    return Tensor(
        name=cut_name(name),
        op=Op.NONE,
        dtype=source.dtype,
        ne=source.ne,
        nb=source.nb,
        src=(),
        nbytes=source.nbytes,
        flags=int(Flag.INPUT | Flag.OUTPUT) if pipelined else 0,
        given_layer=source.layer,
    )


def dependency_on(source_id: int, source: Tensor, name: str, sources: tuple[int, ...]) -> Tensor:
    """The node "x (view)" (ggml_view_tensor with sources set): it keeps them alive until its place in the order."""
    return Tensor(
        name=cut_name(f"{name} (view)"),
        op=Op.NONE,
        dtype=source.dtype,
        ne=source.ne,
        nb=source.nb,
        src=sources,
        nbytes=source.nbytes,
        view_src=source.view_src if source.view_src >= 0 else source_id,
        view_offs=source.view_offs,
        given_layer=source.layer,
    )
