"""Phi 3 (src/models/phi3.cpp): one matrix for Q, K and V, one for gate and up; long and short rope factors."""

from __future__ import annotations

from math import sqrt

from ..ops import add, as_float, scale
from ..ops.attention import ROPE_NEOX
from .architecture import Architecture, attention_weights, embedding_weights
from .attention import build_attn, build_qkv
from .ffn import build_ffn_fused
from .graph import LlmGraph
from .hparams import Hparams, Keys
from .weights import Weight, optional

USUAL = frozenset({"output.weight", "attn_qkv.weight"})


def hparams(h: Hparams, keys: Keys) -> Hparams:
    """load_arch_hparams reads a window and switches it off."""
    keys.integer("attention.sliding_window", 0)
    return h


def weights(h: Hparams) -> list[Weight]:
    """load_arch_tensors."""
    found = embedding_weights(h)
    found += [optional(f"rope_factors_{kind}.weight", h.n_rot // 2) for kind in ("long", "short")]
    for il in range(h.n_layer):
        p = f"blk.{il}."
        found += attention_weights(h, il, h.n_embd, h.n_embd_v_gqa, h.n_embd_v_gqa)
        found.append(Weight(f"{p}ffn_norm.weight", (h.n_embd,)))
        found.append(Weight(f"{p}ffn_down.weight", (h.n_ff, h.n_embd)))
        found.append(Weight(f"{p}ffn_up.weight", (h.n_embd, 2 * h.n_ff)))
    return found


def build(g: LlmGraph) -> None:
    """llama_model_phi3::graph; its sliding window is switched off in llama.cpp."""
    inp = g.inp_embd()
    pos = g.inp_pos()
    attn = g.inp_attn()
    q_scale = as_float(1.0 / as_float(sqrt(g.h.n_embd_head_v)))
    out_ids = g.inp_out_ids()
    for il in range(g.h.n_layer):
        layer = g.layer(il)
        factors = g.rope_factors(layer)
        cur = g.cb(g.norm(inp, layer.weight("attn_norm"), il), "attn_norm", il)
        q, k, v = build_qkv(g, layer, cur)
        q = g.cb(g.rope(q, pos, factors), "Qcur", il)
        k = g.cb(g.rope(k, pos, factors), "Kcur", il)
        g.cb(v, "Vcur", il)
        q = g.cb(scale(q, q_scale), "Qcur", il)
        cur = build_attn(g, attn, layer, q, k, v, 1.0)
        cur, inp = g.only_outputs(il, out_ids, cur, inp)
        residual = add(cur, inp)
        cur = g.cb(g.norm(residual, layer.weight("ffn_norm"), il), "ffn_norm", il)
        cur = g.cb(build_ffn_fused(g, layer, cur), "ffn_out", il)
        inp = g.cb(add(residual, cur), "l_out", il)
    g.finish(g.head(inp))


ARCHITECTURE = Architecture("phi3", "Phi 3", ROPE_NEOX, hparams, weights, build, USUAL)
