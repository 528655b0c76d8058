"""Where weights and caches lie inside their buffers: llama.cpp makes one buffer per buffer type, tensor after tensor.

Source: ggml_backend_alloc_ctx_tensors_from_buft. A buffer type with a largest size gets several buffers, and offsets
start again in each. Weights are those of a model that is read, not mapped (mmap off), as in the recorded sessions: a
mapped file keeps the weights of the CPU in the order of the file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .caches import Cache
from .creation import in_order_of_creation
from .machine import Place
from .placement import Placement

Static = dict[tuple[str, str], tuple[str, int]]
"""(tensor name, buffer type name) -> (usage:buffer type, offset in its buffer in bytes), as sessions record it."""


class Buffer(NamedTuple):
    """One buffer that is made before any graph.

    Attributes:
        usage: `weights`, or `any` for caches.
        buft: name of its buffer type.
        members: (tensor name, offset in bytes), in order.
        size: bytes.
    """

    usage: str
    buft: str
    members: tuple[tuple[str, int], ...]
    size: int


def static_buffers(
    arch: str, placement: Placement, caches: Sequence[Cache], windowed: Sequence[bool]
) -> tuple[Buffer, ...]:
    """Every buffer of weights and caches.

    Args:
        arch: `general.architecture`.
        placement: of the weights.
        caches: in the order of layers.
        windowed: which layers have a sliding window: their caches are a memory of their own.
    """
    places: dict[str, Place] = {}
    weights: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for one in in_order_of_creation(arch, placement.layers.n_layer, placement.weights):
        if one.place and one.size:  # a copy of size 0 lies there already
            places[one.place.name] = one.place
            weights[one.place.name].append((one.tensor.name, one.size))
    kept: dict[tuple[bool, bool, str], list[tuple[str, int]]] = defaultdict(list)
    for cache in caches:
        places[cache.place.name] = cache.place
        window = not cache.recurrent and windowed[cache.layer]
        kept[cache.recurrent, window, cache.place.name].append((cache.name, cache.size))
    return (
        *(buffer for buft, members in weights.items() for buffer in _lay_out("weights", places[buft], members)),
        *(buffer for (_, _, buft), members in kept.items() for buffer in _lay_out("any", places[buft], members)),
    )


def static_addresses(buffers: Iterable[Buffer]) -> Static:
    """The address of every weight and every cache tensor."""
    return {(name, one.buft): (f"{one.usage}:{one.buft}", offset) for one in buffers for name, offset in one.members}


def _lay_out(usage: str, place: Place, members: Iterable[tuple[str, int]]) -> list[Buffer]:
    """Tensor after tensor; `members` are (name, unrounded bytes)."""
    most = place.device.profile.max_size if place.default else None
    found: list[Buffer] = []
    begun: list[tuple[str, int]] = []
    end = 0
    for name, size in members:
        size = -(-size // place.align) * place.align
        if most is not None and end and end + size > most:
            found.append(Buffer(usage, place.name, tuple(begun), end))
            begun, end = [], 0
        begun.append((name, end))
        end += size
    return [*found, Buffer(usage, place.name, tuple(begun), end)] if begun else found
