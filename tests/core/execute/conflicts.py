"""Which tensors of a placed graph need the same bytes at the same time, found by comparing all pairs."""

from itertools import combinations

from galloscope.core.check.liveness import live_steps
from galloscope.core.execute.layout import Address
from galloscope.core.op import IN_PLACE_OPS
from galloscope.core.state import State


def conflicts(state: State, at: dict[int, Address]) -> set[tuple[int, int]]:
    """Pairs that are alive together and share bytes, without those that the in-place rule allows."""
    live = live_steps(state)
    found = set()
    for one, other in combinations([t for t in at if t in live and at[t].size], 2):
        a, b = at[one], at[other]
        together = live[one][0] <= live[other][1] and live[other][0] <= live[one][1]
        shared = a[:2] == b[:2] and a.offset < b.offset + b.size and b.offset < a.offset + a.size
        if together and shared and not any(takes_over(state, live, at, *pair) for pair in ((one, other), (other, one))):
            found.add((one, other))
    return found


def takes_over(state: State, live: dict[int, tuple[int, int]], at: dict[int, Address], child: int, parent: int) -> bool:
    node = state.tensors[child]
    return (
        parent in state.src[child]
        and live[parent][1] == live[child][0]
        and at[child].offset == at[parent].offset
        and node.same_layout(state.tensors[parent])
        and node.op in IN_PLACE_OPS
    )
