"""How the graph uses a leaf: what reads it, through views, casts and copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from ...graph import Graph
from ...op import VIEW_OPS, Op
from ...tensor import Tensor

_THROUGH = VIEW_OPS | {Op.CPY, Op.CONT, Op.DUP}
"""Ops whose result holds the values of source 0."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A cache that is written by ids: token i of a sequence goes to cell i, which is what a causal mask lets it see.

    Attributes:
        size: cells of one sequence.
        streams: sequences with cells of their own.
        width: ids of one token: 1, or each element's own in a cache that is laid out element by element.
    """

    size: int
    streams: int
    width: int

    def fits(self, count: int) -> bool:
        """Whether so many ids are whole tokens, as many for each sequence, and not more than there are cells."""
        tokens, rest = divmod(count, self.width)
        return not rest and tokens % self.streams == 0 and tokens // self.streams <= self.size


@dataclass(frozen=True, slots=True)
class Range:
    """What integers a leaf may hold.

    Attributes:
        below: they are 0 or more and below this.
        distinct: how many in a row (of the flat array) must differ; 0 when they need not.
        counting: they count up from 0 and begin again at `below`.
        cells: they are rows of a cache.
    """

    below: int
    distinct: int = 0
    counting: bool = False
    cells: Cells | None = None

    def step(self) -> int:
        """A stride that meets every number below `below` once before it begins again."""
        step = max(1, round(self.below * 0.6180339887))
        while gcd(step, self.below) != 1:
            step += 1
        return step


class Uses:
    """The uses of every tensor of one graph: pairs (tensor that reads it, slot)."""

    def __init__(self, graph: Graph) -> None:
        """Turn the sources around."""
        self._tensors = graph.tensors
        self._users: list[list[tuple[int, int]]] = [[] for _ in graph.tensors]
        for number, tensor in enumerate(graph.tensors):
            for slot, source in enumerate(tensor.src):
                if source >= 0:
                    self._users[source].append((number, slot))

    def of(self, number: int) -> list[tuple[Tensor, int]]:
        """What computes with it, and in which slot; what only passes its values on is looked through."""
        found, seen, stack = [], {number}, [number]
        while stack:
            for user, slot in self._users[stack.pop()]:
                tensor = self._tensors[user]
                if tensor.op in _THROUGH and slot == 0:
                    if user not in seen:
                        seen.add(user)
                        stack.append(user)
                else:
                    found.append((tensor, slot))
        return found

    def source(self, tensor: Tensor, slot: int) -> Tensor:
        """A source of a tensor of the graph."""
        return self._tensors[tensor.src[slot]]

    def integers(self, tensor: Tensor, uses: Sequence[tuple[Tensor, int]]) -> Range:
        """What integers a leaf may hold so that every use is within bounds; small ones where nothing limits them."""
        ranges = [found for user, slot in uses if (found := self._range(tensor, user, slot)) is not None]
        if not ranges:
            return Range(8)
        below = max(1, min(one.below for one in ranges))
        distinct = max(one.distinct for one in ranges)
        caches = {one.cells for one in ranges}
        cells = caches.pop() if len(caches) == 1 else None
        return Range(below, distinct, not distinct and all(one.counting for one in ranges), cells)

    def _range(self, leaf: Tensor, user: Tensor, slot: int) -> Range | None:
        row = leaf.nb[1] // leaf.dtype.size if leaf.ne[1] > 1 else leaf.ne[0]
        if user.op is Op.GET_ROWS and slot == 1:
            return Range(self.source(user, 0).ne[1])
        if user.op is Op.SET_ROWS and slot == 1:
            return Range(user.ne[1], row, cells=self._cells(leaf, user))
        if user.op is Op.MUL_MAT_ID and slot == 2:
            return Range(self.source(user, 0).ne[2], row)
        if user.op is Op.ADD_ID and slot == 2:
            return Range(self.source(user, 1).ne[1], row)
        if user.op is Op.ROPE and slot == 1:
            return Range(self.source(user, 0).ne[2], counting=True)
        if user.op is Op.SSM_SCAN and slot == 6:
            return Range(self.source(user, 0).ne[3], row)
        return None

    def _cells(self, leaf: Tensor, write: Tensor) -> Cells | None:
        """The cache that a SET_ROWS writes to; None for any other tensor, and where the ids do not fit it."""
        base = self._tensors[write.view_src] if write.view_src >= 0 else write
        if base.buft < 0 or base.is_weight or leaf.n_rows != 1:
            return None
        cells = Cells(base.ne[1], base.ne[2] * base.ne[3], base.ne[0] if write.ne[0] == 1 else 1)
        return cells if cells.fits(leaf.ne[0]) and write.ne[1] == cells.size * cells.streams * cells.width else None


def is_mask(uses: Sequence[tuple[Tensor, int]]) -> bool:
    """Whether it is added to attention scores: source 1 of SOFT_MAX, source 3 of FLASH_ATTN_EXT."""
    return any((user.op, slot) in ((Op.SOFT_MAX, 1), (Op.FLASH_ATTN_EXT, 3)) for user, slot in uses)
