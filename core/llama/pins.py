"""Nodes that llama.cpp itself pins to a backend while it builds the graph (graph_get_cb, build_attn_mha)."""

from __future__ import annotations

from collections.abc import Sequence

from ..devices.seen import seen_in
from ..graph import BufferType
from ..models.built import Built
from ..tensor import Tensor
from .options import Options
from .placement import Placement

PINNED_NAMES = frozenset({"norm", "l_last"})
"""Nodes that stay with their layer, so that they do not slip to the device of the one before."""
FEW_TOKENS = 32
"""Below this many tokens they are always pinned, above only with everything offloaded."""


def pins(
    built: Built, placement: Placement, options: Options, tensors: Sequence[Tensor], bufts: Sequence[BufferType]
) -> dict[int, int]:
    """Tensor id -> backend index in the scheduler's order.

    Args:
        built: the graph and what llama.cpp called its nodes.
        placement: of its layers.
        options: of the run.
        tensors: those of the graph, weights and caches with their buffer types.
        bufts: of the problem.
    """
    machine, layers = placement.machine, placement.layers
    backends = {one.name: number for number, one in enumerate(machine.backends)}
    found: dict[int, int] = {}
    if built.shape.n_tokens < FEW_TOKENS or layers.full_offload:
        lies = [(buft.name, buft.profile, buft.host) for buft in bufts]
        for tensor, name, il in built.called:
            if il >= 0 and name in PINNED_NAMES:
                device = layers.devices[il]
                op = seen_in(tensors, tensor, tensors[tensor].src, lies)
                if not device.profile.supports(op, device.buft):
                    found[tensor] = backends[device.name]
    if not options.offload_kqv:
        found.update(dict.fromkeys(built.after_attention, len(machine.backends) - 1))
    return found
