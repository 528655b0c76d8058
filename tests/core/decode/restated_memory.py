"""The memories of llama.cpp written down once more, slowly and plainly: what a test compares the real ones with.

Cells are lists, every question walks all of them. Nothing here is shared with core/decode.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

ENDLESS = 1 << 31

Slot = list[tuple[int, list[int]]]
"""Streams, and the cells in each."""


class Dies(Exception):
    """A GGML_ASSERT: the process of llama.cpp would end here."""


@dataclass(frozen=True)
class Row:
    """A token: its sequences in llama.cpp's order, its position, and whether it is an output."""

    seqs: tuple[int, ...]
    pos: int
    out: bool


@dataclass(frozen=True)
class Piece:
    """A micro-batch: its rows, how many sequence sets, and whether each has as many tokens."""

    rows: tuple[Row, ...]
    n_seqs: int
    equal: bool

    @property
    def unq(self) -> list[int]:
        return sorted({s for row in self.rows for s in row.seqs})

    @property
    def n_seq_tokens(self) -> int:
        return len(self.rows) // self.n_seqs


@dataclass
class Cell:
    """A cell of a KV cache: empty at pos -1."""

    pos: int = -1
    seqs: set[int] = field(default_factory=set)
    shift: int = 0


def pad256(n: int) -> int:
    return (n + 255) // 256 * 256


def span(p0: int, p1: int) -> tuple[int, int]:
    return (0 if p0 < 0 else p0), (ENDLESS if p1 < 0 else p1)


class Cache:
    """llama_kv_cache. `n_swa` is 0 where every position is seen."""

    def __init__(self, size: int, n_stream: int, n_swa: int = 0) -> None:
        self.size, self.n_stream, self.n_swa = size, n_stream, n_swa
        self.copies: list[tuple[int, int]] = []
        self.clear()

    def clear(self) -> None:
        self.cells = [[Cell() for _ in range(self.size)] for _ in range(self.n_stream)]
        self.heads = [0] * self.n_stream
        self.has_shift = [False] * self.n_stream

    def stream(self, seq: int) -> int:
        if self.n_stream > 1 and seq >= self.n_stream:
            raise Dies("seq_id < seq_to_stream.size()")
        return seq if self.n_stream > 1 else 0

    def of(self, seq: int) -> Iterator[tuple[int, Cell]]:
        return ((i, c) for i, c in enumerate(self.cells[self.stream(seq)]) if c.pos >= 0 and seq in c.seqs)

    def pos_min(self, seq: int) -> int:
        return min((c.pos for _, c in self.of(seq)), default=-1)

    def pos_max(self, seq: int) -> int:
        return max((c.pos for _, c in self.of(seq)), default=-1)

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        """Sequence -1 is every one."""
        p0, p1 = span(p0, p1)
        for s in range(self.n_stream) if seq < 0 else [self.stream(seq)]:
            freed = []
            for i, cell in enumerate(self.cells[s]):
                if cell.pos >= 0 and p0 <= cell.pos < p1 and (seq < 0 or seq in cell.seqs):
                    cell.seqs = cell.seqs - {seq} if seq >= 0 else set()
                    if not cell.seqs:
                        cell.pos, cell.shift = -1, 0
                        freed.append(i)
            if freed and freed[0] < self.heads[s]:
                self.heads[s] = freed[0]
        return True

    def seq_cp(self, a: int, b: int, p0: int, p1: int) -> None:
        sa, sb = self.stream(a), self.stream(b)
        if sa == sb:
            p0, p1 = span(p0, p1)
            if a != b:
                for _, cell in self.of(a):
                    if p0 <= cell.pos < p1:
                        cell.seqs.add(b)
            return
        if (p0 > 0 and p0 + 1 < self.size) or (p1 > 0 and p1 + 1 < self.size):
            raise Dies("a part of a sequence cannot be copied to another stream")
        self.copies.append((sa, sb))
        self.cells[sb] = [Cell() for _ in range(self.size)]
        self.has_shift[sb] = False
        for i, cell in self.of(a):
            self.cells[sb][i] = Cell(cell.pos, {b}, cell.shift)
            if cell.shift:
                self.has_shift[sb] = True
        self.heads[sb] = self.heads[sa]

    def seq_add(self, seq: int, p0: int, p1: int, delta: int) -> None:
        p0, p1 = span(p0, p1)
        if delta == 0 or p0 == p1:
            return
        s = self.stream(seq)
        emptied = []
        for i, cell in list(self.of(seq)):
            if p0 <= cell.pos < p1:
                self.has_shift[s] = True
                cell.pos += delta
                cell.shift += delta
                if cell.pos < 0:
                    self.cells[s][i] = Cell()
                    emptied.append(i)
        self.heads[s] = emptied[0] if emptied else 0

    def update(self, aborted: bool) -> bool:
        """llama_kv_cache::init_update and update; an aborted shift is tried again the next time."""
        if not any(self.has_shift) and not self.copies:
            return False
        self.copies = []
        if any(self.has_shift) and not aborted:
            for s in range(self.n_stream):
                self.has_shift[s] = False
                for cell in self.cells[s]:
                    cell.shift = 0
        return True

    def masked(self, cell: Cell, newest: dict[int, int]) -> bool:
        if not self.n_swa or len(cell.seqs) != 1:
            return False
        (seq,) = cell.seqs
        return newest[seq] + 1 - cell.pos >= self.n_swa

    def find_slot(self, piece: Piece) -> Slot | None:
        """The stream and the cells of each sequence (of all tokens where there is one stream)."""
        seqs = piece.unq if self.n_stream > 1 else piece.unq[:1]
        n = len(piece.rows) // len(seqs)
        found = []
        for seq in seqs:
            s = self.stream(seq)
            chosen: list[int] = []
            newest = {q: self.pos_max(q) for q in {q for cell in self.cells[s] for q in cell.seqs}}
            used = sum(cell.pos >= 0 for cell in self.cells[s])
            at = 0 if self.heads[s] > used + 2 * n else self.heads[s]
            for _ in range(self.size):
                if at >= self.size:
                    at = 0
                cell = self.cells[s][at]
                if cell.pos < 0 or self.masked(cell, newest):
                    chosen.append(at)
                at += 1
                if len(chosen) == n:
                    break
            if len(chosen) < n:
                return None
            found.append((s, chosen))
        return found

    def put(self, slot: Slot, piece: Piece) -> None:
        """apply_ubatch: what a window forgets takes all that is older with it."""
        overwritten: dict[int, int] = {}
        rows = iter(piece.rows)
        for s, chosen in slot:
            for i in chosen:
                row, cell = next(rows), self.cells[s][i]
                if cell.pos >= 0:
                    seq = min(cell.seqs)
                    overwritten[seq] = max(overwritten.get(seq, -1), cell.pos)
                self.cells[s][i] = Cell(row.pos, set(row.seqs))
        for seq in sorted(overwritten):
            if self.pos_min(seq) <= overwritten[seq]:
                self.seq_rm(seq, self.pos_min(seq), overwritten[seq] + 1)
        for s, chosen in slot:
            self.heads[s] = chosen[-1] + 1

    def prepare(self, pieces: list[Piece]) -> list[Slot] | None:
        """Slots of all of them, or None. Only the cells of the slots are put back: what a window forgot stays so."""
        undo, slots = [], []
        for piece in pieces:
            slot = self.find_slot(piece)
            if slot is None:
                break
            undo.append((slot, list(self.heads), [[deepcopy(self.cells[s][i]) for i in chosen] for s, chosen in slot]))
            self.put(slot, piece)
            slots.append(slot)
        for slot, heads, cells in reversed(undo):
            for (s, chosen), old in zip(slot, cells, strict=True):
                self.heads[s] = heads[s]
                for i, cell in zip(chosen, old, strict=True):
                    self.cells[s][i] = cell
        return slots if len(slots) == len(pieces) else None

    def n_kv(self, slot: Slot) -> int:
        top = []
        for s, _ in slot:
            used = max((i + 1 for i, cell in enumerate(self.cells[s]) if cell.pos >= 0), default=0)
            top.append(min(self.size, max(256, pad256(used))))
        return max(top)
