"""Bytes per buffer type before any graph: weights, KV cache, recurrent state, output buffer."""

from __future__ import annotations

from collections.abc import Sequence

from .caches import Cache, bytes_by_place
from .choices import Chosen
from .facts import CacheFacts
from .machine import Place, host_place
from .placement import Placement
from .taken import BuftMemory


def memory_rows(
    placement: Placement, caches: Sequence[Cache], facts: CacheFacts, chosen: Chosen
) -> tuple[BuftMemory, ...]:
    """One row per buffer type that holds anything, in the order of devices; host memory counts for the CPU."""
    weights = placement.bytes_by_place()
    kept = bytes_by_place(caches)
    output = output_place(placement)
    places = {one.place.name: one.place for one in placement.weights if one.place}
    places.update((cache.place.name, cache.place) for cache in caches)
    places[output.name] = output
    rows = [
        BuftMemory(
            name,
            placement.machine.cpu.name if place.host else place.device.name,
            place.host,
            weights=weights.get(name, 0),
            kv=kept.get((name, False), 0),
            recurrent=kept.get((name, True), 0),
            output=output_bytes(facts, chosen) if name == output.name else 0,
        )
        for name, place in places.items()
    ]
    order = {one.name: number for number, one in enumerate(placement.machine.backends)}
    rows = [row for row in rows if row.weights or row.kv or row.recurrent or row.output]
    return tuple(sorted(rows, key=lambda row: (order.get(row.device, len(order)), row.buft)))


def output_bytes(facts: CacheFacts, chosen: Chosen) -> int:
    """Logits in f32 for one output per sequence (llama_context::output_reserve when the context is made)."""
    return 4 * facts.n_vocab * chosen.options.n_seq_max


def output_place(placement: Placement) -> Place:
    """Pinned host memory of the device that has the output layer, else the CPU's."""
    device = placement.layers.devices[-1]
    return host_place(device) if device.profile.host_buft else placement.machine.own_place(placement.machine.cpu)
