"""KV cache and recurrent state: which tensors llama.cpp makes, how large, and where they lie.

Sources: llama_kv_cache, llama_kv_cache_iswa, llama_memory_recurrent; each tensor counts rounded up to the alignment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ..devices.seen import see
from ..dtypes import DTYPES, DType
from ..errors import InputError
from ..op import Op
from .choices import Chosen
from .facts import CacheFacts
from .layers import Layers
from .machine import Machine, Place
from .options import FlashAttn


class Cache(NamedTuple):
    """One cache tensor, allocated before any graph.

    Attributes:
        name: `cache_k_l3`, `cache_v_l3`, `cache_r_l3`, `cache_s_l3`.
        layer: whose it is.
        dtype: element type.
        ne: elements: width, cells, streams.
        place: its buffer type.
        recurrent: it is a recurrent state, not K or V.
    """

    name: str
    layer: int
    dtype: DType
    ne: tuple[int, int, int]
    place: Place
    recurrent: bool = False

    @property
    def size(self) -> int:
        """Bytes it takes in its buffer, rounded up to the alignment."""
        profile, align = self.place.device.profile, self.place.align
        return -(-profile.alloc_size(see(Op.NONE, self.dtype.name, self.ne)) // align) * align


def caches(facts: CacheFacts, chosen: Chosen, machine: Machine, layers: Layers) -> list[Cache]:
    """Every cache tensor, in the order of layers.

    The layout is fixed before automatic flash attention is resolved: only `-fa off` transposes V (and pads it where
    its width varies between layers).

    Raises:
        InputError: a row of a cache is no whole number of blocks of its type.
    """
    options, n_seqs = chosen.options, chosen.options.n_seq_max
    found: list[Cache] = []
    if facts.recurrent_s:
        f32 = DTYPES["f32"]
        for layer in range(facts.n_layer):
            place = _place(layer, options.offload_kqv, machine, layers)
            for letter, width in (("r", facts.recurrent_r), ("s", facts.recurrent_s)):
                found.append(Cache(f"cache_{letter}_l{layer}", layer, f32, (width, n_seqs, 1), place, True))
        return found
    streams = 1 if options.kv_unified else n_seqs
    full, window = cells(facts, chosen)
    widest = max(facts.v_width, default=0)
    transposed = options.flash_attn is FlashAttn.OFF
    for layer in range(facts.n_layer):
        place = _place(layer, options.offload_kqv, machine, layers)
        count = window if facts.windowed[layer] else full
        v_width = widest if transposed else facts.v_width[layer]
        for letter, dtype, width in (("k", options.type_k, facts.k_width[layer]), ("v", options.type_v, v_width)):
            if width % dtype.block:
                raise InputError(
                    f"layer {layer}: {width} elements of {letter.upper()} per token are no whole number of "
                    f"{dtype.name} blocks of {dtype.block}"
                )
            found.append(Cache(f"cache_{letter}_l{layer}", layer, dtype, (width, count, streams), place))
    return found


def cells(facts: CacheFacts, chosen: Chosen) -> tuple[int, int]:
    """Cells per stream of layers with full attention and of window layers."""
    options = chosen.options
    full = chosen.n_ctx_seq
    if options.swa_full:
        return full, full
    window = facts.window * (options.n_seq_max if options.kv_unified else 1) + options.n_ubatch
    return full, -(-min(full, window) // 256) * 256


def bytes_by_place(found: Iterable[Cache]) -> dict[tuple[str, bool], int]:
    """(buffer type, is recurrent) -> bytes."""
    total: dict[tuple[str, bool], int] = defaultdict(int)
    for cache in found:
        total[cache.place.name, cache.recurrent] += cache.size
    return dict(total)


def _place(layer: int, offload: bool, machine: Machine, layers: Layers) -> Place:
    return machine.own_place(layers.devices[layer] if offload else machine.cpu)
