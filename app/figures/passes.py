"""The scheduler's passes as steps of a film: who had which device after each, and what changed in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...core import events as ev
from ...core.events import Cause, PassName
from ...core.explain.sentence import count
from ...core.files.record import pass_changes
from ...core.log import Run
from ...core.state import State
from . import palette
from .causes import PASS_WORDS, cause_words, pass_title
from .columns import column


@dataclass(frozen=True, slots=True)
class PassSummary:
    """What changed in one pass: (device name, cause, its meaning, how many, the first of them)."""

    name: PassName
    number: int
    changed: int
    groups: list[tuple[int, str, str, int, list[int]]]


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
        number, title, _, _ = PASS_WORDS[name]
        found.append(
            {
                "name": name.value,
                "number": number,
                "title": title,
                "label": pass_title(name),
                "did": did(state, name, len(changed)),
                "tick": ends[k],
                "count": len(changed),
                "idle": not changed and name is not PassName.SPLIT,
                "of": column((device + (none + 1) * (t in fresh) for t, device in enumerate(devices)), "uint8"),
            }
        )
    return found


def did(state: State, name: PassName, changed: int) -> str:
    """What a pass did in a few words: the last one cuts and copies, the others give out devices."""
    if name is not PassName.SPLIT:
        return count(changed, "change") if changed else "nothing was left to change"
    copies, inputs = copies_made(state)
    words = f"{count(len(state.splits), 'split')}, {count(copies, 'copy', 'copies')} of split inputs (4.cpy)"
    return words + (f", {count(inputs, 'copy', 'copies')} of graph inputs in pass 6 (6.cpy)" if inputs else "")


def copies_made(state: State) -> tuple[int, int]:
    """How many copies pass 5 made of split inputs and pass 6 of graph inputs; an input that stands for one is none."""
    made = Counter(one.cause for one in state.copies if one.tensor != one.src)
    return made[Cause.CPY], made[Cause.LEAF_CPY]


def pass_at(run: Run, state: State, tick: int) -> PassSummary | None:
    """What the pass that ended at a tick changed, in groups of one device and cause, the largest first."""
    ends = [t for t, event in enumerate(run.events) if type(event) is ev.PassDone]
    if tick not in ends:
        return None
    at = ends.index(tick)
    name, changed = list(pass_changes(state))[at]
    groups = Counter((backend, cause) for _, backend, cause, _ in changed)
    rows = [
        (backend, cause.value, cause_words(cause), number,
         [tensor for tensor, b, c, _ in changed if (b, c) == (backend, cause)])
        for (backend, cause), number in groups.most_common()
    ]  # fmt: skip
    return PassSummary(name, at, len(changed), rows)
