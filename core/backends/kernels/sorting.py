"""Rows put in order (ops.cpp of ggml-cpu). Of equal values the earlier one comes first; ggml leaves that open."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import absent, is_float, other_result, other_shape, result_differs

_ASCENDING, _DESCENDING = 0, 1
"""enum ggml_sort_order."""


def _not_sortable(call: Call) -> str:
    found = absent(call, 0) or other_result(call, "i32")
    if not found and not is_float(call.source(0).dtype):
        found = f"source 0 is of type {call.source(0).dtype.name}, where a float is needed"
    return found


def _check_argsort(call: Call) -> str:
    order = call.i32(0)
    found = _not_sortable(call) or other_shape(call, 0)
    return found or ("" if order in (_ASCENDING, _DESCENDING) else f"there is no sort order {order}")


def _argsort(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x = sources[0] if call.i32(0) == _ASCENDING else -sources[0]
    return xp.astype(xp.argsort(x, axis=3, stable=True), xp.int32)


ARGSORT = Kernel(_argsort, _check_argsort)
"""ggml_compute_forward_argsort: ascending, or descending when op_params[0] is 1."""


def _check_top_k(call: Call) -> str:
    if found := _not_sortable(call):
        return found
    ne, k = call.source(0).ne, call.node.ne[0]
    if k > ne[0]:
        return f"rows of {ne[0]} have no {k} largest elements"
    return result_differs(call, (k, *ne[1:]), "the largest of each row")


def _top_k(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    k = call.node.ne[0]
    order = xp.astype(xp.argsort(-sources[0], axis=3, stable=True), xp.int32)[:, :, :, :k]
    if k < 2:
        return order
    # ggml exchanges the first two, so that nobody relies on an order.
    return xp.concat([order[:, :, :, 1:2], order[:, :, :, 0:1], order[:, :, :, 2:]], axis=3)


TOP_K = Kernel(_top_k, _check_top_k)
"""ggml_compute_forward_top_k."""
