"""Exact boxes around buffers that fit together without a hole: fewer shapes to place, of the same area.

Two buffers of one lifetime are stacked; two of one size, the one beginning where the other ends, form a row; so on with
what came out. Networks are full of such pairs, and sets without waste collapse to a few boxes. It loses nothing where
the pairs belong together, but may be wrong: plan without boxes too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .instance import Instance
from .jit import array, blank, column
from .kernels.boxes import Boxes, box, unbox
from .sections import sections


class Shapes(NamedTuple):
    """What is placed: buffers or boxes of buffers.

    Attributes:
        first: section, from 0.
        end: the section after the last.
        size: units.
        align: of the offset, units.
    """

    first: np.ndarray
    end: np.ndarray
    size: np.ndarray
    align: np.ndarray

    def load(self) -> np.ndarray:
        """Units alive in each section."""
        change = np.zeros(int(self.end.max()) + 1, dtype=np.int64)
        np.add.at(change, self.first, self.size)
        np.add.at(change, self.end, -self.size)
        return np.cumsum(change)[:-1]


def shapes_of(instance: Instance) -> tuple[np.ndarray, Shapes, int]:
    """The buffers that need a place, their shapes, and the bytes of a unit."""
    used = np.flatnonzero((instance.size > 0) & (instance.lower < instance.upper))
    # All offsets are multiples of the unit, so sizes may be rounded up to it.
    unit = max(1, int(np.gcd.reduce(instance.alignment[used])))
    first, end, _ = sections(instance.lower[used], instance.upper[used])
    return used, Shapes(first, end, -(-instance.size[used] // unit), instance.alignment[used] // unit), unit


class Boxed:
    """Shapes joined to boxes where they fit together exactly.

    Attributes:
        shapes: the boxes.
    """

    def __init__(self, shapes: Shapes) -> None:
        """Join them."""
        count = len(shapes.size)
        width = 1
        while width < 2 * count:
            width *= 2
        # A box is a multiple of its alignment, so that another one may lie on it.
        size = -(-shapes.size // shapes.align) * shapes.align
        room = np.zeros(count, dtype=np.int64)
        parts = [np.concatenate((values, room)) for values in (shapes.first, shapes.end, size, shapes.align)]
        alone = [blank(2 * count, -1), blank(2 * count, -1), blank(2 * count), blank(2 * count)]
        self._boxes = Boxes._make((*map(column, parts), *alone, blank(3 * width, -1), blank(6 * count)))
        self._count = count
        self._total = box(self._boxes, count)
        self._live = np.flatnonzero(array(self._boxes.live))
        first, end = array(self._boxes.first)[self._live], array(self._boxes.end)[self._live]
        self.shapes = Shapes(first, end, array(self._boxes.size)[self._live], array(self._boxes.align)[self._live])

    def spread(self, offsets: np.ndarray) -> np.ndarray:
        """Offsets of the shapes from those of the boxes."""
        all_offsets = blank(self._total)
        for k, offset in zip(self._live.tolist(), offsets.tolist(), strict=True):
            all_offsets[k] = offset
        unbox(self._boxes, self._total, all_offsets)
        return array(all_offsets)[: self._count]


def fitting(shapes: Shapes) -> float:
    """Share of shapes with another one of their lifetime, or one of their size that starts where they end."""
    mixed = np.uint64(0x9E3779B97F4A7C15) * np.stack((shapes.first, shapes.end)).astype(np.uint64)
    size = shapes.size.astype(np.uint64)
    lifetimes = np.unique(mixed[0] ^ (mixed[1] << np.uint64(7)))
    followed = np.isin(mixed[1] ^ size, mixed[0] ^ size)
    return 1 - (len(lifetimes) - int(followed.sum())) / len(size)
