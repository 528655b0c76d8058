"""Placing in a given order for buffers with gaps: windows of bytes by step, each pair compared (O(n^2) pairs)."""

from __future__ import annotations

from ..jit import Column, kernel
from .choose import is_free, raise_peak, settle
from .runs import ENDLESS

NEVER = -(1 << 62)
"""No common step at which both need bytes."""


@kernel
def distance(
    lower: Column,
    upper: Column,
    bottom: Column,
    top: Column,
    one: int,
    one_end: int,
    other: int,
    other_end: int,
) -> tuple[int, int]:
    """How far `other` must lie above `one`, and `one` above `other`, to be apart at every common step.

    Segments [one, one_end) and [other, other_end) of the columns are those of two buffers: in steps [lower, upper)
    bytes [bottom, top) are needed.
    """
    above = NEVER
    below = NEVER
    while one < one_end and other < other_end:
        if lower[one] < upper[other] and lower[other] < upper[one]:
            if top[one] - bottom[other] > above:
                above = top[one] - bottom[other]
            if top[other] - bottom[one] > below:
                below = top[other] - bottom[one]
        if upper[one] <= upper[other]:
            one += 1
        else:
            other += 1
    return above, below


@kernel
def sort_pairs(low: Column, high: Column, count: int, new_low: Column, new_high: Column) -> None:
    """Sort both columns by `low`: merge sort, bottom up, back into the first two."""
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            middle = min(begin + width, count)
            stop = min(begin + 2 * width, count)
            left = begin
            right = middle
            for to in range(begin, stop):
                if right >= stop or (left < middle and low[left] <= low[right]):
                    new_low[to] = low[left]
                    new_high[to] = high[left]
                    left += 1
                else:
                    new_low[to] = low[right]
                    new_high[to] = high[right]
                    right += 1
        for index in range(count):
            low[index] = new_low[index]
            high[index] = new_high[index]
        width *= 2


@kernel
def between(low: Column, high: Column, count: int) -> int:
    """Turn stretches strictly inside of which all is forbidden, sorted, into those that are free; how many."""
    at = 0
    made = 0
    for index in range(count):
        begin = low[index]
        stop = high[index]
        if begin >= at:
            low[made] = at
            high[made] = begin
            made += 1
        at = max(at, stop)
    low[made] = at
    high[made] = ENDLESS
    return made + 1


@kernel
def place_windows(
    order: Column,
    segments: Column,
    lower: Column,
    upper: Column,
    bottom: Column,
    top: Column,
    size: Column,
    alignment: Column,
    fixed: Column,
    hint: Column,
    max_chunk: int,
    best_fit: int,
    low: Column,
    high: Column,
    new_low: Column,
    new_high: Column,
    peaks: Column,
    offsets: Column,
) -> int:
    """Write the address of each buffer of `order`.

    Args:
        order: indices of buffers that have bytes and a lifetime, those with a fixed offset first.
        segments: by buffer, where its segments begin; one more entry for the end.
        lower: of a segment: its first step.
        upper: of a segment: the step after its last.
        bottom: of a segment: its first needed byte.
        top: of a segment: the byte after the last needed one; above `bottom`.
        size: see `place` for this and what follows.
        alignment: bytes.
        fixed: its address, -1 for free.
        hint: the address it would like, -1 for none.
        max_chunk: bytes of a chunk, 0 for one chunk of any size.
        best_fit: see `choose`.
        low: scratch, one more than there are buffers.
        high: scratch as `low`.
        new_low: scratch as `low`.
        new_high: scratch as `low`.
        peaks: see `settle`.
        offsets: addresses, written.

    Returns:
        The length of `order`; -1 - position of a fixed buffer whose bytes are taken.
    """
    for position in range(len(order)):
        buffer = order[position]
        begin = segments[buffer]
        stop = segments[buffer + 1]
        count = 0
        for earlier in range(position):
            other = order[earlier]
            other_begin = segments[other]
            other_stop = segments[other + 1]
            if begin == stop or other_begin == other_stop:
                continue
            if lower[begin] >= upper[other_stop - 1] or lower[other_begin] >= upper[stop - 1]:
                continue
            above, below = distance(lower, upper, bottom, top, begin, stop, other_begin, other_stop)
            if above != NEVER:
                low[count] = offsets[other] - above
                high[count] = offsets[other] + below
                count += 1
        sort_pairs(low, high, count, new_low, new_high)
        count = between(low, high, count)
        at = fixed[buffer]
        if at >= 0:
            if not is_free(low, high, count, at):
                return -1 - position
            raise_peak(at, size[buffer], max_chunk, peaks)
        else:
            at = settle(low, high, count, size[buffer], alignment[buffer], hint[buffer], max_chunk, best_fit, peaks)
        offsets[buffer] = at
    return len(order)
