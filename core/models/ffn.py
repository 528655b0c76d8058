"""Feed-forward networks without experts (llm_graph_context::build_ffn)."""

from __future__ import annotations

from collections.abc import Callable

from ..ops import Lazy, add, geglu_split, mul, swiglu, swiglu_split
from .graph import LlmGraph
from .weights import Layer

_GATES: dict[str, Callable[[Lazy, Lazy], Lazy]] = {"ffn_swiglu": swiglu_split, "ffn_geglu": geglu_split}


def build_ffn(g: LlmGraph, layer: Layer, cur: Lazy, gate: str = "ffn_swiglu", extras: bool = False) -> Lazy:
    """build_ffn with a parallel gate: down(gate(ffn_gate(cur)) * ffn_up(cur)).

    Args:
        g: the graph.
        layer: whose weights.
        cur: input.
        gate: `ffn_swiglu` (LLM_FFN_SILU) or `ffn_geglu` (LLM_FFN_GELU), which is also the node's name.
        extras: the architecture hands biases and scales to build_ffn.
    """
    il = layer.il
    up = _extras(g, layer, g.cb(g.mm(layer.weight("ffn_up"), cur), "ffn_up", il), "ffn_up", extras)
    cur = _extras(g, layer, g.cb(g.mm(layer.weight("ffn_gate"), cur), "ffn_gate", il), "ffn_gate", extras)
    return _down(g, layer, g.cb(_GATES[gate](cur, up), gate, il), extras)


def build_ffn_fused(g: LlmGraph, layer: Layer, cur: Lazy) -> Lazy:
    """build_ffn with LLM_FFN_SWIGLU: gate and up are the halves of one matrix, `ffn_up`."""
    cur = g.cb(g.mm(layer.weight("ffn_up"), cur), "ffn_up", layer.il)
    return _down(g, layer, g.cb(swiglu(cur), "ffn_swiglu", layer.il), extras=False)


def _extras(g: LlmGraph, layer: Layer, cur: Lazy, name: str, extras: bool) -> Lazy:
    bias, scale = (layer.bias(name), layer.scale(name)) if extras else (None, None)
    if bias is not None:
        cur = g.cb(add(cur, bias), f"{name}_b", layer.il)
    return cur if scale is None else g.cb(mul(cur, scale), f"{name}_s", layer.il)


def _down(g: LlmGraph, layer: Layer, cur: Lazy, extras: bool) -> Lazy:
    cur = g.mm(layer.weight("ffn_down"), cur)
    bias, scale = (layer.bias("ffn_down"), layer.scale("ffn_down")) if extras else (None, None)
    if bias is not None:
        cur = add(g.cb(cur, "ffn_down", layer.il), bias)
    return cur if scale is None else g.cb(mul(cur, scale), "ffn_down_s", layer.il)
