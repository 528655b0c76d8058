"""Rows picked, rows written, rows sorted (ggml.c)."""

from __future__ import annotations

from ..dtypes import DTYPES
from ..op import Op
from .layout import is_contiguous_rows
from .lazy import Lazy, check, new_tensor, view_tensor
from .views import view

_F32, _I32 = DTYPES["f32"], DTYPES["i32"]
_ASC, _DESC = 0, 1  # enum ggml_sort_order


def get_rows(a: Lazy, ids: Lazy) -> Lazy:
    """ggml_get_rows: the result is f32, or i32 for i32."""
    check(a.ne[2] == ids.ne[1] and a.ne[3] == ids.ne[2], "GET_ROWS", "one list of ids for each matrix", a, ids)
    check(ids.ne[3] == 1, "GET_ROWS", "ids have three dimensions", ids)
    check(ids.dtype is _I32, "GET_ROWS", "ids are of type i32", ids)
    dtype = _I32 if a.dtype is _I32 else _F32
    return new_tensor(dtype, a.ne[0], *ids.ne[:3]).become(Op.GET_ROWS, a, ids)


def set_rows(a: Lazy, rows: Lazy, ids: Lazy) -> Lazy:
    """ggml_set_rows: writes rows into a at ids; the result is a view of a."""
    same = a.ne[0] == rows.ne[0] and a.ne[2] == rows.ne[2] and a.ne[3] == rows.ne[3]
    check(same, "SET_ROWS", "target and rows must agree in all dimensions but the second", a, rows)
    check(rows.ne[1] == ids.ne[0], "SET_ROWS", "one id for each row", rows, ids)
    repeats = 0 not in ids.ne[1:3] and rows.ne[2] % ids.ne[1] == 0 and rows.ne[3] % ids.ne[2] == 0
    check(repeats and ids.ne[3] == 1, "SET_ROWS", "the ids must repeat over the rows", rows, ids)
    check(rows.dtype.name in ("f32", "f16"), "SET_ROWS", "rows are of type f32 or f16", rows)
    check(ids.dtype.name in ("i64", "i32"), "SET_ROWS", "ids are of type i64 or i32", ids)
    check(is_contiguous_rows(a), "SET_ROWS", "rows must be contiguous", a)
    check(is_contiguous_rows(rows), "SET_ROWS", "rows must be contiguous", rows)
    return view_tensor(a).become(Op.SET_ROWS, rows, ids, a)


def argsort(a: Lazy, descending: bool = False) -> Lazy:
    """ggml_argsort."""
    check(a.ne[0] < 1 << 31, "ARGSORT", "a row has fewer than 2^31 elements", a)
    return new_tensor(_I32, *a.ne).become(Op.ARGSORT, a, params=(_DESC if descending else _ASC,))


def argsort_top_k(a: Lazy, k: int) -> Lazy:
    """ggml_argsort_top_k: a view of the first k of a descending argsort."""
    check(a.ne[0] >= k, "ARGSORT", f"a row must have at least k = {k} elements", a)
    order = argsort(a, descending=True)
    return view(order, (k, *order.ne[1:]), order.nb[1:])


def top_k(a: Lazy, k: int) -> Lazy:
    """ggml_top_k: the k largest in no particular order."""
    check(a.ne[0] >= k, "TOP_K", f"a row must have at least k = {k} elements", a)
    return new_tensor(_I32, k, *a.ne[1:]).become(Op.TOP_K, a)


def argmax(a: Lazy) -> Lazy:
    """ggml_argmax: the place of the largest element of each row."""
    check(a.ne[2:] == (1, 1), "ARGMAX", "the tensor must be a matrix", a)
    check(a.ne[0] < 1 << 31, "ARGMAX", "a row has fewer than 2^31 elements", a)
    return new_tensor(_I32, a.ne[1]).become(Op.ARGMAX, a)
