"""Softmax and what belongs to it (ops.cpp of ggml-cpu)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ops.layout import shape_text
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import elementwise, is_float, not_float, not_scalar, optional, other_shape, present
from .scalars import power


def slopes(n_head: int, max_bias: float) -> list[float]:
    """The factors of ALiBi by head, float32: all 1 without a bias (ggml_compute_forward_soft_max_f32)."""
    if not max_bias > 0.0:
        return [1.0] * n_head
    log2 = 1 << (n_head.bit_length() - 1)
    m0, m1 = power(2.0, -max_bias / log2), power(2.0, -(max_bias / 2.0) / log2)
    return [power(m0, h + 1) if h < log2 else power(m1, 2 * (h - log2) + 1) for h in range(n_head)]


def _check(call: Call) -> str:
    if found := elementwise(call):
        return found
    x, mask, sinks = call.source(0), optional(call, 1), optional(call, 2)
    if mask is not None:
        if mask.dtype.name not in ("f32", "f16"):
            return f"the mask is of type {mask.dtype.name}, not f32 or f16"
        repeats = 0 not in mask.ne and x.ne[2] % mask.ne[2] == 0 and x.ne[3] % mask.ne[3] == 0
        if mask.ne[0] != x.ne[0] or mask.ne[1] < x.ne[1] or not repeats:
            return f"the mask {shape_text(mask.ne)} does not cover {shape_text(x.ne)}"
    elif call.f32(1) > 0.0:
        return f"a bias of {call.f32(1)} has no mask to go with"
    if sinks is not None and (not is_float(sinks.dtype) or sinks.ne != (x.ne[2], 1, 1, 1)):
        return f"the sinks are {sinks.dtype.name} {shape_text(sinks.ne)}, not one float for each of {x.ne[2]} heads"
    return ""


def _masked(maths: Maths, x: Array, mask: Array, max_bias: float) -> Array:
    """The mask times the head's slope added; it repeats over dimensions 2 and 3."""
    xp = maths.xp
    n3, n2, n1, n0 = x.shape
    m3, m2 = mask.shape[:2]
    mask = xp.reshape(mask[:, :, :n1, :], (1, m3, 1, m2, n1, n0))
    if max_bias > 0.0:
        mask = mask * xp.reshape(xp.asarray(slopes(n2, max_bias), dtype=xp.float32), (1, 1, n2 // m2, m2, 1, 1))
    return xp.reshape(xp.reshape(x, (n3 // m3, m3, n2 // m2, m2, n1, n0)) + mask, x.shape)


def _soft_max(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x = sources[0] * call.f32(0)
    mask, sinks = present(sources, 1), present(sources, 2)
    if mask is not None:
        x = _masked(maths, x, mask, call.f32(1))
    largest = xp.max(x, axis=3, keepdims=True)
    if sinks is not None:
        sinks = xp.reshape(sinks, (1, x.shape[1], 1, 1))
        largest = xp.maximum(largest, sinks)
    x = xp.exp(x - largest)
    total = xp.sum(x, axis=3, dtype=xp.float64, keepdims=True)
    if sinks is not None:
        total = total + xp.astype(xp.exp(sinks - largest), xp.float64)
    return x * xp.astype(1.0 / total, xp.float32)


SOFT_MAX = Kernel(_soft_max, _check)
"""ggml_compute_forward_soft_max: of source 0 times op_params[0] plus the mask in source 1 times the ALiBi slope for the
bias op_params[1]; source 2 has the sinks, which take their share of the sum and are left out."""


def _check_back(call: Call) -> str:
    found = not_float(call, 0, 1) or other_shape(call, 0, 1)
    return found or ("" if call.f32(1) == 0.0 else f"there is no way back through a bias of {call.f32(1)}")


def _soft_max_back(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    gradient, y = sources[0], sources[1]
    dot = xp.astype(xp.sum(y * gradient, axis=3, dtype=xp.float64, keepdims=True), xp.float32)
    return (gradient - dot) * y * call.f32(0)


SOFT_MAX_BACK = Kernel(_soft_max_back, _check_back)
"""ggml_compute_forward_soft_max_ext_back: source 0 is the gradient, source 1 the result of the softmax."""


def _check_loss(call: Call) -> str:
    found = not_float(call, 0, 1) or not_scalar(call)
    if not found and (call.source(0).ne != call.source(1).ne or 0 in call.source(0).ne):
        found = f"{shape_text(call.source(0).ne)} is not compared with {shape_text(call.source(1).ne)}"
    return found


def _cross_entropy_loss(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x, wanted = sources[0], sources[1]
    x = x - xp.max(x, axis=3, keepdims=True)
    total = xp.sum(xp.exp(x), axis=3, dtype=xp.float64, keepdims=True)
    logs = x - xp.astype(xp.log(total), xp.float32)
    rows = math.prod(x.shape[:3])
    loss = xp.sum(logs * wanted, dtype=xp.float64) * (-1.0 / rows)
    return xp.reshape(xp.astype(loss, xp.float32), (1, 1, 1, 1))


CROSS_ENTROPY_LOSS = Kernel(_cross_entropy_loss, _check_loss)
"""ggml_compute_forward_cross_entropy_loss: the mean over the rows; source 1 has the wanted probabilities."""
