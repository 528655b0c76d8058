"""Inner loops of the checker: the first pair of buffers that clashes. No planner uses them."""

from __future__ import annotations

from ..jit import Column, kernel


@kernel
def clash_of_plain(events: Column, start: Column, end: Column, chunk: Column, tree: Column, pair: Column) -> None:
    """Find two buffers that share a step and a byte; buffers are numbered by ascending (chunk, start).

    Args:
        events: by ascending step, ends before starts: k is the end of buffer k, count + k its start.
        start: first byte of each.
        end: the byte after its last one.
        chunk: its chunk.
        tree: zeros, twice a power of two that is no less than the count: a node is 1 while a buffer below it lives.
        pair: gets the two, untouched when there are none.
    """
    count = len(start)
    width = len(tree) // 2
    for event in events:
        if event < count:
            at = width + event
            tree[at] = 0
            while at > 1 and tree[at ^ 1] == 0:
                at //= 2
                tree[at] = 0
            continue
        me = event - count
        at = width + me
        while at > 1 and not (at % 2 == 1 and tree[at - 1] == 1):
            at //= 2
        if at > 1:  # the nearest that lives below
            at -= 1
            while at < width:
                at = 2 * at + 1 if tree[2 * at + 1] == 1 else 2 * at
            other = at - width
            if chunk[other] == chunk[me] and end[other] > start[me]:
                pair[0], pair[1] = other, me
                return
        at = width + me
        while at > 1 and not (at % 2 == 0 and tree[at + 1] == 1):
            at //= 2
        if at > 1:  # the nearest that lives above
            at += 1
            while at < width:
                at = 2 * at if tree[2 * at] == 1 else 2 * at + 1
            other = at - width
            if chunk[other] == chunk[me] and start[other] < end[me]:
                pair[0], pair[1] = me, other
                return
        at = width + me
        while at >= 1 and tree[at] == 0:
            tree[at] = 1
            at //= 2


@kernel
def clash_of_gapped(
    events: Column,
    start: Column,
    end: Column,
    chunk: Column,
    gapped: Column,
    first: Column,
    begins: Column,
    ends: Column,
    low: Column,
    high: Column,
    alive: Column,
    place: Column,
    alive_gapped: Column,
    pair: Column,
) -> None:
    """Find two buffers, at least one with gaps, that share a byte at a step or change sides.

    Args:
        events: as for `clash_of_plain`.
        start: first byte of each.
        end: the byte after its last one.
        chunk: its chunk.
        gapped: 1 when it has gaps.
        first: its parts are [first[k], first[k + 1]), by ascending step.
        begins: first step of a part.
        ends: the step after its last one.
        low: its first byte.
        high: the byte after its last one.
        alive: room for the plain buffers that are alive.
        place: room for where a buffer stands in its list.
        alive_gapped: room for those with gaps.
        pair: gets the two, untouched when there are none.
    """
    count = len(start)
    plain_now = 0
    gapped_now = 0
    for event in events:
        if event < count:  # the last of the list takes its place
            if gapped[event] == 1:
                gapped_now -= 1
                moved = alive_gapped[gapped_now]
                alive_gapped[place[event]] = moved
            else:
                plain_now -= 1
                moved = alive[plain_now]
                alive[place[event]] = moved
            place[moved] = place[event]
            continue
        me = event - count
        rivals = gapped_now + plain_now if gapped[me] == 1 else gapped_now
        for number in range(rivals):
            other = alive_gapped[number] if number < gapped_now else alive[number - gapped_now]
            if chunk[other] != chunk[me] or start[other] >= end[me] or start[me] >= end[other]:
                continue
            below = False
            above = False
            a = first[me]
            b = first[other]
            while a < first[me + 1] and b < first[other + 1]:
                if begins[a] < ends[b] and begins[b] < ends[a]:
                    below = below or low[b] < high[a]  # not all of the other lies above
                    above = above or low[a] < high[b]
                if ends[a] <= ends[b]:
                    a += 1
                else:
                    b += 1
            if below and above:
                pair[0], pair[1] = other, me
                return
        if gapped[me] == 1:
            alive_gapped[gapped_now] = me
            place[me] = gapped_now
            gapped_now += 1
        else:
            alive[plain_now] = me
            place[me] = plain_now
            plain_now += 1
