"""The scene: everything the pictures of one run need, as one JSON object. A browser gets this and never the log."""

from __future__ import annotations

from typing import Any

from ...core.log import Run
from ...core.replay import replay
from ...core.session import Session
from ...core.state import State
from ...core.text import bytes_text, shape_text
from . import palette
from .colors import colors
from .columns import column
from .dag import dag_data
from .strip import step_of_node, strip_data

MOST_LAYER = 2**15 - 1
"""Layers come from names of strangers; the column holds 16 bits."""


def scene(session: Session, run: Run) -> dict[str, Any]:
    """The scene of one run of a session."""
    return {"title": session.problem.about, **scene_of(replay(run))}


def scene_of(state: State) -> dict[str, Any]:
    """The scene of a replayed run."""
    return {
        "tensors": _tensors(state),
        "devices": _devices(state),
        "colors": colors(state),
        "splits": splits(state),
        "strip": strip_data(state),
        "dag": dag_data(state),
    }


def splits(state: State) -> list[dict[str, Any]]:
    """The splits with their place on the step axis, the copies they begin with included."""
    starts = split_steps(state)
    return [
        {
            "device": split.backend,
            "start": split.start,
            "end": split.end,
            "x0": starts[k],
            "x1": starts[k + 1],
            "label": f"split {k} · {state.backends[split.backend].name}",
            "inputs": list(split.inputs),
            "bytes": (copied := sum(state.tensors[tensor].nbytes for tensor in split.inputs)),
            "text": f"{bytes_text(copied)} in" if split.inputs else "",
        }
        for k, split in enumerate(state.splits)
    ]


def split_steps(state: State) -> list[int]:
    """The first step of each split, then the number of steps.

    A split begins with two steps per input ahead of its first node: one keeps the original alive, one is the copy.
    """
    steps = step_of_node(state)
    starts = [
        max(0, steps[split.start] - 2 * len(split.inputs)) if split.start < len(steps) else state.n_steps
        for split in state.splits
    ]
    return [*starts, state.n_steps]


def _tensors(state: State) -> dict[str, Any]:
    tensors = state.tensors
    return {
        "n": len(tensors),
        "name": [tensor.label or name for tensor, name in zip(tensors, state.names, strict=True)],
        "op": [tensor.op.value for tensor in tensors],
        "type": [tensor.dtype.name for tensor in tensors],
        "ne": [shape_text(tensor.ne) for tensor in tensors],
        "bytes": column((tensor.nbytes for tensor in tensors), "float64"),
        "device": column(state.backend_ids, "int8"),
        "layer": column((min(tensor.layer, MOST_LAYER) for tensor in tensors), "int16"),
        "flags": column(state.flags, "uint8"),
    }


def _devices(state: State) -> list[dict[str, Any]]:
    fills = palette.device_hues([backend.type for backend in state.backends])
    return [
        {"name": backend.name, "light": hue.light, "dark": hue.dark, "pattern": pattern != "none"}
        for (hue, pattern), backend in zip(fills, state.backends, strict=True)
    ]
