"""What lies above or below a diagonal, and matrices made of a diagonal (ops.cpp of ggml-cpu)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ops.layout import shape_text
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import elementwise, not_float, result_differs


def _numbers(maths: Maths, n: int, axis: int) -> Array:
    """0 to n - 1 along an axis, to be broadcast."""
    shape = tuple(n if i == axis else 1 for i in range(4))
    return maths.xp.reshape(maths.xp.arange(n, dtype=maths.xp.int64), shape)


def _check_diag(call: Call) -> str:
    if found := not_float(call, 0):
        return found
    n, rows, *outer = call.source(0).ne
    if rows != 1:
        return f"source 0 {shape_text(call.source(0).ne)} is no single row"
    return result_differs(call, (n, n, outer[0], outer[1]), "a square matrix of the row")


def _diag(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    n = call.node.ne[0]
    return maths.xp.where(_numbers(maths, n, 2) == _numbers(maths, n, 3), sources[0], 0.0)


DIAG = Kernel(_diag, _check_diag)
"""ggml_compute_forward_diag: the row on the diagonal, 0 elsewhere."""


def _check_mask(call: Call) -> str:
    past = call.i32(0)
    return elementwise(call) or ("" if past >= 0 else f"{past} past elements are not possible")


def _masked(maths: Maths, call: Call, x: Array, value: float) -> Array:
    columns, rows = _numbers(maths, x.shape[3], 3), _numbers(maths, x.shape[2], 2)
    return maths.xp.where(columns > rows + call.i32(0), value, x)


def _diag_mask_inf(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _masked(maths, call, sources[0], -math.inf)


DIAG_MASK_INF = Kernel(_diag_mask_inf, _check_mask)
"""ggml_compute_forward_diag_mask_inf: row i keeps its first op_params[0] + i + 1 elements, the rest is -infinity."""


def _diag_mask_zero(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _masked(maths, call, sources[0], 0.0)


DIAG_MASK_ZERO = Kernel(_diag_mask_zero, _check_mask)
"""ggml_compute_forward_diag_mask_zero: likewise with 0."""

_UPPER_DIAG, _UPPER, _LOWER_DIAG, _LOWER = range(4)
"""enum ggml_tri_type."""


def _check_tri(call: Call) -> str:
    if found := elementwise(call):
        return found
    ne, which = call.node.ne, call.i32(0)
    if ne[0] != ne[1]:
        return f"{shape_text(ne)} are no square matrices"
    return "" if which in range(4) else f"there is no triangle {which}"


def _tri(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    n, which = call.node.ne[0], call.i32(0)
    right = _numbers(maths, n, 3) - _numbers(maths, n, 2)
    if which == _UPPER_DIAG:
        kept = right >= 0
    elif which == _UPPER:
        kept = right > 0
    elif which == _LOWER_DIAG:
        kept = right <= 0
    else:
        kept = right < 0
    return maths.xp.where(kept, sources[0], 0.0)


TRI = Kernel(_tri, _check_tri)
"""ggml_compute_forward_tri: a triangle of each square matrix, with or without the diagonal, 0 elsewhere."""
