"""Which shared pool each buffer gets."""

from __future__ import annotations

from ..jit import Column, kernel
from .runs import GIVEN, STORE, free_offsets, split_range, take, wanted

POOLS = STORE
"""Where `store` counts pools."""


@kernel
def colour_by_birth(order: Column, lower: Column, upper: Column, free_from: Column, pools: Column) -> None:
    """Interval colouring: each buffer gets the first pool whose last tenant is dead.

    Args:
        order: indices by birth.
        lower: first step.
        upper: step after the last.
        free_from: a tree with a power of two of leaves, more than there are buffers: by pool the step from which it is
            free, above that the least of two; all at the smallest number at first.
        pools: written.
    """
    base = len(free_from) // 2
    for position in range(len(order)):
        buffer = order[position]
        birth = lower[buffer]
        node = 1
        while node < base:
            node *= 2
            if free_from[node] > birth:
                node += 1
        pools[buffer] = node - base
        free_from[node] = upper[buffer]
        node >>= 1
        while node > 0:
            free_from[node] = min(free_from[2 * node], free_from[2 * node + 1])
            node >>= 1


@kernel
def colour_by_fit(
    order: Column,
    begin: int,
    first: Column,
    last: Column,
    size: Column,
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
    capacity: Column,
    pools: Column,
) -> int:
    """Each buffer gets the smallest free pool that holds it, else the largest free one, which grows; else a new one.

    Pools taken at some step are kept as runs of pool numbers, as `place` keeps runs of addresses.

    Args:
        order: indices of buffers with bytes and a lifetime.
        begin: where to go on in `order`.
        first: see `place` for this and what follows.
        last: rank of the first birth step at which it is dead.
        size: bytes.
        base: leaves of the tree.
        start: cells of the lists.
        end: cells of the lists.
        spot: by list.
        used: by list.
        room: by list.
        store: see runs.py; one more for the number of pools.
        full: scratch.
        partial: scratch.
        low: scratch.
        high: scratch.
        new_low: scratch.
        new_high: scratch.
        capacity: bytes by pool, written.
        pools: by buffer, written.

    Returns:
        Where it stopped in `order`, see `place`.
    """
    for position in range(begin, len(order)):
        buffer = order[position]
        fulls, partials = split_range(first[buffer], last[buffer], base, full, partial)
        if store[GIVEN] + wanted(full, fulls, partial, partials, used, room) > len(start):
            return position
        count = free_offsets(full, fulls, partial, partials, 1, start, end, spot, used, low, high, new_low, new_high)
        need = size[buffer]
        found = -1
        for index in range(count):
            for pool in range(low[index], min(high[index] + 1, store[POOLS])):
                if found < 0:
                    found = pool
                elif capacity[found] < need:
                    if capacity[pool] > capacity[found]:
                        found = pool
                elif need <= capacity[pool] < capacity[found]:
                    found = pool
        if found < 0:
            found = store[POOLS]
            store[POOLS] = found + 1
            capacity[found] = 0
        capacity[found] = max(capacity[found], need)
        pools[buffer] = found
        take(full, fulls, partial, partials, found, found + 1, start, end, spot, used, room, store)
    return len(order)
