"""Where llama.cpp puts each weight, and why (llama_model_loader::create_tensor, before ggml's scheduler runs)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..devices.seen import see
from ..dtypes import DType, Shape
from ..errors import InputError
from ..gguf.header import Header, TensorInfo
from ..op import Op
from .facts import probe_facts
from .layers import Layers, place_layers
from .machine import Machine, Place, machine
from .options import Options, Override
from .overrides import all_overrides, check_bufts
from .pattern import Budget, Pattern, compile_pattern
from .probe import Facts, probe
from .weights import INPUT, Load, layer_count, loads


class Placed(NamedTuple):
    """One weight where llama.cpp loads it.

    Attributes:
        tensor: the row of the tensor table.
        layer: `weights.INPUT`, a layer, or the number of layers for the output.
        op: what it was tested with.
        place: its buffer type; None for a weight that llama.cpp does not load.
        size: bytes it takes there, unrounded (ggml_backend_buft_get_alloc_size); 0 for a copy that lies there already.
        why: one sentence.
    """

    tensor: TensorInfo
    layer: int
    op: Op
    place: Place | None
    size: int
    why: str

    @property
    def buft(self) -> str:
        """Name of the buffer type, "" for a weight that is not loaded."""
        return self.place.name if self.place else ""


@dataclass(frozen=True, slots=True)
class Placement:
    """Everything about where weights lie.

    Attributes:
        machine: the devices.
        layers: the device per layer.
        weights: in the order of the file, copies behind.
        overridden: there are overrides, which turn pipeline parallelism off (has_tensor_overrides).
    """

    machine: Machine
    layers: Layers
    weights: tuple[Placed, ...]
    overridden: bool

    def by_name(self) -> dict[str, str]:
        """Name -> buffer type. A weight that lies in two places is `NAME~2` the second time, by name of the place."""
        places: dict[str, set[str]] = defaultdict(set)
        for one in self.weights:
            if one.place:
                places[one.tensor.name].add(one.place.name)
        return {
            name if number == 1 else f"{name}~{number}": place
            for name, held in places.items()
            for number, place in enumerate(sorted(held), 1)
        }

    def bytes_by_place(self) -> dict[str, int]:
        """Buffer type -> bytes of its weights, each rounded up to the alignment.

        What `ggml_backend_alloc_ctx_tensors_from_buft_size` answers; a limit on the size of one buffer only changes
        into how many buffers they go.
        """
        total: dict[str, int] = defaultdict(int)
        for one in self.weights:
            if one.place:
                total[one.place.name] += -(-one.size // one.place.align) * one.place.align
        return dict(total)


def place_weights(header: Header, options: Options, devices: Machine | None = None) -> Placement:
    """Where each weight of the model goes under the options.

    Args:
        header: of the model.
        options: any; what they leave open is llama.cpp's default.
        devices: when they are known already.

    Raises:
        InputError: the options do not fit the devices, or no buffer type can hold a weight.
    """
    devices = devices or machine(options)
    layers = place_layers(layer_count(header), devices, options)
    overrides = all_overrides(options)
    check_bufts(overrides, devices.override_places())
    chooser = _Chooser(devices, layers, options, overrides, probe_facts(header))
    return Placement(devices, layers, tuple(map(chooser.place, loads(header))), bool(overrides))


class _Chooser:
    """Asks and remembers: weights of one shape are answered once."""

    def __init__(
        self, devices: Machine, layers: Layers, options: Options, overrides: Sequence[Override], facts: Facts
    ) -> None:
        self.devices = devices
        self.layers = layers
        self.facts = facts
        self.named = devices.override_places()
        budget = Budget()
        self.patterns: list[tuple[Override, Pattern]] = [
            (one, compile_pattern(one.pattern, budget)) for one in overrides
        ]
        self.cpu_list = devices.cpu_places(options)
        self.lists = {gpu.name: [devices.own_place(gpu), *self.cpu_list] for gpu in devices.gpus}
        self.refusals: dict[tuple[Op, DType, Shape, str], str] = {}
        self.there: set[tuple[str, str]] = set()

    def place(self, load: Load) -> Placed:
        if load.op is Op.NONE:
            return Placed(load.tensor, load.layer, load.op, None, 0, "llama.cpp does not load it")
        place, why = self._overridden(load) or self._by_layer(load)
        key = (load.tensor.name, place.name)
        if load.copy and key in self.there:
            return Placed(load.tensor, load.layer, load.op, place, 0, f"{why}; it lies there already")
        self.there.add(key)
        size = load.tensor.nbytes
        if place.default:
            size = place.device.profile.alloc_size(see(Op.NONE, load.tensor.dtype.name, load.tensor.ne))
        return Placed(load.tensor, load.layer, load.op, place, size, why)

    def _overridden(self, load: Load) -> tuple[Place, str] | None:
        """The first override that matches; on the CPU the best of its buffer types."""
        for override, pattern in self.patterns:
            if pattern.search(load.tensor.name):
                said = f"-ot {override.pattern}={override.buft}"
                place = self.named[override.buft]
                if place.device is not self.devices.cpu:
                    return place, said
                return self._first(load, self.cpu_list, said)
        return None

    def _by_layer(self, load: Load) -> tuple[Place, str]:
        layers = self.layers
        if load.layer == INPUT:
            return self._first(load, self.cpu_list, "input layer: always on the CPU")
        device = layers.devices[load.layer]
        what = "the output" if load.layer == layers.n_layer else f"layer {load.layer}"
        return self._first(load, self.lists.get(device.name, self.cpu_list), f"{what} is {layers.reasons[load.layer]}")

    def _first(self, load: Load, places: Sequence[Place], said: str) -> tuple[Place, str]:
        """The first buffer type whose device can run the weight's op from there (select_weight_buft)."""
        refused: list[str] = []
        for place in places:
            reason = self._refusal(load, place)
            if not reason:
                return place, "; ".join([said, *refused, *([f"so it lies in {place.name}"] if refused else [])])
            refused.append(f"{place.device.name} cannot use it in {place.name} ({reason})")
        raise InputError(
            f"failed to find a compatible buffer type for tensor {load.tensor.name!r}: {'; '.join(refused)}"
        )

    def _refusal(self, load: Load, place: Place) -> str:
        key = (load.op, load.tensor.dtype, load.tensor.ne, place.name)
        reason = self.refusals.get(key)
        if reason is None:
            profile = place.device.profile
            op = probe(load.tensor, load.op, self.facts, place)
            reason = self.refusals[key] = profile.supports(op, place.device.buft)
        return reason
