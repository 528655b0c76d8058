"""One reservation: leafs first, then inputs, then the nodes in order (ggml_gallocr_alloc_graph_impl)."""

from __future__ import annotations

from collections.abc import Sequence

from ..columns import Columns, Record
from ..errors import GgmlAbort
from ..events import (
    Alloc,
    AllocPhase,
    Exec,
    Fit,
    Free,
    FreeExtra,
    Keep,
    NewChunk,
    NoReuse,
    PassOver,
    Phase,
    Refusal,
    Reuse,
    ViewDone,
)
from ..graph import BufferType
from ..op import IN_PLACE_OPS, Op
from ..tensor import Flag
from .free_blocks import ENDLESS, FreeBlocks
from .hash_set import Room
from .sizes import alloc_size

Slot = tuple[int, int, int, int]
"""Where a planned tensor lies: (buffer id, chunk, offset, unrounded size)."""

_INPUT, _OUTPUT = int(Flag.INPUT), int(Flag.OUTPUT)


class Reservation:
    """The state of ggml's hash table: per tensor its counts, its address and whether the allocator owns it."""

    def __init__(
        self,
        columns: Columns,
        bufts: Sequence[BufferType],
        blocks: Sequence[FreeBlocks],
        slots: int,
        record: Record,
        *,
        in_place: bool = True,
    ) -> None:
        """`bufts` and `blocks` are indexed by buffer id; `blocks` must be freshly reset; `slots` of the hash set.

        Without `in_place`, which ggml has no switch for, every tensor gets memory of its own.
        """
        count = len(columns.tensors)
        self.columns = columns
        self.bufts = bufts
        self.blocks = blocks
        self.record = record
        self.plain = [buft.plain for buft in bufts]
        self.children = [0] * count
        self.views = [0] * count
        self.address: list[tuple[int, int, int] | None] = [None] * count
        self.own = bytearray(count)
        self.in_place_ops: frozenset[Op] = IN_PLACE_OPS if in_place else frozenset()
        self.room = Room(slots) if count > slots else None  # with fewer tensors than slots it cannot fill up
        self.settled = bytearray(
            view >= 0 or buft >= 0 for view, buft in zip(columns.view_src, columns.buft, strict=True)
        )

    def run(
        self,
        nodes: Sequence[int],
        leafs: Sequence[int],
        node_buffers: Sequence[int],
        leaf_buffers: Sequence[int],
    ) -> None:
        """Allocate the whole graph.

        Raises:
            GgmlAbort: where real ggml asserts.
        """
        record = self.record
        record(Phase(AllocPhase.LEAFS))
        for leaf, buffer in zip(leafs, leaf_buffers, strict=True):
            self._allocate(leaf, buffer)
        record(Phase(AllocPhase.INPUTS))
        self._count(nodes, node_buffers)
        record(Phase(AllocPhase.NODES))
        src, settled, children, views = self.columns.src, self.settled, self.children, self.views
        for node, buffer in zip(nodes, node_buffers, strict=True):
            sources = src[node]
            for source in sources:
                if source >= 0 and not settled[source]:
                    self._allocate(source, buffer)
            if not settled[node] or buffer < 0 or self.room:
                self._allocate(node, buffer)
            record(Exec(node, buffer))
            for source in sources:
                if source >= 0:
                    children[source] -= 1
                    if not children[source] and not views[source]:
                        self._release(source)

    def slots(self) -> list[Slot | None]:
        """Per tensor id its recorded place; None for views, external tensors and tensors outside the graph."""
        bufts, plain = self.bufts, self.plain
        nbytes = self.columns.nbytes
        return [
            None
            if place is None
            else (*place, nbytes[tensor] if plain[place[0]] else alloc_size(bufts[place[0]], self.columns, tensor))
            for tensor, place in enumerate(self.address)
        ]

    def _count(self, nodes: Sequence[int], node_buffers: Sequence[int]) -> None:
        """Count children and views; allocate what the user will write before the graph runs."""
        columns = self.columns
        src, view_src, flags, op = columns.src, columns.view_src, columns.flags, columns.op
        children, views = self.children, self.views
        for node, buffer in zip(nodes, node_buffers, strict=True):
            base = view_src[node]
            if base >= 0 and op[node] is not Op.NONE:
                views[base] += 1
                if self.room:
                    self.room.touch(base)
            if flags[node] & _INPUT:
                self._allocate(node, buffer)
            for source in src[node]:
                if source >= 0:
                    children[source] += 1
                    if self.room:
                        self.room.touch(source)
                    if flags[source] & _INPUT and not self.settled[source]:
                        self._allocate(source, buffer)

    def _allocate(self, tensor: int, buffer: int) -> None:
        """ggml_gallocr_allocate_node."""
        if buffer < 0:
            raise GgmlAbort("ggml-alloc.c: GGML_ASSERT(buffer_id >= 0) failed")
        if self.room:
            self.room.touch(tensor)
        if self.settled[tensor]:
            return
        self.settled[tensor] = self.own[tensor] = 1
        if self.columns.op[tensor] in self.in_place_ops and self._reuse_parent(tensor):
            return
        blocks = self.blocks[buffer]
        size = self._rounded(tensor, buffer)
        chunk, block, fit, detail = blocks.find(size)
        if chunk < 0:
            if blocks.chunks:
                self.record(PassOver(tensor, buffer, size, blocks.passed_over(size, -1, -1, Fit.NEW)))
            chunk, block, fit = blocks.new_chunk(size), 0, Fit.NEW
            detail = blocks.chunks[chunk].sizes[0]
            capacity = None if detail >= ENDLESS else detail
            self.record(NewChunk(buffer, chunk, capacity))
            offset = blocks.take(chunk, block, size)
            self.record(Alloc(tensor, buffer, chunk, offset, size, fit, capacity))
        else:
            if len(blocks.chunks) > 1 or len(blocks.chunks[0].sizes) > 1:
                passed = blocks.passed_over(size, chunk, block, fit)
                if passed:
                    self.record(PassOver(tensor, buffer, size, passed))
            offset = blocks.take(chunk, block, size)
            self.record(Alloc(tensor, buffer, chunk, offset, size, fit, detail))
        self.address[tensor] = (buffer, chunk, offset)

    def _reuse_parent(self, child: int) -> bool:
        """Take over the memory of the first source that allows it; each refusal is recorded with its reason."""
        columns = self.columns
        tensors = columns.tensors
        for parent in columns.src[child]:
            if parent < 0:
                continue
            if self.room:
                self.room.touch(parent)
            base = columns.view_src[parent]
            count = 0
            if not self.own[parent]:
                reason = Refusal.EXTERNAL
            elif columns.flags[parent] & _OUTPUT or (base >= 0 and columns.flags[base] & _OUTPUT):
                reason = Refusal.OUTPUT
            elif not tensors[child].same_layout(tensors[parent]):
                reason = Refusal.LAYOUT
            elif self.children[parent] != 1:
                reason, count = Refusal.CHILDREN, self.children[parent]
            elif self.views[parent] != 0:
                reason, count = Refusal.VIEWS, self.views[parent]
            else:
                self._take_over(child, parent)
                return True
            self.record(NoReuse(child, parent, reason, count))
        return False

    def _take_over(self, child: int, parent: int) -> None:
        place = self.address[parent]
        assert place is not None, "an owned tensor has an address"
        buffer, chunk, offset = place
        self.address[child] = place
        self.own[parent] = self.settled[parent] = 0  # a parent still to be read would be given memory again
        self.record(Reuse(child, parent, buffer, chunk, offset))
        if self.plain[buffer]:
            return  # equal layouts take equal bytes
        buft = self.bufts[buffer]
        if alloc_size(buft, self.columns, parent) < alloc_size(buft, self.columns, child):
            raise GgmlAbort("ggml-alloc.c: GGML_ASSERT(parent_size >= node_size) failed")
        kept = self._rounded(child, buffer)
        extra = self._rounded(parent, buffer) - kept
        if extra > 0:
            self.record(FreeExtra(parent, child, buffer, chunk, offset + kept, extra))
            self.blocks[buffer].give_back(chunk, offset + kept, extra)

    def _release(self, source: int) -> None:
        """A source with neither children nor views left is freed; a view's base loses it, and may be freed then."""
        base = self.columns.view_src[source]
        if base < 0:
            if self.own[source]:
                self._free(source)
            return
        if self.room:
            self.room.touch(base)
        self.views[base] -= 1
        self.record(ViewDone(source, base, self.children[base], self.views[base]))
        if not self.views[base] and not self.children[base] and self.own[base]:
            self._free(base)

    def _free(self, tensor: int) -> None:
        """ggml_gallocr_free_node: graph outputs are never freed."""
        if self.columns.flags[tensor] & _OUTPUT:
            self.record(Keep(tensor))
            return
        place = self.address[tensor]
        assert place is not None, "an owned tensor has an address"
        buffer, chunk, offset = place
        size = self._rounded(tensor, buffer)
        self.record(Free(tensor, buffer, chunk, offset, size))
        self.blocks[buffer].give_back(chunk, offset, size)
        self.own[tensor] = self.settled[tensor] = 0

    def _rounded(self, tensor: int, buffer: int) -> int:
        """Bytes taken in the buffer, a multiple of its alignment."""
        align = self.blocks[buffer].align
        if self.plain[buffer]:
            return -(-self.columns.nbytes[tensor] // align) * align
        return -(-alloc_size(self.bufts[buffer], self.columns, tensor) // align) * align
