"""Two KV caches (llama_kv_cache_iswa): one for layers with full attention, one for those with a sliding window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..batch import Batch
from ..split import COUPLED, Splitter
from ..ubatch import Ubatch
from .cells import Window
from .kv_cache import KvCache, Slot, no_cells
from .memory import Plan, Seen, Update


class IswaSlot(NamedTuple):
    """Where a micro-batch goes in both."""

    base: Slot
    window: Slot


class IswaCache:
    """A window memory.

    Attributes:
        kind: `kv_iswa`.
        n_stream: separate streams of each cache.
    """

    kind = "kv_iswa"

    def __init__(
        self, size: int, window_size: int, n_stream: int, unified: bool, window: Window, rope: bool = True
    ) -> None:
        """Empty caches of `size` and `window_size` cells a stream; without `rope` positions are not in K."""
        self.n_stream = n_stream
        self._unified = unified
        self._base = KvCache(size, n_stream, rope=rope)
        self._window = KvCache(window_size, n_stream, window, "kv_swa", rope=rope)

    def init_batch(self, batch: Batch, n_ubatch: int, embd_all: bool) -> Plan | str:
        """Split a batch: simply when the streams are unified, and equally when they are not or there are no slots."""
        splitter = Splitter(batch)
        ubatches = None
        for simple in (True, False) if self._unified else (False,):
            if simple:
                ubatches = splitter.all(lambda rest: rest.simple(n_ubatch))
            else:
                ubatches = splitter.all(lambda rest: rest.equal(n_ubatch, not self._unified))
            if ubatches is not None:
                slots = self.prepare(ubatches)
                if slots is not None:
                    return Plan(ubatches, tuple(slots))
        return COUPLED if ubatches is None else no_cells(ubatches, self.used())

    def prepare(self, ubatches: Sequence[Ubatch]) -> list[IswaSlot] | None:
        """Slots in both, None when one of them has too few cells."""
        base = self._base.prepare(ubatches)
        window = self._window.prepare(ubatches) if base is not None else None
        if base is None or window is None:
            return None
        return [IswaSlot(*pair) for pair in zip(base, window, strict=True)]

    def apply(self, ubatch: Ubatch, slot: object) -> Seen:
        """Put one micro-batch into both, and what its graph sees then."""
        assert isinstance(slot, IswaSlot)
        seen = self._base.apply(ubatch, slot.base)
        return seen._replace(n_kv_swa=self._window.apply(ubatch, slot.window).n_kv)

    def full(self) -> Seen:
        """What a reserved graph sees: every cell of both."""
        return self._base.full()._replace(n_kv_swa=self._window.size)

    def update(self, aborted: bool = False) -> Update:
        """Pending changes of positions, a graph for each cache that has some, and copies of streams."""
        base, window = self._base.update(aborted), self._window.update(aborted)
        return Update(base.shift or window.shift, base.copies, base.caches + window.caches)

    def clear(self) -> None:
        """Forget everything."""
        self._base.clear()
        self._window.clear()

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        """Forget positions [p0, p1) of a sequence, -1: of all; it always can."""
        return self._base.seq_rm(seq, p0, p1) and self._window.seq_rm(seq, p0, p1)

    def seq_cp(self, source: int, target: int, p0: int, p1: int) -> None:
        """Let positions of a sequence belong to another, too."""
        self._base.seq_cp(source, target, p0, p1)
        self._window.seq_cp(source, target, p0, p1)

    def seq_add(self, seq: int, p0: int, p1: int, delta: int) -> None:
        """Add to positions [p0, p1) of a sequence."""
        self._base.seq_add(seq, p0, p1, delta)
        self._window.seq_add(seq, p0, p1, delta)

    def seq_pos_min(self, seq: int) -> int:
        """The smallest position that the window cache has: the other holds at least as much."""
        return self._window.seq_pos_min(seq)

    def seq_pos_max(self, seq: int) -> int:
        """The largest position that the window cache has."""
        return self._window.seq_pos_max(seq)

    def used(self) -> Sequence[tuple[str, int, int]]:
        """(name, used cells, cells) of each stream of both."""
        return [*self._base.used(), *self._window.used()]
