"""Which offset a buffer gets, given the stretches of offsets that are free for it."""

from __future__ import annotations

from ..jit import Column, kernel


@kernel
def align_up(at: int, size: int, alignment: int, max_chunk: int) -> int:
    """The first address from `at` on that is aligned within its chunk and whose bytes stay within that chunk."""
    chunk = 0
    if max_chunk > 0:
        chunk = at // max_chunk
    inside = at - chunk * max_chunk
    rest = inside % alignment
    if rest > 0:
        inside += alignment - rest
    if max_chunk > 0 and inside + size > max_chunk:
        return (chunk + 1) * max_chunk
    return chunk * max_chunk + inside


@kernel
def choose(low: Column, high: Column, count: int, size: int, alignment: int, max_chunk: int, best_fit: int) -> int:
    """The lowest address of the tightest hole (or of the first one), or behind everything when no hole is large enough.

    Args:
        low: with `high` the stretches: addresses from the one to the other, both included, are free; sorted, apart.
        high: see `low`; the last one is endless.
        count: stretches.
        size: bytes of the buffer.
        alignment: of the buffer.
        max_chunk: bytes of a chunk, 0 for one chunk of any size.
        best_fit: not 0 for the tightest hole, of equal ones the lowest; 0 for the lowest hole.
    """
    found = -1
    tightest = 0
    for index in range(count):
        here = align_up(low[index], size, alignment, max_chunk)
        spare = high[index] - here
        if spare < 0:
            continue
        if best_fit == 0 or (found < 0 and index == count - 1):
            return here
        if max_chunk > 0:
            spare = min(spare, (here // max_chunk + 1) * max_chunk - size - here)
        if index < count - 1 and (found < 0 or spare < tightest):
            found = here
            tightest = spare
    return found


@kernel
def is_free(low: Column, high: Column, count: int, at: int) -> bool:
    """The address lies in one of the stretches."""
    index = 0
    while index < count and high[index] < at:
        index += 1
    return index < count and low[index] <= at


@kernel
def rise(at: int, size: int, max_chunk: int, peaks: Column) -> int:
    """Bytes by which the peak of its chunk grows when a buffer lies there; of chunks beyond the table all of them."""
    chunk = 0
    if max_chunk > 0:
        chunk = at // max_chunk
    more = at - chunk * max_chunk + size
    if chunk < len(peaks):
        more -= peaks[chunk]
    return max(more, 0)


@kernel
def raise_peak(at: int, size: int, max_chunk: int, peaks: Column) -> None:
    """Bring the peak of its chunk up to date when a buffer was placed there."""
    chunk = 0
    if max_chunk > 0:
        chunk = at // max_chunk
    if chunk < len(peaks):
        peaks[chunk] = max(peaks[chunk], at - chunk * max_chunk + size)


@kernel
def settle(
    low: Column,
    high: Column,
    count: int,
    size: int,
    alignment: int,
    hint: int,
    max_chunk: int,
    best_fit: int,
    peaks: Column,
) -> int:
    """The address of a buffer: its hint if that is free and raises the peak no more than the rule's choice would.

    Args:
        low: see `choose`.
        high: see `choose`.
        count: see `choose`.
        size: see `choose`.
        alignment: see `choose`.
        hint: the address it would like, -1 for none.
        max_chunk: see `choose`.
        best_fit: see `choose`.
        peaks: bytes in use by chunk; brought up to date.
    """
    at = choose(low, high, count, size, alignment, max_chunk, best_fit)
    if (
        hint >= 0
        and align_up(hint, size, alignment, max_chunk) == hint
        and is_free(low, high, count, hint)
        and rise(hint, size, max_chunk, peaks) <= rise(at, size, max_chunk, peaks)
    ):
        at = hint
    raise_peak(at, size, max_chunk, peaks)
    return at
