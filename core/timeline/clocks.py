"""Clocks for the compute loop: one per device queue, one per copy engine, one for the host.

The events of a run are walked in the order in which the host acts (ggml_backend_sched_compute_splits). A blocking call
holds the host; queued work starts when its device has done what was queued before, and not before it is asked for. A
device has one queue (its stream) and one copy engine. The engine takes a copy in the first gap that it fits into: one
that the host makes now need not wait for one that is queued for later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..compute_events import AsyncTransfer, CopyAsync, EventRecord, EventSync, EventWait, Launch, Sync, Transfer
from ..state import State
from .cost import HOST, Cost, latency, nanoseconds
from .events import Told
from .lanes import Kind, Lane, Nodes, Span, lanes_of


@dataclass(slots=True)
class Engine:
    """When a copy engine is busy: intervals in order, and the span of each."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    spans: list[int] = field(default_factory=list)

    def take(self, earliest: int, length: int, span: int) -> tuple[int, int]:
        """The start in the first gap from `earliest` on, and the span that made it later than that (-1 for none)."""
        at, start, behind = bisect_right(self.ends, earliest), earliest, -1
        while at < len(self.starts) and self.starts[at] < start + length:
            start, behind = self.ends[at], self.spans[at]
            at += 1
        self.starts.insert(at, start)
        self.ends.insert(at, start + length)
        self.spans.insert(at, span)
        return start, behind


@dataclass(slots=True)
class Queue:
    """A device's stream: when what was asked so far is done, and the span that it ends with."""

    end: int = 0
    last: int = -1


class Clocks:
    """Walks the events of one micro-batch after the other."""

    def __init__(self, state: State, cost: Cost, nodes: Nodes, places: Sequence[int]) -> None:
        """All clocks at zero. `places`: by tensor id, the backend whose memory holds it, or HOST."""
        self.state, self.cost, self.nodes, self.places = state, cost, nodes, places
        count = len(state.backends)
        self.is_async = [backend.is_async for backend in state.backends]
        self.lanes: tuple[Lane, ...] = lanes_of(count)
        self.spans: list[Span] = []
        self.queues = [Queue() for _ in range(count)]
        self.engines = [Engine() for _ in range(count)]
        self.events: dict[tuple[int, int], Queue] = {}
        self.now, self.moved_by = 0, -1  # the host, and the span that last moved it
        self.call = latency(cost.call)
        self.row_of = {node: row for row, node in enumerate(state.nodes)}
        self.batch = 0
        self.told = Told(-1, 0, None)
        self.host_lane = len(self.lanes) - 1

    @property
    def total(self) -> int:
        """When the host and every queue are done."""
        return max([self.now, *(queue.end for queue in self.queues)])

    def run(self, told: Sequence[Told]) -> None:
        """One micro-batch."""
        for self.told in told:
            handler = HANDLERS.get(type(self.told.event))
            if handler is not None:
                handler(self, self.told.event)
        self.batch += 1

    def _add(self, lane: int, kind: Kind, start: int, end: int, backend: int, other: int, **more: int) -> int:
        told = self.told
        self.spans.append(Span(lane, kind, start, end, self.batch, told.split, told.tick, backend, other, **more))
        return len(self.spans) - 1

    # the host

    def _host_waits(self, queue: Queue, backend: int) -> None:
        if queue.end > self.now:
            self._add(self.host_lane, Kind.WAIT, self.now, queue.end, backend, backend, cause=queue.last)
            self.now, self.moved_by = queue.end, queue.last

    def _host_held(self, span: int) -> None:
        """By a call that ends with the span."""
        by = self.spans[span]
        self._add(self.host_lane, Kind.HELD, by.start, by.end, by.backend, by.other, cause=span)
        self.now, self.moved_by = by.end, span

    def _sync(self, event: Sync) -> None:
        self._host_waits(self.queues[event.backend], event.backend)

    def _event_sync(self, event: EventSync) -> None:
        recorded = self.events.get((event.backend, event.copy_no))
        if recorded is not None:
            self._host_waits(recorded, event.backend)

    # queues

    def _event_record(self, event: EventRecord) -> None:
        queue = self.queues[event.backend]
        self.events[event.backend, event.copy_no] = Queue(queue.end, queue.last)

    def _event_wait(self, event: EventWait) -> None:
        recorded = self.events.get((event.owner, event.copy_no))
        if recorded is not None and event.owner != event.backend:
            self._queue_waits(event.backend, recorded.end, recorded.last)

    def _queue_waits(self, backend: int, until: int, cause: int) -> None:
        """The queue goes on when a span of elsewhere, or of the copy engine, is done."""
        queue = self.queues[backend]
        start = max(queue.end, self.now)
        if until > start:
            by = self.spans[cause]
            self._add(2 * backend, Kind.WAIT, start, until, by.backend, by.other, cause=cause)
        if until > queue.end:
            queue.end, queue.last = until, cause

    def _launch(self, event: Launch) -> None:
        backend, first, last = event.backend, self.row_of[event.first], self.row_of[event.last]
        nodes, queue = self.nodes, self.queues[event.backend]
        length = nodes.offset[last] + nodes.ns[last] - nodes.offset[first]
        waits = self.is_async[backend]
        if waits:
            self.now += self.call
        start = max(queue.end, self.now)
        cause = queue.last if queue.end >= self.now and queue.last >= 0 else self.moved_by
        nbytes = sum(nodes.nbytes[first : last + 1])
        made = self._add(
            2 * backend, Kind.COMPUTE, start, start + length, backend, backend,
            nbytes=nbytes, first=first, count=last + 1 - first, cause=cause,
        )  # fmt: skip
        queue.end, queue.last = start + length, made
        if not waits:
            self._host_held(made)

    # copies

    def _copy(self, lane_of: int, earliest: int, cause: int, backend: int, other: int, nbytes: int, **more: int) -> int:
        """A span on the copy lane of a backend, as early as its engine is free."""
        link = self.cost.link(backend, other)
        length = latency(link.latency) + nanoseconds(nbytes, link.speed)
        start, behind = self.engines[lane_of].take(earliest, length, len(self.spans))
        return self._add(
            2 * lane_of + 1, Kind.COPY, start, start + length, backend, other,
            nbytes=nbytes, cause=behind if behind >= 0 else cause, **more,
        )  # fmt: skip

    def _transfer(self, event: Transfer) -> None:
        """The host copies and is held, beside the device's queue: CUDA's blocking copies use another stream."""
        place, read = self.places[event.tensor], event.what == "get"
        tensor, source = (-1, event.tensor) if read else (event.tensor, self.told.source)
        if place == HOST:
            link = self.cost.link(HOST, HOST)
            end = self.now + latency(link.latency) + nanoseconds(event.size, link.speed)
            made = self._add(
                self.host_lane, Kind.COPY, self.now, end, HOST, HOST,
                tensor=tensor, source=source, nbytes=event.size, cause=self.moved_by,
            )  # fmt: skip
            self.now, self.moved_by = end, made
            return
        sides = (place, HOST) if read else (HOST, place)
        made = self._copy(place, self.now, self.moved_by, *sides, event.size, tensor=tensor, source=source)
        begun = self.spans[made]
        if begun.start > self.now:
            self._add(self.host_lane, Kind.WAIT, self.now, begun.start, place, place, cause=begun.cause)
        self._host_held(made)

    def _async_transfer(self, event: AsyncTransfer) -> None:
        """A copy in the device's queue."""
        self.now += self.call
        backend, read = event.backend, event.what.startswith("get")
        sides = (backend, HOST) if read else (HOST, backend)
        tensor, source = (-1, event.tensor) if read else (event.tensor, self.told.source)
        self._queued_copy(backend, backend, sides, event.size, tensor, source)

    def _copy_async(self, event: CopyAsync) -> None:
        """In the queue of the source; that of the destination waits for it (ggml_backend_cuda_cpy_tensor_async)."""
        if not event.ok:
            return
        self.now += self.call
        sides = (event.src_backend, event.backend)
        size = self.state.tensors[event.src].nbytes
        self._queued_copy(event.src_backend, event.backend, sides, size, event.tensor, event.src)

    def _queued_copy(self, owner: int, waits: int, sides: tuple[int, int], size: int, tensor: int, source: int) -> None:
        queue = self.queues[owner]
        cause = queue.last if queue.end >= self.now and queue.last >= 0 else self.moved_by
        made = self._copy(owner, max(queue.end, self.now), cause, *sides, size, tensor=tensor, source=source)
        end = self.spans[made].end
        self._queue_waits(owner, end, made)
        if waits != owner:
            self._queue_waits(waits, end, made)


HANDLERS: dict[type, Callable[[Clocks, Any], None]] = {
    Sync: Clocks._sync,
    EventSync: Clocks._event_sync,
    EventWait: Clocks._event_wait,
    EventRecord: Clocks._event_record,
    Transfer: Clocks._transfer,
    AsyncTransfer: Clocks._async_transfer,
    CopyAsync: Clocks._copy_async,
    Launch: Clocks._launch,
}
"""What moves a clock; the other events take no time."""
