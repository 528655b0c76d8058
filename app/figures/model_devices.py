"""Totals per device of a model, as llama.cpp adds them up, with the colours and the peaks of one of its graphs."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.explain.usage import Usage, usage
from ...core.llama.machine import Device, machine
from ...core.llama.options import Options
from ...core.llama.taken import Taken
from ...core.llama.totals import Total, totals
from ...core.state import State
from . import palette
from .devices import DeviceTotals


def model_totals(taken: Taken, states: Sequence[State], shown: int) -> list[DeviceTotals]:
    """A row per GPU and one for the host; the compute buffer is the largest of all graphs, as llama.cpp keeps one.

    Args:
        taken: the model under its options.
        states: of its graphs.
        shown: which of them is on the screen; peaks are those of that one.
    """
    state = states[shown]
    devices = {one.name: one for one in machine(taken.options).gpus}
    hues = [hue for hue, _ in palette.device_hues([backend.type for backend in state.backends])]
    buffers = usage(state)
    rows = []
    for total in totals(taken, states):
        own = devices[total.name].buft if total.name in devices else ""
        buffer = next((one for one in buffers if _belongs(state, one, total, own)), None)
        rows.append(
            DeviceTotals(
                name=total.name,
                buft=own or ("memory that the CPU can read, pinned or not" if total.kind == "host" else total.name),
                hue=palette.CPU_HUE if total.kind == "host" or buffer is None else hues[buffer.backends[0]],
                compute=total.compute,
                live=buffer.peak if buffer else 0,
                kept=total.kv,
                weights=total.weights,
                peak_step=buffer.peak_step if buffer and buffer.peak else -1,
                buffer=buffer.buffer if buffer else -1,
                recurrent=total.recurrent,
                output=total.output,
                memory=total.memory,
                here=buffer.size if buffer else 0,
            )
        )
    return rows


def model_device(options: Options, name: str) -> Device | None:
    """The simulated device behind a row of that name, None for one that is none."""
    devices = machine(options)
    return devices.cpu if name == "Host" else next((one for one in devices.backends if one.name == name), None)


def _belongs(state: State, buffer: Usage, total: Total, own: str) -> bool:
    buft = state.buffers[buffer.buffer].buft
    return buft.host if total.kind == "host" else buft.name == (own or total.name)
