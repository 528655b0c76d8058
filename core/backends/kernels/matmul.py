"""Matrix products: MUL_MAT, MUL_MAT_ID, OUT_PROD (ggml-cpu.c, ops.cpp)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import InputError
from ...op import Op
from ...ops.layout import is_transposed, shape_text
from ...ops.matmul import SRC0_IS_HADAMARD
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from ..quants import VEC_DOT
from ..rounding import block_minima, lost_sums, rounded
from .arguments import absent, not_float, other_type, result_differs
from .wanted import first, repeats


def _factor(maths: Maths, call: Call, values: Array) -> Array:
    """Source 1 as the dot product sees it: rounded to the vec_dot type of source 0, unless it is no float32 anyway.

    With the hint that source 0 is a Hadamard matrix ggml takes no dot products (ggml_compute_forward_fwht) and rounds
    nothing.
    """
    kept = _vec_dot(maths, call)
    return rounded(maths, values, kept) if kept else values


def _vec_dot(maths: Maths, call: Call) -> str:
    """The type that source 1 is rounded to; empty when it is not."""
    if maths.exact or call.source(1).dtype.name != "f32":
        return ""
    if call.node.op is Op.MUL_MAT and call.i32(1) == SRC0_IS_HADAMARD:
        return ""
    return VEC_DOT[call.source(0).dtype.name]


def _products(maths: Maths, weights: Array, rows: Array) -> Array:
    """Rows times the rows of weights: (n3, n2, n, k) and (m3, m2, m, k), repeated over n3 and n2, to (n3, n2, n, m)."""
    xp = maths.xp
    n3, n2, n, k = rows.shape
    m3, m2, m, _ = weights.shape
    # the matrices that meet the same weights are one matrix with more rows
    grouped = xp.reshape(rows, (m3, n3 // m3, m2, n2 // m2 * n, k))
    product = xp.matmul(grouped, xp.matrix_transpose(xp.reshape(weights, (m3, 1, m2, m, k))))
    return xp.reshape(product, (n3, n2, n, m))


def _mul_mat(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    weights, rows = sources
    product = _products(maths, weights, _factor(maths, call, rows))
    if _vec_dot(maths, call) == "q8_1":
        product = product + _products(maths, block_minima(maths, weights), lost_sums(maths, rows))
    return product


def _no_product(call: Call) -> str:
    name = call.source(0).dtype.name
    return "" if name in VEC_DOT else f"source 0 is of type {name}, which cannot be multiplied"


def _check_mul_mat(call: Call) -> str:
    return not_float(call, 0, 1) or first(_wrong_mul_mat(call))


def _wrong_mul_mat(call: Call) -> Iterator[str]:
    a, b = call.source(0), call.source(1)
    if a.ne[0] != b.ne[0]:
        yield f"rows of source 0 ({a.ne[0]}) and source 1 ({b.ne[0]}) differ"
    if not repeats(a.ne, b.ne):
        yield f"source 0 {shape_text(a.ne)} does not repeat over source 1 {shape_text(b.ne)}"
    if is_transposed(a):
        yield "source 0 is transposed"
    yield _no_product(call)
    yield result_differs(call, (a.ne[1], b.ne[1], b.ne[2], b.ne[3]), "the product")


def _mul_mat_id(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """Pairs of token and slot sorted by expert, one product for each expert that is used."""
    xp = maths.xp
    _, n_expert, m, k = sources[0].shape
    _, n_tokens, per_token, _ = sources[1].shape
    used = sources[2].shape[3]
    experts = xp.reshape(sources[0], (n_expert, m, k))
    ids = xp.reshape(xp.astype(sources[2], xp.int64), (n_tokens * used,))
    check_ids(maths, ids, n_expert)
    order = xp.argsort(ids, stable=True)
    pair_rows = order // used * per_token + order % used % per_token
    factor = xp.reshape(_factor(maths, call, sources[1]), (n_tokens * per_token, k))
    rows = xp.take(factor, pair_rows, axis=0)
    bounds = xp.searchsorted(xp.take(ids, order), xp.arange(n_expert + 1, dtype=xp.int64))
    lost = None
    if _vec_dot(maths, call) == "q8_1":
        lost = xp.take(xp.reshape(lost_sums(maths, sources[1]), (n_tokens * per_token, k // 32)), pair_rows, axis=0)
    result = xp.empty((n_tokens * used, m), dtype=xp.float32)
    start = 0
    for expert in range(n_expert):
        stop = int(bounds[expert + 1])
        if stop > start:
            weights = experts[expert, :, :]
            product = xp.matmul(rows[start:stop, :], xp.matrix_transpose(weights))
            if lost is not None:
                minima = xp.matrix_transpose(block_minima(maths, weights))
                product = product + xp.matmul(lost[start:stop, :], minima)
            result[start:stop, :] = product
        start = stop
    return xp.reshape(xp.take(result, xp.argsort(order), axis=0), (1, n_tokens, used, m))


def check_ids(maths: Maths, ids: Array, n_expert: int) -> None:
    """Raise InputError when an id is not one of an expert."""
    xp = maths.xp
    for worst in (int(xp.min(ids)), int(xp.max(ids))):
        if not 0 <= worst < n_expert:
            raise InputError(f"expert id {worst} is outside of the {n_expert} experts of source 0")


def _check_mul_mat_id(call: Call) -> str:
    return not_float(call, 0, 1) or absent(call, 2) or first(_wrong_mul_mat_id(call))


def _wrong_mul_mat_id(call: Call) -> Iterator[str]:
    experts, b, ids = call.source(0), call.source(1), call.source(2)
    yield other_type(call, 2, "i32")
    if experts.ne[0] != b.ne[0]:
        yield f"rows of source 0 ({experts.ne[0]}) and source 1 ({b.ne[0]}) differ"
    if experts.ne[3] != 1 or b.ne[3] != 1 or ids.ne[2:] != (1, 1):
        yield "source 0 and 1 have three dimensions and source 2 has two"
    if ids.ne[1] != b.ne[2]:
        yield f"source 2 has ids for {ids.ne[1]} tokens and source 1 has {b.ne[2]}"
    if not b.ne[1] or ids.ne[0] % b.ne[1]:
        yield f"the {b.ne[1]} rows of a token in source 1 do not repeat over its {ids.ne[0]} ids"
    if is_transposed(experts):
        yield "source 0 is transposed"
    yield _no_product(call)
    yield result_differs(call, (experts.ne[1], ids.ne[0], b.ne[2], 1), "the product")


def _out_prod(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """ggml_compute_forward_out_prod: nothing is rounded."""
    transposed = maths.xp.matrix_transpose
    return _products(maths, transposed(sources[0]), transposed(sources[1]))


def _check_out_prod(call: Call) -> str:
    return not_float(call, 0, 1) or first(_wrong_out_prod(call))


def _wrong_out_prod(call: Call) -> Iterator[str]:
    a, b = call.source(0), call.source(1)
    if a.ne[1] != b.ne[1]:
        yield f"columns of source 0 ({a.ne[1]}) and source 1 ({b.ne[1]}) differ"
    if not repeats(a.ne, b.ne):
        yield f"source 0 {shape_text(a.ne)} does not repeat over source 1 {shape_text(b.ne)}"
    if is_transposed(a):
        yield "source 0 is transposed"
    yield result_differs(call, (a.ne[0], b.ne[0], b.ne[2], b.ne[3]), "the product")


MUL_MAT = Kernel(_mul_mat, _check_mul_mat)
MUL_MAT_ID = Kernel(_mul_mat_id, _check_mul_mat_id)
OUT_PROD = Kernel(_out_prod, _check_out_prod)
