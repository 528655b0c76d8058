"""What "colour by" may mean: for each question a palette with its legend, and the entry of every tensor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...core.state import State
from ...core.text import bytes_text
from . import palette
from .columns import column
from .palette import NEUTRAL, Entry

MOST_LAYERS = 24
"""More layers than this share the entries of the sequential scale: the eye tells no more apart."""


def colors(state: State) -> dict[str, Any]:
    """The `colors` part of a scene: every question the pictures can be coloured by."""
    return {
        "device": question("device", *by_device(state)),
        "op": question("op family", *by_op(state)),
        "layer": question("layer", *by_layer(state)),
        "cause": question("cause", *by_cause(state)),
        "size": question("size", *by_size(state)),
    }


def by_device(state: State) -> tuple[list[Entry], list[int]]:
    """One entry per backend, and one for tensors that never got one."""
    fills = palette.device_hues([backend.type for backend in state.backends])
    entries = [Entry(hue, backend.name, pattern) for (hue, pattern), backend in zip(fills, state.backends, strict=True)]
    entries.append(Entry(NEUTRAL, "none"))
    none = len(entries) - 1
    return entries, [none if device < 0 else device for device in state.backend_ids]


def by_op(state: State) -> tuple[list[Entry], list[int]]:
    """Families of ops."""
    return list(palette.FAMILY_ENTRIES), [palette.family(tensor.op) for tensor in state.tensors]


def by_layer(state: State) -> tuple[list[Entry], list[int]]:
    """Layers in order, neighbours sharing an entry when there are many."""
    layers = [tensor.layer for tensor in state.tensors]
    present = sorted({layer for layer in layers if layer >= 0})
    share = max(1, -(-len(present) // MOST_LAYERS))
    groups = [present[i : i + share] for i in range(0, len(present), share)]
    hues = palette.layer_scale(len(groups))
    entries = [Entry(hue, _range_text(group[0], group[-1])) for hue, group in zip(hues, groups, strict=True)]
    entries.append(Entry(NEUTRAL, "no layer"))
    entry_of = {layer: i // share for i, layer in enumerate(present)}
    return entries, [entry_of.get(layer, len(groups)) for layer in layers]


def by_cause(state: State) -> tuple[list[Entry], list[int]]:
    """The pass that chose the device."""
    labels = ["" if cause is None else cause.value for cause in state.causes]
    return list(palette.CAUSE_ENTRIES), [palette.cause_index(label) for label in labels]


def by_size(state: State) -> tuple[list[Entry], list[int]]:
    """Size classes, each four times the one before."""
    return size_entries(), [palette.size_index(tensor.nbytes) for tensor in state.tensors]


def size_entries() -> list[Entry]:
    """The legend of the size classes."""
    limits = palette.SIZE_LIMITS
    texts = [f"< {bytes_text(limits[0])}"]
    texts += [f"{bytes_text(a)} – {bytes_text(b)}" for a, b in pairwise(limits)]
    texts.append(f"≥ {bytes_text(limits[-1])}")
    return [Entry(hue, text) for hue, text in zip(palette.size_scale(), texts, strict=True)]


def _range_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def question(title: str, entries: Sequence[Entry], of: Sequence[int]) -> dict[str, Any]:
    """A way to colour: its title, its legend, and the entry of every tensor."""
    return {
        "title": title,
        "palette": [
            {"light": entry.hue.light, "dark": entry.hue.dark, "label": entry.label, "pattern": entry.pattern}
            for entry in entries
        ],
        "of": column(of, "uint8"),
    }
