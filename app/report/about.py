"""What a report says about the model behind its graph: command, agreement with llama.cpp, assumptions, totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...core.state import State
from ...core.text import bytes_text
from ..figures.devices import DeviceTotals

if TYPE_CHECKING:
    from ...core.llama.open import TracedModel


class About(NamedTuple):
    """A report of a graph file has none.

    Attributes:
        command: of llama.cpp, one line.
        told: sentences: who made the graph and whether it was compared, what is simulated, llama.cpp's own notes.
        devices: totals per device, memory included.
    """

    command: str
    told: tuple[str, ...]
    devices: tuple[DeviceTotals, ...]


def about_model(model: TracedModel, state: State) -> About:
    """Of a model that was opened for one graph, whose state this is."""
    from ...core.llama.agreement import agreement
    from ...core.llama.command import command
    from ...core.llama.machine import machine
    from ..figures.model_devices import model_totals

    devices = machine(model.taken.options)
    simulated = [
        f"{one.name}: simulated, profile {one.profile.name} with {bytes_text(one.profile.memory)} "
        f"(galloscope devices {one.profile.name} says what is assumed)"
        for one in (*devices.gpus, *devices.accels)
    ]
    told = (*agreement(model), *simulated, *model.taken.notes)
    return About(command(model.taken.options, model.name), told, tuple(model_totals(model.taken, [state], 0)))


def free_text(row: DeviceTotals) -> str:
    """` of 24 GiB, 3.2 GiB free`; empty where the memory is not known."""
    if row.memory is None:
        return ""
    free = row.memory - row.total
    left = f"{bytes_text(free)} free" if free >= 0 else f"{bytes_text(-free)} TOO MUCH"
    return f" · {bytes_text(row.total)} of {bytes_text(row.memory)}, {left}"


def facts_line(source: str, meta: dict[str, object], numbers: dict[str, int]) -> Sequence[str]:
    """File, parameters and counts, as one line's parts."""
    counts = f"{numbers['nodes']:,} nodes, {numbers['leafs']:,} leafs, {numbers['steps']:,} steps"
    return [source, *(f"{key} {value}" for key, value in meta.items()), counts]
