"""A recurrent memory (llama_memory_recurrent): one state for each sequence, a micro-batch's side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..batch import Batch
from ..split import COUPLED, Splitter
from ..ubatch import Ubatch
from .cells import END
from .memory import Plan, Seen, Update


@dataclass(slots=True)
class State:
    """One state, and under the same index what is known of a sequence (mem_cell).

    Attributes:
        pos: last position that went into it, -1 when it is free.
        source: the state it was copied from last, -1 when it must be zeroed.
        seqs: whose it is.
        tail: of the sequence with this index: the state it is in, -1 for none.
    """

    pos: int = -1
    source: int = -1
    seqs: set[int] = field(default_factory=set)
    tail: int = -1

    def free(self) -> None:
        """Belong to nobody."""
        self.pos = self.source = -1
        self.seqs.clear()


class RecurrentMemory:
    """A recurrent memory.

    Attributes:
        kind: `recurrent`.
        n_stream: 1.
        n_rs_seq: positions that a sequence can go back.
    """

    kind = "recurrent"
    n_stream = 1

    def __init__(self, n_seq_max: int, n_rs_seq: int = 0) -> None:
        """Free states, one for each sequence."""
        self.n_rs_seq = n_rs_seq
        self._n_seq_max = n_seq_max
        self._size = max(1, n_seq_max)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._states = [State() for _ in range(self._size)]
        self._back = [0] * self._size  # how far each sequence goes back before its next token (rs_idx)
        self._head = 0
        self._used = 0
        self._n = 0
        self._zeroed = -1

    def init_batch(self, batch: Batch, n_ubatch: int, embd_all: bool) -> Plan | str:
        """Split a batch: by sequence when every token is an output, else equally and in sequence."""
        tail = self.n_rs_seq + 1 if self.n_rs_seq else 0
        if embd_all:
            ubatches = Splitter(batch).all(lambda rest: rest.seq(n_ubatch))
        else:
            ubatches = Splitter(batch).all(lambda rest: rest.equal(n_ubatch, True, tail))
        if ubatches is None:
            return COUPLED
        return Plan(ubatches, (None,) * len(ubatches)) if self.prepare(ubatches) else self.no_state()

    def prepare(self, ubatches: Sequence[Ubatch]) -> bool:
        """Whether micro-batches one after the other find states; nothing is placed."""
        old = [replace(state, seqs=set(state.seqs)) for state in self._states]
        head, used = self._head, self._used
        found = all(self._find(ubatch) for ubatch in ubatches)
        self._states, self._head, self._used = old, head, used
        return found

    def no_state(self) -> str:
        """Why a batch found no states, a sentence."""
        return (
            f"no states for the sequences of the batch: there are {self._size}, and {self._size - self._used} are free"
        )

    def apply(self, ubatch: Ubatch, slot: object) -> Seen:
        """Give one micro-batch its states, and what its graph sees then; sequences have gone back by then (s_copy)."""
        self._find(ubatch)
        for state in self._states[self._head : self._head + self._n]:
            if state.seqs:
                self._back[min(state.seqs)] = 0
        return Seen(n_rs=self._n, rs_head=self._head, rs_z=self._zeroed)

    def full(self) -> Seen:
        """What a reserved graph sees: every state."""
        return Seen(n_rs=self._size, rs_head=0, rs_z=0)

    def update(self, aborted: bool = False) -> Update:
        """Nothing is ever pending."""
        return Update()

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        """Forget a sequence from p0 on; False where a state would have to go back further than it can."""
        p0, p1 = max(p0, 0), p1 if p1 >= 0 else END
        if not 0 <= seq < self._n_seq_max:
            return False
        if p0 == 0 and p1 == END:
            self._back[seq] = 0
        owner = self._states[seq]
        if owner.tail >= 0:
            state = self._states[owner.tail]
            if 0 < p0 <= state.pos < p1:
                return self._go_back(seq, state, p0 - 1)
            if p0 <= state.pos < p1:
                owner.tail = -1
        freed = self._size
        for index, state in enumerate(self._states):
            if not p0 <= state.pos < p1 or seq not in state.seqs:
                continue
            state.seqs.remove(seq)
            if not state.seqs:
                self._used -= 1
                state.free()
                freed = min(freed, index)
        self._head = min(self._head, freed)
        return True

    def _go_back(self, seq: int, state: State, pos: int) -> bool:
        """Take the copy of a state that was kept at an earlier position, if there is one; it can be taken once."""
        far = state.pos - pos
        if self._back[seq] or far > self.n_rs_seq:
            return False
        self._back[seq] = far
        state.pos = pos
        return True

    def seq_cp(self, source: int, target: int, p0: int, p1: int) -> None:
        """Let the state of one sequence belong to another, too, whatever the positions."""
        if source == target or not (0 <= source < self._size and 0 <= target < self._size):
            return
        old, new = self._states[source], self._states[target]
        if new.tail >= 0:
            self._leave(new.tail, target)
            new.tail = -1
        if old.tail >= 0:
            self._states[old.tail].seqs.add(target)
            new.tail = old.tail

    def seq_add(self, seq: int, p0: int, p1: int, delta: int) -> None:
        """Move the last position of a sequence if it is in [p0, p1)."""
        p0, p1 = max(p0, 0), p1 if p1 >= 0 else END
        if delta == 0 or p0 == p1 or not 0 <= seq < self._size:
            return
        tail = self._states[seq].tail
        if tail >= 0:
            state = self._states[tail]
            if seq in state.seqs and p0 <= state.pos < p1:
                state.pos += delta

    def seq_pos_min(self, seq: int) -> int:
        """The last position of a sequence, which is all that is known, -1 when it is empty."""
        return min((state.pos for state in self._states if seq in state.seqs), default=-1)

    def seq_pos_max(self, seq: int) -> int:
        """The last position of a sequence, -1 when it is empty or was moved before 0."""
        return max((-1, *(state.pos for state in self._states if seq in state.seqs)))

    def used(self) -> Sequence[tuple[str, int, int]]:
        """(name, states in use, states)."""
        return [("rs", self._used, self._size)]

    def _leave(self, index: int, seq: int) -> None:
        """A sequence leaves a state, which is free when it was the last."""
        state = self._states[index]
        state.seqs.discard(seq)
        if not state.seqs:
            state.free()
            self._used -= 1

    def _find(self, ubatch: Ubatch) -> bool:
        """Bring the states of a micro-batch's sequences together (find_slot); False when that cannot be."""
        states, n_seqs = self._states, ubatch.n_seqs
        if self._head > self._used + 2 * n_seqs:
            self._head = 0
        sets = [ubatch.seq[i * ubatch.n_seq_tokens] for i in range(n_seqs)]
        for seqs in sets:
            for place, seq in enumerate(seqs):
                if not 0 <= seq < self._size:
                    return False
                if place and states[seq].tail >= 0:
                    self._leave(states[seq].tail, seq)
                    states[seq].tail = -1
        low, high = self._claim([seqs[0] for seqs in sets])
        for i, seqs in enumerate(sets):
            self._swap(low + i, states[seqs[0]].tail)
        for i, seqs in enumerate(sets):
            state = states[low + i]
            state.pos = ubatch.pos[(i + 1) * ubatch.n_seq_tokens - 1]
            state.seqs = set(seqs)
            for seq in seqs:
                states[seq].tail = low + i
        self._zero(low, high)
        self._head, self._n = low, high - low + 1
        self._used = sum(1 for state in states if state.seqs)
        return self._n >= n_seqs

    def _claim(self, firsts: list[int]) -> tuple[int, int]:
        """Every sequence gets a state of its own; the first and the last of these."""
        states = self._states
        low, high = self._size - 1, 0
        free = self._next_free(self._head)
        for i, seq in enumerate(firsts):
            owner = states[seq]
            if owner.tail < 0 or len(states[owner.tail].seqs) != 1:
                if owner.tail >= 0:  # it shares one, which it copies
                    shared = states[owner.tail]
                    states[free].pos, states[free].source = shared.pos, shared.source
                    shared.seqs.discard(seq)
                    states[free].seqs.add(seq)
                owner.tail = free
                if i + 1 < len(firsts):
                    free = self._next_free(free + 1)
            low, high = min(low, owner.tail), max(high, owner.tail)
        return low, high

    def _next_free(self, start: int) -> int:
        """The first free state from a place on, all around; the place itself when none is."""
        around = (index % self._size for index in range(start, start + self._size))
        return next((index for index in around if not self._states[index].seqs), start % self._size)

    def _swap(self, one: int, other: int) -> None:
        """Two states change places."""
        if one == other:
            return
        a, b = self._states[one], self._states[other]
        a.pos, b.pos = b.pos, a.pos
        a.source, b.source = b.source, a.source
        a.seqs, b.seqs = b.seqs, a.seqs
        turned = {one: other, other: one}
        for state in self._states:
            state.tail = turned.get(state.tail, state.tail)

    def _zero(self, low: int, high: int) -> None:
        """Choose the state that new sequences are copied from after it was zeroed: one that nobody copies."""
        copied = {state.source for state in self._states}
        self._zeroed = next((index for index in range(low, high + 1) if index not in copied), -1)
        for index in range(low, high + 1):
            self._states[index].source = index
