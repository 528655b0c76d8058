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
from .options import FlashAttn, Options


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
    """Every cache tensor, in the order of layers: K and V, then recurrent states.

    The layout is fixed before automatic flash attention is resolved: only `-fa off` transposes V (and pads it where
    its width varies between layers).

    Raises:
        InputError: a row of a cache is no whole number of blocks of its type.
    """
    options = chosen.options
    found = _kv(facts, chosen, machine, layers)
    f32 = DTYPES["f32"]
    for layer in (layer for layer, recurrent in enumerate(facts.recurrent) if recurrent):
        place = _place(layer, options.offload_kqv, machine, layers)
        for letter, width in (("r", facts.recurrent_r), ("s", facts.recurrent_s)):
            found.append(Cache(f"cache_{letter}_l{layer}", layer, f32, (width, options.n_seq_max, 1), place, True))
    return found


def _kv(facts: CacheFacts, chosen: Chosen, machine: Machine, layers: Layers) -> list[Cache]:
    """K and V of the layers with attention."""
    options = chosen.options
    found: list[Cache] = []
    streams = 1 if options.kv_unified else options.n_seq_max
    full, window = cells(facts, chosen)
    widest = max(facts.v_width, default=0)
    transposed = options.flash_attn is FlashAttn.OFF
    for layer in (layer for layer, recurrent in enumerate(facts.recurrent) if not recurrent):
        place = _place(layer, options.offload_kqv, machine, layers)
        count = window if facts.windowed[layer] else full
        v_width = widest if transposed else facts.v_width[layer]
        kept = [("k", options.type_k, facts.k_width[layer]), ("v", options.type_v, v_width)]
        for letter, dtype, width in kept[:1] if facts.k_only else kept:
            if width % dtype.block:
                raise InputError(
                    f"layer {layer}: {width} elements of {letter.upper()} per token are no whole number of "
                    f"{dtype.name} blocks of {dtype.block}"
                )
            found.append(Cache(f"cache_{letter}_l{layer}", layer, dtype, (width, count, streams), place))
    return found


def cells(facts: CacheFacts, chosen: Chosen) -> tuple[int, int]:
    """Cells per stream of layers with full attention and of window layers."""
    return chosen.n_ctx_seq, window_cells(chosen.n_ctx_seq, facts.window, chosen.options)


def window_cells(full: int, window: int, options: Options) -> int:
    """Cells per stream of window layers, where the others have `full` (llama_kv_cache_iswa)."""
    if options.swa_full:
        return full
    needed = window * (options.n_seq_max if options.kv_unified else 1) + options.n_ubatch
    return -(-min(full, needed) // 256) * 256


def bytes_by_place(found: Iterable[Cache]) -> dict[tuple[str, bool], int]:
    """(buffer type, is recurrent) -> bytes."""
    total: dict[tuple[str, bool], int] = defaultdict(int)
    for cache in found:
        total[cache.place.name, cache.recurrent] += cache.size
    return dict(total)


def _place(layer: int, offload: bool, machine: Machine, layers: Layers) -> Place:
    return machine.own_place(layers.devices[layer] if offload else machine.cpu)
