"""The skyline of the search: runs of sections with one height, each change of a run reversible in constant time.

Heights are stored doubled. 2 h is an open run: something may still be put on it at h. 2 h + 1 is a closed one: the
search decided that nothing will ever rest on it at h, so it stays empty up to the lower of its walls.
"""

from __future__ import annotations

from typing import NamedTuple

from ..jit import Column, Records, inner, kernel

WALL = 1 << 62
"""Height of the two ends of time."""


BUFFER = ("start", "end", "size", "align", "fixed", "latest", "hint", "twin", "rank", "placed", "offset")
"""Of each buffer, in units:

start, end: its first section (from 1), the section after its last;  size;  align: its offset is a multiple of this;
fixed: its given offset, -1 for free;  latest: the highest offset that keeps it under the capacity;  hint: an offset to
try first;  twin: a buffer of equal shape that must be placed before it, -1 for none;  rank: its place in the order of
preference;  placed: 1 when it has an offset;  offset.
"""

SECTION = ("height", "right", "left", "slack", "top", "blame", "sums", "first", "last")
"""Of each section 0 to S + 2, the first and the last two being no time:

height: doubled, of the run that starts here;  right: of the run that starts here, the section after its last;  left: of
the run that ends before here, its first;  slack: units that may still stay empty;  top: the buffer on top, -1 for none;
blame: how often it was why a branch ended;  sums: scratch;  first, last: where the buffers that start (end) with it
begin in `members`.
"""


FRAME = ("start", "end", "height", "cursor", "moves", "side", "low", "high")
"""Of each open decision: its valley [start, end) and height;  cursor: options tried;  moves: how many were made before
it;  side: the end of the valley it is about;  low, high: the sections that all its failures so far depend on.
"""

MOVE = ("kind", "start", "end", "l", "r", "old", "merged_left", "merged_right", "buffer", "waste")
"""Of each change: sections [start, end) of the run [l, r) that had the height `old`, the runs it grew together with."""


class Work(NamedTuple):
    """The question and the state of the search.

    Attributes:
        buffers: records of BUFFER.
        sections: records of SECTION.
        members: buffers by first section, by last section, each section's in order of preference; then the fixed ones.
        trail: covered values of `top`.
        frame: open decisions, records of FRAME.
        move: changes that can be taken back, records of MOVE.
        now: by `DEPTH` and the following.
    """

    buffers: Records
    sections: Records
    members: Column
    trail: Column
    frame: Records
    move: Records
    now: Column


DEPTH, MOVES, TRAIL, PLACED, NODES, MOST, LAST, FROM, TO, FORWARD = range(10)
PICK, FILL, SWAP, CLING, SECTIONS, PINNED = range(10, 16)
NOW = 16
LEFT, RIGHT = range(2)
PLACE, CLOSE, RAISE = range(3)


@inner
def change(w: Work, kind: int, start: int, end: int, new: int, l: int, r: int, buffer: int, waste: int) -> None:  # noqa: E741
    """Sections [start, end) of the run [l, r) get the doubled height `new`; equal neighbours become one run."""
    old = w.sections[l].height
    before = w.sections[l].left
    merged_left = before if start == l and w.sections[before].height == new else -1
    merged_right = w.sections[r].right if end == r and w.sections[r].height == new else -1
    at = w.now[MOVES]
    w.now[MOVES] += 1
    w.move[at].kind = kind
    w.move[at].start = start
    w.move[at].end = end
    w.move[at].l = l
    w.move[at].r = r
    w.move[at].old = old
    w.move[at].merged_left = merged_left
    w.move[at].merged_right = merged_right
    w.move[at].buffer = buffer
    w.move[at].waste = waste
    if start > l:
        w.sections[l].right = start
        w.sections[start].left = l
    if end < r:
        w.sections[end].height = old
        w.sections[end].right = r
        w.sections[r].left = end
    run = merged_left if merged_left >= 0 else start
    stop = merged_right if merged_right >= 0 else end
    w.sections[run].height = new
    w.sections[run].right = stop
    w.sections[stop].left = run


@inner
def take_back(w: Work, until: int) -> None:
    """Undo all moves after the first `until`."""
    while w.now[MOVES] > until:
        w.now[MOVES] -= 1
        at = w.now[MOVES]
        start = w.move[at].start
        end = w.move[at].end
        l = w.move[at].l  # noqa: E741
        r = w.move[at].r
        merged_left = w.move[at].merged_left
        merged_right = w.move[at].merged_right
        waste = w.move[at].waste
        if merged_right >= 0:
            w.sections[r].height = w.sections[merged_left if merged_left >= 0 else start].height
            w.sections[r].right = merged_right
            w.sections[merged_right].left = r
        if merged_left >= 0:
            w.sections[merged_left].right = l
            w.sections[l].left = merged_left
        w.sections[l].height = w.move[at].old
        w.sections[l].right = r
        w.sections[r].left = l
        if w.move[at].kind == PLACE:
            w.buffers[w.move[at].buffer].placed = 0
            w.now[PLACED] -= 1
            trail = w.now[TRAIL]
            for s in range(end - 1, start - 1, -1):
                trail -= 1
                w.sections[s].top = w.trail[trail]
            w.now[TRAIL] = trail
        if waste:
            for s in range(start, end):
                w.sections[s].slack += waste


@inner
def failed(w: Work, section: int, l: int, r: int) -> None:  # noqa: E741
    """A branch ends because of a section of the run [l, r)."""
    w.sections[section].blame += 1
    w.now[LAST] = section
    depends(w, l, r)


@inner
def depends(w: Work, l: int, r: int) -> None:  # noqa: E741
    """If what comes next fails, then because of the run [l, r) and its walls."""
    w.now[FROM] = l - 1
    w.now[TO] = r + 1


@inner
def could_fill(w: Work, run: int) -> bool:
    """Can what fits between the walls of a valley reach the lower wall, but for the slack of each section?"""
    doubled = w.sections[run].height
    r = w.sections[run].right
    wall = min(w.sections[w.sections[run].left].height, w.sections[r].height)
    if wall <= doubled or wall >= WALL:
        return True
    need = (wall >> 1) - (doubled >> 1)
    for s in range(run, r + 1):
        w.sections[s].sums = 0
    inside = 0
    for s in range(run, r):
        inside += w.sections[s].sums
        for k in range(w.sections[s].first, w.sections[s + 1].first):
            u = w.members[k]
            if w.buffers[u].placed == 0 and w.buffers[u].end <= r:
                inside += w.buffers[u].size
                w.sections[w.buffers[u].end].sums -= w.buffers[u].size
        if inside + w.sections[s].slack < need:
            failed(w, s, run, r)
            return False
    return True


@inner
def offset_on(w: Work, u: int, h: int) -> int:
    """The lowest offset at or above h that the buffer may have, -1 when its given one lies below."""
    if w.buffers[u].fixed >= 0:
        return w.buffers[u].fixed if w.buffers[u].fixed >= h else -1
    align = w.buffers[u].align
    return h if align == 1 else (h + align - 1) // align * align


@kernel
def clear(w: Work) -> None:
    """Start again: nothing placed, one run."""
    sections = w.now[SECTIONS]
    for s in range(sections + 2):
        w.sections[s].height = WALL
        w.sections[s].top = -1
    w.sections[1].height = 0
    w.sections[0].right = 1
    w.sections[1].left = 0
    w.sections[1].right = sections + 1
    w.sections[sections + 1].left = 1
    w.sections[sections + 1].right = sections + 2
    for u in range(len(w.buffers)):
        w.buffers[u].placed = 0
    for k in range(FORWARD + 1):
        w.now[k] = 0
    w.now[FORWARD] = 1
