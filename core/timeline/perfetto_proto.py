"""Perfetto's protobuf trace, written with the classes of the `perfetto` package; the only module that imports it."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from ..state import State
from .cost import HOST
from .lanes import Kind, Span, Timeline
from .words import node_facts, process_title, span_facts, span_title, tensor_name

SEQUENCE = 1
"""All packets are one sequence (trusted_packet_sequence_id)."""


def perfetto_proto(timeline: Timeline, state: State) -> bytes:
    """The trace as a file.

    Raises:
        InputError: the package is not installed.
    """
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
    except ImportError:
        raise InputError(
            "a .pftrace needs Perfetto's classes: pip install 'galloscope[perfetto]' (or write .perfetto.json)"
        ) from None
    return _Writer(proto, timeline, state).write()


class _Writer:
    def __init__(self, proto: Any, timeline: Timeline, state: State) -> None:
        self.proto, self.timeline, self.state = proto, timeline, state
        self.trace = proto.Trace()

    def write(self) -> bytes:
        timeline = self.timeline
        self._tracks()
        waited_for: dict[int, list[int]] = {}
        lanes: list[list[int]] = [[] for _ in timeline.lanes]
        for number, span in enumerate(timeline.spans):
            lanes[span.lane].append(number)
            if span.kind is Kind.WAIT:
                waited_for.setdefault(span.cause, []).append(number)
        for numbers in lanes:  # a track is read in the order of its packets
            for number in sorted(numbers, key=lambda n: (timeline.spans[n].start, timeline.spans[n].end)):
                self._span(number, timeline.spans[number], waited_for.get(number, ()))
        data: bytes = self.trace.SerializeToString()
        return data

    def _tracks(self) -> None:
        timeline = self.timeline
        for number, lane in enumerate(timeline.lanes):
            process = len(timeline.names) + 1 if lane.backend == HOST else lane.backend + 1
            if lane.what != "copy":
                track = self._packet().track_descriptor
                track.uuid = _process_uuid(process)
                track.process.pid = process
                track.process.process_name = process_title(timeline, lane.backend)
            track = self._packet().track_descriptor
            track.uuid = _lane_uuid(number)
            track.parent_uuid = _process_uuid(process)
            track.thread.pid = process
            track.thread.tid = number + 1
            track.thread.thread_name = lane.what

    def _packet(self) -> Any:
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet

    def _begin(self, lane: int, at: int, name: str, kind: str, facts: dict[str, Any]) -> Any:
        packet = self._packet()
        packet.timestamp = at
        event = packet.track_event
        event.type = self.proto.TrackEvent.TYPE_SLICE_BEGIN
        event.track_uuid = _lane_uuid(lane)
        event.name = name
        event.categories.append(kind)
        for key, value in facts.items():
            note = event.debug_annotations.add()
            note.name = key
            if isinstance(value, str):
                note.string_value = value
            elif -(2**63) <= value < 2**63:
                note.int_value = value
            else:
                note.string_value = str(value)
        return event

    def _end(self, lane: int, at: int) -> None:
        packet = self._packet()
        packet.timestamp = at
        packet.track_event.type = self.proto.TrackEvent.TYPE_SLICE_END
        packet.track_event.track_uuid = _lane_uuid(lane)

    def _span(self, number: int, span: Span, waited_for: Any) -> None:
        timeline, state = self.timeline, self.state
        facts = {"span": number, **span_facts(timeline, state, span)}
        event = self._begin(span.lane, span.start, span_title(timeline, state, span), span.kind.value, facts)
        event.flow_ids.extend(one + 1 for one in waited_for)
        if span.kind is Kind.WAIT:
            event.terminating_flow_ids.append(number + 1)
        for row in range(span.first, span.first + span.count):
            took = timeline.nodes.ns[row]
            if took:
                at = span.start + timeline.nodes.offset[row]
                name = tensor_name(state, timeline.nodes.tensor[row])
                self._begin(span.lane, at, name, "node", node_facts(timeline, state, row))
                self._end(span.lane, at + took)
        self._end(span.lane, span.end)


def _process_uuid(process: int) -> int:
    return process


def _lane_uuid(lane: int) -> int:
    return (1 << 32) + lane
