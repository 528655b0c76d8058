"""A run made ready: every node bound to its addresses once, to be computed as often as wanted."""

from __future__ import annotations

from collections.abc import Callable

from ..backends.backend import Backend, Span
from ..backends.kernel import Call
from ..op import VIEW_OPS, Op
from ..state import State
from ..tensor import Flag, Tensor
from .arena import Addresses


class Program:
    """The nodes of one run in one layout.

    Attributes:
        steps: of each node in the allocation graph.
        filled: leafs that the user fills before a run.
    """

    def __init__(self, state: State, addresses: Addresses, backend: Backend) -> None:
        """Nothing is bound until it runs."""
        self.state, self.addresses, self.backend = state, addresses, backend
        self.steps = {node: step for step, (node, _) in enumerate(state.alloc_nodes)}
        made = {copy.tensor for copy in state.copies if copy.tensor != copy.src}
        self.filled = [
            leaf
            for leaf, _ in state.alloc_leafs
            if leaf not in made and state.tensors[leaf].view_src < 0 and leaf in addresses.layout.at
        ]
        self._bound: dict[int, Callable[[], None]] = {}
        self._spans: dict[int, Span] = {}

    def is_computed(self, node: int) -> bool:
        """It has the COMPUTE flag, an op that does something, and a result that is not empty."""
        tensor = self.state.tensors[node]
        return node in self.state.computed and tensor.op is not Op.NONE and not is_view(tensor) and tensor.nbytes > 0

    def is_parameter(self, node: int) -> bool:
        """A node without op: a trained parameter that the user fills."""
        tensor = self.state.tensors[node]
        return tensor.op is Op.NONE and bool(tensor.flags & Flag.PARAM) and node in self.addresses.layout.at

    def span(self, tensor: int) -> Span:
        """Where it is."""
        found = self._spans.get(tensor)
        if found is None:
            found = self._spans[tensor] = self.addresses.span(tensor)
        return found

    def call(self, node: int) -> Call:
        """The node and its sources as the scheduler left them."""
        tensors = self.state.tensors
        return Call(tensors[node], tuple(tensors[s] if s >= 0 else None for s in self.state.src[node]))

    def needed(self, node: int) -> list[int]:
        """Sources whose bytes matter; of a view all, since it stands for them."""
        src = self.state.src[node]
        if is_view(self.state.tensors[node]):
            return [source for source in src if source >= 0]
        return [source for source, read in zip(src, self.backend.reads(self.call(node)), strict=False) if read]

    def bind(self, node: int) -> Callable[[], None]:
        """What computes the node.

        Raises:
            InputError: it cannot be computed; the message names it.
        """
        found = self._bound.get(node)
        if found is None:
            sources = [self.span(source) if source >= 0 else None for source in self.state.src[node]]
            found = self._bound[node] = self.backend.prepare(self.call(node), self.span(node), sources)
        return found


def is_view(tensor: Tensor) -> bool:
    """Nothing is computed for it: ggml_is_view_op, or a dependency node of the scheduler."""
    return tensor.op in VIEW_OPS or (tensor.op is Op.NONE and tensor.view_src >= 0)
