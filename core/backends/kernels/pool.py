"""Pooling of rows and of planes (ops.cpp of ggml-cpu)."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops.layout import shape_text
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import not_float

_MAX, _AVG = 0, 1
"""enum ggml_op_pool."""
_LOWEST = -3.4028234663852886e38
"""-FLT_MAX: the largest of nothing."""


def _bad_window(op: int, sizes: Sequence[int], steps: Sequence[int], pads: Sequence[int]) -> str:
    if op not in (_MAX, _AVG):
        return f"there is no pooling {op}"
    if min(*sizes, *steps) < 1 or min(pads) < 0:
        return f"windows of {list(sizes)} with steps {list(steps)} and pads {list(pads)} are not possible"
    return ""


def _check_1d(call: Call) -> str:
    op, size, step, pad = (call.i32(word) for word in range(4))
    found = not_float(call, 0) or _bad_window(op, [size], [step], [pad])
    return found or _other_outside(call, 1)


def _check_2d(call: Call) -> str:
    op, k0, k1, s0, s1, p0, p1 = (call.i32(word) for word in range(7))
    found = not_float(call, 0) or _bad_window(op, [k0, k1], [s0, s1], [p0, p1])
    return found or _other_outside(call, 2)


def _other_outside(call: Call, pooled: int) -> str:
    """Whether source and result differ in a dimension that is not pooled."""
    ne, node = call.source(0).ne, call.node.ne
    if ne[pooled:] == node[pooled:]:
        return ""
    return f"the result {shape_text(node)} and source 0 {shape_text(ne)} differ in more than {pooled} dimension(s)"


def _pooled(maths: Maths, x: Array, axis: int, n: int, window: tuple[int, int, int], largest: bool) -> Array:
    """Sums or maxima of n windows (size, step, pad) along an axis; what sticks out is left out."""
    xp = maths.xp
    size, step, pad = window
    parts = []
    for i in range(n):
        low, high = max(i * step - pad, 0), min(i * step - pad + size, x.shape[axis])
        inside = (slice(None),) * axis + (slice(low, max(low, high)), ...)
        if not largest:
            parts.append(xp.sum(x[inside], axis=axis, keepdims=True))
        elif low < high:
            parts.append(xp.max(x[inside], axis=axis, keepdims=True))
        else:
            shape = tuple(1 if a == axis else m for a, m in enumerate(x.shape))
            parts.append(xp.full(shape, _LOWEST, dtype=xp.float32))
    return xp.concat(parts, axis=axis)


def _pool_1d(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    op, size, step, pad = (call.i32(word) for word in range(4))
    n, width = call.node.ne[0], call.source(0).ne[0]
    result = _pooled(maths, sources[0], 3, n, (size, step, pad), op == _MAX)
    if op == _MAX:
        return result
    counts = [max(1, min(i * step - pad + size, width) - max(i * step - pad, 0)) for i in range(n)]
    return result / xp.asarray(counts, dtype=xp.float32)


POOL_1D = Kernel(_pool_1d, _check_1d)
"""ggml_compute_forward_pool_1d: the mean is of the elements inside."""


def _pool_2d(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    op, k0, k1, s0, s1, p0, p1 = (call.i32(word) for word in range(7))
    rows = _pooled(maths, sources[0], 3, call.node.ne[0], (k0, s0, p0), op == _MAX)
    result = _pooled(maths, rows, 2, call.node.ne[1], (k1, s1, p1), op == _MAX)
    return result if op == _MAX else result / float(k0 * k1)


POOL_2D = Kernel(_pool_2d, _check_2d)
"""ggml_compute_forward_pool_2d: the mean is of the whole window, with zeros for what sticks out."""
