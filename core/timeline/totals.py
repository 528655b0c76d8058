"""What a timeline adds up to: how busy a device is, whom it waits for, what crosses each link, what bounds the end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from .cost import HOST
from .lanes import Bound, Kind, Span, Timeline

COPYING = -2
"""Idle because bytes move for it."""
DONE = -3
"""Idle because nothing is left to do."""


@dataclass(slots=True)
class Use:
    """One device, in nanoseconds.

    Attributes:
        compute: it computes.
        copy: its copy engine is busy.
        idle: it does not compute, by what for: a backend id (that one computes), HOST (the host is busy with something
            else, or hands it its work), COPYING or DONE. With `compute` they add up to the total.
        parts: `compute` by what it is; empty in measured lanes.
    """

    compute: int = 0
    copy: int = 0
    idle: dict[int, int] = field(default_factory=dict)
    parts: dict[Bound, int] = field(default_factory=dict)


@dataclass(slots=True)
class Traffic:
    """One link, or one direction of it."""

    copies: int = 0
    nbytes: int = 0
    ns: int = 0


@dataclass(slots=True)
class Totals:
    """Sums over a timeline.

    Attributes:
        devices: by backend id.
        host_waits: nanoseconds that the host waits or is held, by backend (COPYING for copies).
        links: by (from, to), HOST for the host's memory.
        path: the chain of spans that ends last, first to last: each one begins when the one before it is done.
        path_ns: nanoseconds on that chain by (backend, kind).
    """

    devices: list[Use]
    host_waits: dict[int, int]
    links: dict[tuple[int, int], Traffic]
    path: list[int]
    path_ns: dict[tuple[int, Kind], int]


def totals_of(timeline: Timeline) -> Totals:
    """Add up; linear in the spans."""
    lanes: list[list[Span]] = [[] for _ in timeline.lanes]
    for span in timeline.spans:
        lanes[span.lane].append(span)
    for lane in lanes:
        lane.sort(key=lambda span: (span.start, span.end))
    host = lanes[-1]
    path = _path(timeline)
    path_ns: dict[tuple[int, Kind], int] = {}
    for number in path:
        span = timeline.spans[number]
        key = (timeline.lanes[span.lane].backend, span.kind)
        path_ns[key] = path_ns.get(key, 0) + span.end - span.start
    uses = [_use(timeline, b, lanes[2 * b], lanes[2 * b + 1], host) for b in range(len(timeline.names))]
    sums = _running_sums(timeline)
    for b, use in enumerate(uses):
        use.parts = _parts(sums, lanes[2 * b])
    waits: dict[int, int] = {}
    for span in host:
        if span.kind is not Kind.COPY:
            _add(waits, _reason(timeline, span, HOST), span.end - span.start)
    return Totals(
        uses,
        waits,
        _links(timeline),
        path,
        path_ns,
    )


def _running_sums(timeline: Timeline) -> dict[Bound, list[int]]:
    """By what it is, the time of all rows before each one: every batch runs the same rows."""
    if timeline.measured:
        return {}
    parts = [timeline.nodes.parts(row) for row in range(len(timeline.nodes.ns))]
    return {bound: list(accumulate((one.get(bound, 0) for one in parts), initial=0)) for bound in Bound}


def _parts(sums: dict[Bound, list[int]], compute: Sequence[Span]) -> dict[Bound, int]:
    rows = [(span.first, span.first + span.count) for span in compute if span.kind is Kind.COMPUTE]
    return {bound: sum(before[end] - before[start] for start, end in rows) for bound, before in sums.items()}


def _add(sums: dict[int, int], key: int, ns: int) -> None:
    if ns:
        sums[key] = sums.get(key, 0) + ns


def _reason(timeline: Timeline, span: Span, me: int) -> int:
    """What a wait, or a call that holds, is for; seen from a device (or the host) that idles meanwhile."""
    cause = timeline.spans[span.cause]
    if cause.kind is Kind.COPY:
        return COPYING
    return cause.backend if cause.backend != me else HOST


def _use(timeline: Timeline, me: int, compute: list[Span], copy: list[Span], host: list[Span]) -> Use:
    use = Use(copy=sum(span.end - span.start for span in copy))
    ends = [span.end for span in host]
    at = 0
    for span in compute:
        _idle(timeline, me, use.idle, at, span.start, host, ends)
        if span.kind is Kind.COMPUTE:
            works = span.end - span.start
            if timeline.measured:  # between its kernels weights were filled and values looked at
                works = sum(timeline.nodes.ns[span.first : span.first + span.count])
                _add(use.idle, HOST, span.end - span.start - works)
            use.compute += works
        else:
            _wait(timeline, me, use.idle, span)
        at = max(at, span.end)
    if not any(span.kind is Kind.COMPUTE for span in compute):
        use.idle = {DONE: timeline.total} if timeline.total else {}
    else:
        _add(use.idle, DONE, timeline.total - at)
    return use


def _wait(timeline: Timeline, me: int, idle: dict[int, int], span: Span) -> None:
    """A queue that waits for a copy waits first for the device that makes what is copied."""
    cause = timeline.spans[span.cause]
    if cause.kind is not Kind.COPY:
        _add(idle, cause.backend, span.end - span.start)
        return
    begins = min(max(cause.start, span.start), span.end)
    maker = timeline.lanes[cause.lane].backend
    _add(idle, maker if maker != me else COPYING, begins - span.start)
    _add(idle, COPYING, span.end - begins)


def _idle(
    timeline: Timeline, me: int, idle: dict[int, int], start: int, end: int, host: list[Span], ends: list[int]
) -> None:
    """A gap: nothing was asked of the device, so what counts is what the host did meanwhile."""
    if end <= start:
        return
    rest = end - start
    for number in range(bisect_left(ends, start + 1), len(host)):
        span = host[number]
        if span.start >= end:
            break
        part = min(span.end, end) - max(span.start, start)
        if part > 0:
            why = COPYING if span.kind is Kind.COPY else _reason(timeline, span, me)
            _add(idle, why, part)
            rest -= part
    _add(idle, HOST, rest)


def _links(timeline: Timeline) -> dict[tuple[int, int], Traffic]:
    found: dict[tuple[int, int], Traffic] = {}
    for span in timeline.spans:
        if span.kind is Kind.COPY:
            traffic = found.setdefault((span.backend, span.other), Traffic())
            traffic.copies += 1
            traffic.nbytes += span.nbytes
            traffic.ns += span.end - span.start
    return dict(sorted(found.items()))


def _path(timeline: Timeline) -> list[int]:
    """Back from the span that ends last, each time to the one whose end let it begin."""
    working = [i for i, span in enumerate(timeline.spans) if span.kind in (Kind.COMPUTE, Kind.COPY)]
    if not working:
        return []
    at = max(working, key=lambda i: (timeline.spans[i].end, i))
    path = []
    while at >= 0:
        path.append(at)
        at = timeline.spans[at].cause
    path.reverse()
    return path
