"""Qwen 2 and 2.5 (src/models/qwen2.cpp)."""

from __future__ import annotations

from math import sqrt

from ..ops import add, as_float
from ..ops.attention import ROPE_NEOX
from .architecture import Architecture, as_read, attention_weights, embedding_weights, ffn_weights
from .attention import build_attn, build_qkv
from .ffn import build_ffn
from .graph import LlmGraph
from .hparams import Hparams
from .weights import Weight, optional


def weights(h: Hparams) -> list[Weight]:
    """load_arch_tensors."""
    found = [*embedding_weights(h), optional("output.bias", h.n_vocab)]
    for il in range(h.n_layer):
        found += attention_weights(h, il, h.n_embd, h.n_embd_v_gqa, h.n_embd_v_gqa)
        found += ffn_weights(h, il)
    return found


def build(g: LlmGraph) -> None:
    """llama_model_qwen2::graph."""
    inp = g.inp_embd()
    pos = g.inp_pos()
    attn = g.inp_attn()
    kq_scale = as_float(1.0 / as_float(sqrt(g.h.n_embd_head_v)))
    out_ids = g.inp_out_ids()
    for il in range(g.h.n_layer):
        layer = g.layer(il)
        cur = g.cb(g.norm(inp, layer.weight("attn_norm"), il), "attn_norm", il)
        q, k, v = build_qkv(g, layer, cur)
        q = g.cb(g.rope(q, pos), "Qcur", il)
        k = g.cb(g.rope(k, pos), "Kcur", il)
        g.cb(v, "Vcur", il)
        cur = build_attn(g, attn, layer, q, k, v, kq_scale)
        cur, inp = g.only_outputs(il, out_ids, cur, inp)
        ffn_inp = g.cb(add(cur, inp), "ffn_inp", il)
        cur = g.cb(g.norm(ffn_inp, layer.weight("ffn_norm"), il), "ffn_norm", il)
        cur = g.cb(build_ffn(g, layer, cur), "ffn_out", il)
        inp = g.cb(add(cur, ffn_inp), "l_out", il)
    g.finish(g.head(inp, g.weights.get("output.bias", g.h.n_layer)))


ARCHITECTURE = Architecture("qwen2", "Qwen 2 and 2.5", ROPE_NEOX, as_read, weights, build)
