"""Exact boxes: buffers that fit together without a hole become one, again and again.

Two of the same lifetime are stacked. Two of the same size, the one beginning where the other ends, form a row; only
when there is no second candidate on either side, which makes it likely that they belong together. (Boxes of equal
height, but exact instead of rounded up: Buchsbaum et al., "OPT versus LOAD in dynamic storage allocation", 2003.)

Boxes are found by three hash tables with chains: by lifetime, by first section and size, by end section and size.
"""

from __future__ import annotations

from typing import NamedTuple

from ..jit import Column, inner, kernel

LIFETIME, FIRST, END = range(3)
"""Tables."""

DEAD, ALONE, STACKED, IN_ROW = range(4)
"""What a box is: part of another one, or with which parts it was made."""


class Boxes(NamedTuple):
    """Boxes 0 to n - 1 are the buffers, up to n - 1 more are made of two each.

    Attributes:
        first: section.
        end: the section after its last.
        size: units.
        align: of its offset.
        low: the part that lies below or first, -1 for a buffer.
        high: the part that lies above or last.
        made: how its parts lie, see `ALONE`.
        live: 1 while it is no part of another one.
        head: first box of each chain; three tables, one after the other.
        following: next box of the chain, by table and box.
    """

    first: Column
    end: Column
    size: Column
    align: Column
    low: Column
    high: Column
    made: Column
    live: Column
    head: Column
    following: Column


@kernel
def box(b: Boxes, count: int) -> int:
    """Join what can be joined; the number of boxes made of one buffer or more, dead ones included."""
    made = 0
    total = count
    for k in range(count):
        total = _add(b, k, total)
    while made < total:
        made = total
        k = 0
        while k < total:
            if b.live[k]:
                total = _row(b, k, b.first[k], total)
            if b.live[k]:
                total = _row(b, k, b.end[k], total)
            k += 1
    return total


@kernel
def unbox(b: Boxes, total: int, offset: Column) -> None:
    """Offsets of all parts from those of the live boxes."""
    for k in range(total - 1, -1, -1):
        if b.low[k] >= 0:
            offset[b.low[k]] = offset[k]
            offset[b.high[k]] = offset[k] + (b.size[b.low[k]] if b.made[k] == STACKED else 0)


@inner
def _row(b: Boxes, k: int, section: int, total: int) -> int:
    """Join the box that ends at a section with the one that starts there, if each is the only one of k's size."""
    last = _only(b, END, section, b.size[k])
    if last < 0:
        return total
    then = _only(b, FIRST, section, b.size[k])
    if then < 0 or b.align[last] != b.align[then]:
        return total
    _drop(b, last)
    _drop(b, then)
    _make(b, total, last, then, IN_ROW)
    return _add(b, total, total + 1)


@inner
def _make(b: Boxes, box: int, low: int, high: int, made: int) -> None:
    b.first[box] = b.first[low]
    b.end[box] = b.end[high]
    b.size[box] = b.size[low] + (b.size[high] if made == STACKED else 0)
    b.align[box] = b.align[low]
    b.low[box] = low
    b.high[box] = high
    b.made[box] = made


@inner
def _add(b: Boxes, box: int, total: int) -> int:
    """A new box, stacked on the one of its lifetime; how many there are then."""
    other = _same(b, box)
    if other >= 0:
        _drop(b, other)
        _make(b, total, other, box, STACKED)
        box = total
        total += 1
    b.live[box] = 1
    for table in range(3):
        slot = _of(b, table, box)
        b.following[table * len(b.first) + box] = b.head[slot]
        b.head[slot] = box
    return total


@inner
def _drop(b: Boxes, box: int) -> None:
    b.live[box] = 0
    for table in range(3):
        base = table * len(b.first)
        slot = _of(b, table, box)
        if b.head[slot] == box:
            b.head[slot] = b.following[base + box]
        else:
            at = b.head[slot]
            while b.following[base + at] != box:
                at = b.following[base + at]
            b.following[base + at] = b.following[base + box]


@inner
def _same(b: Boxes, box: int) -> int:
    """The live box with the lifetime of this one that can carry it or be carried, -1 for none."""
    at: int = b.head[_slot(b, LIFETIME, b.first[box], b.end[box])]
    while at >= 0:
        if b.first[at] == b.first[box] and b.end[at] == b.end[box] and b.align[at] == b.align[box]:
            return at
        at = b.following[at]
    return -1


@inner
def _only(b: Boxes, table: int, section: int, size: int) -> int:
    """The one live box of a size that starts or ends at a section, -1 for none or several."""
    found = -1
    at = b.head[_slot(b, table, section, size)]
    while at >= 0:
        if b.size[at] == size and (b.first[at] if table == FIRST else b.end[at]) == section:
            if found >= 0:
                return -1
            found = at
        at = b.following[table * len(b.first) + at]
    return found


@inner
def _of(b: Boxes, table: int, box: int) -> int:
    """The chain of a box."""
    section = b.end[box] if table == END else b.first[box]
    return _slot(b, table, section, b.end[box] if table == LIFETIME else b.size[box])


@inner
def _slot(b: Boxes, table: int, key: int, value: int) -> int:
    """Stays within 64 bits, so that plain and compiled code agree."""
    width = len(b.head) // 3
    return table * width + ((key % 16777213) * 1000003 + value % 2147483647) % width
