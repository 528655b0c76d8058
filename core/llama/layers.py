"""Which device each layer goes to: -ngl, -ts and the default split by memory (get_layer_buft_list in load_tensors)."""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InputError
from .machine import Device, Machine
from .options import Options


def f32(value: float) -> float:
    """The nearest single: llama.cpp computes the split points in float."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


@dataclass(frozen=True, slots=True)
class Layers:
    """The device of every layer.

    Attributes:
        devices: per transformer layer, then that of the output.
        n_layer: transformer layers.
        n_gpu_layers: as llama.cpp counts them: those wanted on GPUs, the output included.
        reasons: a sentence per layer, in the order of `devices`.
    """

    devices: tuple[Device, ...]
    n_layer: int
    n_gpu_layers: int
    reasons: tuple[str, ...]

    @property
    def full_offload(self) -> bool:
        """All layers and the output are wanted on GPUs, whether or not there is one."""
        return self.n_gpu_layers > self.n_layer


def split_points(shares: Sequence[float]) -> list[float]:
    """Cumulative shares up to 1, in singles.

    Raises:
        InputError: a share is negative or no number, or they are all 0.
    """
    points: list[float] = []
    total = 0.0
    for share in shares:
        if not math.isfinite(share) or share < 0 or share > 1e38:
            raise InputError(f"tensor split: {share!r} is not a share; give numbers such as 3,1")
        total = f32(total + f32(share))
        points.append(total)
    if not total:
        raise InputError("tensor split: the devices have no memory at all to share by; give shares such as 3,1")
    return [f32(point / total) for point in points]


def place_layers(n_layer: int, machine: Machine, options: Options) -> Layers:
    """The device of every layer and of the output, with the reason.

    Raises:
        InputError: the tensor split is not usable.
    """
    wanted = n_layer + 1 if options.n_gpu_layers is None or options.n_gpu_layers < 0 else options.n_gpu_layers
    gpus, cpu = machine.gpus, machine.cpu
    named = len(gpus) + len(machine.idle)
    if len(options.tensor_split) > max(named, 1):
        raise InputError(f"-ts has {len(options.tensor_split)} proportions, there are {named} GPUs")
    if not gpus:
        why = "there is no GPU" if not machine.idle else "split mode none without a main GPU"
        return Layers((cpu,) * (n_layer + 1), n_layer, wanted, (f"on {cpu.name}: {why}",) * (n_layer + 1))
    start = max(n_layer + 1 - wanted, 0)
    count = min(wanted, n_layer + 1)
    given = [*options.tensor_split, *[0.0] * len(gpus)][: len(gpus)]
    by_share = any(given)
    points = split_points(given if by_share else [float(_memory(gpu, machine)) for gpu in gpus])
    devices, reasons = [], []
    for layer in range(n_layer + 1):
        if layer < start:
            devices.append(cpu)
            left = f"leaves layers 0 to {start - 1} to it" if wanted else "offloads nothing"
            reasons.append(f"on {cpu.name}: -ngl {wanted} {left}")
            continue
        where = f32(f32(layer - start) / count)
        index = bisect_right(points, where)
        devices.append(gpus[index])
        reasons.append(_reason(gpus, index, points, wanted, start, n_layer, by_share))
    return Layers(tuple(devices), n_layer, wanted, tuple(reasons))


def _memory(gpu: Device, machine: Machine) -> int:
    """Bytes the default split counts with; a device that reports none counts as the host's."""
    return gpu.profile.memory or machine.cpu.profile.memory


def _reason(
    gpus: Sequence[Device], index: int, points: Sequence[float], wanted: int, start: int, n_layer: int, by_share: bool
) -> str:
    name = gpus[index].name
    if wanted > n_layer:
        which = f"all {n_layer} layers and the output are offloaded"
    else:
        layers = f"layers {start} to {n_layer - 1} and the output" if start < n_layer else "the output only"
        which = f"-ngl {wanted} of {n_layer + 1}: {layers}"
    if len(gpus) == 1:
        return f"on {name}: {which}"
    low = points[index - 1] if index else 0.0
    share = f"{100 * low:.0f} % to {100 * points[index]:.0f} % of them by {'-ts' if by_share else 'memory'}"
    return f"on {name}: {which}, {name} has {share}"
