"""The graph that rotates K after positions were changed (llama_kv_cache::build_graph_shift)."""

from __future__ import annotations

from ..dtypes import DTYPES
from ..errors import InputError
from ..ops import cast, cpy, row_size, view
from .attention import rotate
from .graph import LlmGraph
from .shape import Purpose

_F32, _I32 = DTYPES["f32"], DTYPES["i32"]


def build_shift(g: LlmGraph) -> None:
    """All cells of all streams of one cache; a quantised cache is taken apart, turned back, rotated and stored again.

    Raises:
        InputError: the model has no such cache, or llama.cpp cannot shift it.
    """
    cache = g.cache if g.c.shape.purpose is Purpose.SHIFT else g.cache_swa
    if cache is None or not cache.k:
        raise InputError(f"architecture {g.h.arch!r} has no such cache whose K could be shifted")
    head, cells = g.h.n_embd_head_k, cache.size * g.c.n_stream
    shift = g.input("", _I32, cells)
    rot = cache.k_rotation()
    for il, k in cache.k.items():
        factors = g.rope_factors(g.layer(il))
        nb = row_size(k.dtype, head), row_size(k.dtype, k.ne[0])
        cur = view(k, (g.h.n_rot, g.h.n_head_kv, cells), nb)
        if k.dtype.quantized:
            if rot is None:  # llama_mul_mat_hadamard reads the missing rotation
                raise InputError(
                    f"-ctk {k.dtype.name}: llama.cpp crashes when it shifts heads of {head} elements of this type"
                )
            turned = g.rope(rotate(cast(cur, _F32), rot), shift, factors, il)
            g.ctx.expand(cpy(rotate(turned, rot), cur))
        else:
            g.ctx.expand(g.rope(cur, shift, factors, il, inplace=True))
    g.inputs.append("llm_graph_input_k_shift")
