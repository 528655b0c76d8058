"""What the terminal says about an opened model: command, agreement with llama.cpp, bytes per device, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.errors import printable
from ...core.state import State
from ...core.text import bytes_text
from .table import table

if TYPE_CHECKING:
    from ...core.llama.open import TracedModel


def model_text(model: TracedModel, states: Sequence[State]) -> str:
    """Several paragraphs."""
    from ...core.llama.agreement import agreement  # only for a GGUF: a graph file needs none of it
    from ...core.llama.command import command
    from ...core.llama.options import GraphMode
    from ...core.llama.totals import totals

    parts = [printable(command(model.taken.options, model.name)), "\n".join(agreement(model))]
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
    head = ("device", "weights", "KV", "recurrent", "compute", "output", "sum", "memory", "free")
    parts.append(table(head, rows, right=range(1, 9)))
    if not any(one.taken.mode is GraphMode.PREFILL for one in model.graphs):
        parts.append("compute is that of decode alone; llama.cpp keeps one buffer for both graphs (--mode both)")
    parts += [f"note: {note}" for note in model.taken.notes]
    return "\n\n".join(parts)


def breakdown_text(model: TracedModel, states: Sequence[State]) -> str:
    """llama.cpp's own table, to lay beside a log."""
    from ...core.llama.totals import breakdown, totals

    return breakdown(totals(model.taken, states))


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
