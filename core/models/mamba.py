"""Mamba (src/models/mamba.cpp, mamba-base.cpp): a convolution and a selective scan in place of attention."""

from __future__ import annotations

import msgspec

from ..ops import (
    Lazy,
    add,
    concat,
    cont,
    mul,
    reshape,
    rms_norm,
    silu,
    ssm_conv,
    ssm_scan,
    swiglu_split,
    transpose,
    view,
)
from .architecture import Architecture
from .graph import LlmGraph
from .hparams import Hparams, Keys
from .recurrent import RsInput
from .weights import Layer, Weight, optional

ROPE_NONE = -1
"""LLAMA_ROPE_TYPE_NONE."""


def hparams(h: Hparams, keys: Keys) -> Hparams:
    """load_arch_hparams."""
    d_inner = keys.integer("ssm.inner_size")
    if d_inner != 2 * h.n_embd:
        keys.refuse("ssm.inner_size", f"is {d_inner}, llama.cpp takes twice the embedding length only: {2 * h.n_embd}")
    sizes = {name: keys.integer(f"ssm.{name}") for name in ("conv_kernel", "state_size", "time_step_rank")}
    for name, size in sizes.items():
        if not size:
            keys.refuse(f"ssm.{name}", "must be at least 1")
    return msgspec.structs.replace(
        h,
        ssm_d_conv=sizes["conv_kernel"],
        ssm_d_inner=d_inner,
        ssm_d_state=sizes["state_size"],
        ssm_dt_rank=sizes["time_step_rank"],
        ssm_dt_b_c_rms=keys.flag("ssm.dt_b_c_rms", False),
    )


def weights(h: Hparams) -> list[Weight]:
    """load_arch_tensors."""
    found = [
        Weight("token_embd.weight", (h.n_embd, h.n_vocab)),
        Weight("output_norm.weight", (h.n_embd,)),
        optional("output.weight", h.n_embd, h.n_vocab),
        optional("output.scale", 1),
        optional("output.input_scale", 1),
    ]
    for il in range(h.n_layer):
        p = f"blk.{il}."
        found += [
            Weight(f"{p}attn_norm.weight", (h.n_embd,)),
            Weight(f"{p}ssm_in.weight", (h.n_embd, 2 * h.ssm_d_inner)),
            Weight(f"{p}ssm_conv1d.weight", (h.ssm_d_conv, h.ssm_d_inner)),
            Weight(f"{p}ssm_conv1d.bias", (h.ssm_d_inner,)),
            Weight(f"{p}ssm_x.weight", (h.ssm_d_inner, h.ssm_dt_rank + 2 * h.ssm_d_state)),
            Weight(f"{p}ssm_dt.weight", (h.ssm_dt_rank, h.ssm_d_inner)),
            Weight(f"{p}ssm_dt.bias", (h.ssm_d_inner,)),
            Weight(f"{p}ssm_a", (h.ssm_d_state, h.ssm_d_inner)),
            Weight(f"{p}ssm_d", (h.ssm_d_inner,)),
            Weight(f"{p}ssm_out.weight", (h.ssm_d_inner, h.n_embd)),
        ]
    return found


def build(g: LlmGraph) -> None:
    """llama_model_mamba::graph."""
    inp = g.inp_embd()
    states = g.inp_rs()
    out_ids = g.inp_out_ids()
    for il in range(g.h.n_layer):
        layer = g.layer(il)
        cur = g.cb(g.norm(inp, layer.weight("attn_norm"), il), "attn_norm", il)
        cur = _mix(g, layer, states, cur)
        cur, inp = g.only_outputs(il, out_ids, cur, inp)
        inp = g.cb(add(cur, inp), "l_out", il)
    g.finish(g.head(inp))


def _mix(g: LlmGraph, layer: Layer, states: RsInput, cur: Lazy) -> Lazy:
    """build_mamba_layer: [n_embd, tokens] in and out, sequence by sequence within."""
    shape, d_inner = g.c.shape, g.h.ssm_d_inner
    per_seq = shape.n_seq_tokens, shape.n_seqs
    conv = g.rs.load(g.ctx, g.rs.r[layer.il], states)
    conv = reshape(conv, g.h.ssm_d_conv - 1, d_inner, shape.n_seqs)
    cur = reshape(cur, cur.ne[0], *per_seq)
    xz = g.mm(layer.weight("ssm_in"), cur, layer.scale("ssm_in"))
    x = view(xz, (d_inner, *per_seq), xz.nb[1:3])
    z = view(xz, (d_inner, *per_seq), xz.nb[1:3], d_inner * xz.dtype.size)
    x = _convolve(g, layer, conv, x)
    y = _scan(g, layer, states, x)
    y = swiglu_split(cont(z), y)
    cur = g.mm(layer.weight("ssm_out"), y, layer.scale("ssm_out"))
    return reshape(cur, cur.ne[0], shape.n_tokens)


def _convolve(g: LlmGraph, layer: Layer, conv: Lazy, x: Lazy) -> Lazy:
    """Over the last columns of the state and those of the tokens; the newest columns are the next state."""
    shape, columns = g.c.shape, g.h.ssm_d_conv - 1
    conv_x = concat(conv, transpose(x), 0)
    last = view(conv_x, (columns, g.h.ssm_d_inner, shape.n_seqs), conv_x.nb[1:3], shape.n_seq_tokens * conv_x.nb[0])
    g.rs.store(g.ctx, g.rs.r[layer.il], last)
    x = ssm_conv(conv_x, layer.weight("ssm_conv1d"))
    return silu(add(x, _needed(layer.bias("ssm_conv1d"))))


def _scan(g: LlmGraph, layer: Layer, states: RsInput, x: Lazy) -> Lazy:
    """The selective scan: [d_inner, tokens, sequences] in and out."""
    h, shape = g.h, g.c.shape
    d_state, d_inner, dt_rank = h.ssm_d_state, h.ssm_d_inner, h.ssm_dt_rank
    per_seq = shape.n_seq_tokens, shape.n_seqs
    x_db = g.mm(layer.weight("ssm_x"), x)
    size = x_db.dtype.size
    steps = view(x_db, (dt_rank, *per_seq), x_db.nb[1:3])
    nb = d_state * x_db.nb[0], x_db.nb[1], x_db.nb[2]
    b = view(x_db, (d_state, 1, *per_seq), nb, size * dt_rank)
    c = view(x_db, (d_state, 1, *per_seq), nb, size * (dt_rank + d_state))
    if h.ssm_dt_b_c_rms:
        steps, b, c = (rms_norm(one, h.rms_eps) for one in (steps, b, c))
    else:
        steps = cont(steps)
    dt = add(g.mm(layer.weight("ssm_dt"), steps), _needed(layer.bias("ssm_dt")))
    heads = reshape(x, 1, d_inner, *per_seq)
    a = layer.exact("ssm_a")

    def scan(rows: Lazy, ids: Lazy) -> Lazy:
        return ssm_scan(reshape(rows, d_state, 1, d_inner, g.rs.size), heads, dt, a, b, c, ids)

    cache = g.rs.s[layer.il]
    scanned = g.rs.scan(g.ctx, cache, states, scan)
    new = view(scanned, (d_state * d_inner * shape.n_seqs,), (), heads.nb[3] * heads.ne[3])
    g.rs.store(g.ctx, cache, new)
    y = view(scanned, (d_inner, *per_seq), heads.nb[2:4])
    return add(y, mul(x, layer.exact("ssm_d")))


def _needed(leaf: Lazy | None) -> Lazy:
    assert leaf is not None  # Weights has refused a file without it
    return leaf


ARCHITECTURE = Architecture("mamba", "Mamba", ROPE_NONE, hparams, weights, build, attention=False)
