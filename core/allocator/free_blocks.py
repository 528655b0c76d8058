"""The dynamic allocator of one buffer type: chunks with sorted free blocks (ggml_dyn_tallocr in ggml-alloc.c)."""

from __future__ import annotations

from ..errors import GgmlAbort
from ..events import Fit

MAX_CHUNKS = 16
"""GGML_VBUFFER_MAX_CHUNKS."""
MAX_FREE_BLOCKS = 256
ENDLESS = (2**64 - 1) // 2
"""SIZE_MAX/2: the capacity of a chunk that has no limit (bytes)."""

Block = tuple[int, int, int]
"""A free block as (chunk, offset, size) in bytes."""


class Chunk:
    """One real buffer to be: free blocks sorted by address, and the highest address used so far."""

    __slots__ = ("max_size", "offsets", "sizes")

    def __init__(self, capacity: int) -> None:
        """One free block of `capacity` bytes."""
        self.offsets = [0]
        self.sizes = [capacity]
        self.max_size = 0


class FreeBlocks:
    """All chunks of one buffer type."""

    def __init__(self, align: int, max_chunk_size: int | None) -> None:
        """Alignment and largest chunk in bytes (None: endless)."""
        self.align = align
        self.max_chunk_size = ENDLESS if max_chunk_size is None else min(max_chunk_size, ENDLESS)
        self.chunks: list[Chunk] = []

    def reset(self) -> None:
        """Drop all chunks."""
        self.chunks = []

    def find(self, size: int) -> tuple[int, int, Fit, int]:
        """Choose a block for `size` (rounded) bytes: (chunk, block index, how, detail), chunk -1 when none fits.

        Best fit looks at every block but the last of its chunk; its best size starts anew in each chunk, so the last
        chunk that has any fit wins. Only when nothing fits does the last block of a chunk count.
        """
        best_chunk = best_block = -1
        for c, chunk in enumerate(self.chunks):
            sizes = chunk.sizes
            best_size = 2**64
            for i in range(len(sizes) - 1):
                if size <= sizes[i] <= best_size:
                    best_chunk, best_block, best_size = c, i, sizes[i]
        if best_block >= 0:
            return best_chunk, best_block, Fit.FIT, self.chunks[best_chunk].sizes[best_block]

        best_reuse = -(2**63)
        for c, chunk in enumerate(self.chunks):
            if not chunk.sizes or chunk.sizes[-1] < size:
                continue
            reuse = chunk.max_size - chunk.offsets[-1] - size
            if (best_reuse < 0 and reuse > best_reuse) or 0 <= reuse < best_reuse:
                best_chunk, best_block, best_reuse = c, len(chunk.sizes) - 1, reuse
        return best_chunk, best_block, Fit.LAST, best_reuse

    def passed_over(self, size: int, chunk: int, block: int, fit: Fit) -> tuple[Block, ...]:
        """The free blocks that `find` looked at and did not take (last blocks only when it came to them)."""
        passed = []
        for c, candidate in enumerate(self.chunks):
            n = len(candidate.sizes)
            if fit is Fit.FIT:
                n -= 1
            offsets, sizes = candidate.offsets, candidate.sizes
            passed += [(c, offsets[i], sizes[i]) for i in range(n) if c != chunk or i != block]
        return tuple(passed)

    def new_chunk(self, size: int) -> int:
        """Open a chunk for at least `size` bytes; returns its index.

        Raises:
            GgmlAbort: there are 16 already.
        """
        if len(self.chunks) >= MAX_CHUNKS:
            raise GgmlAbort("ggml-alloc.c: graph allocation: failed to reserve memory")
        last = len(self.chunks) == MAX_CHUNKS - 1
        self.chunks.append(Chunk(ENDLESS if last else max(size, self.max_chunk_size)))
        return len(self.chunks) - 1

    def take(self, chunk_no: int, block: int, size: int) -> int:
        """Take `size` bytes from the front of a block; returns their offset."""
        chunk = self.chunks[chunk_no]
        offset = chunk.offsets[block]
        left = chunk.sizes[block] - size
        if left:
            chunk.offsets[block] = offset + size
            chunk.sizes[block] = left
        else:
            del chunk.offsets[block], chunk.sizes[block]
        if offset + size > chunk.max_size:
            chunk.max_size = offset + size
        return offset

    def give_back(self, chunk_no: int, offset: int, size: int) -> None:
        """Return bytes: merge with the first block that touches them, else insert (ggml_dyn_tallocr_free_bytes).

        Raises:
            GgmlAbort: the chunk has 256 free blocks already.
        """
        chunk = self.chunks[chunk_no]
        offsets, sizes = chunk.offsets, chunk.sizes
        end = offset + size
        for i, start in enumerate(offsets):
            if start + sizes[i] == offset:
                sizes[i] += size
                if i + 1 < len(offsets) and end == offsets[i + 1]:
                    sizes[i] += sizes[i + 1]
                    del offsets[i + 1], sizes[i + 1]
                return
            if end == start:
                offsets[i] = offset
                sizes[i] += size
                if i > 0 and offsets[i - 1] + sizes[i - 1] == offset:
                    sizes[i - 1] += sizes[i]
                    del offsets[i], sizes[i]
                return
        if len(offsets) >= MAX_FREE_BLOCKS:
            raise GgmlAbort(
                "ggml-alloc.c: GGML_ASSERT(chunk->n_free_blocks < MAX_FREE_BLOCKS && 'out of free blocks') failed"
            )
        position = 0
        while position < len(offsets) and offsets[position] < offset:
            position += 1
        offsets.insert(position, offset)
        sizes.insert(position, size)
