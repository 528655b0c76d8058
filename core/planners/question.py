"""An instance as the complete search sees it: parts of time that share no buffer, sizes in units, boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .boxes import Boxed, Shapes
from .instance import Instance
from .planner import Refused
from .portfolio import Shape
from .sections import parts, sections

MOST_CELLS = 20_000_000
"""Sections that all buffers may cover together."""


@dataclass(frozen=True)
class Part:
    """Buffers that share no step with the others.

    Attributes:
        index: which of the used ones, by number.
        start: first section of each, from 0.
        end: the section after its last.
        load: bytes alive at most.
        boxed: the boxes they can be joined to, None when there are none.
    """

    index: np.ndarray
    start: np.ndarray
    end: np.ndarray
    load: int
    boxed: Boxed | None


class Question:
    """An instance in parts and units.

    With one alignment for all, sizes are rounded up to it and it is forgotten; otherwise it stays with each buffer. All
    offsets of plans in which every buffer rests on something are multiples of the unit, their peaks of the grain.
    """

    def __init__(self, instance: Instance) -> None:
        """Take an instance without gaps apart.

        Raises:
            Refused: its buffers cover too many sections.
        """
        self.instance = instance
        self.used = np.flatnonzero((instance.size > 0) & (instance.lower < instance.upper))
        size, align, fixed, hint = (
            column[self.used] for column in (instance.size, instance.alignment, instance.fixed, instance.hint)
        )
        same = bool((align == align[:1]).all())
        step = int(align[0]) if same and len(align) else 1
        rounded = -(-size // step) * step
        mixed = align[:0] if same else align[align > 1]
        self.unit = int(np.gcd.reduce(np.concatenate((rounded, fixed[fixed >= 0], mixed)))) or 1
        self.grain = int(np.gcd.reduce(size, initial=self.unit))
        self.bytes = size
        self.size = rounded // self.unit
        self.align = np.ones_like(align) if same else np.maximum(1, align // self.unit)
        self.fixed = np.where(fixed >= 0, fixed // self.unit, -1)
        self.hint = np.where((hint >= 0) & (hint % self.unit == 0), hint // self.unit, -2)
        self.parts = self._parts()

    def above(self, capacity: int) -> int:
        """The smallest peak above a capacity that a plan could have: all its parts are multiples of the grain."""
        return capacity // self.grain * self.grain + self.grain

    def _parts(self) -> list[Part]:
        """The most loaded part first: it is the most likely to fail."""
        if not len(self.used):
            return []
        start, end, count = sections(self.instance.lower[self.used], self.instance.upper[self.used])
        if int((end - start).sum()) > MOST_CELLS:
            raise Refused(f"cannot search this: {len(self.used):,} buffers cover too many sections together")
        part = parts(start, end, count)
        order = np.argsort(part, kind="stable")
        made = []
        for index in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
            first = int(start[index].min())
            load = np.zeros(int(end[index].max()) - first + 1, dtype=np.int64)
            np.add.at(load, start[index] - first, self.bytes[index])
            np.add.at(load, end[index] - first, -self.bytes[index])
            columns = (start[index] - first, end[index] - first)
            made.append(Part(index, *columns, int(np.cumsum(load).max()), self._boxed(index, *columns)))
        return sorted(made, key=lambda one: -one.load)

    def _boxed(self, index: np.ndarray, start: np.ndarray, end: np.ndarray) -> Boxed | None:
        if (self.fixed[index] >= 0).any() or (self.hint[index] >= 0).any():
            return None
        boxed = Boxed(Shapes(start, end, self.size[index], self.align[index]))
        return boxed if len(boxed.shapes.size) < len(index) else None

    def boxes(self, boxed: Boxed, capacity: int) -> Shape:
        """The boxes of a part under a capacity in bytes."""
        one = boxed.shapes
        free = np.full(len(one.size), -1)
        latest = capacity // self.unit - one.size
        steps = one.end - one.first
        return Shape(one.first, one.end, steps, one.size, one.align, free, latest, free - 1, int(one.end.max()))

    def shape(self, part: Part, capacity: int) -> Shape:
        """A part under a capacity in bytes."""
        k = part.index
        columns = (self.size[k], self.align[k], self.fixed[k], (capacity - self.bytes[k]) // self.unit, self.hint[k])
        steps = (self.instance.upper - self.instance.lower)[self.used][k]
        return Shape(part.start, part.end, steps, *columns, sections=int(part.end.max()))
