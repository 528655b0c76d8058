"""The graph allocator: lifetimes by use counts, in-place reuse, best fit (ggml_gallocr in ggml-alloc.c).

`Gallocr` outlives the runs: it holds the plan in force and the real buffers. One reservation is `_Reservation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..columns import Columns, Record
from ..errors import GgmlAbort
from ..events import BufferAlloc, BufferFail, BufferFree, NeedsRealloc, Place, Reserve
from ..graph import BufferType
from .free_blocks import FreeBlocks
from .hash_set import galloc_hash_slots
from .reserve import Reservation, Slot
from .sizes import alloc_size


class Gallocr:
    """The allocator over a list of buffer types; ids with the same type share one set of chunks.

    Attributes:
        bufts: buffer type of each buffer id.
        blocks: free blocks of each buffer id (shared objects for shared types).
        first: the first buffer id with the same type.
        in_place: a child may take over its parent's memory; always so in ggml.
        slots: size of its hash set; it only grows.
        real: sizes of the real buffers by id and chunk; None until made.
    """

    def __init__(
        self,
        bufts: Sequence[BufferType],
        buft_ids: Sequence[int],
        alloc_limits: Mapping[str, int] | None = None,
        *,
        in_place: bool = True,
    ) -> None:
        """See the attributes.

        Args:
            bufts: all buffer types.
            buft_ids: `buft_ids[b]` indexes `bufts` for buffer id b.
            alloc_limits: by name of a buffer type, the bytes of its largest buffer that can be made.
            in_place: false for a what-if: see `Reservation`.
        """
        self.in_place = in_place
        self.alloc_limits = alloc_limits or {}
        self.buft_ids = list(buft_ids)
        self.bufts = [bufts[i] for i in buft_ids]
        self.first = [self.buft_ids.index(i) for i in self.buft_ids]
        self.blocks: list[FreeBlocks] = []
        for buffer, first in enumerate(self.first):
            buft = self.bufts[buffer]
            self.blocks.append(self.blocks[first] if first < buffer else FreeBlocks(buft.align, buft.max_size))
        self.real: list[list[int] | None] = [None] * len(self.bufts)
        self.slots = 0
        self.node_slots: list[tuple[Slot | None, list[Slot | None]]] = []
        self.leaf_slots: list[Slot | None] = []

    def reserve(
        self,
        columns: Columns,
        nodes: Sequence[int],
        leafs: Sequence[int],
        node_buffers: Sequence[int],
        leaf_buffers: Sequence[int],
        record: Record,
    ) -> bool:
        """Plan the graph and make the real buffers (ggml_gallocr_reserve_n).

        Returns:
            Whether they could be made.

        Raises:
            GgmlAbort: where real ggml asserts.
        """
        record(Reserve(len(nodes), len(leafs)))
        for blocks in self.blocks:
            blocks.reset()
        self.slots = galloc_hash_slots(len(nodes), len(leafs), self.slots)
        plan = Reservation(columns, self.bufts, self.blocks, self.slots, record, in_place=self.in_place)
        plan.run(nodes, leafs, node_buffers, leaf_buffers)
        slots = plan.slots()
        src = columns.src
        self.node_slots = [(slots[n], [slots[s] if s >= 0 else None for s in src[n]]) for n in nodes]
        self.leaf_slots = [slots[leaf] for leaf in leafs]
        return self._make_buffers(record)

    def _make_buffers(self, record: Record) -> bool:
        """Real buffers are made anew only when missing or when some chunk outgrew its old one."""
        for buffer, first in enumerate(self.first):
            if first < buffer:
                self.real[buffer] = self.real[first]
                continue
            needed = [chunk.max_size for chunk in self.blocks[buffer].chunks]
            old = self.real[buffer]
            if old is not None and all(size <= (old[c] if c < len(old) else 0) for c, size in enumerate(needed)):
                continue
            released = sum(old or ())
            if released:
                record(BufferFree(buffer, released))
            limit = self.alloc_limits.get(self.bufts[buffer].name)
            if limit is not None and max(needed, default=0) > limit:
                self.real[buffer] = None
                record(BufferFail(buffer, next(size for size in needed if size > limit), limit))
                return False
            self.real[buffer] = needed
            for size in needed:
                if size:
                    record(BufferAlloc(buffer, size))
        return True

    def needs_realloc(self, columns: Columns, nodes: Sequence[int], leafs: Sequence[int]) -> NeedsRealloc | None:
        """The first reason why the plan in force does not fit this graph; counts and sizes only, never the wiring."""
        if len(self.node_slots) != len(nodes):
            return NeedsRealloc("n_nodes", len(self.node_slots), len(nodes), -1, -1, -1)
        if len(self.leaf_slots) != len(leafs):
            return NeedsRealloc("n_leafs", len(self.leaf_slots), len(leafs), -1, -1, -1)
        for i, node in enumerate(nodes):
            slot, src_slots = self.node_slots[i]
            short = self._too_small(columns, node, slot)
            if short:
                return NeedsRealloc("node", i, -1, node, *short)
            for j, source in enumerate(columns.src[node]):
                if source >= 0:
                    short = self._too_small(columns, source, src_slots[j] if j < len(src_slots) else None)
                    if short:
                        return NeedsRealloc("src", i, j, source, *short)
        return None

    def _too_small(self, columns: Columns, tensor: int, slot: Slot | None) -> tuple[int, int] | None:
        """(recorded, needed) bytes when the slot cannot hold the tensor; views and external tensors always fit."""
        if columns.view_src[tensor] >= 0 or columns.buft[tensor] >= 0:
            return None
        if slot is None:
            return -1, columns.nbytes[tensor]
        needed = alloc_size(self.bufts[slot[0]], columns, tensor)
        return (slot[3], needed) if needed > slot[3] else None

    def place(self, columns: Columns, nodes: Sequence[int], leafs: Sequence[int], record: Record) -> dict[int, Slot]:
        """Give every tensor its address from the plan in force (the second half of ggml_gallocr_alloc_graph).

        Returns:
            Tensor id -> slot, in the order of initialisation: leafs, then each node's sources and the node.

        Raises:
            GgmlAbort: where real ggml asserts.
        """
        placed: dict[int, Slot] = {}
        # Done: views, external tensors, and what has its address. A tensor in an empty buffer keeps data == NULL, so
        # ggml tries to give it an address again, and asserts.
        done = bytearray(view >= 0 or buft >= 0 for view, buft in zip(columns.view_src, columns.buft, strict=True))
        src = columns.src
        for leaf, slot in zip(leafs, self.leaf_slots, strict=True):
            if not done[leaf]:
                done[leaf] = self._init(columns, leaf, slot, placed, record)
        for node, (slot, src_slots) in zip(nodes, self.node_slots, strict=True):
            for j, source in enumerate(src[node]):
                if source >= 0 and not done[source]:
                    planned = src_slots[j] if j < len(src_slots) else None
                    done[source] = self._init(columns, source, planned, placed, record)
            if not done[node]:
                done[node] = self._init(columns, node, slot, placed, record)
        return placed

    def _init(self, columns: Columns, tensor: int, slot: Slot | None, placed: dict[int, Slot], record: Record) -> bool:
        """ggml_gallocr_init_tensor for a tensor with bytes of its own; true when its data pointer is set now."""
        if tensor in placed:
            raise GgmlAbort("ggml-backend.cpp: GGML_ASSERT(tensor->buffer == NULL) failed")
        if slot is None:
            raise GgmlAbort("ggml-alloc.c: galloc->buffers[-1] is read: the leaf had no place in the plan in force")
        buffer, chunk, offset, _ = slot
        size = alloc_size(self.bufts[buffer], columns, tensor)
        real = self.real[buffer]
        if real is None:
            raise GgmlAbort(
                f"ggml-alloc.c: galloc->buffers[{buffer}] is read: it could not be made for the plan in force"
            )
        if chunk >= len(real):  # a chunk of 0 bytes came after the buffers were made: that makes no new one
            raise GgmlAbort("ggml-backend.cpp: GGML_ASSERT(buffer) failed")
        capacity = real[chunk]
        if offset + size > capacity:
            raise GgmlAbort(_OUT_OF_BOUNDS)
        placed[tensor] = slot
        record(Place(tensor, self.first[buffer], chunk, offset, size))
        return capacity > 0


_OUT_OF_BOUNDS = (
    "ggml-backend.cpp: GGML_ASSERT(ggml_backend_buffer_is_meta(buffer) || (char *) addr + "
    "ggml_backend_buffer_get_alloc_size(buffer, tensor) <= (char *) ggml_backend_buffer_get_base(buffer) + "
    "ggml_backend_buffer_get_size(buffer)) failed"
)
