"""Llama 2 and 3, Mistral, and Mixtral's experts (src/models/llama.cpp)."""

from __future__ import annotations

from math import sqrt

from ..ops import add, as_float
from ..ops.attention import ROPE_NORMAL
from .architecture import Architecture, attention_weights, embedding_weights, ffn_weights, moe_weights
from .attention import build_attn, build_qkv
from .ffn import build_ffn
from .graph import LlmGraph
from .hparams import Hparams, Keys
from .moe import build_moe_ffn
from .weights import Weight, optional

USUAL = frozenset({"output.weight", "ffn_gate_exps.weight"})


def hparams(h: Hparams, keys: Keys) -> Hparams:
    """load_hparams checks that rope turns whole heads."""
    if h.n_rot != h.n_embd_head_k:
        keys.refuse("rope.dimension_count", f"is {h.n_rot}, heads have {h.n_embd_head_k} elements")
    return h


def weights(h: Hparams) -> list[Weight]:
    """load_arch_tensors."""
    found = embedding_weights(h)
    names = ("rope_factors_long", "rope_factors_short") if h.rope_scaling == "longrope" else ("rope_freqs",)
    found += [optional(f"{name}.weight", h.n_rot // 2) for name in names]
    for il in range(h.n_layer):
        p = f"blk.{il}."
        found += attention_weights(h, il, h.n_embd_head_k * h.n_head, h.n_embd_k_gqa, h.n_embd_v_gqa)
        found.append(optional(f"{p}attn_output.bias", h.n_embd))
        if h.n_expert:
            found += moe_weights(h, il, h.n_ff, gate_required=False)
        else:
            found += ffn_weights(h, il)
            found += [optional(f"{p}ffn_gate.bias", h.n_ff), optional(f"{p}ffn_up.bias", h.n_ff)]
            found.append(optional(f"{p}ffn_down.bias", h.n_embd))
    return found


def build(g: LlmGraph) -> None:
    """llama_model_llama::graph."""
    inp = g.inp_embd()
    pos = g.inp_pos()
    attn = g.inp_attn()
    kq_scale = as_float(1.0 / as_float(sqrt(g.h.n_embd_head_v)))
    out_ids = g.inp_out_ids()
    for il in range(g.h.n_layer):
        layer = g.layer(il)
        cur = g.cb(g.norm(inp, layer.weight("attn_norm"), il), "attn_norm", il)
        factors = g.rope_factors(layer)
        q, k, v = build_qkv(g, layer, cur)
        q = g.cb(g.rope(q, pos, factors), "Qcur", il)
        k = g.cb(g.rope(k, pos, factors), "Kcur", il)
        g.cb(v, "Vcur", il)
        cur = g.cb(build_attn(g, attn, layer, q, k, v, kq_scale), "attn_out", il)
        cur, inp = g.only_outputs(il, out_ids, cur, inp)
        ffn_inp = g.cb(add(cur, inp), "ffn_inp", il)
        cur = g.cb(g.norm(ffn_inp, layer.weight("ffn_norm"), il), "ffn_norm", il)
        if layer.maybe("ffn_gate_inp") is None:
            cur = g.cb(build_ffn(g, layer, cur, extras=True), "ffn_out", il)
        else:
            cur = build_moe_ffn(g, layer, cur)
        cur = g.cb(add(cur, ffn_inp), "ffn_out", il)
        inp = g.cb(cur, "l_out", il)
    g.finish(g.head(inp))


ARCHITECTURE = Architecture("llama", "Llama 2 and 3, Mistral, Mixtral", ROPE_NORMAL, hparams, weights, build, USUAL)
