"""The KV cache as a graph sees it (llama_kv_cache, llama_kv_cache_iswa): its leafs, reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..dtypes import DTYPES
from ..errors import InputError
from ..ops import Lazy, cont_nd, n_elements, new_tensor, reshape, row_size, set_rows, view
from ..tensor import Flag
from .cparams import Cparams
from .hparams import Hparams

_F16, _F32, _I64 = DTYPES["f16"], DTYPES["f32"], DTYPES["i64"]
_ROT = 64
"""Smallest rotation of a quantised cache."""


class AttnInput(NamedTuple):
    """Inputs of attention over one cache (llm_graph_input_attn_kv): where to write, what to see, rotations."""

    k_idxs: Lazy
    v_idxs: Lazy
    mask: Lazy
    k_rot: Lazy | None
    v_rot: Lazy | None


class KvCache:
    """One cache: every layer's K and V, [elements per token, cells, streams]."""

    def __init__(self, hparams: Hparams, cparams: Cparams, size: int, layers: Sequence[int], n_kv: int) -> None:
        """Make the leafs of some layers.

        Args:
            hparams: of the model.
            cparams: of the context.
            size: cells per stream.
            layers: whose K and V it holds.
            n_kv: cells that attention sees, the first ones of each stream.
        """
        self.h, self.c, self.size, self.n_kv = hparams, cparams, size, n_kv
        self.k: dict[int, Lazy] = {}
        self.v: dict[int, Lazy] = {}
        streams = cparams.n_stream
        for il in layers:
            self.k[il] = new_tensor(cparams.type_k, hparams.n_embd_k_gqa, size, streams).set_name(f"cache_k_l{il}")
            self.v[il] = new_tensor(cparams.type_v, hparams.n_embd_v_gqa, size, streams).set_name(f"cache_v_l{il}")

    def inputs(self) -> AttnInput:
        """build_attn_inp_kv_impl: the graph sees the first n_kv cells of the streams of its sequences."""
        c, n_stream = self.c, self.c.shape.n_stream
        n_v = c.n_tokens * self.h.n_embd_v_gqa if c.v_trans else c.n_tokens
        mask_type = _F16 if c.flash_attn else _F32
        return AttnInput(
            _input(new_tensor(_I64, c.n_tokens), "attn_inp_k_idxs"),
            _input(new_tensor(_I64, n_v), "attn_inp_v_idxs"),
            _input(new_tensor(mask_type, self.n_kv, c.n_tokens // n_stream, 1, n_stream), "attn_inp_kq_mask"),
            self.k_rotation(),
            self._rotation("attn_inp_v_rot", self.v, c.type_v.quantized, self.h.n_embd_head_v, largest=False),
        )

    def k_rotation(self) -> Lazy | None:
        """build_input_k_rot."""
        return self._rotation("attn_inp_k_rot", self.k, self.c.type_k.quantized, self.h.n_embd_head_k, largest=True)

    def _rotation(self, name: str, held: dict[int, Lazy], quantized: bool, head: int, largest: bool) -> Lazy | None:
        """A Hadamard matrix for quantised caches; K takes the largest that fits a head."""
        if not held or not quantized or head % _ROT:
            return None
        n = _ROT
        while largest and head % (2 * n) == 0:
            n *= 2
        return _input(new_tensor(_F32, n, n), name)

    def get_k(self, il: int) -> Lazy:
        """get_k: [head size, heads, cells that are seen, streams]."""
        k, shape = self.k[il], self.c.shape
        cell = row_size(k.dtype, k.ne[0])
        stream = cell * self.size
        nb = row_size(k.dtype, self.h.n_embd_head_k), cell, stream
        seen = self.h.n_embd_head_k, self.h.n_head_kv, self.n_kv, shape.n_stream
        return view(k, seen, nb, stream * shape.first_stream)

    def get_v(self, il: int) -> Lazy:
        """get_v: like K, or [cells, heads, head size, streams] when transposed."""
        v, shape, n_head = self.v[il], self.c.shape, self.h.n_head_kv
        size, head = v.dtype.size, self.h.n_embd_head_v
        stream = row_size(v.dtype, v.ne[0]) * self.size
        start = stream * shape.first_stream
        if self.c.v_trans:
            nb = size * self.size * head, size * self.size, stream
            return view(v, (self.n_kv, n_head, head, shape.n_stream), nb, start)
        nb = row_size(v.dtype, head), row_size(v.dtype, v.ne[0]), stream
        return view(v, (head, n_head, self.n_kv, shape.n_stream), nb, start)

    def cpy_k(self, cur: Lazy, idxs: Lazy, il: int) -> Lazy:
        """cpy_k: write the tokens' K into the cells."""
        return set_rows(self._all_streams(self.k[il]), _tokens(cur), idxs)

    def cpy_v(self, cur: Lazy, idxs: Lazy, il: int) -> Lazy:
        """cpy_v: write the tokens' V; into a transposed cache element by element."""
        v = self.v[il]
        if not self.c.v_trans:
            return set_rows(self._all_streams(v), _tokens(cur), idxs)
        n_embd, n_tokens = cur.ne[0] * cur.ne[1], cur.ne[2]
        if row_size(cur.dtype, n_embd) == cur.nb[2]:
            cur = reshape(cur, n_embd, n_tokens)
        else:
            cur = cont_nd(cur, n_embd, n_tokens)
        elements = reshape(v, 1, n_elements(v.ne))
        return set_rows(elements, reshape(cur, 1, n_elements(cur.ne)), idxs)

    def _all_streams(self, cache: Lazy) -> Lazy:
        """The cells of all streams in a row: ids are global."""
        return reshape(cache, cache.ne[0], cache.ne[1] * cache.ne[2]) if cache.ne[2] > 1 else cache


def _tokens(cur: Lazy) -> Lazy:
    """[head size, heads, tokens] as [elements, tokens]."""
    return view(cur, (cur.ne[0] * cur.ne[1], cur.ne[2]), (cur.nb[2],))


def _input(tensor: Lazy, name: str) -> Lazy:
    tensor.flags |= Flag.INPUT
    return tensor.set_name(name)


def make_caches(hparams: Hparams, cparams: Cparams) -> tuple[KvCache, KvCache | None]:
    """The cache and, for models with windowed layers, the smaller one of those (llama_kv_cache_iswa).

    Raises:
        InputError: the model has a window, but no layer with it.
    """
    attention = () if hparams.recurrent else range(hparams.n_layer)
    windowed = [il for il in attention if hparams.is_swa[il]]
    whole = [il for il in attention if not hparams.is_swa[il]]
    cache = KvCache(hparams, cparams, cparams.n_ctx_seq, whole, cparams.shape.n_kv)
    if not hparams.n_swa:
        return cache, None
    if not windowed:
        raise InputError(f"{hparams.arch}.attention.sliding_window is {hparams.n_swa}, but no layer is windowed")
    return cache, KvCache(hparams, cparams, cparams.n_ctx_swa, windowed, cparams.shape.n_kv_swa)
