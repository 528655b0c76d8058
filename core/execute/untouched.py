"""After each node: has anything but its result changed?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.backend import Span
from ..log import Run
from ..state import State
from .arena import Arena, external_key
from .conflict import conflict
from .layout import Layout

WINDOW = 1 << 22
"""Bytes that are compared after each node, beside the surroundings of its result."""


class Untouched:
    """A second copy of all chunks and caches.

    After each node what lies around its result is compared, and a window that moves on through the memory; at the end
    all of it. So a small graph is compared whole after each node, and a large one in bounded time.
    """

    def __init__(self, run: Run, state: State, layout: Layout, arena: Arena) -> None:
        """Remember everything as it is."""
        self.run, self.state, self.layout, self.arena = run, state, layout, arena
        self.weights = {external_key(tensor) for tensor in state.tensors if tensor.is_weight}
        self.seen = {key: memory.copy() for key, memory in self._memories().items()}
        self.window = 0

    def _memories(self) -> dict[object, Any]:
        """Chunks, and what is not a weight: caches."""
        found: dict[object, Any] = dict(self.arena.chunks)
        found.update((key, memory) for key, memory in self.arena.externals.items() if key not in self.weights)
        return found

    def _memory(self, key: Any) -> Any:
        found = self.arena.chunks.get(key)
        return self.arena.externals[key] if found is None else found

    def accept(self, key: tuple[int, int], start: int, end: int) -> None:
        """These bytes were meant to change."""
        self.seen[key][start:end] = self.arena.chunks[key][start:end]

    def check(self, node: int, step: int, target: Span) -> None:
        """Take over the node's own bytes and compare some of the others.

        Raises:
            Conflict: something else has changed, by this node or, in a large graph, by one before it.
        """
        size = self.state.tensors[node].nbytes
        around = (target.start - WINDOW // 2, target.start + size + WINDOW // 2)
        left = WINDOW
        memories = list(self._memories().items())
        for key, memory in memories:
            held = self.seen.get(key)
            if held is None:  # a cache that is used for the first time
                held = self.seen[key] = memory.copy()
            if memory is target.memory:
                held[target.start : target.start + size] = memory[target.start : target.start + size]
                self._compare(node, step, key, max(around[0], 0), target.start)
                self._compare(node, step, key, target.start + size, min(around[1], memory.size))
        passed = 0
        total = sum(memory.size for _, memory in memories)
        for key, memory in memories:
            start = max(self.window - passed, 0)
            if start < memory.size and left > 0:
                end = min(start + left, memory.size)
                self._compare(node, step, key, start, end)
                left -= end - start
                self.window += end - start
            passed += memory.size
        if self.window >= total:
            self.window = 0

    def finish(self, node: int) -> None:
        """The run is over; `node` was the last.

        Raises:
            Conflict: something has changed that no node had for its result.
        """
        for key, memory in self._memories().items():
            self._compare(node, -1, key, 0, memory.size)

    def _compare(self, node: int, step: int, key: object, start: int, end: int) -> None:
        held, now = self.seen[key][start:end], self._memory(key)[start:end]
        if not _equal(held, now):
            first = start + int(np.argmax(self.arena.backend.read(held != now, 0, end - start)))
            raise conflict(
                self.run, self.state, self._owner_of(key, first), node, node, step,
                f"up to {{node}} at {{at}} byte {first} of {key} has changed, which is not its own but {{tensor}}'s",
            )  # fmt: skip

    def _owner_of(self, key: object, byte: int) -> int:
        """A tensor that lies at the byte, -1 for none."""
        for tensor, place in self.layout.at.items():
            if (place.buffer, place.chunk) == key and place.offset <= byte < place.offset + place.size:
                return tensor
        return next((t for t, one in enumerate(self.state.tensors) if external_key(one) == key), -1)


def _equal(one: Any, other: Any) -> bool:
    """Byte for byte, eight at a time where the addresses allow it."""
    whole = one.size // 8 * 8
    return bool((one[:whole].view(np.uint64) == other[:whole].view(np.uint64)).all()) and bool(
        (one[whole:] == other[whole:]).all()
    )
