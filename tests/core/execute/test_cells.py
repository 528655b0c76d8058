"""Cells of a KV cache against a plain transcription of what llama.cpp's loops say, cell by cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.execute.cells import EMPTY, Cells


class PlainCache:
    """One sequence in one stream: a dict of cells, and loops."""

    def __init__(self, size: int, window: int) -> None:
        self.size, self.window, self.head = size, window, 0
        self.cells: dict[int, int] = {}

    def find(self, n: int) -> list[int] | None:
        head = 0 if self.head > len(self.cells) + 2 * n else self.head
        found: list[int] = []
        latest = max(self.cells.values(), default=EMPTY)
        for _ in range(self.size):
            if head >= self.size:
                head = 0
            masked = self.window and head in self.cells and latest + 1 - self.cells[head] >= self.window
            if head not in self.cells or masked:
                found.append(head)
            head += 1
            if len(found) == n:
                return found
        return None

    def place(self, positions: list[int]) -> list[int] | None:
        found = self.find(len(positions))
        if found is None:
            return None
        oldest = max((self.cells.pop(cell) for cell in found if cell in self.cells), default=EMPTY)
        self.cells.update(zip(found, positions, strict=True))
        self.cells = {cell: position for cell, position in self.cells.items() if position > oldest}
        self.head = found[-1] + 1
        return found

    def n_kv(self) -> int:
        used = max(self.cells, default=-1) + 1
        return min(self.size, max(256, (used + 255) // 256 * 256))


@given(
    size=st.integers(1, 40),
    window=st.integers(0, 12),
    batches=st.lists(st.integers(1, 9), max_size=30),
)
def test_as_the_loops_say(size: int, window: int, batches: list[int]) -> None:
    cells, plain = Cells(size, window), PlainCache(size, window)
    past = 0
    for n in batches:
        positions = list(range(past, past + n))
        wanted = plain.place(positions)
        if wanted is None:
            before = cells.positions.copy()
            with pytest.raises(InputError, match="larger context"):
                cells.place(np.array(positions))
            assert np.array_equal(cells.positions, before)
            return
        slot = cells.place(np.array(positions))
        assert list(slot.cells) == wanted
        assert {cell: int(at) for cell, at in enumerate(slot.positions) if at != EMPTY} == plain.cells
        assert slot.n_kv == plain.n_kv()
        assert slot.size == size
        past += n


def test_cells_that_are_seen_grow_in_steps() -> None:
    cells = Cells(700)
    seen = [cells.place(np.array([position])).n_kv for position in range(700)]
    assert seen == [256] * 256 + [512] * 256 + [700] * 188


def test_a_window_goes_round() -> None:
    cells = Cells(256, window=32)
    for position in range(600):
        slot = cells.place(np.array([position]))
        assert list(slot.cells) == [position % 256]
        held = set(slot.positions[slot.positions != EMPTY])
        assert set(range(max(0, position - 31), position + 1)) <= held


def test_a_slot_is_a_snapshot() -> None:
    cells = Cells(16)
    first = cells.place(np.array([0, 1]))
    cells.place(np.array([2]))
    assert list(first.positions[:3]) == [0, 1, EMPTY]
