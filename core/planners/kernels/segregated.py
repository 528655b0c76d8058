"""Two-level segregated fit (TLSF): free blocks in lists by size class, found through bit maps in constant time.

The first level is the power of two, the second splits each into SPLITS equal parts; sizes below SPLITS have a list
each. Blocks are rows of shared columns, linked to their neighbours by address and, while free, within their list.
"""

from __future__ import annotations

from ..jit import Column, kernel

SPLITS = 32
LISTS = 64 * SPLITS
NONE = -1
ROWS = 0
"""Where `state` counts rows ever used."""
SPARE = 1
"""Where `state` heads the rows given back."""
FIRST_LEVEL = 2
"""Where `state` keeps which first levels have free blocks, one bit each; a word per level with its lists follows."""
STATE = FIRST_LEVEL + 65


@kernel
def class_of(size: int) -> int:
    """The list of a free block of this many bytes: it holds blocks of its class, the least of them first in size."""
    if size < SPLITS:
        return size
    level = 0
    rest = size
    while rest >= 2 * SPLITS:
        rest >>= 1
        level += 1
    return (level + 1) * SPLITS + rest - SPLITS


@kernel
def rounded(size: int) -> int:
    """The least size of a class that is no less: any block of that class and above suffices."""
    step = 1
    while size >= 2 * SPLITS * step:
        step *= 2
    return (size + step - 1) // step * step


@kernel
def lowest_bit(bits: int, begin: int) -> int:
    """The first bit set at or above `begin`, NONE when there is none."""
    rest = bits >> begin
    if rest == 0:
        return NONE
    at = begin
    while rest & 255 == 0:
        rest >>= 8
        at += 8
    while rest & 1 == 0:
        rest >>= 1
        at += 1
    return at


@kernel
def enlist(
    block: int, size: Column, free: Column, ahead: Column, behind: Column, head: Column, tail: Column, state: Column
) -> None:
    """Put a free block at the end of its list."""
    number = class_of(size[block])
    free[block] = 1
    ahead[block] = tail[number]
    behind[block] = NONE
    if tail[number] == NONE:
        head[number] = block
        level = number // SPLITS
        state[FIRST_LEVEL] |= 1 << level
        state[FIRST_LEVEL + 1 + level] |= 1 << (number % SPLITS)
    else:
        behind[tail[number]] = block
    tail[number] = block


@kernel
def delist(
    block: int, size: Column, free: Column, ahead: Column, behind: Column, head: Column, tail: Column, state: Column
) -> None:
    """Take a block out of its list."""
    number = class_of(size[block])
    free[block] = 0
    if ahead[block] == NONE:
        head[number] = behind[block]
    else:
        behind[ahead[block]] = behind[block]
    if behind[block] == NONE:
        tail[number] = ahead[block]
    else:
        ahead[behind[block]] = ahead[block]
    if head[number] == NONE:
        level = number // SPLITS
        state[FIRST_LEVEL + 1 + level] ^= 1 << (number % SPLITS)
        if state[FIRST_LEVEL + 1 + level] == 0:
            state[FIRST_LEVEL] ^= 1 << level


@kernel
def find(size: int, head: Column, state: Column) -> int:
    """The oldest free block of the lowest class whose blocks all suffice, NONE when there is none."""
    number = class_of(rounded(size))
    level = number // SPLITS
    split = lowest_bit(state[FIRST_LEVEL + 1 + level], number % SPLITS)
    if split == NONE:
        level = lowest_bit(state[FIRST_LEVEL], level + 1)
        if level == NONE:
            return NONE
        split = lowest_bit(state[FIRST_LEVEL + 1 + level], 0)
    return int(head[level * SPLITS + split])


@kernel
def split_block(
    block: int, bytes_: int, start: Column, size: Column, below: Column, above: Column, state: Column
) -> int:
    """Cut a block that is in no list after `bytes_`; the row of what is left, in no list either."""
    rest = state[SPARE]
    if rest == NONE:
        rest = state[ROWS]
        state[ROWS] += 1
    else:
        state[SPARE] = below[rest]
    start[rest] = start[block] + bytes_
    size[rest] = size[block] - bytes_
    size[block] = bytes_
    below[rest] = block
    above[rest] = above[block]
    if above[block] != NONE:
        below[above[block]] = rest
    above[block] = rest
    return int(rest)


@kernel
def join(block: int, size: Column, below: Column, above: Column, state: Column) -> None:
    """Make a block one with the one above it, both in no list."""
    gone = above[block]
    size[block] += size[gone]
    above[block] = above[gone]
    if above[gone] != NONE:
        below[above[gone]] = block
    below[gone] = state[SPARE]
    state[SPARE] = gone


@kernel
def plan_segregated(
    events: Column,
    size: Column,
    alignment: Column,
    arena: int,
    start: Column,
    length: Column,
    below: Column,
    above: Column,
    free: Column,
    ahead: Column,
    behind: Column,
    head: Column,
    tail: Column,
    state: Column,
    block_of: Column,
    offsets: Column,
) -> None:
    """Open and close buffers in order.

    Args:
        events: index of a buffer to open, or -1 - index of one to close.
        size: bytes to take.
        alignment: of the buffer, beyond that of all blocks.
        arena: bytes there are: more than all sizes with their alignments, rounded up, or nothing may be found.
        start: of a block: its address; room for two rows per buffer and one.
        length: of a block: its bytes.
        below: of a block: its neighbour by address, or the next row given back.
        above: of a block: its neighbour by address.
        free: of a block: 1 while it is in a list.
        ahead: of a free block: the one before it in its list.
        behind: of a free block: the one after it in its list.
        head: of a list: its first block; NONE at first.
        tail: of a list: its last block; NONE at first.
        state: zeros but NONE at SPARE.
        block_of: by buffer: its block.
        offsets: written.
    """
    start[0] = 0
    length[0] = arena
    below[0] = NONE
    above[0] = NONE
    state[ROWS] = 1
    enlist(0, length, free, ahead, behind, head, tail, state)
    for event in range(len(events)):
        buffer = events[event]
        if buffer >= 0:
            block = find(size[buffer] + alignment[buffer] - 1, head, state)
            delist(block, length, free, ahead, behind, head, tail, state)
            skipped = start[block] % alignment[buffer]
            if skipped > 0:
                rest = split_block(block, alignment[buffer] - skipped, start, length, below, above, state)
                enlist(block, length, free, ahead, behind, head, tail, state)
                block = rest
            if length[block] > size[buffer]:
                rest = split_block(block, size[buffer], start, length, below, above, state)
                enlist(rest, length, free, ahead, behind, head, tail, state)
            block_of[buffer] = block
            offsets[buffer] = start[block]
        else:
            block = block_of[-1 - buffer]
            if above[block] != NONE and free[above[block]] == 1:
                delist(above[block], length, free, ahead, behind, head, tail, state)
                join(block, length, below, above, state)
            if below[block] != NONE and free[below[block]] == 1:
                block = below[block]
                delist(block, length, free, ahead, behind, head, tail, state)
                join(block, length, below, above, state)
            enlist(block, length, free, ahead, behind, head, tail, state)
