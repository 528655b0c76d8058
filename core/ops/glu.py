"""Gated linear units: activation of one half times the other half, or of one tensor times another (ggml_glu_impl)."""

from __future__ import annotations

from ..op import GLU_OPS, Op
from .layout import is_contiguous
from .lazy import Lazy, check, new_tensor
from .numbers import float_word


def glu(a: Lazy, name: str, swapped: bool = False) -> Lazy:
    """ggml_glu: both halves of each row of a; name as in enum ggml_glu_op."""
    return _glu(a, None, name, swapped)


def glu_split(a: Lazy, b: Lazy, name: str) -> Lazy:
    """ggml_glu_split: the activation of a times b."""
    return _glu(a, b, name, False)


def _glu(a: Lazy, b: Lazy | None, name: str, swapped: bool) -> Lazy:
    check(name in GLU_OPS, "GLU", f"there is no gate {name!r}, there are {', '.join(GLU_OPS)}")
    check(is_contiguous(a, 1), "GLU", "rows must follow each other without gaps", a)
    if b is None:
        result = new_tensor(a.dtype, a.ne[0] // 2, *a.ne[1:])
    else:
        check(is_contiguous(b, 1), "GLU", "rows must follow each other without gaps", b)
        check(a.ne == b.ne and a.dtype is b.dtype, "GLU", "both must have one shape and type", a, b)
        result = new_tensor(a.dtype, *a.ne)
    return result.become(Op.GLU, a, b, params=(GLU_OPS.index(name), int(swapped)))


def reglu(a: Lazy) -> Lazy:
    """ggml_reglu."""
    return glu(a, "REGLU")


def geglu(a: Lazy) -> Lazy:
    """ggml_geglu."""
    return glu(a, "GEGLU")


def swiglu(a: Lazy) -> Lazy:
    """ggml_swiglu."""
    return glu(a, "SWIGLU")


def reglu_split(a: Lazy, b: Lazy) -> Lazy:
    """ggml_reglu_split."""
    return glu_split(a, b, "REGLU")


def geglu_split(a: Lazy, b: Lazy) -> Lazy:
    """ggml_geglu_split."""
    return glu_split(a, b, "GEGLU")


def swiglu_split(a: Lazy, b: Lazy) -> Lazy:
    """ggml_swiglu_split."""
    return glu_split(a, b, "SWIGLU")


def swiglu_oai(a: Lazy, b: Lazy, alpha: float, limit: float) -> Lazy:
    """ggml_swiglu_oai."""
    result = glu_split(a, b, "SWIGLU_OAI")
    result.set_param(2, float_word(alpha))
    result.set_param(3, float_word(limit))
    return result
