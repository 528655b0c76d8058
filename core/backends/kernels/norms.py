"""Norms of rows and of groups of channels (ops.cpp of ggml-cpu): sums in double, everything else in float."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import elementwise, negative_eps, not_float, other_shape

_ROW = 3
"""The axis of a row: dimension 0."""


def _sum(maths: Maths, x: Array, axes: int | tuple[int, ...] = _ROW) -> Array:
    return maths.xp.sum(x, axis=axes, dtype=maths.xp.float64, keepdims=True)


def _mean(maths: Maths, x: Array) -> Array:
    """The sum in double divided by the number of elements, as float."""
    return maths.xp.astype(_sum(maths, x) / x.shape[_ROW], maths.xp.float32)


def _check(call: Call) -> str:
    return elementwise(call) or negative_eps(call)


def _norm(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x = sources[0]
    mean = xp.astype(_sum(maths, x), xp.float32) / x.shape[_ROW]
    centred = x - mean
    variance = _mean(maths, centred * centred)
    return centred * (1.0 / xp.sqrt(variance + call.f32(0)))


NORM = Kernel(_norm, _check)
"""ggml_compute_forward_norm: mean 0 and variance 1."""


def _rms_norm(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    x = sources[0]
    return x * (1.0 / maths.xp.sqrt(_mean(maths, x * x) + call.f32(0)))


RMS_NORM = Kernel(_rms_norm, _check)
"""ggml_compute_forward_rms_norm."""


def _l2_norm(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x = sources[0]
    length = xp.sqrt(xp.astype(_sum(maths, x * x), xp.float32))
    least = call.f32(0)
    return x * (1.0 / xp.where(length > least, length, least))


L2_NORM = Kernel(_l2_norm, _check)
"""ggml_compute_forward_l2_norm: length 1; epsilon is the shortest length that is divided by."""


def _check_group_norm(call: Call) -> str:
    groups = call.i32(0)
    return elementwise(call) or ("" if groups > 0 else f"{groups} groups are not possible")


def _group_norm(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x = sources[0]
    channels, groups, eps = x.shape[1], call.i32(0), call.f32(1)
    each = (channels + groups - 1) // groups
    parts = []
    for start in range(0, channels, each):
        part = x[:, start : min(start + each, channels), :, :]
        count = part.shape[1] * part.shape[2] * part.shape[3]
        centred = part - xp.astype(_sum(maths, part, (1, 2, 3)) / count, xp.float32)
        variance = xp.astype(_sum(maths, centred * centred, (1, 2, 3)) / count, xp.float32)
        parts.append(centred * (1.0 / xp.sqrt(variance + eps)))
    return xp.concat(parts, axis=1)


GROUP_NORM = Kernel(_group_norm, _check_group_norm)
"""ggml_compute_forward_group_norm: op_params[0] groups of channels (dimension 2), the last may be smaller."""


def _check_back(call: Call) -> str:
    return not_float(call, 0, 1) or other_shape(call, 0, 1)


def _rms_norm_back(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    gradient, x = sources[0], sources[1]
    n, eps = x.shape[_ROW], call.f32(0)
    squares = xp.astype(_sum(maths, x * x), xp.float32)
    product = xp.astype(_sum(maths, x * gradient), xp.float32)
    scale = -product / (squares + eps * n)
    return (gradient + x * scale) * (1.0 / xp.sqrt(squares / n + eps))


RMS_NORM_BACK = Kernel(_rms_norm_back, _check_back)
"""ggml_compute_forward_rms_norm_back: source 0 is the gradient of the result, source 1 what was normed."""
