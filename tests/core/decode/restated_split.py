"""Who splits a batch how, written down once more: the four splits, and the kinds of memory that choose among them."""

from __future__ import annotations

from typing import Any

from galloscope.tests.core.decode.restated_memory import Cache, Piece, Row, Slot
from galloscope.tests.core.decode.restated_states import Recurrent

Seen = dict[str, list[int]]
"""The values that a graph asks of the memory."""


def simple(rows: list[Row], n_ubatch: int) -> list[Piece]:
    cut = [tuple(rows[i : i + n_ubatch]) for i in range(0, len(rows), n_ubatch)]
    return [Piece(part, len(part), False) for part in cut]


def equal(rows: list[Row], n_ubatch: int, sequential: bool) -> list[Piece] | None:
    """None where coupled sequences would have to be kept in order."""
    if sequential and any(len(row.seqs) > 1 for row in rows):
        return None
    left, pieces = list(range(len(rows))), []
    while left:
        sets: list[set[int]] = []
        last = -1
        for i in left:
            seqs = set(rows[i].seqs)
            if any(seqs & taken for taken in sets):
                continue
            if sequential and sets and rows[i].seqs[0] != last + 1:
                continue
            sets.append(seqs)
            last = rows[i].seqs[0]
            if len(sets) > n_ubatch:
                break
        waiting = [[i for i in left if set(rows[i].seqs) == seqs] for seqs in sets]
        rounds = 1
        while all(len(own) > rounds for own in waiting) and (rounds + 1) * len(sets) <= n_ubatch:
            rounds += 1
        taken_now = [i for own in waiting for i in own[:rounds]]
        pieces.append(Piece(tuple(rows[i] for i in taken_now), len(sets), True))
        left = [i for i in left if i not in taken_now]
    return pieces


def by_sequence(rows: list[Row], n_ubatch: int) -> list[Piece]:
    left, pieces = list(range(len(rows))), []
    while left:
        current = set(rows[left[0]].seqs)
        taken: list[int] = []
        for i in left:
            if len(taken) < n_ubatch and set(rows[i].seqs) <= current:
                current = set(rows[i].seqs)
                taken.append(i)
        pieces.append(Piece(tuple(rows[i] for i in taken), 1, True))
        left = [i for i in left if i not in taken]
    return pieces


class Memory:
    """What all of them do with each of their parts."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def pos_min(self, seq: int) -> int:
        return int(max(part.pos_min(seq) for part in self.parts))

    def pos_max(self, seq: int) -> int:
        return int(min(part.pos_max(seq) for part in self.parts))

    def clear(self) -> None:
        for part in self.parts:
            part.clear()

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        answers = [part.seq_rm(seq, p0, p1) for part in self.parts]
        return all(answers)

    def seq_cp(self, a: int, b: int, p0: int, p1: int) -> None:
        for part in self.parts:
            part.seq_cp(a, b, p0, p1)

    def seq_add(self, seq: int, p0: int, p1: int, delta: int) -> None:
        for part in self.parts:
            part.seq_add(seq, p0, p1, delta)

    def update(self, aborted: bool) -> bool:
        answers = [part.update(aborted) for part in self.parts]
        return any(answers)

    def place(self, rows: list[Row], n_ubatch: int, output_all: bool) -> list[tuple[Piece, Any]] | None:
        """All micro-batches with their places, or None where there is no room."""
        raise NotImplementedError

    def apply(self, piece: Piece, slot: Any) -> Seen:
        """The cells are taken; what a graph asks of the memory then."""
        raise NotImplementedError


class Attention(Memory):
    """A model with one KV cache."""

    def __init__(self, size: int, n_stream: int) -> None:
        self.cache = Cache(size, n_stream)
        super().__init__(self.cache)

    def place(self, rows: list[Row], n_ubatch: int, output_all: bool) -> list[tuple[Piece, Any]] | None:
        many = self.cache.n_stream > 1
        pieces = equal(rows, n_ubatch, True) if many else simple(rows, n_ubatch)
        slots = self.cache.prepare(pieces) if pieces is not None else None
        return None if pieces is None or slots is None else list(zip(pieces, slots, strict=True))

    def apply(self, piece: Piece, slot: Slot) -> Seen:
        self.cache.put(slot, piece)
        return {"n_kv": [self.cache.n_kv(slot)]}


class Window(Memory):
    """A model with a second cache for the layers that see a window."""

    def __init__(self, size: int, size_swa: int, n_stream: int, unified: bool, n_swa: int) -> None:
        self.cache = Cache(size, n_stream)
        self.swa = Cache(size_swa, n_stream, n_swa)
        super().__init__(self.cache, self.swa)
        self.unified = unified

    def pos_min(self, seq: int) -> int:
        return self.swa.pos_min(seq)

    def pos_max(self, seq: int) -> int:
        return self.swa.pos_max(seq)

    def place(self, rows: list[Row], n_ubatch: int, output_all: bool) -> list[tuple[Piece, Any]] | None:
        tries = [simple(rows, n_ubatch)] if self.unified else []
        for pieces in (*tries, equal(rows, n_ubatch, not self.unified)):
            if pieces is None:
                continue
            base = self.cache.prepare(pieces)
            swa = self.swa.prepare(pieces) if base is not None else None
            if base is not None and swa is not None:
                return list(zip(pieces, zip(base, swa, strict=True), strict=True))
        return None

    def apply(self, piece: Piece, slot: Any) -> Seen:
        self.cache.put(slot[0], piece)
        self.swa.put(slot[1], piece)
        return {"n_kv": [self.cache.n_kv(slot[0]), self.swa.n_kv(slot[1])]}


class Stateful(Memory):
    """A recurrent model: no KV cache."""

    def __init__(self, n_seq_max: int) -> None:
        self.states = Recurrent(n_seq_max)
        super().__init__(self.states)

    def place(self, rows: list[Row], n_ubatch: int, output_all: bool) -> list[tuple[Piece, Any]] | None:
        pieces = by_sequence(rows, n_ubatch) if output_all else equal(rows, n_ubatch, True)
        if pieces is None or not self.states.prepare(pieces):
            return None
        return [(piece, None) for piece in pieces]

    def apply(self, piece: Piece, slot: None) -> Seen:
        self.states.find_slot(piece)
        return {"n_rs": [self.states.n], "head": [self.states.head], "rs_z": [self.states.rs_z]}


class Hybrid(Memory):
    """Layers of both kinds."""

    def __init__(self, size: int, n_stream: int, n_seq_max: int) -> None:
        self.cache = Cache(size, n_stream)
        self.states = Recurrent(n_seq_max)
        super().__init__(self.cache, self.states)

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        return self.states.seq_rm(seq, p0, p1) and self.cache.seq_rm(seq, p0, p1)

    def place(self, rows: list[Row], n_ubatch: int, output_all: bool) -> list[tuple[Piece, Any]] | None:
        many = self.cache.n_stream > 1
        pieces = by_sequence(rows, n_ubatch) if output_all else equal(rows, n_ubatch, many)
        if pieces is None or not self.states.prepare(pieces):
            return None
        slots = self.cache.prepare(pieces)
        return None if slots is None else list(zip(pieces, slots, strict=True))

    def apply(self, piece: Piece, slot: Slot) -> Seen:
        self.cache.put(slot, piece)
        self.states.find_slot(piece)
        seen = {"n_kv": [self.cache.n_kv(slot)], "n_rs": [self.states.n]}
        return seen | {"head": [self.states.head], "rs_z": [self.states.rs_z]}
