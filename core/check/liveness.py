"""When each tensor's bytes are needed, from the allocation graph alone: first and last step, both included."""

from __future__ import annotations

from ..state import State
from ..tensor import Flag


def live_steps(state: State) -> dict[int, tuple[int, int]]:
    """First and last step in which the bytes of each tensor with memory of its own must be intact.

    A node is born at its step, leafs and inputs before the first one. Reading or writing through a view counts for the
    base. Outputs, and in a pipeline all copies, are needed to the end.
    """
    if not state.n_steps:
        return {}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    end = state.n_steps - 1

    def use(tensor: int, step: int) -> None:
        base = state.tensors[tensor].view_src
        owner = base if base >= 0 else tensor
        first.setdefault(owner, step)
        last[owner] = max(last.get(owner, 0), step)

    for leaf, _ in state.alloc_leafs:
        use(leaf, 0)
    for step, (node, _) in enumerate(state.alloc_nodes):
        if state.flags[node] & Flag.INPUT:
            use(node, 0)
        for source in state.src[node]:
            if source >= 0:
                use(source, step)
        if node not in state.dependencies:
            use(node, step)
    for tensor in first:
        if state.flags[tensor] & Flag.OUTPUT:
            last[tensor] = end
    return {tensor: (first[tensor], last[tensor]) for tensor in first}
