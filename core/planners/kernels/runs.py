"""What is taken, by time and address: a segment tree over birth steps whose nodes keep runs of taken addresses.

A buffer covers a range of birth steps (two buffers are alive together exactly if they are at some birth step), so it
covers a few nodes wholly (`full`) and touches the nodes above those (`partial`). Each node has two lists of runs,
sorted and apart: `over`, what covers the whole node, and `under`, what lies anywhere at or below it. All that is alive
together with a buffer is then `under` its full nodes or `over` its partial ones: O(log n) lists. Buffers that touch
become one run, so a list is as long as the plan has holes there, not as it has buffers.

List 2 * node is `over`, 2 * node + 1 is `under`. List k is a stretch of the columns `start` and `end`: from spot[k]
on, used[k] runs, room for room[k] (0 or a power of two). `store` counts the cells ever given out and heads, by power of
two, the stretches given back, each linked to the next by its first cell.
"""

from __future__ import annotations

from ..jit import Column, kernel

GIVEN = 0
"""Where `store` counts cells."""
BACK = 1
"""Where `store` has its first head of stretches given back; -1 for none."""
STORE = BACK + 63
SMALLEST = 2
"""Room of a new list."""
ENDLESS = 1 << 62
"""Beyond all addresses."""


@kernel
def split_range(first: int, last: int, base: int, full: Column, partial: Column) -> tuple[int, int]:
    """Write the nodes that make up leaves [first, last) and the proper ancestors of those; how many of each."""
    fulls = 0
    left = first + base
    right = last + base
    while left < right:
        if left & 1:
            full[fulls] = left
            fulls += 1
            left += 1
        if right & 1:
            right -= 1
            full[fulls] = right
            fulls += 1
        left >>= 1
        right >>= 1
    partials = 0
    left = (first + base) >> 1
    right = (last - 1 + base) >> 1
    height = 1
    while left > 0:
        begin = (left << height) - base
        if begin < first or begin + (1 << height) > last:
            partial[partials] = left
            partials += 1
        if right != left:
            begin = (right << height) - base
            if begin < first or begin + (1 << height) > last:
                partial[partials] = right
                partials += 1
        left >>= 1
        right >>= 1
        height += 1
    return fulls, partials


@kernel
def wanted(full: Column, fulls: int, partial: Column, partials: int, used: Column, room: Column) -> int:
    """Cells that `take` may have to ask for."""
    cells = 0
    for index in range(2 * fulls + partials):
        number = 2 * full[index >> 1] + (index & 1) if index < 2 * fulls else 2 * partial[index - 2 * fulls] + 1
        if used[number] == room[number]:
            cells += max(SMALLEST, 2 * room[number])
    return cells


@kernel
def enlarge(number: int, start: Column, end: Column, spot: Column, used: Column, room: Column, store: Column) -> None:
    """Move a list to a stretch of twice the room, and give the old one back."""
    old = room[number]
    size = max(SMALLEST, 2 * old)
    power = 0
    while 1 << power < size:
        power += 1
    place = store[BACK + power]
    if place >= 0:
        store[BACK + power] = start[place]
    else:
        place = store[GIVEN]
        store[GIVEN] = place + size
    source = spot[number]
    for index in range(used[number]):
        start[place + index] = start[source + index]
        end[place + index] = end[source + index]
    if old > 0:
        start[source] = store[BACK + power - 1]
        store[BACK + power - 1] = source
    spot[number] = place
    room[number] = size


@kernel
def first_ending_from(end: Column, begin: int, stop: int, at: int) -> int:
    """The first of the runs [begin, stop) whose end is no less than an address; `stop` when there is none."""
    while begin < stop:
        middle = (begin + stop) >> 1
        if end[middle] < at:
            begin = middle + 1
        else:
            stop = middle
    return begin


@kernel
def add_run(
    number: int,
    low: int,
    high: int,
    start: Column,
    end: Column,
    spot: Column,
    used: Column,
    room: Column,
    store: Column,
) -> None:
    """Mark addresses [low, high) as taken in one list."""
    if used[number] == room[number]:
        enlarge(number, start, end, spot, used, room, store)
    begin = spot[number]
    stop = begin + used[number]
    at = first_ending_from(end, begin, stop, low)
    if at == stop or start[at] > high:
        for index in range(stop, at, -1):
            start[index] = start[index - 1]
            end[index] = end[index - 1]
        start[at] = low
        end[at] = high
        used[number] += 1
        return
    start[at] = min(start[at], low)
    behind = at
    while behind < stop and start[behind] <= high:
        high = max(high, end[behind])
        behind += 1
    end[at] = high
    gone = behind - at - 1
    if gone > 0:
        for index in range(behind, stop):
            start[index - gone] = start[index]
            end[index - gone] = end[index]
        used[number] -= gone


@kernel
def take(
    full: Column,
    fulls: int,
    partial: Column,
    partials: int,
    low: int,
    high: int,
    start: Column,
    end: Column,
    spot: Column,
    used: Column,
    room: Column,
    store: Column,
) -> None:
    """Mark [low, high) as taken on these nodes."""
    for index in range(fulls):
        add_run(2 * full[index], low, high, start, end, spot, used, room, store)
        add_run(2 * full[index] + 1, low, high, start, end, spot, used, room, store)
    for index in range(partials):
        add_run(2 * partial[index] + 1, low, high, start, end, spot, used, room, store)


@kernel
def narrow(
    begin: int,
    stop: int,
    start: Column,
    end: Column,
    size: int,
    low: Column,
    high: Column,
    count: int,
    new_low: Column,
    new_high: Column,
) -> int:
    """Take from the stretches of offsets [low, high] those at which a buffer would meet runs [begin, stop).

    Holes too small for the buffer vanish, which keeps the stretches few.

    Returns:
        How many stretches there are now.
    """
    made = 0
    run = begin
    for index in range(count):
        at = low[index]
        last = high[index]
        if run < stop and end[run] <= at:  # mostly it is the next one
            leap = 1
            while run + leap < stop and end[run + leap] <= at:
                run += leap
                leap *= 2
            run = first_ending_from(end, run + 1, min(run + leap, stop), at + 1)
        while run < stop and start[run] - size < last:
            if start[run] - size >= at:
                new_low[made] = at
                new_high[made] = start[run] - size
                made += 1
            at = end[run]
            if at > last:
                break
            run += 1
        if at <= last:
            new_low[made] = at
            new_high[made] = last
            made += 1
    return made


@kernel
def free_offsets(
    full: Column,
    fulls: int,
    partial: Column,
    partials: int,
    size: int,
    start: Column,
    end: Column,
    spot: Column,
    used: Column,
    low: Column,
    high: Column,
    new_low: Column,
    new_high: Column,
) -> int:
    """Write the stretches [low, high] of offsets free for a buffer on these nodes, the last one endless; how many."""
    here_low, here_high, there_low, there_high = low, high, new_low, new_high
    here_low[0] = 0
    here_high[0] = ENDLESS
    count = 1
    swaps = 0
    for index in range(fulls + partials):
        number = 2 * full[fulls - 1 - index] + 1 if index < fulls else 2 * partial[fulls + partials - 1 - index]
        if used[number] > 0:
            begin = spot[number]
            count = narrow(
                begin, begin + used[number], start, end, size, here_low, here_high, count, there_low, there_high
            )
            here_low, there_low = there_low, here_low
            here_high, there_high = there_high, here_high
            swaps += 1
    if swaps % 2 == 1:
        for index in range(count):
            low[index] = here_low[index]
            high[index] = here_high[index]
    return count
