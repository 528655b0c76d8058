"""Sums and counts (ops.cpp of ggml-cpu): sums in double, as ggml_float."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops.layout import shape_text
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import absent, elementwise, not_float, not_scalar, other_result, other_type, result_differs


def _check_sum(call: Call) -> str:
    return not_float(call, 0) or not_scalar(call)


def _sum(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    return xp.reshape(xp.astype(xp.sum(sources[0], dtype=xp.float64), xp.float32), (1, 1, 1, 1))


SUM = Kernel(_sum, _check_sum)
"""ggml_compute_forward_sum: of all elements."""


def _check_rows(call: Call) -> str:
    return not_float(call, 0) or result_differs(call, (1, *call.source(0).ne[1:]), "one number for each row")


def _row_sums(maths: Maths, x: Array) -> Array:
    return maths.xp.astype(maths.xp.sum(x, axis=3, dtype=maths.xp.float64, keepdims=True), maths.xp.float32)


def _sum_rows(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _row_sums(maths, sources[0])


SUM_ROWS = Kernel(_sum_rows, _check_rows)
"""ggml_compute_forward_sum_rows."""


def _mean(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    sums = _row_sums(maths, sources[0])
    return sums / maths.xp.full_like(sums, float(sources[0].shape[3]))


MEAN = Kernel(_mean, _check_rows)
"""ggml_compute_forward_mean: of each row; no number for rows without elements."""


def _cumsum(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return maths.xp.cumulative_sum(sources[0], axis=3)


CUMSUM = Kernel(_cumsum, elementwise)
"""ggml_compute_forward_cumsum: along each row, in float."""


def _check_argmax(call: Call) -> str:
    found = absent(call, 0) or other_result(call, "i32")
    if found:
        return found
    ne = call.source(0).ne
    if call.source(0).dtype.name not in ("f32", "f16", "bf16"):
        return f"source 0 is of type {call.source(0).dtype.name}, where a float is needed"
    if ne[2:] != (1, 1) or not ne[0]:
        return f"source 0 {shape_text(ne)} is no matrix with columns"
    return result_differs(call, (ne[1], 1, 1, 1), "one index for each row")


def _argmax(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """Of several largest ones the last, as ggml_vec_argmax_f32."""
    xp = maths.xp
    x = sources[0]
    last = x.shape[3] - 1 - xp.argmax(xp.flip(x, axis=3), axis=3)
    return xp.reshape(xp.astype(last, xp.int32), (1, 1, 1, x.shape[2]))


ARGMAX = Kernel(_argmax, _check_argmax)
"""ggml_compute_forward_argmax."""


def _check_count(call: Call) -> str:
    found = absent(call, 0, 1) or other_type(call, 0, "i32") or other_type(call, 1, "i32")
    found = found or other_result(call, "i64") or not_scalar(call)
    if not found and call.source(0).ne != call.source(1).ne:
        found = f"{shape_text(call.source(0).ne)} is not compared with {shape_text(call.source(1).ne)}"
    return found


def _count_equal(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    equal = xp.astype(sources[0] == sources[1], xp.int64)
    return xp.reshape(xp.sum(equal, dtype=xp.int64), (1, 1, 1, 1))


COUNT_EQUAL = Kernel(_count_equal, _check_count)
"""ggml_compute_forward_count_equal."""
