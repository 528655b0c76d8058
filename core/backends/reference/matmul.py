"""MUL_MAT and MUL_MAT_ID (ggml-cpu.c): which of ggml's kernels multiplies, by types and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...op import Op
from ...ops.layout import is_contiguous
from ...ops.matmul import SRC0_IS_HADAMARD
from ..kernel import Call, Kernel, Read
from ..kernels import matmul as usual
from ..kernels.arguments import optional
from ..maths import Array, Maths
from ..quants import VEC_DOT
from ..rounding import rounded
from .blocks import UNPACK, Weights
from .dots import DOTS, gemm
from .fused import Floats
from .quantised import columns_of, product


def unpacks(call: Call) -> bool:
    """Source 0 is asked for as `Weights`."""
    weights, rows = (optional(call, slot) for slot in range(2))
    if weights is None or rows is None or _hadamard(call):
        return False
    return weights.dtype.name in UNPACK and rows.dtype.name == "f32"


def covers(call: Call) -> bool:
    """A product whose order of summation is followed here; the others are left to the usual kernel."""
    if _hadamard(call):
        return False
    weights, rows = call.source(0).dtype.name, call.source(1).dtype.name
    return unpacks(call) or (weights in DOTS and (rows in ("f32", weights) or (weights == "f32" and rows in DOTS)))


def _hadamard(call: Call) -> bool:
    return call.node.op is Op.MUL_MAT and call.i32(1) == SRC0_IS_HADAMARD


def _reads(call: Call) -> Sequence[Read]:
    first = Read.BLOCKS if unpacks(call) else Read.VALUES
    return (first, *[Read.VALUES] * (len(call.src) - 1))


def _mul_mat(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    if not covers(call):
        return usual.MUL_MAT.compute(maths, call, sources)
    weights, rows = sources
    n3, n2, n, k = rows.shape
    m, m2, m3 = call.source(0).ne[1:]
    r3, r2 = n3 // m3, n2 // m2
    result = np.empty((n3, n2, n, m), np.float32)
    multiply = _multiplier(maths, call, n)
    for i3 in range(m3):
        for i2 in range(m2):
            here = slice(i3 * r3, (i3 + 1) * r3), slice(i2 * r2, (i2 + 1) * r2)
            made = multiply(weights[i3, i2], rows[here].reshape(-1, k))
            result[here] = made.reshape(r3, r2, n, m)
    return result


def _multiplier(maths: Maths, call: Call, n: int) -> Callable[[Array, Floats], Floats]:
    """How a matrix of weights is multiplied when source 1 has n rows for each."""
    if unpacks(call):
        return lambda weights, rows: product(weights, columns_of(weights, rows), n, small=n >= 2)
    name, given = call.source(0).dtype.name, call.source(1)
    # a source that needs no conversion goes to tinyBLAS only where it is contiguous
    direct = given.dtype.name != name or is_contiguous(given)
    small = n >= 2 and direct and call.source(0).ne[1] % 4 == 0
    return lambda weights, rows: (gemm if small else DOTS[name])(weights, _kept(maths, call, rows))


def _kept(maths: Maths, call: Call, rows: Floats) -> Floats:
    if call.source(1).dtype.name != "f32":
        return rows
    kept: Floats = rounded(maths, rows, VEC_DOT[call.source(0).dtype.name])
    return kept


def _mul_mat_id(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """One row at a time with the weights of its expert; K-quants of 8 rows and more are multiplied in tiles."""
    if not covers(call):
        return usual.MUL_MAT_ID.compute(maths, call, sources)
    weights, rows, ids = sources
    _, tokens, per_token, k = rows.shape
    used, m = ids.shape[3], call.source(0).ne[1]
    usual.check_ids(maths, ids, call.source(0).ne[2])
    flat = rows.reshape(tokens * per_token, k)
    if not unpacks(call):
        flat = _kept(maths, call, flat)
    result = np.empty((1, tokens, used, m), np.float32)
    for expert in np.unique(ids):
        token, slot = np.nonzero(ids[0, 0] == expert)
        chosen = flat[token * per_token + slot % per_token]
        own = weights[0, expert]
        if isinstance(own, Weights):
            made = product(own, columns_of(own, chosen), len(chosen))
        else:
            made = DOTS[call.source(0).dtype.name](own, chosen)
        result[0, token, slot] = made
    return result


MUL_MAT = Kernel(_mul_mat, usual.MUL_MAT.check, _reads)
MUL_MAT_ID = Kernel(_mul_mat_id, usual.MUL_MAT_ID.check, _reads)
