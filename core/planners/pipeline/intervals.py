"""Stage 2, liveness: when the bytes of each tensor must be there, and which tensors share one buffer.

Derived from the allocation graph alone, never from what an allocator gave back when: outputs are needed to the end,
views count for the tensor that owns the bytes, an in-place chain is one buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from ...decision import Decision
from ...state import State
from ...tensor import Flag
from .order import owner_of


class Because(str, Enum):
    """Why a tensor has a buffer of its own, or shares one."""

    OWN = "own"
    VIEW = "view of"
    IN_PLACE = "in place of"


class Interval(Decision, frozen=True):
    """One tensor's need of bytes; an event, as it is decided here.

    Attributes:
        tensor: its id.
        birth: the first step in which its bytes must be there.
        death: the step after the last one (half-open).
        owner: the first tensor of the buffer it lies in; itself when it shares none.
        because: why that is.
        of: the tensor it is a view of or takes over in place, -1 for none.
        until: the tensor whose step is the last that needs it, -1 for an output, which is needed to the end.
    """

    tensor: int
    birth: int
    death: int
    owner: int
    because: Because
    of: int
    until: int


def intervals(state: State, steps: Sequence[int], parents: Mapping[int, int]) -> list[Interval]:
    """The intervals of all tensors of the allocation graph that lie in planned memory, by id.

    Args:
        state: a run.
        steps: the order of its steps, as `order.step_order` gives it.
        parents: child -> parent, the in-place decisions that are asked for; one is followed only where the parent is
            needed no longer than to the step in which the child is born.
    """
    found: dict[int, list[int]] = {}  # tensor -> first step, last step, last reader
    viewed: dict[int, list[int]] = {}

    def touch(table: dict[int, list[int]], tensor: int, step: int, by: int) -> None:
        known = table.setdefault(tensor, [step, step, by])
        if step >= known[1]:
            known[1], known[2] = step, by

    def use(tensor: int, step: int, by: int) -> None:
        owner = owner_of(state, tensor)
        touch(found, owner, step, by)
        if owner != tensor:
            touch(viewed, tensor, step, by)

    for leaf, _ in state.alloc_leafs:
        use(leaf, 0, leaf)
    for node, _ in state.alloc_nodes:
        if state.flags[node] & Flag.INPUT:
            use(node, 0, node)
    for step, at in enumerate(steps):
        node = state.alloc_nodes[at][0]
        for source in state.src[node]:
            if source >= 0:
                use(source, step, node)
        if node not in state.dependencies:
            use(node, step, node)
    for tensor, known in found.items():
        if state.flags[tensor] & Flag.OUTPUT:
            known[1], known[2] = max(state.n_steps - 1, 0), -1
    heads = _chains(found, parents)
    mine = _planned(state)
    own = [
        Interval(
            tensor, birth, last + 1, heads.get(tensor, tensor),
            Because.IN_PLACE if tensor in heads else Because.OWN,
            parents[tensor] if tensor in heads else -1, by,
        )
        for tensor, (birth, last, by) in found.items()
        if tensor in mine
    ]  # fmt: skip
    views = [
        Interval(tensor, birth, last + 1, heads.get(base, base), Because.VIEW, base, by)
        for tensor, (birth, last, by) in viewed.items()
        if tensor not in state.dependencies and (base := owner_of(state, tensor)) in mine
    ]
    return sorted(own + views, key=lambda one: one.tensor)


def _planned(state: State) -> set[int]:
    """What the allocator is to place: it is listed, owns its bytes and lies in no buffer yet."""
    listed = {leaf for leaf, _ in state.alloc_leafs}
    for node, _ in state.alloc_nodes:
        listed.add(node)
        listed.update(state.src[node])
    tensors = state.tensors
    return {one for one in listed if one >= 0 and tensors[one].view_src < 0 and tensors[one].buft < 0}


def _chains(found: Mapping[int, Sequence[int]], parents: Mapping[int, int]) -> dict[int, int]:
    """Child -> first tensor of its chain, for the decisions that keep both whole."""
    kept: dict[int, int] = {}
    taken: set[int] = set()
    for child, parent in parents.items():
        if child in found and parent in found and parent not in taken and found[parent][1] == found[child][0]:
            kept[child] = parent
            taken.add(parent)
    heads = {}
    for child in kept:
        head = child
        while head in kept:
            head = kept[head]
        heads[child] = head
    return heads
