"""Products with weights of f32, f16 and bf16: ggml_vec_dot_* (vec.cpp) and tinyBLAS (sgemm.cpp)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .fused import Doubles, Floats, chain, fused
from .lanes import WIDTH, folded, reduced

SIZE = 1 << 15
"""Numbers that are summed side by side: float64 temporaries of 256 KiB."""


def dot(weights: Floats, rows: Floats, wide: bool) -> Floats:
    """ggml_vec_dot_f16 and ggml_vec_dot_f32: 4 registers of 8 sums.

    Args:
        weights: (m, k).
        rows: (n, k), already of the weights' type.
        wide: what is left of a row after whole 32s is added in double (f16), else in float (f32).

    Returns:
        (n, m).
    """
    whole = rows.shape[1] // 32 * 32
    result = _blocked(weights[:, :whole], rows[:, :whole], 4 * WIDTH, reduced)
    return _with_rest(result, weights, rows, whole) if wide else _with_fused_rest(result, weights, rows, whole)


def _with_rest(result: Floats, weights: Floats, rows: Floats, start: int) -> Floats:
    total = result.astype(np.float64)
    for i in range(start, rows.shape[1]):
        total = total + (rows[:, i, None] * weights[None, :, i]).astype(np.float64)
    return total.astype(np.float32)


def _with_fused_rest(result: Floats, weights: Floats, rows: Floats, start: int) -> Floats:
    """As it was compiled: fours are multiplied first and then added, only the last three numbers go through FMA."""
    fours = start + (rows.shape[1] - start) // 4 * 4
    for i in range(start, fours):
        result = result + rows[:, i, None] * weights[None, :, i]
    for i in range(fours, rows.shape[1]):
        result = fused(rows[:, i, None], weights[None, :, i], result)
    return result


def gemm(weights: Floats, rows: Floats) -> Floats:
    """tinyBLAS<8, __m256, ...>: one register of 8 sums for each number of the result, zeros behind the end of a row."""
    missing = ((0, 0), (0, -rows.shape[1] % WIDTH))
    return _blocked(np.pad(weights, missing), np.pad(rows, missing), WIDTH, folded)


def _blocked(weights: Floats, rows: Floats, lanes: int, summed: Callable[[Floats], Floats]) -> Floats:
    """Columns of weights in pieces, so that what is summed stays in the cache."""
    n, m = rows.shape[0], weights.shape[0]
    result = np.empty((n, m), np.float32)
    wide = min(m, max(1, SIZE // lanes))
    high = max(1, SIZE // (lanes * max(1, wide)))
    for left in range(0, m, wide):
        columns = np.ascontiguousarray(weights[left : left + wide].T, dtype=np.float64)
        for top in range(0, n, high):
            part = rows[top : top + high].astype(np.float64)
            total = chain(_products(columns, part, lanes), (part.shape[0], lanes, columns.shape[1]))
            result[top : top + high, left : left + wide] = summed(total)
    return result


def _products(columns: Doubles, rows: Doubles, lanes: int) -> Iterator[Doubles]:
    """For each step along k the products (n, lanes, m) of columns (k, m) and rows (n, k)."""
    for start in range(0, columns.shape[0], lanes):
        stop = start + lanes
        yield columns[None, start:stop] * rows[:, start:stop, None]


def dot_bf16(weights: Floats, rows: Floats) -> Floats:
    """ggml_vec_dot_bf16: as `dot`, but the registers are added crosswise, and what is left in double."""
    whole = rows.shape[1] // 32 * 32
    result = _blocked(weights[:, :whole], rows[:, :whole], 4 * WIDTH, _crosswise)
    return _with_rest(result, weights, rows, whole)


def _crosswise(lanes: Floats) -> Floats:
    c1, c2, c3, c4 = (lanes[..., i * WIDTH : (i + 1) * WIDTH, :] for i in range(4))
    return folded((c1 + c3) + (c2 + c4))


DOTS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "f32": lambda weights, rows: dot(weights, rows, wide=False),
    "f16": lambda weights, rows: dot(weights, rows, wide=True),
    "bf16": dot_bf16,
}
"""vec_dot by type of the weights."""
