"""Memory that looks large and is small: one block under many addresses. What is written there is lost soon.

For buffers that llama.cpp fills and nobody reads.
"""

from __future__ import annotations

import ctypes as C
import mmap
import os

from . import layouts as abi

BLOCK = 4 << 20
"""Bytes that really exist."""
FIXED = 0x10
"""MAP_FIXED."""
FAILED = (1 << 64) - 1
"""MAP_FAILED."""


class Folded:
    """Makes such memory; it stays until the process ends."""

    def __init__(self) -> None:
        """The block is made, and empty."""
        libc = C.CDLL(None, use_errno=True)
        self._mmap = libc.mmap
        self._mmap.restype, self._mmap.argtypes = abi.PTR, (abi.PTR, abi.SIZE, C.c_int, C.c_int, C.c_int, abi.I64)
        self._block = os.memfd_create("folded")
        os.ftruncate(self._block, BLOCK)

    def address(self, size: int) -> int:
        """The address of `size` bytes.

        Raises:
            MemoryError: there are not so many addresses.
        """
        size = -(-max(size, 1) // BLOCK) * BLOCK
        start = self._map(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
        for at in range(start, start + size, BLOCK):
            self._map(at, BLOCK, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | FIXED, self._block)
        return start

    def _map(self, at: int | None, size: int, protection: int, flags: int, descriptor: int) -> int:
        found: int = self._mmap(at, size, protection, flags, descriptor, 0) or FAILED
        if found == FAILED:
            raise MemoryError(os.strerror(C.get_errno()))
        return found
