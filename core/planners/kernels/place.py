"""Place buffers in a given order, each into a hole between those that are alive with it and placed before it.

Signature of the loop (columns as in jit.py; core/planners/placing.py is the door for Python):

    place(order, begin, first, last, size, alignment, fixed, hint, max_chunk, best_fit, base,
          start, end, spot, used, room, store, full, partial, low, high, new_low, new_high, peaks, offsets) -> int
"""

from __future__ import annotations

from ..jit import Column, kernel
from .choose import is_free, raise_peak, settle
from .runs import GIVEN, free_offsets, split_range, take, wanted


@kernel
def place(
    order: Column,
    begin: int,
    first: Column,
    last: Column,
    size: Column,
    alignment: Column,
    fixed: Column,
    hint: Column,
    max_chunk: int,
    best_fit: int,
    base: int,
    start: Column,
    end: Column,
    spot: Column,
    used: Column,
    room: Column,
    store: Column,
    full: Column,
    partial: Column,
    low: Column,
    high: Column,
    new_low: Column,
    new_high: Column,
    peaks: Column,
    offsets: Column,
) -> int:
    """Write the address of each buffer of order[begin:].

    Args:
        order: indices of buffers that have bytes and a lifetime, those with a fixed offset first.
        begin: where to go on in `order`.
        first: rank of its birth among the distinct birth steps.
        last: rank of the first birth step at which it is dead.
        size: bytes.
        alignment: bytes.
        fixed: its address, -1 for free.
        hint: the address it would like, -1 for none.
        max_chunk: bytes of a chunk, 0 for one chunk of any size.
        best_fit: see `choose`.
        base: leaves of the tree (a power of two).
        start: cells of the lists, see runs.py.
        end: cells of the lists.
        spot: by list: its first cell.
        used: by list: its runs.
        room: by list: its cells.
        store: see runs.py.
        full: scratch, two per level of the tree.
        partial: scratch, two per level of the tree.
        low: scratch, one more than there are buffers.
        high: scratch as `low`.
        new_low: scratch as `low`.
        new_high: scratch as `low`.
        peaks: see `settle`.
        offsets: addresses, written.

    Returns:
        Where it stopped in `order`: its length when all are placed, less when the cells may not suffice for the next
        buffer; -1 - position of a fixed buffer whose bytes are taken.
    """
    for position in range(begin, len(order)):
        buffer = order[position]
        bytes_ = size[buffer]
        fulls, partials = split_range(first[buffer], last[buffer], base, full, partial)
        if store[GIVEN] + wanted(full, fulls, partial, partials, used, room) > len(start):
            return position
        count = free_offsets(
            full, fulls, partial, partials, bytes_, start, end, spot, used, low, high, new_low, new_high
        )
        at = fixed[buffer]
        if at >= 0:
            if not is_free(low, high, count, at):
                return -1 - position
            raise_peak(at, bytes_, max_chunk, peaks)
        else:
            at = settle(low, high, count, bytes_, alignment[buffer], hint[buffer], max_chunk, best_fit, peaks)
        offsets[buffer] = at
        take(full, fulls, partial, partials, at, at + bytes_, start, end, spot, used, room, store)
    return len(order)
