"""A KV cache (llama_kv_cache): one stream of cells for all sequences, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..batch import Batch
from ..process_end import ProcessEnd
from ..split import COUPLED, Splitter
from ..ubatch import Ubatch
from .cells import Before, Cells, Indices, Mark, Window
from .memory import Plan, Seen, Update

MAX_SEQ = 256
"""Sequences at most (LLAMA_MAX_SEQ)."""
_PAD = 256


class Slot(NamedTuple):
    """Where a micro-batch goes (slot_info): the streams, in order, and the cells in each, one per token."""

    streams: tuple[int, ...]
    cells: tuple[Indices, ...]


class KvCache:
    """A KV cache; also each half of a window cache and the attention part of a hybrid memory.

    Attributes:
        kind: `kv`.
        n_stream: separate streams.
        size: cells of each.
    """

    kind = "kv"

    def __init__(
        self, size: int, n_stream: int, window: Window | None = None, name: str = "kv", *, rope: bool = True
    ) -> None:
        """Empty streams of `size` cells; without `rope` positions are not in K."""
        self.size = size
        self.n_stream = n_stream
        self._name = name
        self._rope = rope
        self._streams = [Cells(size, window) for _ in range(n_stream)]
        self._copies: list[tuple[int, int]] = []

    def init_batch(self, batch: Batch, n_ubatch: int, embd_all: bool) -> Plan | str:
        """Split a batch, simply with one stream and else equally, and find slots for all of it."""
        splitter = Splitter(batch)
        if self.n_stream == 1:
            ubatches = splitter.all(lambda rest: rest.simple(n_ubatch))
        else:
            ubatches = splitter.all(lambda rest: rest.equal(n_ubatch, True))
        if ubatches is None:
            return COUPLED
        slots = self.prepare(ubatches)
        return Plan(ubatches, tuple(slots)) if slots is not None else no_cells(ubatches, self.used())

    def apply(self, ubatch: Ubatch, slot: object) -> Seen:
        """Put one micro-batch into its slot, and what its graph sees then."""
        assert isinstance(slot, Slot)
        self.place(ubatch, slot)
        return Seen(n_kv=self.n_kv(slot), first_stream=min(slot.streams), n_stream=len(slot.streams))

    def full(self) -> Seen:
        """What a reserved graph sees: every cell of every stream."""
        return Seen(n_kv=self.size, n_stream=self.n_stream)

    def update(self, aborted: bool = False) -> Update:
        """Pending changes of positions and copies of streams; none are left but for an aborted shift."""
        shift = any(cells.shifted for cells in self._streams)
        found = Update(shift, tuple(self._copies), (self._name,) if shift and self._rope else ())
        self._copies.clear()
        if not (aborted and found.caches):
            for cells in self._streams:
                cells.updated()
        return found

    def clear(self) -> None:
        """Forget everything; copies of streams that are pending stay so."""
        for cells in self._streams:
            cells.clear()

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        """Forget positions [p0, p1) of a sequence, -1: of all; it always can.

        Raises:
            ProcessEnd: there is no such sequence.
        """
        for cells in self._streams if seq == -1 else (self._of(seq),):
            cells.remove(seq, p0, p1)
        return True

    def seq_cp(self, source: int, target: int, p0: int, p1: int) -> None:
        """Let positions belong to another sequence, too; between streams the whole stream is copied, later.

        Raises:
            ProcessEnd: there is no such sequence, or a part of a stream would have to be copied.
        """
        old, new = self._of(source), self._of(target)
        if old is new:
            if source != target:
                old.share(source, target, p0, p1)
            return
        if 0 < p0 < self.size - 1 or 0 < p1 < self.size - 1:
            raise ProcessEnd("seq_cp() is only supported for full KV buffers: each sequence has a stream of its own")
        self._copies.append((source, target))
        new.take_over(old, source, target)

    def seq_add(self, seq: int, p0: int, p1: int, delta: int) -> None:
        """Add to positions [p0, p1) of a sequence.

        Raises:
            ProcessEnd: there is no such sequence.
        """
        self._of(seq).move(seq, p0, p1, delta)

    def seq_pos_min(self, seq: int) -> int:
        """The smallest position of a sequence, -1 when it is empty or there is none."""
        return self._of(seq).span(seq)[0] if self._has(seq) else -1

    def seq_pos_max(self, seq: int) -> int:
        """The largest position of a sequence, -1 when it is empty or there is none."""
        return self._of(seq).span(seq)[1] if self._has(seq) else -1

    def used(self) -> Sequence[tuple[str, int, int]]:
        """(name, used cells, cells) of each stream."""
        if self.n_stream == 1:
            return [(self._name, self._streams[0].used, self.size)]
        return [(f"{self._name} stream {i}", cells.used, self.size) for i, cells in enumerate(self._streams)]

    def prepare(self, ubatches: Sequence[Ubatch]) -> list[Slot] | None:
        """Slots for micro-batches one after the other, None when there are too few cells; nothing is placed (prepare).

        What the window makes a sequence lose on the way stays lost, as in llama.cpp.
        """
        slots: list[Slot] = []
        marks: dict[int, Mark] = {}
        steps: dict[int, list[Before]] = {}
        for ubatch in ubatches:
            slot = self._find(ubatch)
            if slot is None:
                break
            slots.append(slot)
            for stream in slot.streams:
                if stream not in marks:
                    marks[stream] = self._streams[stream].mark()
            for stream, before in zip(slot.streams, self.place(ubatch, slot), strict=True):
                steps.setdefault(stream, []).append(before)
        for stream, mark in marks.items():
            self._streams[stream].undo(mark, steps[stream])
        return slots if len(slots) == len(ubatches) else None

    def place(self, ubatch: Ubatch, slot: Slot) -> list[Before]:
        """Put a micro-batch into its slot; what was there before, by stream."""
        n = len(slot.cells[0])
        return [
            self._streams[stream].place(cells, ubatch.pos[i * n : (i + 1) * n], ubatch.seq[i * n : (i + 1) * n])
            for i, (stream, cells) in enumerate(zip(slot.streams, slot.cells, strict=True))
        ]

    def n_kv(self, slot: Slot) -> int:
        """Cells that attention sees, rounded up so that it rarely changes (get_n_kv)."""
        return max(min(self.size, max(_PAD, -(-self._streams[i].top // _PAD) * _PAD)) for i in slot.streams)

    def _find(self, ubatch: Ubatch) -> Slot | None:
        """Cells for a micro-batch (find_slot): with streams, the same number in each.

        Raises:
            ProcessEnd: with streams, tokens of several sequences.
        """
        streams = (0,) if self.n_stream == 1 else ubatch.seq_id_unq
        if self.n_stream > 1 and len(streams) != ubatch.n_seqs:
            raise ProcessEnd("a token of several sequences has no stream: ubatch.n_seq_id[s*n_tokens] == 1 fails")
        found: list[Indices] = []
        for stream in streams:
            cells = self._streams[stream].find(ubatch.n_tokens // len(streams))
            if cells is None:
                return None
            found.append(cells)
        return Slot(streams, tuple(found))

    def _has(self, seq: int) -> bool:
        return 0 <= seq < (self.n_stream if self.n_stream > 1 else MAX_SEQ)

    def _of(self, seq: int) -> Cells:
        """The stream of a sequence."""
        if not self._has(seq):
            most = self.n_stream if self.n_stream > 1 else MAX_SEQ
            raise ProcessEnd(f"there is no sequence {seq}: the memory has 0 to {most - 1}")
        return self._streams[seq if self.n_stream > 1 else 0]


def no_cells(ubatches: Sequence[Ubatch], used: Sequence[tuple[str, int, int]]) -> str:
    """Why micro-batches have no slots, a sentence; `used` as `Memory.used` gives it."""
    count = sum(ubatch.n_tokens for ubatch in ubatches)
    free = ", ".join(f"{size - taken} of {size} in {name}" for name, taken, size in used)
    return f"no cells for the {count} tokens of the batch: free are {free}"
