"""What the colours of a plan may mean: the questions of the other pictures, asked of buffers, and two more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.planners.instance import Instance
from ...core.state import State
from . import colors, palette
from .palette import DEVICE_HUES, Entry
from .planners_axis import Axis

TIMES = 24
"""Classes of the time scale: the eye tells no more apart."""
MOST_POOLS = 255
"""Entries that a column of 8 bits can name; further pools share the last."""


def questions(instance: Instance, axis: Axis, state: State | None, owners: Sequence[int]) -> dict[str, Any]:
    """The `colors` part of a scene whose tensors are buffers; `owners`: their tensors in `state`, if there is one."""
    made = {}
    if state is not None:
        for key, title, asked in (
            ("op", "op family", colors.by_op),
            ("layer", "layer", colors.by_layer),
            ("device", "device", colors.by_device),
        ):
            entries, of = asked(state)
            made[key] = colors.question(title, entries, [of[owner] for owner in owners])
    made["size"] = colors.question("size", *_by_size(instance))
    made["time"] = colors.question("born", *_by_time(instance, axis))
    return made


def by_pool(pools: np.ndarray) -> dict[str, Any]:
    """One entry per shared pool."""
    count = min(int(pools.max(initial=0)) + 1, MOST_POOLS)
    entries = [Entry(DEVICE_HUES[k % 8], f"pool {k}", "dots" if k // 8 % 2 else "none") for k in range(count)]
    return colors.question("pool", entries, np.clip(pools, 0, count - 1).tolist())


def _by_size(instance: Instance) -> tuple[list[Entry], list[int]]:
    sizes = instance.size.tolist()
    largest = max(sizes, default=0)
    if largest < palette.SIZE_LIMITS[2]:  # a set in units of its own: four classes would be all there is
        parts = len(palette.SIZE_LIMITS) + 1
        hues = palette.size_scale()
        width = max(1, -(-(largest + 1) // parts))
        used = -(-(largest + 1) // width)
        entries = [Entry(hues[k * (parts - 1) // max(1, used - 1)], f"{k * width:,} B and more") for k in range(used)]
        return entries, [size // width for size in sizes]
    return colors.size_entries(), [palette.size_index(size) for size in sizes]


def _by_time(instance: Instance, axis: Axis) -> tuple[list[Entry], list[int]]:
    classes = min(TIMES, axis.n)
    hues = palette.layer_scale(classes)
    entries = [Entry(hue, f"from step {axis.step(k * axis.n // classes):,}") for k, hue in enumerate(hues)]
    born = axis.place(instance.lower)
    return entries, np.minimum(born * classes // axis.n, classes - 1).tolist()
