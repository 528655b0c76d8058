"""The cells of one KV cache and which token is in which, for one sequence (llama_kv_cache::find_slot, apply_ubatch)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InputError

Ids = npt.NDArray[np.int64]

KV_STEP = 256
"""Attention sees the cells in steps of this many, so that a graph can be used again (get_n_kv)."""
EMPTY = -1


class Slot(NamedTuple):
    """What the inputs of one micro-batch say about one cache.

    Attributes:
        cells: where each token goes.
        positions: the token in each cell once they are there; `EMPTY` where there is none.
        n_kv: how many cells attention sees.
        window: tokens that a token sees, itself included; 0 for all before it.
    """

    cells: Ids
    positions: Ids
    n_kv: int
    window: int

    @property
    def size(self) -> int:
        """Cells of the cache."""
        return len(self.positions)


class Cells:
    """One cache, of one stream.

    Attributes:
        positions: of the token in each cell, `EMPTY` where there is none.
        window: see `Slot`.
        head: where the search for free cells begins.
    """

    def __init__(self, size: int, window: int = 0) -> None:
        """All empty."""
        self.positions: Ids = np.full(size, EMPTY, np.int64)
        self.window = window
        self.head = 0

    def place(self, tokens: Ids) -> Slot:
        """Put the tokens of a micro-batch, given by their positions, into cells.

        Free cells are taken one by one from `head`; in the cache of window layers also those whose token lies outside
        of the window. Then no token older than one that was overwritten stays.

        Raises:
            InputError: there are not enough cells.
        """
        free = np.flatnonzero(self._usable())
        used = int(np.count_nonzero(self.positions != EMPTY))
        first = int(np.searchsorted(free, 0 if self.head > used + 2 * len(tokens) else self.head))
        cells = np.concatenate([free[first:], free[:first]])[: len(tokens)]
        if len(cells) < len(tokens):
            raise InputError(
                f"the KV cache of {len(self.positions)} cells has no room for {len(tokens)} more tokens: ask for a "
                f"larger context (-c)"
            )
        overwritten = int(self.positions[cells].max())
        self.positions[cells] = tokens
        if overwritten != EMPTY:
            self.positions[self.positions <= overwritten] = EMPTY
        self.head = int(cells[-1]) + 1
        return Slot(cells, self.positions.copy(), self.n_kv(), self.window)

    def n_kv(self) -> int:
        """get_n_kv: up to the last used cell, in steps of 256, at least 256 and at most all."""
        used = np.flatnonzero(self.positions != EMPTY)
        last = int(used[-1]) + 1 if len(used) else 0
        return min(len(self.positions), max(KV_STEP, -(-last // KV_STEP) * KV_STEP))

    def _usable(self) -> npt.NDArray[np.bool_]:
        """Empty, or masked for the token that comes next (is_masked_swa)."""
        usable: npt.NDArray[np.bool_] = self.positions == EMPTY
        if self.window:
            usable |= self.positions + self.window <= int(self.positions.max()) + 1
        return usable
