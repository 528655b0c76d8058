"""The scheduler's passes as steps of a film: who had which device after each, and what changed in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...core import events as ev
from ...core.events import Cause, PassName
from ...core.files.record import pass_changes
from ...core.log import Run
from ...core.state import State
from . import palette
from .columns import column

PASS_WORDS = {
    PassName.PINS: ("0", "pins", "What the application pinned with ggml_backend_sched_set_tensor_backend."),
    PassName.FACTS: ("1", "facts", "Ops go where their data or weights lie; inputs start on the last backend."),
    PassName.GPU_DOWN: ("2", "gpu ↓", "Down the graph, a GPU takes neighbours without a device that it supports."),
    PassName.GPU_UP: ("2", "gpu ↑", "Up the graph, each GPU takes what it did not reach on the way down."),
    PassName.REST_DOWN: ("2", "rest ↓", "Down the graph again, now the CPU's neighbourhood may spread too."),
    PassName.REST_UP: ("2", "rest ↑", "Up the graph, the CPU's neighbourhood too."),
    PassName.BEST: ("3", "best", "An open op goes to the device that reads most of its sources; others move up."),
    PassName.FOLLOW: ("4", "follow", "Views follow their base, leafs their first user."),
    PassName.SPLIT: ("5", "split", "The graph is cut where the device changes; tensors that cross a cut are copied."),
}
"""Per pass: its number, its name on a button, and what it does."""

CAUSE_WORDS = {
    Cause.USR: "pinned by the application",
    Cause.DST: "its own bytes lie there",
    Cause.INP: "a graph input starts on the last backend",
    Cause.OFF: "op offload of a host weight",
    Cause.SUP: "took its neighbour's device",
    Cause.BEST: "the device that reads most of its sources",
    Cause.UPG: "upgraded to a device of higher priority",
    Cause.VSRC: "a view follows its base",
    Cause.CUR: "follows its first user",
    Cause.CPY: "a copy of a split input",
    Cause.LEAF_CPY: "a pipeline copy of an input",
}


@dataclass(frozen=True, slots=True)
class PassSummary:
    """What changed in one pass: (device name, cause, its meaning, how many, the first of them)."""

    name: PassName
    number: int
    changed: int
    groups: list[tuple[int, str, str, int, list[int]]]


def cause_words(cause: Cause) -> str:
    """The meaning of one of ggml's cause labels.

    >>> cause_words(Cause.WGT0)
    'runs where its weight lies'
    """
    return CAUSE_WORDS.get(cause, "runs where its weight lies")


def pass_colors(state: State) -> dict[str, Any]:
    """The colours of a moment, as an entry of the scene's `colors`.

    First the devices that tensors had before the pass, pale; then none; then the same again for what the pass changed.
    """
    hues = palette.device_hues([backend.type for backend in state.backends])
    rows = [
        (_pale(hue.light, "#ffffff"), _pale(hue.dark, "#111a2e"), f"{one.name} before", pattern)
        for (hue, pattern), one in zip(hues, state.backends, strict=True)
    ]
    rows.append((palette.NEUTRAL.light, palette.NEUTRAL.dark, "none yet", "none"))
    rows += [(hue.light, hue.dark, one.name, pattern) for (hue, pattern), one in zip(hues, state.backends, strict=True)]
    rows.append((palette.NEUTRAL.light, palette.NEUTRAL.dark, "tried, still none", "dots"))
    keys = ("light", "dark", "label", "pattern")
    return {
        "title": "device after the pass",
        "palette": [dict(zip(keys, row, strict=True)) for row in rows],
        "of": column([len(hues)] * len(state.tensors), "uint8"),
    }


def _pale(hue: str, surface: str) -> str:
    """A hue on its way to the surface it stands on."""
    mixed = (int(hue[i : i + 2], 16) * 0.45 + int(surface[i : i + 2], 16) * 0.55 for i in (1, 3, 5))
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed)


def passes_data(run: Run, state: State) -> list[dict[str, Any]]:
    """Per finished pass: every tensor's entry of `pass_colors` after it, how many it changed, the tick of its end."""
    none = len(state.backends)
    devices = [none] * len(state.tensors)
    ends = [tick for tick, event in enumerate(run.events) if type(event) is ev.PassDone]
    found = []
    for k, (name, changed) in enumerate(pass_changes(state)):
        for tensor, backend, _, _ in changed:
            devices[tensor] = backend if backend >= 0 else none
        fresh = {row[0] for row in changed}
        number, title, _ = PASS_WORDS[name]
        found.append(
            {
                "name": name.value,
                "number": number,
                "title": title,
                "tick": ends[k],
                "count": len(changed),
                "of": column((device + (none + 1) * (t in fresh) for t, device in enumerate(devices)), "uint8"),
            }
        )
    return found


def pass_at(run: Run, state: State, tick: int) -> PassSummary | None:
    """What the pass that ended at a tick changed, in groups of one device and cause, the largest first."""
    ends = [at for at, event in enumerate(run.events) if type(event) is ev.PassDone]
    if tick not in ends:
        return None
    number = ends.index(tick)
    name, changed = list(pass_changes(state))[number]
    groups = Counter((backend, cause) for _, backend, cause, _ in changed)
    rows = [
        (backend, cause.value, cause_words(cause), count,
         [tensor for tensor, b, c, _ in changed if (b, c) == (backend, cause)])
        for (backend, cause), count in groups.most_common()
    ]  # fmt: skip
    return PassSummary(name, number, len(changed), rows)
