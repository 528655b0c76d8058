"""Gemma 3 (src/models/gemma3.cpp): windowed attention in most layers, norms on both sides of each block."""

from __future__ import annotations

from math import sqrt

import msgspec

from ..ops import Lazy, add, as_float, scale, tanh
from ..ops.attention import ROPE_NEOX
from .architecture import Architecture, attention_weights, embedding_weights, ffn_weights, qk_norm_weights
from .attention import build_attn, build_qkv
from .ffn import build_ffn
from .graph import LlmGraph
from .hparams import HEADS_SWA, Hparams, Keys
from .weights import Weight

_LAYERS_27B = 62
_PATTERN = 6
"""Every sixth layer sees the whole context, unless the file says otherwise."""


def hparams(h: Hparams, keys: Keys) -> Hparams:
    """load_arch_hparams."""
    n_swa = keys.integer("attention.sliding_window", 0)
    divided = h.n_embd // h.n_head if h.n_layer == _LAYERS_27B else h.n_embd_head_k
    if not divided:
        keys.refuse("attention.key_length", "heads must have at least 1 element")
    if n_swa:
        for key, whole in zip(HEADS_SWA, (h.n_embd_head_k, h.n_embd_head_v, h.n_rot), strict=True):
            if keys.integer(key, whole) != whole:
                keys.refuse(key, "another head size in windowed layers needs the real llama.cpp")
    return msgspec.structs.replace(
        h,
        n_swa=n_swa,
        is_swa=_windowed(h, keys) if n_swa else h.is_swa,
        rope_freq_base_swa=keys.number("rope.freq_base_swa", 10000.0) if n_swa else 10000.0,
        final_logit_softcap=keys.number("final_logit_softcapping", 0.0),
        attention_scale=as_float(1.0 / as_float(sqrt(divided))),
    )


def _windowed(h: Hparams, keys: Keys) -> tuple[bool, ...]:
    """load_swa_pattern: one entry per layer, or the length of the pattern whose last layer sees everything."""
    key = "attention.sliding_window_pattern"
    flags = keys.array(key)
    if flags is not None:  # a short one leaves the last layers without a window
        return tuple(bool(flag) for flag in (*flags, *(0,) * h.n_layer)[: h.n_layer])
    n = keys.integer(key, _PATTERN)
    return tuple(n == 0 or il % n < n - 1 for il in range(h.n_layer))


def weights(h: Hparams) -> list[Weight]:
    """load_arch_tensors."""
    found = embedding_weights(h)
    for il in range(h.n_layer):
        p = f"blk.{il}."
        found += attention_weights(h, il, h.n_embd_head_k * h.n_head, h.n_embd_k_gqa, h.n_embd_v_gqa)
        found += qk_norm_weights(h, il) + ffn_weights(h, il)
        found.append(Weight(f"{p}post_attention_norm.weight", (h.n_embd,)))
        found.append(Weight(f"{p}post_ffw_norm.weight", (h.n_embd,)))
    return found


def build(g: LlmGraph) -> None:
    """llama_model_gemma3::graph."""
    inp = g.cb(g.inp_embd(scaled=True), "inp_scaled")
    pos = g.inp_pos()
    attn = g.inp_attn()
    out_ids = g.inp_out_ids()
    for il in range(g.h.n_layer):
        layer = g.layer(il)
        cur = g.cb(g.norm(inp, layer.weight("attn_norm"), il), "attn_norm", il)
        q, k, v = build_qkv(g, layer, cur)
        q = g.cb(g.norm(q, layer.weight("attn_q_norm"), il), "Qcur_normed", il)
        q = g.cb(g.rope(q, pos, il=il), "Qcur", il)
        k = g.cb(g.norm(k, layer.weight("attn_k_norm"), il), "Kcur_normed", il)
        k = g.cb(g.rope(k, pos, il=il), "Kcur", il)
        g.cb(v, "Vcur", il)
        cur = build_attn(g, attn, layer, scale(q, g.h.attention_scale), k, v, 1.0)
        cur, inp = g.only_outputs(il, out_ids, cur, inp)
        cur = g.cb(g.norm(cur, layer.weight("post_attention_norm"), il), "attn_post_norm", il)
        sa_out = g.cb(add(cur, inp), "sa_out", il)
        cur = g.cb(g.norm(sa_out, layer.weight("ffn_norm"), il), "ffn_norm", il)
        cur = g.cb(build_ffn(g, layer, cur, "ffn_geglu"), "ffn_out", il)
        # llama.cpp names this norm without its layer, so it is never pinned.
        cur = g.cb(g.norm(cur, layer.weight("post_ffw_norm"), -1), "ffn_post_norm", il)
        inp = g.cb(add(cur, sa_out), "l_out", il)
    g.finish(_softcap(g.head(inp), g.h.final_logit_softcap))


def _softcap(cur: Lazy, cap: float) -> Lazy:
    """Keep the logits between -cap and cap."""
    return scale(tanh(scale(cur, as_float(1.0 / cap))), cap) if cap else cur


ARCHITECTURE = Architecture("gemma3", "Gemma 3", ROPE_NEOX, hparams, weights, build)
