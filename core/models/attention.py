"""Self-attention over the KV cache (llm_graph_context::build_qkv, build_attn, build_attn_mha)."""

from __future__ import annotations

from ..dtypes import DTYPES
from ..ops import (
    Lazy,
    Prec,
    add,
    cast,
    concat,
    cont,
    cont_nd,
    flash_attn_ext,
    flash_attn_ext_set_n_kv_max,
    is_contiguous,
    mul_mat,
    mul_mat_set_hint,
    n_elements,
    permute,
    prec_set_acc,
    reshape,
    row_size,
    soft_max_ext,
    transpose,
    view,
)
from ..ops.matmul import SRC0_IS_HADAMARD
from .graph import LlmGraph
from .kv import AttnInput
from .weights import Layer

_F16, _F32 = DTYPES["f16"], DTYPES["f32"]


def build_qkv(g: LlmGraph, layer: Layer, cur: Lazy) -> tuple[Lazy, Lazy, Lazy]:
    """build_qkv: [head size, heads, tokens] each, from one matrix or three."""
    heads = (("Qcur", g.h.n_head), ("Kcur", g.h.n_head_kv), ("Vcur", g.h.n_head_kv))
    fused = layer.maybe("attn_qkv")
    if fused is None:
        parts = [_project(g, layer, cur, name, n_head) for name, n_head in heads]
    else:
        parts = _split_qkv(g, _fused_qkv(g, layer, fused, cur))
    q, k, v = (g.cb(part, name, layer.il) for part, (name, _) in zip(parts, heads, strict=True))
    return q, k, v


def _project(g: LlmGraph, layer: Layer, cur: Lazy, name: str, n_head: int) -> Lazy:
    weight = f"attn_{name[0].lower()}"
    cur = g.cb(g.mm(layer.weight(weight), cur, layer.scale(weight)), name, layer.il)
    bias = layer.bias(weight)
    if bias is not None:
        cur = g.cb(add(cur, bias), name, layer.il)
    return reshape(cur, g.h.n_embd_head_v, n_head, g.c.n_tokens)


def _fused_qkv(g: LlmGraph, layer: Layer, weight: Lazy, cur: Lazy) -> Lazy:
    """One product for all three; biases may be one tensor or three."""
    qkv = g.cb(g.mm(weight, cur, layer.scale("attn_qkv")), "wqkv", layer.il)
    bias = layer.bias("attn_qkv")
    parts = [layer.bias(f"attn_{part}") for part in "qkv"]
    if bias is None and None not in parts:
        q, k, v = (part for part in parts if part is not None)
        bias = concat(concat(q, k, 0), v, 0)
    return qkv if bias is None else g.cb(add(qkv, bias), "wqkv_b", layer.il)


def _split_qkv(g: LlmGraph, qkv: Lazy) -> list[Lazy]:
    head, n_head, n_head_kv = g.h.n_embd_head_v, g.h.n_head, g.h.n_head_kv
    nb = row_size(qkv.dtype, head), qkv.nb[1]
    starts = ((n_head, 0), (n_head_kv, n_head), (n_head_kv, n_head + n_head_kv))
    return [view(qkv, (head, n, g.c.n_tokens), nb, row_size(qkv.dtype, head * start)) for n, start in starts]


def build_attn(
    g: LlmGraph, inputs: tuple[AttnInput, AttnInput | None], layer: Layer, q: Lazy, k: Lazy, v: Lazy, kq_scale: float
) -> Lazy:
    """build_attn: store K and V, attend, project with `attn_output`."""
    il = layer.il
    whole, window = inputs
    inp = window if window is not None and g.h.is_swa[il] else whole
    if inp.k_rot is not None:
        q, k = rotate(q, inp.k_rot), rotate(k, inp.k_rot)
    if inp.v_rot is not None:
        v = rotate(v, inp.v_rot)
    # Listed together so that they are not reordered; with a window K comes before V.
    for tensor in (q, v, k) if window is None else (q, k, v):
        g.ctx.expand(tensor)
    cache = g.cache_of(il)
    g.ctx.expand(cache.cpy_k(k, inp.k_idxs, il))
    g.ctx.expand(cache.cpy_v(v, inp.v_idxs, il))
    cur = g.cb(_mha(g, q, cache.get_k(il), cache.get_v(il), inp.mask, kq_scale, il), "kqv_out", il)
    if inp.v_rot is not None:
        cur = rotate(cur, inp.v_rot)
    cur = g.mm(layer.weight("attn_output"), cur, layer.scale("attn_output"))
    bias = layer.bias("attn_output")
    return cur if bias is None else add(cur, bias)


def rotate(cur: Lazy, rot: Lazy) -> Lazy:
    """llama_mul_mat_hadamard: rotate pieces of a row, which makes quantising it less harmful."""
    n = rot.ne[0]
    shape = n, n_elements(cur.ne) // n
    pieces = reshape(cur, *shape) if is_contiguous(cur) else cont_nd(cur, *shape)
    product = mul_mat(rot, pieces)
    mul_mat_set_hint(product, SRC0_IS_HADAMARD)
    return reshape(product, *cur.ne)


def _mha(g: LlmGraph, q: Lazy, k: Lazy, v: Lazy, mask: Lazy, kq_scale: float, il: int) -> Lazy:
    """build_attn_mha."""
    v_trans = v.nb[1] > v.nb[2]
    streams = k.ne[3]
    n = q.ne[2] // streams
    q = view(q, (q.ne[0], q.ne[1], n, streams), (q.nb[1], q.nb[2], q.nb[2] * n))
    q, k, v = (permute(tensor, 0, 2, 1, 3) for tensor in (q, k, v))
    if g.c.flash_attn:
        cur = _flash(g, q, k, transpose(v) if v_trans else v, mask, kq_scale, il)
    else:
        cur = _plain(g, q, k, v, v_trans, mask, kq_scale, il)
    g.ctx.expand(cur)
    return cur


def _flash(g: LlmGraph, q: Lazy, k: Lazy, v: Lazy, mask: Lazy, kq_scale: float, il: int) -> Lazy:
    k, v = (cast(tensor, _F16) if tensor.dtype is _F32 else tensor for tensor in (k, v))
    cur = flash_attn_ext(q, k, v, mask, kq_scale, 0.0, 0.0)
    g.attention.append((cur, il))
    flash_attn_ext_set_n_kv_max(cur, 0)
    prec_set_acc(cur, Prec.F32)
    return reshape(cur, cur.ne[0] * cur.ne[1], cur.ne[2] * cur.ne[3])


def _plain(g: LlmGraph, q: Lazy, k: Lazy, v: Lazy, v_trans: bool, mask: Lazy, kq_scale: float, il: int) -> Lazy:
    kq = g.cb(mul_mat(k, q), "kq", il)
    prec_set_acc(kq, Prec.F32)
    kq = g.cb(soft_max_ext(kq, mask, kq_scale, 0.0), "kq_soft_max", il)
    if not v_trans:
        v = g.cb(cont(transpose(v)), "v_cont", il)
    kqv = permute(g.cb(mul_mat(v, kq), "kqv", il), 0, 2, 1, 3)
    cur = cont_nd(kqv, kqv.ne[0] * kqv.ne[1], kqv.ne[2] * kqv.ne[3])
    g.after_attention.append(cur)
    return cur
