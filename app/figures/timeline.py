"""The timeline as plain data: spans and nodes as columns for the canvas, sums and sentences as text."""

from __future__ import annotations

from typing import Any

from ...core.state import State
from ...core.text import bytes_text
from ...core.timeline.answers import parts_text, percent, reason_text, time_text, timeline_answers
from ...core.timeline.cost import HOST, Cost, assumed
from ...core.timeline.lanes import Kind, Timeline
from ...core.timeline.rates import Device, Link
from ...core.timeline.totals import DONE, Totals
from .columns import column
from .palette import CPU_HUE, device_hues

KINDS = (Kind.COMPUTE, Kind.COPY, Kind.WAIT, Kind.HELD)
"""The numbers of the column `kind`; `assets/timeline_data.js` knows the same."""

UNITS = {"matrix": "FLOP/s", "other": "FLOP/s", "memory": "B/s", "launch": "s", "speed": "B/s", "latency": "s"}
TITLES = {
    "matrix": "Matrix products and attention",
    "other": "All other arithmetic",
    "memory": "The device's own memory",
    "launch": "What every node costs beside its work",
    "speed": "Bytes of a copy",
    "latency": "What every copy costs beside its bytes",
}


def timeline_scene(timeline: Timeline, totals: Totals, state: State, cost: Cost, alone: int) -> dict[str, Any]:
    """Everything the view needs. `alone`: nanoseconds of one micro-batch by itself, 0 when nothing is compared."""
    used = [i for i, lane in enumerate(timeline.lanes) if _shown(timeline, i, lane.what)]
    place = {lane: row for row, lane in enumerate(used)}
    return {
        "total": timeline.total,
        "batches": timeline.batches,
        "n_copies": timeline.n_copies,
        "as_if": timeline.as_if,
        "measured": timeline.measured,
        "answers": [one.parts for one in timeline_answers(timeline, totals, alone)],
        "devices": devices(state),
        "lanes": [
            {"device": timeline.lanes[i].backend, "what": timeline.lanes[i].what, "busy": _busy(timeline, totals, i)}
            for i in used
        ],
        "spans": _spans(timeline, place),
        "nodes": _nodes(timeline),
        "path": column(totals.path, "int32"),
        "uses": _uses(timeline, totals),
        "links": _links(timeline, totals),
        "host": [
            {"who": reason_text(timeline, reason), "device": max(reason, HOST), "time": time_text(ns),
             "share": percent(ns, timeline.total)}
            for reason, ns in sorted(totals.host_waits.items(), key=lambda item: -item[1])
        ],
        "cost": None if timeline.measured else cost_data(cost, state, totals),
    }  # fmt: skip


def devices(state: State) -> list[dict[str, str]]:
    """A hue per backend; the host has the CPU's, as it is the CPU that waits."""
    fills = device_hues([backend.type for backend in state.backends])
    named = [(backend.name, hue) for backend, (hue, _) in zip(state.backends, fills, strict=True)]
    return [{"name": name, "light": hue.light, "dark": hue.dark} for name, hue in (*named, ("host", CPU_HUE))]


def _shown(timeline: Timeline, lane: int, what: str) -> bool:
    """A device always has its compute lane when it does anything; other lanes only when there is something on them."""
    if any(span.lane == lane for span in timeline.spans):
        return True
    return what == "compute" and any(span.lane == lane + 1 for span in timeline.spans)


def _busy(timeline: Timeline, totals: Totals, lane: int) -> str:
    """The share of the time in which the lane does something."""
    backend, what = timeline.lanes[lane]
    if backend == HOST:
        own = [span for span in timeline.spans if span.lane == lane]
        waits = sum(span.end - span.start for span in own if span.kind is Kind.WAIT)
        calls = sum(span.end - span.start for span in own if span.kind is not Kind.WAIT)
        return f"{'waits' if waits >= calls else 'in calls'} {percent(max(waits, calls), timeline.total)}"
    use = totals.devices[backend]
    return f"busy {percent(use.compute if what == 'compute' else use.copy, timeline.total)}"


def _spans(timeline: Timeline, place: dict[int, int]) -> dict[str, Any]:
    spans = timeline.spans
    kinds = {kind: number for number, kind in enumerate(KINDS)}
    return {
        "n": len(spans),
        "lane": column((place[span.lane] for span in spans), "int32"),
        "kind": column((kinds[span.kind] for span in spans), "uint8"),
        "start": column((span.start for span in spans), "float64"),
        "end": column((span.end for span in spans), "float64"),
        "batch": column((span.batch for span in spans), "int32"),
        "split": column((span.split for span in spans), "int32"),
        "tick": column((span.tick for span in spans), "int32"),
        "device": column((span.backend for span in spans), "int32"),
        "other": column((span.other for span in spans), "int32"),
        "tensor": column((span.tensor for span in spans), "int32"),
        "source": column((span.source for span in spans), "int32"),
        "bytes": column((span.nbytes for span in spans), "float64"),
        "first": column((span.first for span in spans), "int32"),
        "count": column((span.count for span in spans), "int32"),
        "cause": column((span.cause for span in spans), "int32"),
    }


def _nodes(timeline: Timeline) -> dict[str, Any]:
    nodes = timeline.nodes
    return {
        "n": len(nodes.tensor),
        "tensor": column(nodes.tensor, "int32"),
        "offset": column(nodes.offset, "float64"),
        "ns": column(nodes.ns, "float64"),
        "flops": column((min(flops, 2**1000) for flops in nodes.flops), "float64"),
        "bytes": column(nodes.nbytes, "float64"),
    }


def _uses(timeline: Timeline, totals: Totals) -> list[dict[str, Any]]:
    return [
        {
            "device": number,
            "compute": time_text(use.compute),
            "busy": percent(use.compute, timeline.total),
            "made_of": parts_text(use),
            "parts": _idle_parts(timeline, use.idle),
            "share": use.compute / timeline.total if timeline.total else 0,
        }
        for number, use in enumerate(totals.devices)
    ]


def _idle_parts(timeline: Timeline, idle: dict[int, int]) -> list[dict[str, Any]]:
    """What a device idles for, the most first; having nothing more to do is no waiting, and comes last."""
    return [
        {
            "why": reason,
            "text": reason_text(timeline, reason),
            "share": ns / timeline.total if timeline.total else 0,
            "time": time_text(ns),
        }
        for reason, ns in sorted(idle.items(), key=lambda item: (item[0] == DONE, -item[1]))
    ]


def _links(timeline: Timeline, totals: Totals) -> list[dict[str, Any]]:
    return [
        {
            "from": start,
            "to": end,
            "copies": one.copies,
            "bytes": one.nbytes,
            "time": time_text(one.ns),
            "speed": f"{bytes_text(one.nbytes * 10**9 // one.ns)}/s" if one.ns else "",
        }
        for (start, end), one in totals.links.items()
    ]


def cost_data(cost: Cost, state: State, totals: Totals) -> dict[str, Any]:
    """The numbers that may be changed: every device, and the links that carry something."""
    usual = assumed(state.backends)
    pairs = sorted({(min(pair), max(pair)) for pair in totals.links})
    rows = [
        _numbers(str(i), cost.names[i], cost.stands_for[i], cost.devices[i], usual.devices[i])
        for i in range(len(cost.names))
    ]
    rows += [
        _numbers(_key(pair), cost.link_name(pair), cost.link_for[pair], cost.links[pair], usual.links[pair])
        for pair in pairs
    ]
    call = {"key": "call", "title": "What the host spends on handing over a launch or a copy", "unit": "s",
            "value": cost.call, "usual": usual.call, "label": "call"}  # fmt: skip
    rows.append({"name": "host", "device": -1, "stands_for": "one call of the driver", "numbers": [call]})
    return {"rows": rows, "changed": len(cost.changed)}


def _key(pair: tuple[int, int]) -> str:
    return "-".join("h" if one == HOST else str(one) for one in pair)


def _numbers(key: str, name: str, stands_for: str, now: Device | Link, usual: Device | Link) -> dict[str, Any]:
    fields = now.__struct_fields__
    numbers = [
        {"key": f"{key}.{field}", "label": field, "title": TITLES[field], "unit": UNITS[field],
         "value": getattr(now, field), "usual": getattr(usual, field)}
        for field in fields
    ]  # fmt: skip
    return {
        "name": name,
        "device": int(key) if key.isdecimal() else -2,
        "stands_for": stands_for,
        "numbers": numbers,
    }
