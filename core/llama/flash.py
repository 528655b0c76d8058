"""Automatic flash attention: llama.cpp builds the graph with it and looks where the scheduler puts the op."""

from __future__ import annotations

from typing import NamedTuple

from ..columns import prepare
from ..errors import GgmlAbort
from ..events import Event
from ..graph import Problem
from ..models.built import Built
from ..scheduler.assign import Assignment
from ..scheduler.backends import Backends
from .placement import Placement


class FlashDecision(NamedTuple):
    """Flash attention on or off, and the sentence why."""

    on: bool
    why: str


def resolve_flash(built: Built, problem: Problem, placement: Placement) -> FlashDecision:
    """llama_context::resolve_fused_ops for flash attention.

    Off as soon as one FLASH_ATTN_EXT is on another device than its layer, usually for want of support there.

    Args:
        built: the decode graph with flash attention.
        problem: the same with devices, buffer types and pins.
        placement: of the layers.
    """
    events: list[Event] = []
    graph = problem.requests[0].graph
    columns = prepare(graph, problem.config.order, events.append)
    backends = Backends(problem.backends, problem.bufts, columns, events.append)
    assignment = Assignment(backends, op_offload=problem.config.op_offload)
    try:
        assignment.run(pins_lost=False)
    except GgmlAbort as error:
        return FlashDecision(True, f"llama.cpp stops while it looks whether flash attention can be on: {error}")
    for tensor, layer in built.attention:
        runs_on = problem.backends[assignment.ids[tensor]].name
        device = placement.layers.devices[layer]
        if runs_on != device.name:
            reason = _reason(backends, problem, tensor, device.name)
            return FlashDecision(
                False,
                f"flash attention is off: layer {layer} is assigned to device {device.name}, but the op to "
                f"{runs_on}{reason}",
            )
    return FlashDecision(True, "flash attention is on: the op runs on the device of its layer in every layer")


def _reason(backends: Backends, problem: Problem, tensor: int, device: str) -> str:
    """What that device says about the op, "" when it would run it."""
    number = next(i for i, one in enumerate(problem.backends) if one.name == device)
    profiled = backends.profiled[number]
    reason = profiled.why_unsupported(tensor) if profiled else ""
    return f" ({reason})" if reason else ""
