"""ggml's hash set has a fixed number of slots: a graph with many view bases outside it can fill the allocator's.

Only the count matters here, not the hashing: ggml stops at the first new tensor that finds no free slot.
"""

from __future__ import annotations

from ..errors import GgmlAbort

_PRIMES = (
    2, 3, 5, 11, 17, 37, 67, 131, 257, 521, 1031, 2053, 4099, 8209, 16411, 32771, 65537, 131101, 262147, 524309,
    1048583, 2097169, 4194319, 8388617, 16777259, 33554467, 67108879, 134217757, 268435459, 536870923, 1073741827,
    2147483659,
)  # fmt: skip


def hash_size(least: int) -> int:
    """Slots of a set asked to hold `least` tensors: the next prime after a power of two (ggml_hash_size).

    >>> hash_size(0), hash_size(18), hash_size(1000)
    (2, 37, 1031)
    """
    return next((prime for prime in _PRIMES if prime >= least), least | 1)


def galloc_hash_slots(n_nodes: int, n_leafs: int, slots: int = 0) -> int:
    """Slots of the allocator's set after a plan: room for a quarter more than there are tensors; it never shrinks.

    Args:
        n_nodes: of the planned graph, copies counted.
        n_leafs: of the planned graph.
        slots: it had before.
    """
    least = n_nodes + n_leafs
    return max(slots, hash_size(least + least // 4))


class Room:
    """The slots that are taken."""

    def __init__(self, slots: int) -> None:
        """`slots` free ones."""
        self.slots = slots
        self.known: set[int] = set()

    def touch(self, tensor: int) -> None:
        """Find or insert a tensor (ggml_hash_find_or_insert).

        Raises:
            GgmlAbort: it is new and no slot is free.
        """
        if tensor not in self.known:
            if len(self.known) >= self.slots:
                raise GgmlAbort("ggml-impl.h: fatal error")
            self.known.add(tensor)
