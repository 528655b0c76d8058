"""What the terminal says about an opened model: command, agreement with llama.cpp, bytes per device, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.state import State
from ...core.text import bytes_text
from .table import table

if TYPE_CHECKING:
    from ...core.llama.open import TracedModel


def model_text(model: TracedModel, states: Sequence[State]) -> str:
    """Several paragraphs."""
    from ...core.llama.command import command  # only for a GGUF: a graph file needs none of it
    from ...core.llama.totals import totals

    parts = [command(model.taken.options, model.name), agreement(model)]
    rows = [
        (
            one.name,
            *(bytes_text(size) if size else "-" for size in (one.weights, one.kv, one.recurrent, one.compute)),
            bytes_text(one.output) if one.output else "-",
            bytes_text(one.total + one.output),
            "-" if one.memory is None else bytes_text(one.memory),
            _free(one.free),
        )
        for one in totals(model.taken, states)
    ]
    head = ("device", "weights", "KV", "recurrent", "compute", "output", "sum", "memory", "left")
    parts.append(table(head, rows, right=range(1, 9)))
    parts += [f"note: {note}" for note in model.taken.notes]
    return "\n\n".join(parts)


def agreement(model: TracedModel) -> str:
    """Whether llama.cpp decided the same, in a sentence; at most a few of the differences."""
    told = []
    for one in model.graphs:
        mode = one.taken.mode.value
        if one.differences is None:
            told.append(f"{mode}: built by galloscope, not compared with llama.cpp")
        elif not one.differences:
            told.append(f"{mode}: verified, every decision equals that of {model.taken.source}")
        else:
            more = len(one.differences) - 3
            shown = "; ".join(one.differences[:3]) + (f"; and {more:,} more" if more > 0 else "")
            told.append(f"{mode}: DIFFERS from {model.taken.source}: {shown}")
    return "\n".join(told)


def model_numbers(model: TracedModel, states: Sequence[State]) -> dict[str, Any]:
    """The same as plain values."""
    from ...core.llama.command import command
    from ...core.llama.totals import totals

    return {
        "name": model.name,
        "command": command(model.taken.options, model.name),
        "source": model.taken.source,
        "differences": {one.taken.mode.value: one.differences for one in model.graphs},
        "totals": [row.as_json() for row in totals(model.taken, states)],
        "notes": list(model.taken.notes),
    }


def _free(size: int | None) -> str:
    if size is None:
        return "-"
    return bytes_text(size) if size >= 0 else f"{bytes_text(-size)} too much"
