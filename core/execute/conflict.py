"""The one thing that a guarded run ends with: two tensors that needed the same bytes."""

from __future__ import annotations

from ..errors import GalloscopeError
from ..events import Alloc, Event, Free, FreeExtra, Place, Reuse
from ..log import Run
from ..state import State


class Conflict(GalloscopeError):
    """A tensor's bytes are not its own when they are needed.

    Attributes:
        tensor: whose bytes are wrong.
        other: who has them now, -1 when nobody wrote them yet.
        node: the node, or the copy, that needed them.
        step: its place in the allocation graph, -1 after the last one.
        events: ticks of the run's log that gave these bytes out or back, in order.
    """

    def __init__(self, message: str, tensor: int, other: int, node: int, step: int, events: tuple[int, ...]) -> None:
        """See the class."""
        super().__init__(message)
        self.tensor, self.other, self.node, self.step, self.events = tensor, other, node, step, events


def conflict(run: Run, state: State, tensor: int, other: int, node: int, step: int, what: str) -> Conflict:
    """A conflict in words.

    Args:
        run: whose log tells where the bytes came from.
        state: of the run.
        tensor: whose bytes are wrong.
        other: who has them, -1 for nobody.
        node: who needed them, -1 for whoever reads the outputs.
        step: of the node.
        what: the sentence, with {tensor}, {other}, {node} and {at} to fill in.
    """
    ticks = tuple(tick for tick, event in enumerate(run.events) if _moves(event) & {tensor, other} - {-1})

    def named(number: int) -> str:
        return repr(state.names[number]) if number >= 0 else "nobody"

    text = what.format(
        tensor=named(tensor), other=named(other), node=named(node), at=f"step {step}" if step >= 0 else "the end"
    )
    because = f"; events {', '.join(f'#{tick}' for tick in ticks)}" if ticks else ""
    return Conflict(text + because, tensor, other, node, step, ticks)


def _moves(event: Event) -> set[int]:
    """The tensors whose bytes an event gives out or back."""
    if isinstance(event, (Alloc, Free, Place)):
        return {event.tensor}
    if isinstance(event, (Reuse, FreeExtra)):
        return {event.child, event.parent}
    return set()
