"""What a span is called, and what is told about it: the same words in every picture and file."""

from __future__ import annotations

from typing import Any

from ..state import State
from .cost import HOST
from .lanes import Kind, Lane, Span, Timeline


def lane_title(timeline: Timeline, lane: Lane) -> str:
    """A device and what it does there; the host alone."""
    return "host" if lane.backend == HOST else f"{timeline.name(lane.backend)} {lane.what}"


def process_title(timeline: Timeline, backend: int) -> str:
    """A device (or the host) in a trace, which travels without what was printed beside it."""
    return f"{timeline.name(backend)} ({'measured in numpy' if timeline.measured else 'simulated'})"


def tensor_name(state: State, tensor: int) -> str:
    """As the page shows it."""
    return state.tensors[tensor].label or state.names[tensor]


def span_title(timeline: Timeline, state: State, span: Span) -> str:
    """What happens, in a few words."""
    if span.kind is Kind.COMPUTE:
        return f"split {span.split}"
    if span.kind is Kind.COPY:
        shown = span.source if span.source >= 0 else span.tensor
        return f"copy {tensor_name(state, shown)}" if shown >= 0 else "copy"
    cause = timeline.spans[span.cause]
    doing = (
        f"{timeline.name(cause.backend)}, split {cause.split}"
        if cause.kind is Kind.COMPUTE
        else f"a copy {timeline.name(cause.backend)} to {timeline.name(cause.other)}"
    )
    return f"{'wait for' if span.kind is Kind.WAIT else 'held by'} {doing}"


def span_facts(timeline: Timeline, state: State, span: Span) -> dict[str, Any]:
    """Names and numbers beside the times; a reader gets the span back from them."""
    facts: dict[str, Any] = {
        "kind": span.kind.value,
        "batch": span.batch,
        "split": span.split,
        "tick": span.tick,
        "device": timeline.name(span.backend),
        "other": timeline.name(span.other),
        "backend": span.backend,
        "far": span.other,
        "bytes": span.nbytes,
        "cause": span.cause,
        "tensor_id": span.tensor,
        "source_id": span.source,
        "first_row": span.first,
        "rows": span.count,
    }
    if span.tensor >= 0:
        facts["tensor"] = tensor_name(state, span.tensor)
    if span.source >= 0:
        facts["source"] = tensor_name(state, span.source)
    if span.count:
        tensors = timeline.nodes.tensor
        facts["first"] = tensor_name(state, tensors[span.first])
        facts["last"] = tensor_name(state, tensors[span.first + span.count - 1])
    return facts


def node_facts(timeline: Timeline, state: State, row: int) -> dict[str, Any]:
    """Of one node inside a compute span."""
    nodes = timeline.nodes
    tensor = nodes.tensor[row]
    return {
        "op": state.tensors[tensor].op.value,
        "tensor_id": tensor,
        "flops": nodes.flops[row],
        "bytes": nodes.nbytes[row],
    }
