"""The recurrent memory of llama.cpp written down once more: a state for each sequence, kept together by swapping."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

from galloscope.tests.core.decode.restated_memory import Dies, Piece, span


@dataclass
class State:
    """A cell of a recurrent memory; `tail` belongs to the sequence of the same number, not to the cell."""

    pos: int = -1
    src: int = -1
    seqs: set[int] = field(default_factory=set)
    tail: int = -1


class Recurrent:
    """llama_memory_recurrent, without rollback."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.clear()

    def clear(self) -> None:
        self.cells = [State() for _ in range(self.size)]
        self.head = self.used = 0
        self.n = self.rs_z = 0

    def pos_min(self, seq: int) -> int:
        return min((c.pos for c in self.cells if seq in c.seqs), default=-1)

    def pos_max(self, seq: int) -> int:
        return max((c.pos for c in self.cells if seq in c.seqs and c.pos >= 0), default=-1)

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        p0, p1 = span(p0, p1)
        if not 0 <= seq < self.size:
            return False
        tail = self.cells[seq].tail
        if tail >= 0:
            pos = self.cells[tail].pos
            if 0 < p0 <= pos < p1:
                return False
            if p0 <= pos < p1:
                self.cells[seq].tail = -1
        freed = []
        for i, cell in enumerate(self.cells):
            if p0 <= cell.pos < p1 and seq in cell.seqs:
                cell.seqs.discard(seq)
                if not cell.seqs:
                    self.used -= 1
                    cell.pos = cell.src = -1
                    freed.append(i)
        if freed and freed[0] < self.head:
            self.head = freed[0]
        return True

    def seq_cp(self, a: int, b: int, p0: int, p1: int) -> None:
        if a == b or max(a, b) >= self.size:
            return
        self.leave(b)
        if self.cells[a].tail >= 0:
            self.cells[self.cells[a].tail].seqs.add(b)
            self.cells[b].tail = self.cells[a].tail

    def leave(self, seq: int) -> None:
        """The sequence gives up its state; nobody else's is touched."""
        if self.cells[seq].tail >= 0:
            cell = self.cells[self.cells[seq].tail]
            cell.seqs.discard(seq)
            self.cells[seq].tail = -1
            if not cell.seqs:
                cell.pos = cell.src = -1
                self.used -= 1

    def seq_add(self, seq: int, p0: int, p1: int, delta: int) -> None:
        p0, p1 = span(p0, p1)
        tail = self.cells[seq].tail if seq < self.size else -1
        if tail >= 0 and seq in self.cells[tail].seqs and p0 <= self.cells[tail].pos < p1:
            self.cells[tail].pos += delta

    def update(self, aborted: bool) -> bool:
        return False

    def prepare(self, pieces: list[Piece]) -> bool:
        before = deepcopy((self.cells, self.used, self.head))
        good = all(self.find_slot(piece) for piece in pieces)
        self.cells, self.used, self.head = before
        return good

    def next_empty(self, at: int) -> int:
        for _ in range(self.size):
            at %= self.size
            if not self.cells[at].seqs:
                return at
            at += 1
        return at % self.size

    def find_slot(self, piece: Piece) -> bool:
        firsts = [piece.rows[s * piece.n_seq_tokens] for s in range(piece.n_seqs)]
        lasts = [piece.rows[(s + 1) * piece.n_seq_tokens - 1].pos for s in range(piece.n_seqs)]
        if self.head > self.used + 2 * piece.n_seqs:
            self.head = 0
        for row in firsts:
            for seq in row.seqs[1:]:
                self.leave(seq)
        empty, tails = self.next_empty(self.head), []
        for k, row in enumerate(firsts):
            seq = row.seqs[0]
            tail = self.cells[seq].tail
            if tail < 0 or len(self.cells[tail].seqs) != 1:
                if self.cells[empty].seqs:
                    raise Dies("no empty state")
                if tail >= 0:
                    old, new = self.cells[tail], self.cells[empty]
                    new.pos, new.src = old.pos, old.src
                    old.seqs.discard(seq)
                    new.seqs.add(seq)
                self.cells[seq].tail = empty
                if k + 1 < piece.n_seqs:
                    empty = self.next_empty(empty + 1)
            tails.append(self.cells[seq].tail)
        low, high = min(*tails, self.size - 1), max(*tails, 0)
        for k, row in enumerate(firsts):
            self.swap(low + k, self.cells[row.seqs[0]].tail)
        for k, (row, last) in enumerate(zip(firsts, lasts, strict=True)):
            cell = self.cells[low + k]
            cell.pos, cell.seqs = last, set(row.seqs)
            for seq in row.seqs:
                self.cells[seq].tail = low + k
        self.zero(low, high)
        self.head, self.n = low, high - low + 1
        self.used = sum(bool(cell.seqs) for cell in self.cells)
        return self.n >= piece.n_seqs

    def swap(self, a: int, b: int) -> None:
        if a == b:
            return
        one, two = self.cells[a], self.cells[b]
        one.pos, two.pos, one.src, two.src, one.seqs, two.seqs = two.pos, one.pos, two.src, one.src, two.seqs, one.seqs
        for cell in self.cells:
            cell.tail = b if cell.tail == a else a if cell.tail == b else cell.tail

    def zero(self, low: int, high: int) -> None:
        """The first state of the range that nobody reads is the one that is zeroed."""
        read = {cell.src for cell in self.cells if cell.src >= 0}
        self.rs_z = next((i for i in range(low, high + 1) if i not in read), -1)
        for i in range(low, high + 1):
            if self.cells[i].src < 0 and self.rs_z < 0:
                raise Dies("no state to zero")
            self.cells[i].src = i
