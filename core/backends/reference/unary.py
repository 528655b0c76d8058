"""UNARY: activations with functions of the C library, ggml's own exponential function, and ggml's tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ...op import UNARY_OPS
from ..kernel import Call, Kernel
from ..kernels import unary as usual
from ..maths import Array, Maths
from . import libm
from .fused import Floats, fused
from .lanes import WIDTH, exponential

_GELU_A = np.float32(0.044715)
_SQRT_2_OVER_PI = np.float32(0.79788456080286535587989211986876)
_SQRT_2_INV = np.float32(0.70710678118654752440084436210484)
_QUICK = np.float32(-1.702)
_HALF, _ONE, _ZERO = np.float32(0.5), np.float32(1), np.float32(0)


def silu(x: Floats) -> Floats:
    """ggml_vec_silu_f32 along the last axis: what is left of a row after whole 8s goes through expf."""
    whole = x.shape[-1] // WIDTH * WIDTH
    # zero minus x, as ggml has it
    values: Floats = x[..., :whole] / (_ONE + exponential(_ZERO - x[..., :whole]))
    if whole == x.shape[-1]:
        return values
    rest = x[..., whole:]
    return np.concatenate([values, rest / (_ONE + libm.expf(-rest))], axis=-1)


def _every_half() -> Floats:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def _as_half(values: Floats) -> Floats:
    return values.astype(np.float16).astype(np.float32)


@lru_cache(maxsize=1)
def _gelu_table() -> Floats:
    """ggml_table_gelu_f16: ggml_gelu_f32 of every float16, as float16."""
    with np.errstate(all="ignore"):
        x = _every_half()
        inner = _SQRT_2_OVER_PI * x * fused(_GELU_A * x, x, _ONE)
        return _as_half(_HALF * x * (_ONE + libm.tanhf(inner)))


@lru_cache(maxsize=1)
def _quick_table() -> Floats:
    """ggml_table_gelu_quick_f16."""
    with np.errstate(all="ignore"):
        x = _every_half()
        return _as_half(x * (_ONE / (_ONE + libm.expf(_QUICK * x))))


def _looked_up(table: Floats, x: Floats) -> Floats:
    with np.errstate(all="ignore"):
        found: Floats = table[x.astype(np.float16).view(np.uint16)]
    return found


def gelu(x: Floats) -> Floats:
    """ggml_vec_gelu_f32."""
    return np.where(x <= -10, _ZERO, np.where(x >= 10, x, _looked_up(_gelu_table(), x)))


def gelu_quick(x: Floats) -> Floats:
    """ggml_vec_gelu_quick_f32."""
    return _looked_up(_quick_table(), x)


def gelu_erf(x: Floats) -> Floats:
    """ggml_vec_gelu_erf_f32."""
    made: Floats = _HALF * x * (_ONE + libm.call("erff", x * _SQRT_2_INV))
    return made


FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "TANH": libm.tanhf,
    "ELU": lambda x: np.where(x > 0, x, libm.call("expm1f", x)),
    "SIGMOID": lambda x: _ONE / (_ONE + libm.expf(-x)),
    "GELU": gelu,
    "GELU_QUICK": gelu_quick,
    "GELU_ERF": gelu_erf,
    "SILU": silu,
    "EXP": libm.expf,
    "SOFTPLUS": lambda x: np.where(x > 20, x, libm.call("logf", _ONE + libm.expf(x))),
}
"""Of float32, by name in enum ggml_unary_op; the others have one result however they are computed, or are left out."""


def _unary(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    function = FUNCTIONS.get(UNARY_OPS[call.i32(0)])
    if function is None or call.source(0).dtype.name != "f32":
        return usual.UNARY.compute(maths, call, sources)
    return function(sources[0])


UNARY = Kernel(_unary, usual.UNARY.check)
