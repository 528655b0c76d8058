"""The cells of one KV stream (llama_kv_cells) and the search for free ones; positions only, never contents.

Arrays instead of one object a cell: what a decode asks must not take longer when more cells are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .sets import SeqSets

Indices = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.int64]

END = (1 << 31) - 1
"""The end of an open range of positions."""
_AHEAD = 64
"""Cells that are looked at before all are: most searches end at once."""


class Window(NamedTuple):
    """A sliding window (llama_swa_type): which positions a token no longer sees."""

    size: int
    chunked: bool = False

    def limit(self, pos: int) -> int:
        """The largest position that a token at `pos` does not see (is_masked_swa)."""
        return pos // self.size * self.size - 1 if self.chunked else pos - self.size


class Before(NamedTuple):
    """What some cells held before they were overwritten, to undo it; `lost`: others lost a sequence, too."""

    cells: Indices
    pos: Numbers
    who: Numbers
    lost: bool


class Mark(NamedTuple):
    """The sums of a stream at one time."""

    head: int
    used: int
    top: int
    spans: dict[int, tuple[int, int]]


class Cells:
    """The cells of one stream.

    Attributes:
        size: how many there are.
        head: where the next search begins.
        used: cells that hold a token.
        shifted: some position was changed since the last update.
    """

    def __init__(self, size: int, window: Window | None) -> None:
        """All cells empty; with a window, those outside it can be overwritten."""
        self.size = size
        self._window = window
        self.clear()

    def clear(self) -> None:
        """Empty every cell (reset)."""
        self.head = 0
        self.used = 0
        self.shifted = False
        self._sets = SeqSets()
        self._pos: Numbers = np.full(self.size, -1, np.int64)
        self._who: Numbers = np.zeros(self.size, np.int64)  # number of the set of sequences, 0 for none
        self._shift: Numbers = np.zeros(self.size, np.int64)
        self._top = 0  # -1 when it must be looked for again
        self._spans: dict[int, tuple[int, int]] = {}  # smallest and largest position of sequences, where known

    @property
    def top(self) -> int:
        """One behind the last used cell (used_max_p1)."""
        if self._top < 0:
            used = np.flatnonzero(self._pos >= 0)
            self._top = int(used[-1]) + 1 if len(used) else 0
        return self._top

    def span(self, seq: int) -> tuple[int, int]:
        """Smallest and largest position of a sequence, (-1, -1) when it is empty."""
        known = self._spans.get(seq)
        if known is None:
            found = self._pos[self._of(seq)]
            known = (int(found.min()), int(found.max())) if len(found) else (-1, -1)
            self._spans[seq] = known
        return known

    def find(self, n_tokens: int) -> Indices | None:
        """The first cells from the head on, all around, that can take tokens; None when they are too few (find_slot).

        These are empty ones, and those of a single sequence that lie outside its window.
        """
        start = 0 if self.head > self.used + 2 * n_tokens else self.head
        limits = self._limits() if self._window else None
        found = self._usable(start, min(start + n_tokens + _AHEAD, self.size), limits)
        if len(found) < n_tokens:
            found = np.concatenate((self._usable(start, self.size, limits), self._usable(0, start, limits)))
        return found[:n_tokens] if len(found) >= n_tokens else None

    def place(self, cells: Indices, pos: Sequence[int], seqs: Sequence[tuple[int, ...]]) -> Before:
        """Put tokens into cells (apply_ubatch).

        Where a cell of a window is overwritten, all older positions of its sequence go, so that no gap is left.
        """
        who = [self._sets.number(one) for one in seqs]
        old_pos, old_who = self._pos[cells], self._who[cells]
        gone: dict[int, int] = {}  # the largest position that each sequence loses
        if self._window and old_who.any():
            for number in np.unique(old_who[old_who > 0]):
                seq = self._sets.members(int(number))[0]
                gone[seq] = int(old_pos[old_who == number].max())
                self._spans.pop(seq, None)
            self.used -= int(np.count_nonzero(old_who))
        self._pos[cells], self._who[cells] = pos, who
        self._shift[cells] = 0
        self.used += len(cells)
        self._top = max(self.top, int(cells.max()) + 1)
        self._widen(pos, who)
        lost = False
        for seq, most in sorted(gone.items()):
            if self.span(seq)[0] <= most:
                lost |= self.remove(seq, 0, most + 1) > 0
        self.head = int(cells[-1]) + 1
        return Before(cells, old_pos, old_who, lost)

    def mark(self) -> Mark:
        """The sums as they are now."""
        return Mark(self.head, self.used, self.top, dict(self._spans))

    def undo(self, mark: Mark, steps: list[Before]) -> None:
        """Put back what cells held before the steps, the last one first, as prepare does.

        Cells that lost a sequence without being overwritten stay as they are, as in llama.cpp.
        """
        for before in reversed(steps):
            self._pos[before.cells], self._who[before.cells] = before.pos, before.who
        self.head, self.used, self._top, self._spans = mark
        if any(before.lost for before in steps):
            self.used = int(np.count_nonzero(self._pos >= 0))
            self._top = -1
            self._spans = {}

    def remove(self, seq: int, p0: int, p1: int) -> int:
        """Take a sequence (-1: everything) out of positions [p0, p1); how many cells it was in (seq_rm)."""
        cells = self._within(p0, p1, seq)
        if not len(cells):
            return 0
        left = self._changed(cells, lambda number: self._sets.without(number, seq) if seq >= 0 else 0)
        if seq >= 0:
            self._spans.pop(seq, None)
        else:
            self._spans.clear()
        self._who[cells] = left
        empty = cells[left == 0]
        self._empty(empty)
        if len(empty) and empty[0] < self.head:
            self.head = int(empty[0])
        return len(cells)

    def share(self, source: int, target: int, p0: int, p1: int) -> None:
        """Let the cells of one sequence belong to another, too (seq_cp in one stream)."""
        cells = self._within(p0, p1, source)
        if len(cells):
            self._who[cells] = self._changed(cells, lambda number: self._sets.joined(number, target))
            self._spans.pop(target, None)

    def take_over(self, other: Cells, source: int, target: int) -> None:
        """Become what another stream holds of a sequence, under another id (seq_cp between streams)."""
        cells = other._of(source)
        self.clear()
        self._pos[cells] = other._pos[cells]
        self._shift[cells] = other._shift[cells]
        self._who[cells] = self._sets.number((target,))
        self.shifted = bool(self._shift[cells].any())
        self.used = len(cells)
        self._top = int(cells[-1]) + 1 if len(cells) else 0
        self.head = other.head

    def move(self, seq: int, p0: int, p1: int, delta: int) -> None:
        """Add to positions; cells that would come before 0 become empty (seq_add)."""
        p0, p1 = max(p0, 0), p1 if p1 >= 0 else END
        if delta == 0 or p0 == p1:
            return
        cells = self._within(p0, p1, seq)
        empty = cells[:0]
        if len(cells):
            self._pos[cells] += delta
            self._shift[cells] += delta
            self.shifted = True
            self._spans.clear()  # a cell of several sequences moves for all of them
            empty = cells[self._pos[cells] < 0]
            self._who[empty] = 0
            self._empty(empty)
        self.head = int(empty[0]) if len(empty) else 0

    def updated(self) -> None:
        """The shift has been applied to K (reset_shift)."""
        if self.shifted:
            self.shifted = False
            self._shift[:] = 0

    def _of(self, seq: int) -> Indices:
        """Cells of a sequence."""
        return np.flatnonzero(self._sets.with_member(seq)[self._who[: self.top]])

    def _within(self, p0: int, p1: int, seq: int) -> Indices:
        """Cells of a sequence (-1: of any) at positions [p0, p1)."""
        pos = self._pos[: self.top]
        inside = (pos >= max(p0, 0)) & (pos < (p1 if p1 >= 0 else END))
        if seq >= 0:
            inside &= self._sets.with_member(seq)[self._who[: self.top]]
        return np.flatnonzero(inside)

    def _changed(self, cells: Indices, change: Callable[[int], int]) -> Numbers:
        """The sets of cells, each put through a change."""
        numbers, inverse = np.unique(self._who[cells], return_inverse=True)
        return np.array([change(int(number)) for number in numbers], np.int64)[inverse]

    def _empty(self, cells: Indices) -> None:
        self._pos[cells] = -1
        self._shift[cells] = 0
        self.used -= len(cells)
        if len(cells) and cells[-1] + 1 == self._top:
            self._top = -1

    def _usable(self, start: int, stop: int, limits: Numbers | None) -> Indices:
        pos = self._pos[start:stop]
        usable = pos < 0 if limits is None else pos <= limits[self._who[start:stop]]
        return np.flatnonzero(usable) + start

    def _limits(self) -> Numbers:
        """The largest position that may be overwritten, by set of sequences."""
        assert self._window is not None
        limits = np.full(len(self._sets), -1, np.int64)
        limits[0] = END
        for number, seq in self._sets.single():
            high = self.span(seq)[1]
            if high >= 0:
                limits[number] = self._window.limit(high + 1)
        return limits

    def _widen(self, pos: Sequence[int], who: Sequence[int]) -> None:
        """Sequences reach as far as their new tokens; what is not known stays so."""
        reach: dict[int, tuple[int, int]] = {}
        for one, number in zip(pos, who, strict=True):
            low, high = reach.get(number, (one, one))
            reach[number] = (min(low, one), max(high, one))
        for number, (low, high) in reach.items():
            for seq in self._sets.members(number):
                known = self._spans.get(seq)
                if known == (-1, -1):
                    self._spans[seq] = (low, high)
                elif known is not None:
                    self._spans[seq] = (min(known[0], low), max(known[1], high))
