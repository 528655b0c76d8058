"""Qwen 3, with and without experts (src/models/qwen3.cpp, qwen3moe.cpp)."""

from __future__ import annotations

from math import sqrt

import msgspec

from ..ops import add, as_float
from ..ops.attention import ROPE_NEOX
from .architecture import (
    Architecture,
    as_read,
    attention_weights,
    embedding_weights,
    ffn_weights,
    moe_weights,
    qk_norm_weights,
)
from .attention import build_attn, build_qkv
from .ffn import build_ffn
from .graph import LlmGraph
from .hparams import Hparams, Keys
from .moe import build_moe_ffn
from .weights import Weight, optional


def moe_hparams(h: Hparams, keys: Keys) -> Hparams:
    """load_arch_hparams of qwen3moe."""
    if not h.n_expert:
        keys.refuse("expert_count", "qwen3moe needs experts")
    return msgspec.structs.replace(h, n_ff_exp=keys.same_in_all("expert_feed_forward_length", h.n_layer, 0))


def _attention(h: Hparams, il: int) -> list[Weight]:
    found = attention_weights(h, il, h.n_embd_head_k * h.n_head, h.n_embd_v_gqa, h.n_embd_v_gqa)
    return found + qk_norm_weights(h, il)


def weights(h: Hparams) -> list[Weight]:
    """load_arch_tensors of qwen3."""
    found = [*embedding_weights(h), optional("cls.output.weight", h.n_embd, h.n_cls_out)]
    for il in range(h.n_layer):
        found += _attention(h, il) + ffn_weights(h, il)
    return found


def moe_weight_list(h: Hparams) -> list[Weight]:
    """load_arch_tensors of qwen3moe."""
    found = embedding_weights(h)
    for il in range(h.n_layer):
        found += _attention(h, il) + moe_weights(h, il, h.n_ff_exp or h.n_ff // h.n_expert_used)
    return found


def build(g: LlmGraph) -> None:
    """llama_model_qwen3::graph and llama_model_qwen3moe::graph."""
    inp = g.inp_embd()
    pos = g.inp_pos()
    attn = g.inp_attn()
    kq_scale = as_float(1.0 / as_float(sqrt(g.h.n_embd_head_v)))
    out_ids = g.inp_out_ids()
    for il in range(g.h.n_layer):
        layer = g.layer(il)
        cur = g.cb(g.norm(inp, layer.weight("attn_norm"), il), "attn_norm", il)
        q, k, v = build_qkv(g, layer, cur)
        q = g.cb(g.norm(q, layer.weight("attn_q_norm"), il), "Qcur_normed", il)
        q = g.cb(g.rope(q, pos), "Qcur", il)
        k = g.cb(g.norm(k, layer.weight("attn_k_norm"), il), "Kcur_normed", il)
        k = g.cb(g.rope(k, pos), "Kcur", il)
        g.cb(v, "Vcur", il)
        cur = build_attn(g, attn, layer, q, k, v, kq_scale)
        cur, inp = g.only_outputs(il, out_ids, cur, inp)
        ffn_inp = g.cb(add(cur, inp), "ffn_inp", il)
        cur = g.cb(g.norm(ffn_inp, layer.weight("ffn_norm"), il), "ffn_norm", il)
        if g.h.arch == "qwen3moe":
            cur = build_moe_ffn(g, layer, cur)
        else:
            cur = g.cb(build_ffn(g, layer, cur, extras=True), "ffn_out", il)
        inp = g.cb(add(cur, ffn_inp), "l_out", il)
    g.finish(g.head(inp))


DENSE = Architecture("qwen3", "Qwen 3", ROPE_NEOX, as_read, weights, build)
MOE = Architecture("qwen3moe", "Qwen 3 with experts", ROPE_NEOX, moe_hparams, moe_weight_list, build)
