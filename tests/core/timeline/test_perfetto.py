"""Both Perfetto formats, parsed back into lanes and compared with the timeline; none of the writers' code is used."""

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from galloscope.core.errors import InputError
from galloscope.core.execute.result import Execution, NodeRun
from galloscope.core.files.graph_json import read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.core.timeline.cost import assumed, with_device
from galloscope.core.timeline.lanes import Kind, Lane, Span, Timeline
from galloscope.core.timeline.perfetto_json import perfetto_json
from galloscope.core.timeline.perfetto_proto import perfetto_proto
from galloscope.core.timeline.simulate import measured, simulate
from galloscope.tests.core.timeline.checker import timeline_of
from galloscope.tests.core.timeline.machines import chain, cpu_only

SAMPLES = Path(__file__).resolve().parents[3] / "sample_graphs"
NAMES = ["llama_4l-g2full-prefill-fa1-reserve", "qwen3moe-g1ngl1-prefill-fa1-reserve", "gemma3-270m-decode-fa1-reserve"]
Slice = tuple[str, str, int, int, str, dict[str, Any]]  # process, thread, start, end (ns), category, args


def sample(name: str, batches: int = 3) -> tuple[Timeline, State]:
    run = trace(read_graph(SAMPLES / f"{name}.graph.json.gz")).runs[0]
    state = replay(run)
    return simulate(run, state, assumed(state.backends), batches), state


CASES: dict[str, Callable[[], tuple[Timeline, State]]] = {
    "cpu": lambda: timeline_of(cpu_only(), 2),
    "pipeline": lambda: timeline_of(chain(3, parallel=True), 5),
    **{name: partial(sample, name) for name in NAMES},
}


def from_json(data: bytes) -> tuple[list[Slice], list[tuple[str, int, str, str, int]]]:
    """Slices, and arrow ends as (phase, id, process, thread, ns)."""
    events = json.loads(data)["traceEvents"]
    named = {
        (e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]
    }
    process = {pid: name for (what, pid, _), name in named.items() if what == "process_name"}
    thread = {(pid, tid): name for (what, pid, tid), name in named.items() if what == "thread_name"}
    slices, arrows = [], []
    for event in events:
        if event["ph"] == "M":
            continue
        where = process[event["pid"]], thread[event["pid"], event["tid"]]
        start = round(event["ts"] * 1000)
        if event["ph"] == "X":
            slices.append((*where, start, start + round(event["dur"] * 1000), event["cat"], event["args"]))
        else:
            arrows.append((event["ph"], event["id"], *where, start))
    return slices, arrows


def from_proto(data: bytes) -> tuple[list[Slice], dict[int, list[int]], dict[int, list[int]]]:
    """Slices by matching begins and ends on each track; which span begins and ends each flow."""
    proto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    parsed = proto.Trace()
    parsed.ParseFromString(data)
    process: dict[int, str] = {}
    track: dict[int, tuple[str, str]] = {}
    open_: dict[int, list[Any]] = defaultdict(list)
    last: dict[int, int] = defaultdict(int)
    slices: list[Slice] = []
    begins: dict[int, list[int]] = defaultdict(list)
    ends: dict[int, list[int]] = defaultdict(list)
    for packet in parsed.packet:
        if packet.HasField("track_descriptor"):
            told = packet.track_descriptor
            if told.HasField("process"):
                process[told.uuid] = told.process.process_name
            else:
                track[told.uuid] = process[told.parent_uuid], told.thread.thread_name
            continue
        event = packet.track_event
        assert packet.timestamp >= last[event.track_uuid], "a track goes forward"
        last[event.track_uuid] = packet.timestamp
        if event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
            open_[event.track_uuid].append((packet.timestamp, event))
            continue
        start, begun = open_[event.track_uuid].pop()
        notes = {n.name: n.string_value if n.HasField("string_value") else n.int_value for n in begun.debug_annotations}
        slices.append((*track[event.track_uuid], start, packet.timestamp, begun.categories[0], notes))
        for flow in begun.flow_ids:
            begins[flow].append(notes["span"])
        for flow in begun.terminating_flow_ids:
            ends[flow].append(notes["span"])
    assert not any(open_.values())
    return slices, begins, ends


def process_of(timeline: Timeline, lane: Lane) -> str:
    return timeline.name(lane.backend) + (" (measured in numpy)" if timeline.measured else " (simulated)")


def spans_of(slices: list[Slice], timeline: Timeline) -> list[Span]:
    lane_of = {(process_of(timeline, lane), lane.what): i for i, lane in enumerate(timeline.lanes)}
    found = {}
    for process, thread, start, end, category, args in slices:
        if category == "node":
            continue
        assert category == args["kind"]
        found[args["span"]] = Span(
            lane_of[process, thread], Kind(args["kind"]), start, end, args["batch"], args["split"], args["tick"],
            args["backend"], args["far"], args["tensor_id"], args["source_id"], args["bytes"], args["first_row"],
            args["rows"], args["cause"],
        )  # fmt: skip
    return [found[number] for number in range(len(found))]


def nodes_of(slices: list[Slice]) -> list[tuple[int, int, int, int, int]]:
    return sorted(
        (start, end, args["tensor_id"], args["flops"], args["bytes"])
        for *_, start, end, category, args in slices
        if category == "node"
    )


def node_times(timeline: Timeline) -> list[tuple[int, int, int, int, int]]:
    nodes = timeline.nodes
    return sorted(
        (span.start + nodes.offset[row], span.start + nodes.offset[row] + nodes.ns[row], nodes.tensor[row],
         nodes.flops[row], nodes.nbytes[row])
        for span in timeline.spans
        for row in range(span.first, span.first + span.count)
        if nodes.ns[row]
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_json_gives_the_lanes_back(name: str) -> None:
    timeline, state = CASES[name]()
    slices, arrows = from_json(perfetto_json(timeline, state, assumed(state.backends)))
    assert spans_of(slices, timeline) == timeline.spans
    assert nodes_of(slices) == node_times(timeline)
    waits = [i for i, span in enumerate(timeline.spans) if span.kind is Kind.WAIT]
    assert sorted(number for phase, number, *_ in arrows if phase == "s") == waits
    for phase, number, process, thread, at in arrows:
        span = timeline.spans[number if phase == "f" else timeline.spans[number].cause]
        lane = timeline.lanes[span.lane]
        assert (process, thread) == (process_of(timeline, lane), lane.what)
        assert span.start <= at < max(span.end, span.start + 1)


@pytest.mark.parametrize("name", CASES)
def test_protobuf_gives_the_lanes_back(name: str) -> None:
    timeline, state = CASES[name]()
    slices, begins, ends = from_proto(perfetto_proto(timeline, state))
    assert spans_of(slices, timeline) == timeline.spans
    assert nodes_of(slices) == node_times(timeline)
    waits = {i: span.cause for i, span in enumerate(timeline.spans) if span.kind is Kind.WAIT}
    assert sorted((ends[flow][0], begins[flow][0]) for flow in ends) == sorted(waits.items())


def test_names_of_strangers_stay_text() -> None:
    hostile = '"}],"x":[{<script>é'
    document = chain(2, parallel=True)
    for tensor in document["tensors"]:
        tensor["name"] += hostile
        tensor["src"] = [name + hostile for name in tensor.get("src", [])]
    document["outputs"] = [name + hostile for name in document["outputs"]]
    timeline, state = timeline_of(document)
    slices, _ = from_json(perfetto_json(timeline, state, assumed(state.backends)))
    assert spans_of(slices, timeline) == timeline.spans
    assert any(hostile in str(args.get("tensor")) for *_, args in slices)
    assert spans_of(from_proto(perfetto_proto(timeline, state))[0], timeline) == timeline.spans


def test_a_trace_says_whether_it_was_measured() -> None:
    timeline, state = timeline_of(cpu_only())
    slow = with_device(assumed(state.backends), 0, {"matrix": 12345.0}, "here")
    about = json.loads(perfetto_json(timeline, state, slow))["otherData"]
    assert (about["simulated"], about["assumed_rates"]["devices"]["CPU"]["matrix"]) == (True, 12345.0)
    real = measured(Execution(state, [NodeRun(state.nodes[0], 0, 0, 0.5, 0.25)], [], 1.0))
    data = perfetto_json(real, state, slow)
    assert "assumed_rates" not in json.loads(data)["otherData"]
    slices, _ = from_json(data)
    assert slices[0][0] == "CPU (measured in numpy)"
    assert spans_of(slices, real) == real.spans


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    timeline, state = timeline_of(cpu_only())
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace", None)
    with pytest.raises(InputError, match=r"pip install 'galloscope\[perfetto\]'"):
        perfetto_proto(timeline, state)


@pytest.mark.skipif(
    not shutil.which("trace_processor_shell"), reason="Perfetto's trace processor is not on this machine"
)
def test_the_trace_processor_reads_it(tmp_path: Path) -> None:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    timeline, state = timeline_of(chain(2, parallel=True), 4)
    path = tmp_path / "x.pftrace"
    path.write_bytes(perfetto_proto(timeline, state))
    config = TraceProcessorConfig(bin_path=shutil.which("trace_processor_shell"))
    with TraceProcessor(trace=str(path), config=config) as processor:
        rows = list(processor.query("select ts, dur from slice where category != 'node' order by ts, dur"))
    assert [(row.ts, row.ts + row.dur) for row in rows] == sorted((s.start, s.end) for s in timeline.spans)
