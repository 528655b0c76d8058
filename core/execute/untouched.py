"""After each node: has anything but its result changed?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
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
LEAST = 1 << 16
"""Bytes that a comparison counts for at least, so that thousands of small caches take no longer than one large."""


class Untouched:
    """A second copy of all chunks and caches.

    After each node what lies around its result is compared, and a window that moves on through the memory; at the end
    all of it. So a small graph is compared whole after each node, and a large one in bounded time.
    """

    def __init__(self, run: Run, state: State, layout: Layout, arena: Arena) -> None:
        """Remember everything as it is."""
        self.run, self.state, self.layout, self.arena = run, state, layout, arena
        self.weights = {external_key(tensor) for tensor in state.tensors if tensor.is_weight}
        self.seen: dict[object, Any] = {}
        self.memories: list[tuple[object, Any]] = []
        self.keys: dict[int, object] = {}
        self.n_externals = 0
        self.next, self.byte = 0, 0  # where the window begins
        self._take_in(arena.chunks.items())
        self._take_in_caches()

    def _take_in(self, memories: Iterable[tuple[object, Any]]) -> None:
        for key, memory in memories:
            self.seen[key] = memory.copy()
            self.memories.append((key, memory))
            self.keys[id(memory)] = key

    def _take_in_caches(self) -> None:
        """What is no weight and was not there before: a cache is when it is first used."""
        new = list(islice(self.arena.externals.items(), self.n_externals, None))
        self.n_externals += len(new)
        self._take_in((key, memory) for key, memory in new if key not in self.weights)

    def accept(self, key: tuple[int, int], start: int, end: int) -> None:
        """These bytes were meant to change."""
        self.seen[key][start:end] = self.arena.chunks[key][start:end]

    def check(self, node: int, step: int, target: Span) -> None:
        """Take over the node's own bytes and compare some of the others.

        Raises:
            Conflict: something else has changed, by this node or, in a large graph, by one before it.
        """
        self._take_in_caches()
        memory, start, end = target.memory, target.start, target.start + self.state.tensors[node].nbytes
        key = self.keys.get(id(memory))
        if key is not None:
            self.seen[key][start:end] = memory[start:end]
            self._compare(node, step, key, memory, max(start - WINDOW // 2, 0), start)
            self._compare(node, step, key, memory, end, min(end + WINDOW // 2, memory.size))
        left = WINDOW
        for _ in self.memories:
            key, memory = self.memories[self.next]
            start, end = self.byte, min(self.byte + left, memory.size)
            self._compare(node, step, key, memory, start, end)
            self.byte = end
            if end == memory.size:
                self.next, self.byte = (self.next + 1) % len(self.memories), 0
            left -= max(end - start, LEAST)
            if left <= 0:
                break

    def finish(self, node: int) -> None:
        """The run is over; `node` was the last.

        Raises:
            Conflict: something has changed that no node had for its result.
        """
        for key, memory in self.memories:
            self._compare(node, -1, key, memory, 0, memory.size)

    def _compare(self, node: int, step: int, key: object, memory: Any, start: int, end: int) -> None:
        held, now = self.seen[key][start:end], memory[start:end]
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
