"""Sums, means, counts, the largest of a row, and rows in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import Array, computed, data, everywhere, leaf, node, whole, wrong

SIZES = st.tuples(st.integers(1, 30), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))


def total(values: Array) -> float:
    """One after the other, in double."""
    result = 0.0
    for value in values.reshape(-1):
        result += float(value)
    return result


@given(SIZES, st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_sums(sizes: tuple[int, ...], seed: int) -> None:
    a = leaf(*sizes)
    x = data(a, seed)
    rows = computed(ops.sum_rows(a), x)
    means = computed(ops.mean(a), x)
    running = computed(ops.cumsum(a), x)
    for index in everywhere(x.shape[:3]):
        assert rows[index][0] == np.float32(total(x[index]))
        assert means[index][0] == np.float32(total(x[index])) / np.float32(sizes[0])
        before = np.float32(0.0)
        for value, found in zip(x[index], running[index], strict=True):
            before = before + value
            assert found == before
    assert computed(node(Op.SUM, (1,), a), x).reshape(-1).tolist() == [np.float32(total(x))]


def test_rows_without_elements() -> None:
    a = leaf(0, 2)
    x = np.empty((1, 1, 2, 0), np.float32)
    assert computed(ops.sum_rows(a), x).reshape(-1).tolist() == [0.0, 0.0]
    assert np.isnan(computed(ops.mean(a), x)).all()


def test_the_last_of_the_largest() -> None:
    a = leaf(4, 3)
    x = np.array([[1, 3, 3, 2], [-np.inf] * 4, [5, 1, 1, 1]], np.float32).reshape(1, 1, 3, 4)
    result = computed(node(Op.ARGMAX, (3,), a, dtype="i32"), x)
    assert result.shape == (1, 1, 1, 3)
    assert result.dtype == np.int32
    assert result.reshape(-1).tolist() == [2, 3, 0]


def test_equal_integers_are_counted() -> None:
    a = leaf(5, 3, 2, dtype="i32")
    x, y = whole(a, 0, 3, 1), whole(a, 0, 3, 2)
    result = computed(node(Op.COUNT_EQUAL, (1,), a, a, dtype="i64"), x, y)
    assert result.dtype == np.int64
    assert result.reshape(-1).tolist() == [sum(x[i] == y[i] for i in everywhere(x.shape))]


@given(SIZES, st.booleans(), st.integers(0, 99), st.booleans())
@settings(deadline=None, max_examples=40)
def test_rows_in_order(sizes: tuple[int, ...], descending: bool, seed: int, ties: bool) -> None:
    a = leaf(*sizes)
    x = np.round(data(a, seed)) if ties else data(a, seed)
    result = computed(ops.argsort(a, descending), x)
    assert result.dtype == np.int32
    for index in everywhere(x.shape[:3]):
        row = x[index].tolist()
        assert result[index].tolist() == sorted(range(len(row)), key=lambda i: -row[i] if descending else row[i])


@given(SIZES, st.data())
@settings(deadline=None, max_examples=40)
def test_the_largest_of_each_row(sizes: tuple[int, ...], choice: st.DataObject) -> None:
    a = leaf(*sizes)
    k = choice.draw(st.integers(1, sizes[0]))
    x = data(a, 3)
    result = computed(ops.top_k(a, k), x)
    for index in everywhere(x.shape[:3]):
        row = x[index].tolist()
        best = sorted(range(len(row)), key=lambda i: -row[i])[:k]
        assert result[index].tolist() == [best[1], best[0], *best[2:]] if k > 1 else best


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (node(Op.SUM, (2,), leaf(4)), "the result is [2], not one number"),
        (node(Op.SUM_ROWS, (4, 3), leaf(4, 3)), "the result is [4, 3], not [1, 3]"),
        (node(Op.MEAN, (1, 2), leaf(4, 3)), "the result is [1, 2], not [1, 3]"),
        (node(Op.ARGMAX, (3,), leaf(4, 3)), "the result is of type f32, not i32"),
        (node(Op.ARGMAX, (3,), leaf(4, 3, 2), dtype="i32"), "source 0 [4, 3, 2] is no matrix with columns"),
        (node(Op.ARGMAX, (3,), leaf(0, 3), dtype="i32"), "source 0 [0, 3] is no matrix with columns"),
        (node(Op.ARGMAX, (3,), leaf(4, 3, dtype="i32"), dtype="i32"), "source 0 is of type i32"),
        (node(Op.COUNT_EQUAL, (1,), leaf(4), leaf(4), dtype="i64"), "source 0 is of type f32, not i32"),
        (node(Op.ARGSORT, (4,), leaf(4), params=(2,), dtype="i32"), "there is no sort order 2"),
        (node(Op.ARGSORT, (4,), leaf(4)), "the result is of type f32, not i32"),
        (node(Op.ARGSORT, (4,), leaf(4, dtype="i32"), dtype="i32"), "source 0 is of type i32, where a float"),
        (node(Op.TOP_K, (5,), leaf(4), dtype="i32"), "rows of 4 have no 5 largest elements"),
        (node(Op.TOP_K, (2, 2), leaf(4, 3), dtype="i32"), "the result is [2, 2], not [2, 3]"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)


def test_numbers_of_another_shape_are_not_compared() -> None:
    lazy = node(Op.COUNT_EQUAL, (1,), leaf(4, dtype="i32"), leaf(5, dtype="i32"), dtype="i64")
    assert wrong(lazy) == "[4] is not compared with [5]"
