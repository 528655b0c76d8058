"""Both memories side by side, for attention and recurrent layers (llama_memory_hybrid, llama_memory_hybrid_iswa)."""

from __future__ import annotations

from collections.abc import Sequence

from ..batch import Batch
from ..split import COUPLED, Splitter
from ..ubatch import Ubatch
from .iswa import IswaCache
from .kv_cache import KvCache, no_cells
from .memory import Plan, Seen, Update
from .recurrent import RecurrentMemory


class HybridMemory:
    """A hybrid memory.

    Attributes:
        kind: `hybrid`, or `hybrid_iswa` when its attention has a window.
        n_stream: separate streams of the attention part.
    """

    def __init__(self, attention: KvCache | IswaCache, recurrent: RecurrentMemory) -> None:
        """Of two empty memories."""
        self.kind = "hybrid_iswa" if isinstance(attention, IswaCache) else "hybrid"
        self.n_stream = attention.n_stream
        self._attention = attention
        self._recurrent = recurrent

    def init_batch(self, batch: Batch, n_ubatch: int, embd_all: bool) -> Plan | str:
        """Split a batch as a recurrent memory does, but not in sequence with one stream; first states, then cells."""
        n_rs_seq = self._recurrent.n_rs_seq
        tail = n_rs_seq + 1 if n_rs_seq else 0
        if embd_all:
            ubatches = Splitter(batch).all(lambda rest: rest.seq(n_ubatch))
        else:
            ubatches = Splitter(batch).all(lambda rest: rest.equal(n_ubatch, self.n_stream > 1, tail))
        if ubatches is None:
            return COUPLED
        if not self._recurrent.prepare(ubatches):
            return self._recurrent.no_state()
        slots = self._attention.prepare(ubatches)
        return Plan(ubatches, tuple(slots)) if slots is not None else no_cells(ubatches, self._attention.used())

    def apply(self, ubatch: Ubatch, slot: object) -> Seen:
        """Put one micro-batch into both, and what its graph sees then."""
        return _both(self._attention.apply(ubatch, slot), self._recurrent.apply(ubatch, None))

    def full(self) -> Seen:
        """What a reserved graph sees: everything."""
        return _both(self._attention.full(), self._recurrent.full())

    def update(self, aborted: bool = False) -> Update:
        """What is pending for the attention part."""
        return self._attention.update(aborted)

    def clear(self) -> None:
        """Forget everything."""
        self._attention.clear()
        self._recurrent.clear()

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        """Forget positions [p0, p1) of a sequence; False, and nothing is done, where the recurrent part cannot."""
        return self._recurrent.seq_rm(seq, p0, p1) and self._attention.seq_rm(seq, p0, p1)

    def seq_cp(self, source: int, target: int, p0: int, p1: int) -> None:
        """Let positions of a sequence belong to another, too."""
        self._attention.seq_cp(source, target, p0, p1)
        self._recurrent.seq_cp(source, target, p0, p1)

    def seq_add(self, seq: int, p0: int, p1: int, delta: int) -> None:
        """Add to positions [p0, p1) of a sequence."""
        self._attention.seq_add(seq, p0, p1, delta)
        self._recurrent.seq_add(seq, p0, p1, delta)

    def seq_pos_min(self, seq: int) -> int:
        """The smallest position that both have."""
        return max(self._attention.seq_pos_min(seq), self._recurrent.seq_pos_min(seq))

    def seq_pos_max(self, seq: int) -> int:
        """The largest position that both have."""
        return min(self._attention.seq_pos_max(seq), self._recurrent.seq_pos_max(seq))

    def used(self) -> Sequence[tuple[str, int, int]]:
        """(name, used, size) of each stream and of the states."""
        return [*self._attention.used(), *self._recurrent.used()]


def _both(attention: Seen, recurrent: Seen) -> Seen:
    return attention._replace(n_rs=recurrent.n_rs, rs_head=recurrent.rs_head, rs_z=recurrent.rs_z)
