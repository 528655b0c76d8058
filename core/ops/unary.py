"""The unary family (ggml_unary)."""

from __future__ import annotations

from ..op import UNARY_OPS, Op
from .layout import is_contiguous_rows
from .lazy import Lazy, check, dup_tensor


def unary(a: Lazy, name: str, inplace: bool = False) -> Lazy:
    """ggml_unary; name as in enum ggml_unary_op."""
    check(name in UNARY_OPS, "UNARY", f"there is no unary op {name!r}, there are {', '.join(UNARY_OPS)}")
    check(is_contiguous_rows(a), "UNARY", "rows must be contiguous", a)
    return dup_tensor(a, inplace).become(Op.UNARY, a, params=(UNARY_OPS.index(name),))


def neg(a: Lazy) -> Lazy:
    """ggml_neg."""
    return unary(a, "NEG")


def tanh(a: Lazy) -> Lazy:
    """ggml_tanh."""
    return unary(a, "TANH")


def relu(a: Lazy) -> Lazy:
    """ggml_relu."""
    return unary(a, "RELU")


def sigmoid(a: Lazy) -> Lazy:
    """ggml_sigmoid."""
    return unary(a, "SIGMOID")


def gelu(a: Lazy) -> Lazy:
    """ggml_gelu."""
    return unary(a, "GELU")


def gelu_erf(a: Lazy) -> Lazy:
    """ggml_gelu_erf."""
    return unary(a, "GELU_ERF")


def gelu_quick(a: Lazy) -> Lazy:
    """ggml_gelu_quick."""
    return unary(a, "GELU_QUICK")


def silu(a: Lazy) -> Lazy:
    """ggml_silu."""
    return unary(a, "SILU")


def softplus(a: Lazy) -> Lazy:
    """ggml_softplus."""
    return unary(a, "SOFTPLUS")
