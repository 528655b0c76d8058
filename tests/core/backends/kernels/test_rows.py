"""Rows read, written and added by their ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.backends.kernel import Read
from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.errors import InputError
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import call_of, computed, data, everywhere, leaf, node, whole, wrong

SIZES = st.integers(1, 4)


@given(SIZES, SIZES, SIZES, SIZES, st.integers(1, 3), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_rows_of_each_matrix(n: int, rows: int, n2: int, n3: int, count: int, seed: int) -> None:
    a, ids = leaf(n, rows, n2, n3), leaf(count, n2, n3, dtype="i32")
    x, chosen = data(a, seed), whole(ids, 0, rows, seed)
    result = computed(ops.get_rows(a, ids), x, chosen)
    for i3, i2, i1, i0 in everywhere(result.shape):
        assert result[i3, i2, i1, i0] == x[i3, i2, chosen[0, i3, i2, i1], i0]


def test_rows_of_integers_stay_integers() -> None:
    a, ids = leaf(2, 3, dtype="i32"), leaf(1, dtype="i32")
    result = computed(ops.get_rows(a, ids), whole(a, 5, 6), whole(ids, 2, 3))
    assert result.dtype == np.int32
    assert result.reshape(-1).tolist() == [5, 5]


@pytest.mark.parametrize(("row", "dtype"), [(3, np.int32), (-1, np.int32)])
def test_a_row_that_is_not_there(row: int, dtype: type) -> None:
    a, ids = leaf(2, 3), leaf(2, dtype="i32")
    with pytest.raises(InputError, match=f"row id {row} is outside of the 3 rows of source 0"):
        computed(ops.get_rows(a, ids), data(a), np.array([[[[0, row]]]], dtype))


def test_written_rows_are_those_of_source_0() -> None:
    target, rows, ids = leaf(4, 6, 2), leaf(4, 3, 2), leaf(3, dtype="i64")
    lazy = ops.set_rows(target, rows, ids)
    kernel = KERNELS[Op.SET_ROWS]
    x = data(rows)
    assert np.array_equal(computed(lazy, x, whole(ids, 0, 6, dtype=np.int64), None), x)
    assert kernel.rows_from == 1
    assert list(kernel.reads(call_of(lazy))) == [Read.VALUES, Read.VALUES, Read.NOT]


@pytest.mark.parametrize("row", [6, -2])
def test_a_row_that_cannot_be_written(row: int) -> None:
    target, rows, ids = leaf(4, 6), leaf(4, 1), leaf(1, dtype="i64")
    with pytest.raises(InputError, match=f"row id {row} is outside of the 6 rows of the result"):
        computed(ops.set_rows(target, rows, ids), data(rows), np.full((1, 1, 1, 1), row, np.int64), None)


def test_rows_added_by_id() -> None:
    a, b, ids = leaf(4, 3, 2, 2), leaf(4, 5), leaf(3, 2, dtype="i32")
    x, y, chosen = data(a), data(b, 1), whole(ids, 0, 5)
    result = computed(ops.add_id(a, b, ids), x, y, chosen)
    for i3, i2, i1, i0 in everywhere(x.shape):
        assert result[i3, i2, i1, i0] == x[i3, i2, i1, i0] + y[0, 0, chosen[0, 0, i2, i1], i0]


def test_an_added_row_that_is_not_there() -> None:
    a, b, ids = leaf(4), leaf(4, 5), leaf(1, dtype="i32")
    with pytest.raises(InputError, match="row id 99 is outside of the 5 rows of source 1"):
        computed(ops.add_id(a, b, ids), data(a), data(b), whole(ids, 99, 100))


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (node(Op.GET_ROWS, (4, 2), leaf(4, 3), leaf(2)), "source 1 is of type f32, not i32"),
        (node(Op.GET_ROWS, (4, 2), leaf(4, 3), leaf(2, 2, dtype="i32")), "are no list for each matrix"),
        (node(Op.GET_ROWS, (4, 3), leaf(4, 3), leaf(2, dtype="i32")), "the result is [4, 3], not [4, 2]"),
        (node(Op.GET_ROWS, (4, 2), leaf(4, 3, dtype="i64"), leaf(2, dtype="i32")), "rows of type i64 cannot be read"),
        (
            node(Op.GET_ROWS, (4, 2), leaf(4, 3, dtype="i32"), leaf(2, dtype="i32")),
            "the result is of type f32, not i32",
        ),
        (node(Op.SET_ROWS, (4, 6), leaf(3, 2), leaf(2, dtype="i64")), "rows [3, 2] do not fit into [4, 6]"),
        (node(Op.SET_ROWS, (4, 6), leaf(4, 2), leaf(3, dtype="i64")), "2 rows have ids of the shape [3]"),
        (node(Op.SET_ROWS, (4, 6), leaf(4, 2), leaf(2)), "source 1 is of type f32, not i64 or i32"),
        (node(Op.SET_ROWS, (4, 6, 3), leaf(4, 2, 3), leaf(2, 2, dtype="i64")), "do not repeat over the rows"),
        (node(Op.ADD_ID, (4, 2), leaf(4, 2), leaf(3, 2), leaf(2, dtype="i32")), "(4) and source 1 (3) differ"),
        (node(Op.ADD_ID, (4, 2), leaf(4, 2), leaf(4, 2), leaf(3, dtype="i32")), "are not one for each row"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)
