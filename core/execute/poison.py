"""Bytes that are free, made as harmful as they can be: whoever reads one shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from ..check.liveness import live_steps
from ..state import State
from ..tensor import Flag
from .arena import Arena
from .layout import Address, Layout

NAN = 0xFF
"""A float of any type that is NaN, -1 in an integer."""
GARBAGE = 0xA5
"""For integers: a row or an expert that no tensor has."""
_INTEGERS = frozenset({"i8", "i16", "i32", "i64"})

Spoilt = Callable[[tuple[int, int], int, int], None]
"""(buffer id, chunk), first byte, byte behind the last."""


class Poison:
    """Spoils the bytes of each tensor after its last use, as the allocation graph tells it."""

    def __init__(self, state: State, layout: Layout, arena: Arena, told: Spoilt) -> None:
        """Find out when each tensor is needed last; `told` hears of all that is spoilt."""
        self.told = told
        self.state, self.layout, self.arena = state, layout, arena
        self.ends: dict[int, list[int]] = defaultdict(list)
        for tensor, (_, last) in live_steps(state).items():
            if tensor in layout.at and not state.flags[tensor] & Flag.OUTPUT:
                self.ends[last].append(tensor)
        self.next = 0

    def before(self, step: int) -> None:
        """Something is about to be written at `step`: what was needed last before it is spoilt."""
        self._spoil(step, None)

    def after(self, node: int, step: int) -> None:
        """The node has run: what it needed last is spoilt, except where its own result lies now."""
        base = self.state.tensors[node].view_src
        self._spoil(step + 1, self.layout.at.get(base if base >= 0 else node))

    def _spoil(self, until: int, kept: Address | None) -> None:
        for number in range(self.next, until):
            for tensor in self.ends.pop(number, ()):
                place = self.layout.at[tensor]
                spans = [(place.offset, place.offset + place.size)]
                if kept is not None and kept[:2] == place[:2]:
                    spans = _without(spans[0], (kept.offset, kept.offset + kept.size))
                fill = GARBAGE if self.state.tensors[tensor].dtype.name in _INTEGERS else NAN
                for start, end in spans:
                    self.arena.chunks[place.buffer, place.chunk][start:end] = fill
                    self.told((place.buffer, place.chunk), start, end)
        self.next = max(self.next, until)


def _without(span: tuple[int, int], hole: tuple[int, int]) -> list[tuple[int, int]]:
    """The parts of a span that are not in the hole.

    >>> _without((0, 10), (2, 4))
    [(0, 2), (4, 10)]
    """
    start, end = span
    parts = [(start, min(end, hole[0])), (max(start, hole[1]), end)]
    return [(a, b) for a, b in parts if a < b]
