"""Numbers in a row, and timesteps as vectors (ops.cpp of ggml-cpu)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ops.layout import n_elements
from ...ops.numbers import as_float, logarithm, quotient
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import empty, not_float, not_float_result, result_differs, source_shape
from .scalars import whole


def _check_arange(call: Call) -> str:
    start, stop, step = (call.f32(word) for word in range(3))
    steps = whole(quotient(as_float(stop - start), step), up=True)
    found = not_float_result(call)
    if not found and steps != n_elements(call.node.ne):
        found = f"from {start} to {stop} by {step} are {steps:g} steps, not {n_elements(call.node.ne)}"
    return found


def _arange(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    shape = source_shape(call.node.ne)
    # One rounding for product and sum, as ggml has it: in double the product of two floats is exact.
    numbers = xp.arange(math.prod(shape), dtype=xp.float64) * call.f32(2) + call.f32(0)
    return xp.reshape(xp.astype(numbers, xp.float32), shape)


ARANGE = Kernel(_arange, _check_arange)
"""ggml_compute_forward_arange: start, stop and step in op_params."""


def _check_embedding(call: Call) -> str:
    found = not_float(call, 0) or empty(call, 0)
    return found or result_differs(call, (call.i32(0), call.source(0).ne[0], 1, 1), "one vector for each timestep")


def _embedding(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    dim, half = call.i32(0), call.i32(0) // 2
    steps = xp.reshape(sources[0][0, 0, 0, :], (-1, 1))
    decay = -logarithm(as_float(call.i32(1)))
    parts = []
    if half:
        exponents = xp.arange(half, dtype=xp.float32) * decay / half
        frequencies = xp.astype(xp.exp(xp.astype(exponents, xp.float64)), xp.float32)
        angles = xp.astype(steps * frequencies, xp.float64)
        parts = [xp.astype(xp.cos(angles), xp.float32), xp.astype(xp.sin(angles), xp.float32)]
    if dim % 2:
        parts.append(xp.zeros_like(steps))
    return xp.reshape(xp.concat(parts, axis=1), source_shape(call.node.ne))


TIMESTEP_EMBEDDING = Kernel(_embedding, _check_embedding)
"""ggml_compute_forward_timestep_embedding: op_params[0] cosines and sines, the longest period in op_params[1]."""
