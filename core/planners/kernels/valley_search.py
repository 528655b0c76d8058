"""Complete search for a plan under a capacity, over the skyline of `valley_runs`: depth first, with its own stack.

A decision: at one end of a valley, does a buffer rest at exactly its height on the last section? One option per buffer
that ends there and fits between the walls, and one for "none", which closes that section at this height. So every plan
whose buffers all rest on something is reached, each in one order only; such plans suffice, for a buffer that floats can
sink. What a section may still lose is known exactly (its slack): a branch ends as soon as a valley cannot be filled.

Related: the canonical solutions of Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated
Machine Learning", ASPLOS 2023; the skylines of strip packing (Burke, Kendall and Whitwell 2004).
"""

from __future__ import annotations

from ..jit import inner, kernel
from .valley_runs import (
    CLING,
    CLOSE,
    DEPTH,
    FILL,
    FORWARD,
    FROM,
    LAST,
    LEFT,
    MOST,
    MOVES,
    NODES,
    PICK,
    PINNED,
    PLACE,
    PLACED,
    RAISE,
    RIGHT,
    SECTIONS,
    SWAP,
    TO,
    TRAIL,
    WALL,
    Work,
    change,
    could_fill,
    depends,
    failed,
    offset_on,
    take_back,
)

FOUND, IMPOSSIBLE, LIMIT, GAVE_UP = range(4)
"""How a call ended; LIMIT goes on where it stopped, GAVE_UP ran out of stack."""

LOWEST, NARROWEST, SHALLOWEST, FEWEST, BLAMED = range(5)
"""Which valley is decided next: by height, by sections, by depth under its lower wall, by options."""


@kernel
def search(w: Work, nodes: int) -> int:
    """Go on for about so many nodes."""
    nodes += w.now[NODES]
    deepest = len(w.frame) - 2
    longest = len(w.move) - w.now[SECTIONS] - 4
    while w.now[NODES] < nodes:
        if w.now[FORWARD]:
            if w.now[PLACED] == len(w.buffers):
                return FOUND
            l = _next_valley(w)  # noqa: E741
            if l > 0:
                if w.now[DEPTH] >= deepest or w.now[MOVES] >= longest:
                    return GAVE_UP
                left = _options(w, LEFT, l, w.sections[l].right)
                right = _options(w, RIGHT, l, w.sections[l].right)
                at = w.now[DEPTH]
                w.frame[at].side = RIGHT if right < left else LEFT
                w.frame[at].start = l
                w.frame[at].end = w.sections[l].right
                w.frame[at].low = l - 1
                w.frame[at].high = w.sections[l].right + 1
                w.frame[at].height = w.sections[l].height >> 1
                w.frame[at].cursor = 0
                w.frame[at].moves = w.now[MOVES]
                w.now[DEPTH] += 1
            else:
                _learn(w)
        if w.now[DEPTH] == 0:
            return IMPOSSIBLE
        at = w.now[DEPTH] - 1
        take_back(w, w.frame[at].moves)
        w.now[FORWARD] = _next_option(w, at)
        if w.now[FORWARD] == 0:
            w.frame[at].low = min(w.frame[at].low, w.now[FROM])
            w.frame[at].high = max(w.frame[at].high, w.now[TO])
        elif w.now[FORWARD] < 0:
            w.now[FROM] = w.frame[at].low
            w.now[TO] = w.frame[at].high
            w.now[DEPTH] -= 1
            w.now[FORWARD] = 0
            _learn(w)
    return LIMIT


@inner
def _learn(w: Work) -> None:
    """Take off the decisions that have nothing to do with a failure; the first one that has remembers its sections.

    Conflict-directed backjumping (Prosser 1993): what failed depends on a range of sections only, so other options of a
    decision that changed none of them would fail in the same way.
    """
    while w.now[DEPTH] > 0:
        at = w.now[DEPTH] - 1
        base = w.frame[at].moves
        for k in range(base, w.now[MOVES]):
            if w.move[k].start < w.now[TO] and w.move[k].end > w.now[FROM]:
                w.frame[at].low = min(w.frame[at].low, w.now[FROM])
                w.frame[at].high = max(w.frame[at].high, w.now[TO])
                return
        take_back(w, base)
        w.now[DEPTH] -= 1


@inner
def _next_valley(w: Work) -> int:
    """Raise closed valleys, then the first section of the open one to decide; 0 when a section would lose too much."""
    while True:
        best = 0
        least = WALL
        run = w.sections[0].right
        before = WALL
        last = w.now[SECTIONS] + 1
        cling = w.now[CLING]
        while run < last:
            r = w.sections[run].right
            doubled = w.sections[run].height
            if before > doubled and w.sections[r].height > doubled:
                if doubled & 1:
                    best = run
                    break
                key = _key(w, run, r, doubled, min(before, w.sections[r].height))
                if cling and run <= w.now[LAST] and w.now[LAST] < r:
                    key = -1
                if best == 0 or key < least:
                    least = key
                    best = run
            before = doubled
            run = r
        if not w.sections[best].height & 1:
            return best
        if not _raise(w, best):
            return 0


@inner
def _key(w: Work, run: int, r: int, doubled: int, wall: int) -> int:
    pick = w.now[PICK]
    if pick == LOWEST:
        return doubled
    if pick == NARROWEST:
        return r - run
    if pick == SHALLOWEST:
        return wall - doubled
    options = min(_options(w, LEFT, run, r), _options(w, RIGHT, run, r))
    if pick == FEWEST:
        return options
    most = 0
    for s in range(run, r):
        most = max(most, w.sections[s].blame)
    return (options << 30) // (1 + most)


@inner
def _options(w: Work, side: int, run: int, r: int) -> int:
    """How many ways there are at an end of a valley, but for what rules some of them out."""
    options = 0
    if side == LEFT:
        if w.sections[run].slack > 0:
            options = 1
        for k in range(w.sections[run].first, w.sections[run + 1].first):
            u = w.members[k]
            if w.buffers[u].placed == 0 and w.buffers[u].end <= r:
                options += 1
    else:
        if w.sections[r - 1].slack > 0:
            options = 1
        for k in range(w.sections[r - 1].last, w.sections[r].last):
            u = w.members[k]
            if w.buffers[u].placed == 0 and w.buffers[u].start >= run:
                options += 1
    return options


@inner
def _raise(w: Work, run: int) -> bool:
    """A closed valley is empty up to its lower wall: is that within the slack, and is there nothing that fits in?"""
    r = w.sections[run].right
    h = w.sections[run].height >> 1
    wall = min(w.sections[w.sections[run].left].height, w.sections[r].height)
    depends(w, run, r)
    if wall >= WALL:
        return False
    waste = (wall >> 1) - h
    for s in range(run, r):
        if w.sections[s].slack < waste:
            failed(w, s, run, r)
            return False
    for s in range(run, r):
        for k in range(w.sections[s].first, w.sections[s + 1].first):
            u = w.members[k]
            if w.buffers[u].placed == 0 and w.buffers[u].end <= r:
                offset = offset_on(w, u, h)
                if w.buffers[u].fixed < 0 and offset + w.buffers[u].size <= (wall >> 1):
                    return False
    for k in range(w.now[PINNED], len(w.members)):
        u = w.members[k]
        if (
            w.buffers[u].placed == 0
            and w.buffers[u].start < r
            and w.buffers[u].end > run
            and w.buffers[u].fixed < (wall >> 1)
        ):
            return False
    for s in range(run, r):
        w.sections[s].slack -= waste
    before = w.sections[run].left
    change(w, RAISE, run, r, wall, run, r, -1, waste)
    return could_fill(w, before if w.sections[before].height == wall else run)


@inner
def _next_option(w: Work, at: int) -> int:
    """Try the frame's next option; 1 when it may lead on, 0 when it failed, -1 when all have been tried."""
    l = w.frame[at].start  # noqa: E741
    r = w.frame[at].end
    h = w.frame[at].height
    side = w.frame[at].side
    begin = w.sections[l].first if side == LEFT else w.sections[r - 1].last
    count = (w.sections[l + 1].first if side == LEFT else w.sections[r].last) - begin
    fill = w.now[FILL]
    cursor = w.frame[at].cursor
    while cursor < 2 * count:
        first_pass = cursor < count
        k = begin + cursor if first_pass else begin + cursor - count
        u = w.members[k]
        cursor += 1
        if w.buffers[u].placed or w.buffers[u].start < l or w.buffers[u].end > r:
            continue
        offset = offset_on(w, u, h)
        eager = w.buffers[u].hint == offset or (fill and w.buffers[u].start == l and w.buffers[u].end == r)
        if eager != first_pass or not _may_rest(w, u, h, offset):
            continue
        w.frame[at].cursor = cursor
        w.now[NODES] += 1
        return _place(w, u, l, r, offset, offset - h)
    if cursor == 2 * count:
        w.frame[at].cursor = cursor + 1
        return _close(w, side, l, r, h)
    return -1


@inner
def _may_rest(w: Work, u: int, h: int, offset: int) -> bool:
    """Is this the one way to reach its plans, and one that fits?"""
    if offset < 0 or offset > w.buffers[u].latest:
        return False
    if w.buffers[u].twin >= 0 and w.buffers[w.buffers[u].twin].placed == 0:
        return False
    start = w.buffers[u].start
    end = w.buffers[u].end
    for k in range(w.now[PINNED], len(w.members)):
        v = w.members[k]
        meets = v != u and w.buffers[v].placed == 0 and w.buffers[v].start < end and w.buffers[v].end > start
        if meets and w.buffers[v].fixed < offset + w.buffers[u].size:
            return False
    if offset > h:
        for s in range(start, end):
            if w.sections[s].slack < offset - h:
                return False
    if w.buffers[u].fixed >= 0 or h == 0:
        return True
    v = w.sections[start].top
    if (
        w.now[SWAP]
        and v >= 0
        and w.buffers[v].offset + w.buffers[v].size == h
        and w.buffers[v].start == start
        and w.buffers[v].end == end
    ):
        return bool(
            w.buffers[v].rank < w.buffers[u].rank
        )  # one directly on the other, same sections: one order is enough
    for s in range(start, end):
        v = w.sections[s].top
        if v >= 0 and w.buffers[v].offset + w.buffers[v].size == h:
            return True
    return False


@inner
def _place(w: Work, u: int, l: int, r: int, offset: int, waste: int) -> int:  # noqa: E741
    start = w.buffers[u].start
    end = w.buffers[u].end
    w.buffers[u].placed = 1
    w.buffers[u].offset = offset
    w.now[PLACED] += 1
    w.now[MOST] = max(w.now[MOST], w.now[PLACED])
    trail = w.now[TRAIL]
    for s in range(start, end):
        w.trail[trail] = w.sections[s].top
        w.sections[s].top = u
        trail += 1
        w.sections[s].slack -= waste
    w.now[TRAIL] = trail
    before = w.sections[l].left
    new = 2 * (offset + w.buffers[u].size)
    change(w, PLACE, start, end, new, l, r, u, waste)
    run = before if start == l and w.sections[before].height == new else start
    for look in range(3):
        at = run if look == 0 else (l if look == 1 else end)
        if (look == 1 and start == l) or (look == 2 and end == r):
            continue
        if not could_fill(w, at):
            return 0
    return 1


@inner
def _close(w: Work, side: int, l: int, r: int, h: int) -> int:  # noqa: E741
    """Nothing rests at h on the sections from this end of the valley to where its next candidate ends."""
    start = l
    end = r
    if side == LEFT:
        end = l + 1
        while end < r and not _any_inside(w, LEFT, end, l, r):
            end += 1
    else:
        start = r - 1
        while start > l and not _any_inside(w, RIGHT, start - 1, l, r):
            start -= 1
    lowest = min(w.sections[w.sections[l].left].height, w.sections[r].height) >> 1
    if start > l or end < r:  # a neighbour may come to stand there first
        smallest = WALL
        low = l if side == RIGHT else end
        high = start if side == RIGHT else r
        for s in range(low, high):
            for k in range(w.sections[s].first, w.sections[s + 1].first):
                u = w.members[k]
                if w.buffers[u].placed == 0 and w.buffers[u].end <= high and w.buffers[u].size < smallest:
                    smallest = w.buffers[u].size
        lowest = min(lowest, h + smallest)
    for s in range(start, end):
        if w.sections[s].slack < lowest - h:
            failed(w, s, l, r)
            return 0
    w.now[NODES] += 1
    change(w, CLOSE, start, end, 2 * h + 1, l, r, -1, 0)
    return 1


@inner
def _any_inside(w: Work, side: int, s: int, l: int, r: int) -> bool:  # noqa: E741
    """Does a buffer that is to be placed start (or end) with a section and fit into [l, r)?"""
    begin = w.sections[s].first if side == LEFT else w.sections[s].last
    end = w.sections[s + 1].first if side == LEFT else w.sections[s + 1].last
    for k in range(begin, end):
        u = w.members[k]
        if w.buffers[u].placed == 0 and w.buffers[u].start >= l and w.buffers[u].end <= r:
            return True
    return False
