"""Activation functions that UNARY and GLU share (vec.h and unary-ops.cpp of ggml-cpu)."""

from __future__ import annotations

import math
from enum import Enum
from functools import lru_cache

from ...dtypes import DType
from ..maths import Array, Maths

_GELU_A = 0.044715
_SQRT_2_OVER_PI = 0.79788456080286535587989211986876
_QUICK = -1.702
_SQRT_2_INV = 0.70710678118654752440084436210484

_ERF_ONE = 4.0
"""From here on erf is 1 in float."""
_ERF_TERMS = 26
"""Chebyshev terms; the next one is below 1e-13."""


def sigmoid(maths: Maths, x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + maths.xp.exp(-x))


def silu(maths: Maths, x: Array) -> Array:
    """ggml_vec_silu_f32."""
    return x / (1.0 + maths.xp.exp(-x))


def relu(maths: Maths, x: Array) -> Array:
    """op_relu; what is no number becomes 0."""
    return maths.xp.where(x > 0.0, x, 0.0)


class Table(Enum):
    """How ggml-cpu takes gelu out of a table of float16 values, which it fills with `ggml_gelu_f32` at the start.

    Attributes:
        NONE: not at all: bf16 is computed.
        ALL: for every f16 value.
        MIDDLE: f32 is rounded to f16 and looked up between -10 and 10; below it is 0, above it stays.
    """

    NONE = 0
    ALL = 1
    MIDDLE = 2


def table_of(maths: Maths, dtype: DType) -> Table:
    """The table for sources of a type; none when all is to be exact."""
    if maths.exact or dtype.name == "bf16":
        return Table.NONE
    return Table.ALL if dtype.name == "f16" else Table.MIDDLE


def gelu(maths: Maths, x: Array, table: Table) -> Array:
    """ggml_vec_gelu_f32, ggml_vec_gelu_f16, ggml_vec_gelu_bf16."""
    xp = maths.xp
    if table is Table.NONE:
        return _gelu(maths, x)
    looked_up = maths.half(_gelu(maths, maths.half(x)))
    if table is Table.ALL:
        return looked_up
    return xp.where(x <= -10.0, 0.0, xp.where(x >= 10.0, x, looked_up))


def _gelu(maths: Maths, x: Array) -> Array:
    inner = _SQRT_2_OVER_PI * x * (1.0 + _GELU_A * x * x)
    return 0.5 * x * (1.0 + maths.xp.tanh(inner))


def gelu_quick(maths: Maths, x: Array, table: Table) -> Array:
    """ggml_vec_gelu_quick_f32 and its like for f16 and bf16: a table goes for all values."""
    if table is Table.NONE:
        return _gelu_quick(maths, x)
    return maths.half(_gelu_quick(maths, maths.half(x)))


def _gelu_quick(maths: Maths, x: Array) -> Array:
    return x * (1.0 / (1.0 + maths.xp.exp(_QUICK * x)))


def gelu_erf(maths: Maths, x: Array) -> Array:
    """ggml_vec_gelu_erf_f32."""
    return 0.5 * x * (1.0 + erf(maths, x * _SQRT_2_INV))


def erf(maths: Maths, x: Array) -> Array:
    """The error function, which the array standard lacks: within one unit in the last place of a float.

    erf(x) / x as a Chebyshev series in x^2 up to 4^2, in double.
    """
    xp = maths.xp
    wide = xp.astype(x, xp.float64)
    size = xp.abs(wide)
    inside = xp.where(size < _ERF_ONE, wide, 0.0)
    at = inside * inside * (2.0 / _ERF_ONE**2) - 1.0
    first, *higher = _erf_series()
    later = last = xp.zeros_like(at)
    for factor in reversed(higher):
        later, last = 2.0 * at * later - last + factor, later
    series = inside * (at * later - last + first)
    # What is no number is not inside and has no sign: it stays as it is.
    return xp.astype(xp.where(size < _ERF_ONE, series, xp.where(size >= _ERF_ONE, xp.sign(wide), wide)), xp.float32)


@lru_cache(maxsize=1)
def _erf_series() -> tuple[float, ...]:
    """The factors of the Chebyshev polynomials, from values of the C library at the polynomials' nodes."""
    n = _ERF_TERMS
    angles = [math.pi * (k + 0.5) / n for k in range(n)]
    roots = [_ERF_ONE * math.sqrt((math.cos(angle) + 1.0) / 2.0) for angle in angles]
    values = [math.erf(root) / root for root in roots]
    factors = [2.0 / n * sum(v * math.cos(j * a) for v, a in zip(values, angles, strict=True)) for j in range(n)]
    return factors[0] / 2.0, *factors[1:]
