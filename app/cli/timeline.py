"""When would each device compute, copy and wait? Simulated: device clocks with assumed rates, nothing is run.

Prints the answer, then devices, links, the slowest nodes and the longest spans. `report -o trace.perfetto.json` writes
the whole of it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import msgspec

from ...core.replay import replay
from ...core.state import State
from ...core.text import bytes_text
from ...core.timeline.answers import idle_text, percent, reason_text, time_text, timeline_answers
from ...core.timeline.cost import Cost, cost_numbers, write_cost
from ...core.timeline.lanes import Bound, Kind, Timeline
from ...core.timeline.simulate import simulate
from ...core.timeline.totals import Totals, totals_of
from ...core.timeline.words import lane_title, span_title, tensor_name
from .inputs import add_file, load_all, pick_run
from .table import table
from .timeline_options import add_timeline_options, batches_of, timeline_with

MOST_ROWS = 12
MOST_NODES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope timeline`."""
    add_file(parser)
    add_timeline_options(parser)
    parser.add_argument("--json", action="store_true", help="all spans and sums as one JSON object on a line")
    parser.add_argument("--print-cost", action="store_true", help="only the assumed numbers, as a file for --cost")


def run(args: argparse.Namespace) -> int:
    """Print the timeline, of a GGUF one for each graph that --mode asks for."""
    batches_of(args)
    for number, one in enumerate(load_all(args.file, args)):
        found = pick_run(one.session, args.run)
        state = replay(found)
        timeline, cost = timeline_with(args, found, state)
        if args.print_cost:
            sys.stdout.buffer.write(write_cost(cost))
            return 0
        totals = totals_of(timeline)
        if args.json:
            numbers = timeline_json(timeline, totals, cost)
            line = {"mode": one.mode, **numbers} if one.mode else numbers
            sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
            continue
        if one.mode:
            print(("\n" if number else "") + one.mode + "\n")
        alone = simulate(found, state, cost).total if timeline.batches > 1 else 0
        _print(timeline, totals, state, cost, alone)
    return 0


def _print(timeline: Timeline, totals: Totals, state: State, cost: Cost, alone: int) -> None:
    for sentence in timeline_answers(timeline, totals, alone):
        print(sentence.text)
    print(about(timeline, cost))
    print("\n" + _devices(timeline, totals))
    print("\n" + _parts(timeline, totals))
    if totals.links:
        print("\n" + _links(timeline, totals))
    print("\n" + _waits(timeline, totals))
    print("\n" + _slowest(timeline, state))
    print("\n" + _ops(timeline, state))
    print("\n" + _longest(timeline, state))


def about(timeline: Timeline, cost: Cost) -> str:
    """What these times are, in one line."""
    rates = f"assumed rates, {len(cost.changed)} of them changed" if cost.changed else "assumed rates"
    as_if = "; this graph was only reserved: as if it were computed" if timeline.as_if else ""
    copies = f"; {timeline.n_copies} pipeline copies" if timeline.n_copies > 1 else ""
    return f"Simulated: device clocks with {rates}{copies}{as_if}."


def _devices(timeline: Timeline, totals: Totals) -> str:
    rows = [
        (
            name,
            time_text(use.compute),
            percent(use.compute, timeline.total),
            time_text(use.copy),
            idle_text(timeline, use.idle),
        )
        for name, use in zip(timeline.names, totals.devices, strict=True)
    ]
    return table(("device", "computes", "busy", "copies", "idle"), rows, right=(1, 2, 3))


def _parts(timeline: Timeline, totals: Totals) -> str:
    """What the computing of each device is."""
    rows = [
        (name, *(percent(use.parts[bound], use.compute) for bound in Bound))
        for name, use in zip(timeline.names, totals.devices, strict=True)
        if use.compute
    ]
    return table(("computing of", *(bound.value for bound in Bound)), rows, right=(1, 2, 3))


def _slowest(timeline: Timeline, state: State) -> str:
    """The nodes that take most, of one micro-batch."""
    nodes = timeline.nodes
    rows = []
    for row in sorted(range(len(nodes.ns)), key=lambda row: -nodes.ns[row])[:MOST_NODES]:
        parts, tensor = nodes.parts(row), nodes.tensor[row]
        op, device = state.tensors[tensor].op.value, timeline.name(nodes.backend[row])
        bound = max(parts, key=lambda one: parts[one]).value
        rows.append((tensor_name(state, tensor), op, device, time_text(nodes.ns[row]), bound))
    return table(("slowest nodes", "op", "device", "time", "bound by"), rows, right=(3,))


def _ops(timeline: Timeline, state: State) -> str:
    """The ops that take most, of one micro-batch on all devices."""
    nodes, took, number = timeline.nodes, Counter[str](), Counter[str]()
    for tensor, ns in zip(nodes.tensor, nodes.ns, strict=True):
        if ns:
            op = state.tensors[tensor].op.value
            took[op] += ns
            number[op] += 1
    rows = [
        (op, f"{number[op]:,}", time_text(ns), percent(ns, took.total())) for op, ns in took.most_common(MOST_NODES)
    ]
    more = len(took) - len(rows)
    text = table(("op", "nodes", "time", "of all computing"), rows, right=(1, 2, 3))
    return text + (f"\n  and {more} more" if more > 0 else "")


def _links(timeline: Timeline, totals: Totals) -> str:
    rows = [
        (
            f"{timeline.name(start)} to {timeline.name(end)}",
            str(one.copies),
            bytes_text(one.nbytes),
            time_text(one.ns),
            f"{bytes_text(one.nbytes * 10**9 // one.ns)}/s" if one.ns else "-",
        )
        for (start, end), one in totals.links.items()
    ]
    return table(("link", "copies", "bytes", "time", "speed"), rows, right=(1, 2, 3, 4))


def _waits(timeline: Timeline, totals: Totals) -> str:
    rows = [
        (reason_text(timeline, reason), time_text(ns), percent(ns, timeline.total))
        for reason, ns in sorted(totals.host_waits.items(), key=lambda item: -item[1])
    ]
    if not rows:
        return "the host never waits"
    return table(("the host waits for", "time", "of all"), rows, right=(1, 2))


def _longest(timeline: Timeline, state: State) -> str:
    told = [i for i, span in enumerate(timeline.spans) if span.kind is not Kind.HELD]  # those end with another span
    order = sorted(told, key=lambda i: (timeline.spans[i].start - timeline.spans[i].end, i))
    rows = []
    for number in order[:MOST_ROWS]:
        span = timeline.spans[number]
        tick = str(span.tick) if span.tick >= 0 else "-"
        title = span_title(timeline, state, span)
        nbytes = bytes_text(span.nbytes) if span.kind in (Kind.COMPUTE, Kind.COPY) else "-"
        lane = lane_title(timeline, timeline.lanes[span.lane])
        rows.append(
            (time_text(span.end - span.start), time_text(span.start), lane, str(span.batch), title, nbytes, tick)
        )
    more = len(told) - len(rows)
    head = ("longest", "from", "lane", "batch", "what", "bytes", "tick")
    text = table(head, rows, right=(0, 1, 3, 5, 6))
    return text + (f"\n  and {more:,} shorter ones; --json lists all" if more > 0 else "")


def timeline_json(timeline: Timeline, totals: Totals, cost: Cost) -> dict[str, Any]:
    """Every span and sum; times in nanoseconds, `host` for the host, rates per second and latencies in seconds."""
    return {
        "simulated": True,
        "as_if": timeline.as_if,
        "batches": timeline.batches,
        "n_copies": timeline.n_copies,
        "total_ns": timeline.total,
        "lanes": [lane_title(timeline, lane) for lane in timeline.lanes],
        "spans": [
            {
                **msgspec.structs.asdict(span),
                "kind": span.kind.value,
                "backend": timeline.name(span.backend),
                "other": timeline.name(span.other),
            }
            for span in timeline.spans
        ],
        "nodes": {
            "tensor": timeline.nodes.tensor,
            "offset_ns": timeline.nodes.offset,
            "ns": timeline.nodes.ns,
            "flops": timeline.nodes.flops,
            "bytes": timeline.nodes.nbytes,
        },
        "devices": [
            {
                "name": name,
                "compute_ns": use.compute,
                "compute_parts_ns": {bound.value: ns for bound, ns in use.parts.items()},
                "copy_ns": use.copy,
                "idle_ns": {reason_text(timeline, reason): ns for reason, ns in use.idle.items()},
            }
            for name, use in zip(timeline.names, totals.devices, strict=True)
        ],
        "links": [
            {
                "from": timeline.name(start),
                "to": timeline.name(end),
                "copies": one.copies,
                "bytes": one.nbytes,
                "ns": one.ns,
            }
            for (start, end), one in totals.links.items()
        ],
        "host_waits_ns": {reason_text(timeline, reason): ns for reason, ns in totals.host_waits.items()},
        "path": totals.path,
        "cost": {**cost_numbers(cost), "changed": sorted([place, key] for place, key in cost.changed)},
    }
