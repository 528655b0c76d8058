"""Greedy by size with the improved choice of pools: stages between positional maxima, in each the nearest pair first.

A pool is a chain of tenants by step. Two trees over all buffers find the hole nearest to a lifetime: one by end step
holds how long each tenant's pool stays free after it, one by first step holds since when it is free before it.
"""

from __future__ import annotations

from ..jit import Column, kernel

NEVER = -(1 << 62) - 1
ALWAYS = (1 << 62) + 1
NONE = -1
"""No tenant on that side, no pool."""


@kernel
def depths(
    order: Column, first: Column, last: Column, base: int, added: Column, highest: Column, depth: Column
) -> None:
    """Write for each position of `order` how many of the buffers so far are at most alive at once.

    Args:
        order: indices.
        first: rank of birth.
        last: rank of the first birth step at which it is dead.
        base: leaves of the tree (a power of two).
        added: zeros, one per node: buffers that cover it wholly.
        highest: zeros, one per node: the most alive at one of its leaves, of the buffers at or below it.
        depth: written.
    """
    for position in range(len(order)):
        left = first[order[position]] + base
        right = last[order[position]] + base
        low = left
        high = right - 1
        while left < right:
            if left & 1:
                added[left] += 1
                highest[left] += 1
                left += 1
            if right & 1:
                right -= 1
                added[right] += 1
                highest[right] += 1
            left >>= 1
            right >>= 1
        while low > 1:
            low >>= 1
            high >>= 1
            highest[low] = max(highest[2 * low], highest[2 * low + 1]) + added[low]
            highest[high] = max(highest[2 * high], highest[2 * high + 1]) + added[high]
        depth[position] = highest[1]


@kernel
def put(tree: Column, leaf: int, value: int, greatest: int) -> None:
    """Change a leaf of a tree that keeps the greatest (or the least) of two above them."""
    node = leaf + len(tree) // 2
    tree[node] = value
    node >>= 1
    while node > 0:
        if greatest != 0:
            tree[node] = max(tree[2 * node], tree[2 * node + 1])
        else:
            tree[node] = min(tree[2 * node], tree[2 * node + 1])
        node >>= 1


@kernel
def last_at_least(tree: Column, stop: int, value: int) -> int:
    """The last leaf before `stop` that is no less than the value; NONE when there is none."""
    node = stop + len(tree) // 2
    while node > 1 and not (node % 2 == 1 and tree[node - 1] >= value):
        node >>= 1
    if node <= 1:
        return NONE
    node -= 1
    while node < len(tree) // 2:
        node *= 2
        if tree[node + 1] >= value:
            node += 1
    return node - len(tree) // 2


@kernel
def first_at_most(tree: Column, begin: int, value: int) -> int:
    """The first leaf from `begin` on, which is not 0, that is no more than the value; NONE when there is none."""
    node = begin - 1 + len(tree) // 2
    while node > 1 and (node % 2 == 1 or tree[node + 1] > value):
        node >>= 1
    if node <= 1:
        return NONE
    node += 1
    while node < len(tree) // 2:
        node *= 2
        if tree[node] > value:
            node += 1
    return node - len(tree) // 2


@kernel
def seek(
    slot: int,
    buffer: int,
    lower: Column,
    upper: Column,
    dead: Column,
    unborn: Column,
    by_end: Column,
    after: Column,
    by_start: Column,
    before: Column,
    gap: Column,
    anchor: Column,
    behind: Column,
) -> None:
    """Find the tenant nearest to a buffer whose pool has room, the earlier of equally near; write the last three."""
    gap[slot] = ALWAYS
    anchor[slot] = NONE
    leaf = last_at_least(after, dead[buffer], upper[buffer])
    if leaf != NONE:
        anchor[slot] = by_end[leaf]
        behind[slot] = 0
        gap[slot] = lower[buffer] - upper[by_end[leaf]]
    leaf = first_at_most(before, unborn[buffer], lower[buffer])
    if leaf != NONE and lower[by_start[leaf - 1]] - upper[buffer] < gap[slot]:
        anchor[slot] = by_start[leaf - 1]
        behind[slot] = 1
        gap[slot] = lower[by_start[leaf - 1]] - upper[buffer]


@kernel
def colour_by_stages(
    order: Column,
    stage: Column,
    lower: Column,
    upper: Column,
    size: Column,
    dead: Column,
    unborn: Column,
    by_end: Column,
    end_rank: Column,
    by_start: Column,
    start_rank: Column,
    after: Column,
    before: Column,
    earlier: Column,
    later: Column,
    waiting: Column,
    gap: Column,
    anchor: Column,
    behind: Column,
    pools: Column,
    placed: Column,
) -> None:
    """Give every buffer a pool.

    Args:
        order: indices of buffers with bytes and a lifetime, by descending size.
        stage: of each position of `order`, ascending.
        lower: first step.
        upper: step after the last.
        size: bytes.
        dead: how many of the buffers in `by_end` end by its first step.
        unborn: 1 + how many of the buffers in `by_start` begin before it ends.
        by_end: indices of the same buffers by `upper`.
        end_rank: position of a buffer in `by_end`.
        by_start: indices of the same buffers by `lower`.
        start_rank: position of a buffer in `by_start`.
        after: tree of greatest: at leaf k until when the pool of by_end[k] is free after it; NEVER at first.
        before: tree of least: at leaf k + 1 since when the pool of by_start[k] is free before it; ALWAYS at first.
        earlier: scratch by buffer: the tenant before it in its pool.
        later: scratch by buffer: the tenant after it.
        waiting: scratch by position.
        gap: scratch by position.
        anchor: scratch by position.
        behind: scratch by position.
        pools: by buffer, written.
        placed: indices in the order in which they got their pools, written.
    """
    opened = 0
    done = 0
    begin = 0
    while begin < len(order):
        left = 0
        while begin + left < len(order) and stage[begin + left] == stage[begin]:
            waiting[left] = order[begin + left]
            seek(
                left,
                order[begin + left],
                lower,
                upper,
                dead,
                unborn,
                by_end,
                after,
                by_start,
                before,
                gap,
                anchor,
                behind,
            )
            left += 1
        begin += left
        best = first_choice(left, waiting, gap, size)
        while left > 0:
            tenant = waiting[best]
            one = NONE
            other = NONE
            if anchor[best] == NONE:
                pools[tenant] = opened
                opened += 1
            else:
                pools[tenant] = pools[anchor[best]]
                if behind[best] == 0:
                    one = anchor[best]
                    other = later[one]
                else:
                    other = anchor[best]
                    one = earlier[other]
            since = NEVER
            until = ALWAYS
            earlier[tenant] = one
            later[tenant] = other
            if one != NONE:
                since = upper[one]
                later[one] = tenant
                put(after, end_rank[one], lower[tenant], 1)
            if other != NONE:
                until = lower[other]
                earlier[other] = tenant
                put(before, start_rank[other] + 1, upper[tenant], 0)
            put(after, end_rank[tenant], until, 1)
            put(before, start_rank[tenant] + 1, since, 0)
            placed[done] = tenant
            done += 1
            left -= 1
            waiting[best] = waiting[left]
            gap[best] = gap[left]
            anchor[best] = anchor[left]
            behind[best] = behind[left]
            for slot in range(left):
                buffer = waiting[slot]
                if upper[buffer] <= lower[tenant]:
                    if lower[buffer] >= since and lower[tenant] - upper[buffer] < gap[slot]:
                        gap[slot] = lower[tenant] - upper[buffer]
                        anchor[slot] = tenant
                        behind[slot] = 1
                elif lower[buffer] >= upper[tenant]:
                    if upper[buffer] <= until and lower[buffer] - upper[tenant] < gap[slot]:
                        gap[slot] = lower[buffer] - upper[tenant]
                        anchor[slot] = tenant
                        behind[slot] = 0
                elif anchor[slot] != NONE and (
                    (behind[slot] == 0 and anchor[slot] == one) or (behind[slot] == 1 and anchor[slot] == other)
                ):
                    seek(
                        slot,
                        buffer,
                        lower,
                        upper,
                        dead,
                        unborn,
                        by_end,
                        after,
                        by_start,
                        before,
                        gap,
                        anchor,
                        behind,
                    )
            best = first_choice(left, waiting, gap, size)


@kernel
def first_choice(count: int, waiting: Column, gap: Column, size: Column) -> int:
    """The slot with the least gap, of equal ones the larger buffer, of those the first in the instance."""
    best = 0
    for slot in range(1, count):
        if gap[slot] < gap[best]:
            best = slot
        elif gap[slot] == gap[best]:
            mine = size[waiting[slot]]
            its = size[waiting[best]]
            if mine > its or (mine == its and waiting[slot] < waiting[best]):
                best = slot
    return best
