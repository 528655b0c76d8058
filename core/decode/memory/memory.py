"""What the life of a decode asks of a memory (llama_memory_i): where tokens go, and what a graph sees of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..batch import Batch
from ..ubatch import Ubatch


class Seen(NamedTuple):
    """What the graph of one micro-batch, or of a reservation, sees of the memory; 0 and -1 where it has no such part.

    Attributes:
        n_kv: cells that attention sees (llama_kv_cache::get_n_kv).
        n_kv_swa: the same of the cache of window layers.
        first_stream: the first KV stream it reads.
        n_stream: how many it reads.
        n_rs: states of a recurrent memory that take part.
        rs_head: the first of them.
        rs_z: the one that is zeroed, -1 for none.
    """

    n_kv: int = 0
    n_kv_swa: int = 0
    first_stream: int = 0
    n_stream: int = 1
    n_rs: int = 0
    rs_head: int = 0
    rs_z: int = -1


class Update(NamedTuple):
    """What `llama_memory_update` finds to do before a decode.

    Attributes:
        shift: positions were changed: K is rotated by a graph of its own.
        copies: (from stream, to stream), copied as whole streams.
        caches: which caches have such a graph, in order: `kv`, `kv_swa`; none for a model without RoPE.
    """

    shift: bool = False
    copies: tuple[tuple[int, int], ...] = ()
    caches: tuple[str, ...] = ()


class Plan(NamedTuple):
    """All micro-batches of a batch, each with a slot (llama_memory_context); nothing is written yet."""

    ubatches: tuple[Ubatch, ...]
    slots: tuple[object, ...]


class Memory(Protocol):
    """A memory.

    Attributes:
        kind: kv, kv_iswa, recurrent, hybrid, hybrid_iswa.
        n_stream: separate streams of its KV cache.
    """

    kind: str
    n_stream: int

    def init_batch(self, batch: Batch, n_ubatch: int, embd_all: bool) -> Plan | str:
        """Split a batch and find slots for all of it (init_batch); why there are none otherwise."""

    def apply(self, ubatch: Ubatch, slot: object) -> Seen:
        """Put one micro-batch into its slot (llama_memory_context_i::apply), and what its graph sees then."""

    def full(self) -> Seen:
        """What a reserved graph sees (init_full)."""

    def update(self, aborted: bool = False) -> Update:
        """What is pending (init_update); done with the answer, but a shift whose graph is aborted stays pending."""

    def clear(self) -> None:
        """Forget everything."""

    def seq_rm(self, seq: int, p0: int, p1: int) -> bool:
        """Forget positions [p0, p1) of a sequence (-1: of all, from 0, to the end); False where that cannot be."""

    def seq_cp(self, source: int, target: int, p0: int, p1: int) -> None:
        """Let positions of a sequence belong to another, too."""

    def seq_add(self, seq: int, p0: int, p1: int, delta: int) -> None:
        """Move positions."""

    def seq_pos_min(self, seq: int) -> int:
        """The smallest position of a sequence, -1 when it is empty."""

    def seq_pos_max(self, seq: int) -> int:
        """The largest position of a sequence, -1 when it is empty."""

    def used(self) -> Sequence[tuple[str, int, int]]:
        """(name, used cells, cells) of each cache and stream, for people."""
