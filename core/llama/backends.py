"""Devices and options as ggml's scheduler gets them: buffer types, backends, copies (llama_context's constructor)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..graph import Backend, BufferType, Config
from .machine import Device, Machine, Place
from .options import Options, SplitMode
from .placement import Placement

PIPELINE_COPIES = 4
"""GGML_SCHED_MAX_COPIES."""


class Parts(NamedTuple):
    """The parts of a Problem beside its graph.

    Attributes:
        bufts: those that a backend computes in, the CPU's own, and the others that weights or caches lie in.
        backends: in the scheduler's order: GPUs, accelerators, CPU.
        config: settings of the scheduler.
        places: buffer type name -> index in `bufts`.
    """

    bufts: tuple[BufferType, ...]
    backends: tuple[Backend, ...]
    config: Config
    places: dict[str, int]


def scheduler_parts(placement: Placement, options: Options, caches: Iterable[Place]) -> Parts:
    """What the scheduler is made of under the options.

    Args:
        placement: of the weights.
        options: of the run.
        caches: where the caches lie.
    """
    machine = placement.machine
    own = compute_places(machine)
    owned = {place.name: place for place in (*own, machine.own_place(machine.cpu))}
    used = {one.place.name: one.place for one in placement.weights if one.place}
    used.update((place.name, place) for place in caches)
    places = [*owned.values(), *(used[name] for name in sorted(used.keys() - owned.keys()))]
    index = {place.name: number for number, place in enumerate(places)}
    pipeline = all(holds for _, holds in pipeline_conditions(placement, options))
    return Parts(
        tuple(_buft(place) for place in places),
        tuple(_backend(one, default, places, index) for one, default in zip(machine.backends, own, strict=True)),
        Config(n_copies=PIPELINE_COPIES if pipeline else 1, op_offload=options.op_offload),
        index,
    )


def pipeline_conditions(placement: Placement, options: Options) -> tuple[tuple[str, bool], ...]:
    """Each condition of pipeline parallelism, and whether it holds; all must."""
    machine, layers = placement.machine, placement.layers
    waits = [one.name for one in machine.backends[:-1] if not (one.profile.is_async and one.profile.has_events)]
    return (
        (f"more than one GPU is used ({len(machine.gpus)})", len(machine.gpus) > 1),
        ("all layers and the output are offloaded", layers.full_offload),
        ("the split mode is layer", options.split_mode is SplitMode.LAYER),
        ("the KV cache is offloaded", options.offload_kqv),
        ("no tensor is moved by -ot or --n-cpu-moe", not placement.overridden),
        (f"every device but the CPU is asynchronous and has events{_without(waits)}", not waits),
    )


def _without(names: list[str]) -> str:
    return f" (not so: {', '.join(names)})" if names else ""


def compute_places(machine: Machine) -> list[Place]:
    """The buffer type that each backend computes in, in the scheduler's order.

    The CPU works in the pinned host memory of the first GPU where that has such a type.
    """
    places = [machine.own_place(one) for one in machine.backends]
    if machine.gpus and machine.gpus[0].profile.host_buft:
        pinned = machine.host_place
        assert pinned is not None
        places[-1] = pinned
    return places


def _buft(place: Place) -> BufferType:
    if place.default:
        return BufferType.of(place.device.profile, place.name)
    return BufferType(place.name, host=place.host, align=place.align)


def _backend(one: Device, default: Place, places: list[Place], index: dict[str, int]) -> Backend:
    profile = one.profile
    reads = [profile.supports_buft(one.name, place.name, place.host) for place in places]
    return Backend(
        one.name,
        profile.type,
        index[default.name],
        frozenset(number for number, read in enumerate(reads) if read),
        offload=None if profile.takes is not None else frozenset(),
        is_async=profile.is_async,
        has_events=profile.has_events,
        profile=profile.name,
        limits=dict(profile.changed),
    )
