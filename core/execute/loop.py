"""A replayed run as the compute loop reads it."""

from __future__ import annotations

from ..scheduler.board import Board
from ..state import State


def board_of(state: State) -> Board:
    """The board of a run of the scheduler, from its log alone; of a reservation as if it ran at its planned places."""
    copies: dict[tuple[int, int], list[int]] = {}
    for copy in state.copies:
        copies.setdefault((copy.src, copy.backend), []).append(copy.tensor)
    return Board(
        tensors=state.tensors,
        nodes=state.nodes,
        src=state.src,
        flags=state.flags,
        backend_ids=state.backend_ids,
        backends=state.backends,
        bufts=state.bufts,
        splits=state.splits,
        copies=copies,
        n_copies=max((len(numbered) for numbered in copies.values()), default=1),
        cur_copy=state.cur_copy,
        homes={t: state.backends[place.buffer].buft for t, place in (state.places or state.lifetimes).items()},
    )
