"""Feed-forward networks with experts (llm_graph_context::build_moe_ffn, softmax gating)."""

from __future__ import annotations

from ..ops import (
    Lazy,
    add,
    argsort_top_k,
    clamp,
    cont,
    div,
    fill,
    get_rows,
    mul,
    mul_mat_id,
    repeat_nd,
    reshape,
    set_rows,
    silu,
    soft_max,
    sum_rows,
    swiglu_split,
    view,
)
from .graph import LlmGraph
from .weights import Layer

_SMALLEST = 6.103515625e-5
"""The smallest normal f16: keeps the division by the sum of the weights finite."""

_INF = float("inf")


def build_moe_ffn(g: LlmGraph, layer: Layer, cur: Lazy) -> Lazy:
    """The best experts of each token, their results weighted by normalised softmax probabilities."""
    il, n_used = layer.il, g.n_expert_used
    n_embd, n_tokens = cur.ne[0], cur.ne[1]
    logits = g.cb(g.mm(layer.weight("ffn_gate_inp"), cur), "ffn_moe_logits", il)
    probs = g.cb(soft_max(logits), "ffn_moe_probs", il)
    selection = _best_groups(g, probs, il) if g.h.n_expert_groups > 1 else probs
    selected = argsort_top_k(selection, n_used)
    if selected.src[0] is not None:
        g.cb(selected.src[0], "ffn_moe_argsort", il)
    g.cb(selected, "ffn_moe_topk", il)
    weights = _weights(g, probs, selected, il)
    g.ctx.expand(weights)
    cur = reshape(cur, n_embd, 1, n_tokens)
    experts = g.cb(mul(_experts(g, layer, cur, selected), weights), "ffn_moe_weighted", il)
    g.ctx.expand(experts)
    # The views come before the sums. A warmup computes all experts, but adds up no more than otherwise.
    n_added = g.h.n_expert_used
    parts = [view(experts, (n_embd, n_tokens), (experts.nb[2],), i * experts.nb[1]) for i in range(n_added)]
    for part in parts:
        g.ctx.expand(part)
    total = parts[0]
    for part in parts[1:]:
        total = add(total, part)
        g.ctx.expand(total)
    return g.cb(cont(total) if n_added == 1 else total, "ffn_moe_out", il)


def _best_groups(g: LlmGraph, probs: Lazy, il: int) -> Lazy:
    """Only experts of the groups whose best two are best keep their probability."""
    n_groups, n_tokens = g.h.n_expert_groups, probs.ne[1]
    groups = reshape(probs, g.h.n_expert // n_groups, n_groups, n_tokens)
    scores = argsort_top_k(groups, 2)
    scores = get_rows(reshape(groups, 1, *groups.ne[:3]), scores)
    scores = sum_rows(reshape(scores, *scores.ne[1:]))
    best = g.cb(argsort_top_k(reshape(scores, *scores.ne[1:3]), g.h.n_group_used), "ffn_moe_group_topk", il)
    kept = get_rows(groups, best)
    masked = set_rows(fill(groups, -_INF), kept, best)
    return g.cb(reshape(masked, g.h.n_expert, n_tokens), "ffn_moe_probs_masked", il)


def _weights(g: LlmGraph, probs: Lazy, selected: Lazy, il: int) -> Lazy:
    """The probabilities of the chosen experts, divided by their sum: [1, n_used, tokens]."""
    n_used, n_tokens = g.n_expert_used, probs.ne[1]
    weights = get_rows(reshape(probs, 1, g.h.n_expert, n_tokens), selected)
    weights = reshape(g.cb(weights, "ffn_moe_weights", il), n_used, n_tokens)
    total = g.cb(sum_rows(weights), "ffn_moe_weights_sum", il)
    total = g.cb(clamp(total, _SMALLEST, _INF), "ffn_moe_weights_sum_clamped", il)
    return reshape(g.cb(div(weights, total), "ffn_moe_weights_norm", il), 1, n_used, n_tokens)


def _experts(g: LlmGraph, layer: Layer, cur: Lazy, selected: Lazy) -> Lazy:
    """The chosen experts' results, [n_embd, n_used, tokens]; without a gate matrix they activate by silu."""
    il = layer.il
    up = _mm_id(g, layer, "up", cur, selected)
    if layer.maybe("ffn_gate_exps") is None:
        cur = g.cb(silu(up), "ffn_moe_silu", il)
    else:
        cur = g.cb(swiglu_split(_mm_id(g, layer, "gate", cur, selected), up), "ffn_moe_swiglu", il)
    return _mm_id(g, layer, "down", cur, selected)


def _mm_id(g: LlmGraph, layer: Layer, part: str, cur: Lazy, selected: Lazy) -> Lazy:
    """build_lora_mm_id without adapters, named."""
    weight, name, scale = f"ffn_{part}_exps", f"ffn_moe_{part}", layer.scale(f"ffn_{part}_exps")
    result = mul_mat_id(layer.weight(weight), cur, selected)
    if scale is not None:
        n_expert, n_tokens = scale.ne[0], cur.ne[2]
        each = repeat_nd(reshape(scale, 1, n_expert, 1), 1, n_expert, n_tokens, 1)
        result = mul(result, get_rows(each, selected))
        name += "_scaled"
    return g.cb(result, name, layer.il)
