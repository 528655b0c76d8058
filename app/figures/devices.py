"""Totals per device: what the plan needs, and what the graph shows of what was allocated before it."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.explain.stats import stats
from ...core.explain.usage import usage
from ...core.state import State
from . import palette
from .palette import Hue


@dataclass(frozen=True, slots=True)
class DeviceTotals:
    """One row: bytes of the compute buffer, of other data such as the KV cache, and of weights.

    Attributes:
        name: the devices that share the buffer, or the buffer type that no device owns.
        buft: the type of the compute buffer.
        hue: the device's colour.
        compute: planned bytes.
        live: most bytes alive at once.
        kept: bytes of data allocated before planning that is no weight.
        weights: bytes of weights that this graph reads.
        peak_step: where `live` is reached, -1 without a compute buffer.
        buffer: id of the compute buffer, -1 for none.
        recurrent: bytes of recurrent state, told apart only for a model.
        output: bytes of the output buffer, likewise.
        memory: of the device in bytes, None when it is not known.
        here: of a model, the part of `compute` that the graph on the screen needs.
    """

    name: str
    buft: str
    hue: Hue
    compute: int
    live: int
    kept: int
    weights: int
    peak_step: int
    buffer: int
    recurrent: int = 0
    output: int = 0
    memory: int | None = None
    here: int = 0

    @property
    def total(self) -> int:
        """Everything together."""
        return self.compute + self.kept + self.weights + self.recurrent + self.output


def device_totals(state: State) -> list[DeviceTotals]:
    """A row for each compute buffer, then one for each further buffer type that holds data of the graph.

    Host memory counts for the CPU: llama.cpp plans its compute buffer in pinned memory beside plain weights and caches.
    """
    hues = [hue for hue, _ in palette.device_hues([backend.type for backend in state.backends])]
    before = _before_planning(state)
    numbers = stats(state)["devices"]
    rows = []
    owned: set[int] = set()
    last = len(state.backends) - 1
    foreign = {b for b, one in enumerate(state.bufts) if one.host} - {one.buft for one in state.backends}
    for one, device in zip(usage(state), numbers, strict=True):
        bufts = {state.backends[b].buft for b in one.backends}
        if last in one.backends and state.backends[last].type == "cpu":
            bufts |= foreign
        owned |= bufts
        kept = sum(before.get(b, (0, 0))[0] for b in bufts)
        weights = sum(before.get(b, (0, 0))[1] for b in bufts)
        step = one.peak_step if one.peak else -1
        name, buft, hue = device["name"], device["buft"], hues[one.backends[0]]
        rows.append(DeviceTotals(name, buft, hue, one.size, one.peak, kept, weights, step, one.buffer))
    for buft, (kept, weights) in before.items():
        if buft not in owned:
            name = state.bufts[buft].name
            rows.append(DeviceTotals(name, name, palette.CPU_HUE, 0, 0, kept, weights, -1, -1))
    return rows


def _before_planning(state: State) -> dict[int, tuple[int, int]]:
    """Per buffer type (other data, weights), views not counted again."""
    found: dict[int, tuple[int, int]] = {}
    for tensor in state.tensors[: state.n_graph]:
        if tensor.buft >= 0 and tensor.view_src < 0:
            kept, weights = found.get(tensor.buft, (0, 0))
            if tensor.is_weight:
                weights += tensor.nbytes
            else:
                kept += tensor.nbytes
            found[tensor.buft] = (kept, weights)
    return found
