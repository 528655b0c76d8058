"""Rows named by integers: read, written, added (ops.cpp of ggml-cpu)."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops.layout import shape_text
from ..kernel import Call, Kernel, Read
from ..maths import Array, Maths
from .arguments import (
    absent,
    check_rows,
    is_float,
    not_float,
    other_result,
    other_shape,
    other_type,
    result_differs,
    source_shape,
)


def _check_get_rows(call: Call) -> str:
    if found := absent(call, 0, 1) or other_type(call, 1, "i32"):
        return found
    a, ids = call.source(0), call.source(1)
    if not is_float(a.dtype) and a.dtype.name != "i32":
        return f"rows of type {a.dtype.name} cannot be read"
    if a.ne[2] != ids.ne[1] or a.ne[3] != ids.ne[2] or ids.ne[3] != 1:
        return f"the ids {shape_text(ids.ne)} are no list for each matrix of source 0 {shape_text(a.ne)}"
    found = other_result(call, "i32") if a.dtype.name == "i32" else not_float(call, 0)
    return found or result_differs(call, (a.ne[0], *ids.ne[:3]), "the list of ids")


def _get_rows(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    a, ids = sources[0], sources[1]
    matrices, rows = a.shape[0] * a.shape[1], a.shape[2]
    check_rows(maths, ids, rows, "source 0")
    # One take for all matrices: the rows of matrix i begin at i * rows.
    first = xp.reshape(xp.arange(matrices, dtype=xp.int64) * rows, (matrices, 1))
    flat = xp.reshape(xp.astype(ids, xp.int64), (matrices, ids.shape[3])) + first
    picked = xp.take(xp.reshape(a, (matrices * rows, a.shape[3])), xp.reshape(flat, (-1,)), axis=0)
    return xp.reshape(picked, source_shape(call.node.ne))


GET_ROWS = Kernel(_get_rows, _check_get_rows)
"""ggml_compute_forward_get_rows: batched over dimensions 2 and 3."""


def _check_set_rows(call: Call) -> str:
    if found := not_float(call, 0) or absent(call, 1) or other_type(call, 1, "i64", "i32"):
        return found
    rows, ids, node = call.source(0), call.source(1), call.node
    if (rows.ne[0], *rows.ne[2:]) != (node.ne[0], *node.ne[2:]):
        return f"rows {shape_text(rows.ne)} do not fit into {shape_text(node.ne)}"
    if rows.ne[1] != ids.ne[0] or ids.ne[3] != 1:
        return f"{rows.ne[1]} rows have ids of the shape {shape_text(ids.ne)}"
    if 0 in ids.ne or rows.ne[2] % ids.ne[1] or rows.ne[3] % ids.ne[2]:
        return f"the ids {shape_text(ids.ne)} do not repeat over the rows {shape_text(rows.ne)}"
    return ""


def _set_rows(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    check_rows(maths, sources[1], call.node.ne[1], "the result")
    return sources[0]


def _reads_set_rows(call: Call) -> Sequence[Read]:
    return tuple(Read.VALUES if slot < 2 else Read.NOT for slot in range(len(call.src)))


SET_ROWS = Kernel(_set_rows, _check_set_rows, _reads_set_rows, rows_from=1)
"""ggml_compute_forward_set_rows: the rows of source 0 go to the rows of the result that source 1 names."""


def _check_add_id(call: Call) -> str:
    found = not_float(call, 0, 1) or absent(call, 2) or other_type(call, 2, "i32") or other_shape(call, 0)
    if found:
        return found
    a, b, ids = (call.source(slot) for slot in range(3))
    if a.ne[0] != b.ne[0]:
        return f"rows of source 0 ({a.ne[0]}) and source 1 ({b.ne[0]}) differ"
    if 0 in b.ne or 0 in ids.ne or a.ne[1:3] != ids.ne[:2]:
        return f"the ids {shape_text(ids.ne)} are not one for each row of source 0 {shape_text(a.ne)}"
    return ""


def _add_id(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    a, b, ids = sources[0], sources[1][0, 0, :, :], sources[2][0, 0, :, :]
    check_rows(maths, ids, b.shape[0], "source 1")
    picked = xp.take(b, xp.reshape(ids, (-1,)), axis=0)
    return a + xp.reshape(picked, (1, *a.shape[1:]))


ADD_ID = Kernel(_add_id, _check_add_id)
"""ggml_compute_forward_add_id: to each row the row of source 1 that its id names; one list for all of dimension 3."""
