"""Copies, conversions, repeats and concatenations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.backends.kernel import Read
from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.dtypes import DTYPES
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import (
    call_of,
    computed,
    data,
    everywhere,
    leaf,
    node,
    off,
    table,
    whole,
    wrapped,
    wrong,
)


@pytest.mark.parametrize("make", [ops.cont, ops.dup])
def test_a_copy(make: object) -> None:
    a = leaf(4, 3, 2)
    assert callable(make)
    x = data(a)
    assert np.array_equal(computed(make(a), x), x)


def test_elements_follow_each_other_into_another_shape() -> None:
    a, b = leaf(4, 3), leaf(6, 2, dtype="f16")
    x = data(a)
    result = computed(ops.cpy(a, b), x, None)
    assert result.shape == (1, 1, 2, 6)
    assert result.reshape(-1).tolist() == x.reshape(-1).tolist()


def test_the_place_of_the_copy_is_not_read() -> None:
    call = call_of(ops.cpy(leaf(4), leaf(4)))
    assert list(KERNELS[Op.CPY].reads(call)) == [Read.VALUES, Read.NOT]


def test_blocks_of_one_type_are_moved_as_bytes() -> None:
    a = leaf(64, 2, 3, dtype="q4_0")
    blocks = np.arange(3 * 2 * 2 * 18, dtype=np.uint8).reshape(1, 3, 2, 2, 18)
    lazy = ops.cont_nd(a, 128, 3)
    assert list(KERNELS[Op.CONT].reads(call_of(lazy))) == [Read.BLOCKS]
    result = computed(lazy, blocks)
    assert result.shape == (1, 1, 3, 4, 18)
    assert np.array_equal(result.reshape(-1), blocks.reshape(-1))


def test_floats_become_integers_towards_zero() -> None:
    a = leaf(8)
    x = np.array([1.9, -1.9, 0.5, 2**31, -(2**31), -3e9, np.nan, np.inf], np.float32).reshape(1, 1, 1, 8)
    result = computed(ops.cast(a, DTYPES["i32"]), x, None)
    lowest = -(2**31)
    assert result.dtype == np.int32
    assert result.reshape(-1).tolist() == [1, -1, 0, lowest, lowest, lowest, lowest, lowest]


def test_integers_become_floats() -> None:
    a = leaf(3, dtype="i32")
    result = computed(ops.cast(a, DTYPES["f32"]), np.array([1, -7, 1 << 24], np.int32).reshape(1, 1, 1, 3), None)
    assert result.dtype == np.float32
    assert result.reshape(-1).tolist() == [1.0, -7.0, 16777216.0]


SIZES = st.tuples(*[st.tuples(st.integers(1, 3), st.integers(1, 3))] * 4)


@given(SIZES, st.booleans())
@settings(deadline=None, max_examples=60)
def test_repeats_and_their_way_back(sizes: tuple[tuple[int, int], ...], integers: bool) -> None:
    small = leaf(*(n for n, _ in sizes), dtype="i32" if integers else "f32")
    large = leaf(*(n * times for n, times in sizes))
    x = whole(small, -9, 9) if integers else data(small)
    result = computed(ops.repeat(small, large), x)
    assert result.dtype == x.dtype
    assert np.array_equal(result, table(large.ne[::-1], lambda i: float(x[wrapped(i, x.shape)])))
    if not integers:
        y = data(large, 1)
        sums = np.zeros(x.shape)
        for index in everywhere(y.shape):
            sums[wrapped(index, x.shape)] += y[index]
        assert off(computed(node(Op.REPEAT_BACK, small.ne, large), y), sums) < 1e-6


@given(st.integers(0, 3), st.tuples(*[st.integers(1, 3)] * 4), st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_one_after_the_other(dim: int, sizes: tuple[int, ...], other: int) -> None:
    a = leaf(*sizes)
    b = leaf(*(other if d == dim else n for d, n in enumerate(sizes)))
    x, y = data(a), data(b, 1)
    result = computed(ops.concat(a, b, dim), x, y)
    for index in everywhere(result.shape):
        at = index[3 - dim] - sizes[dim]
        second = tuple(at if axis == 3 - dim else i for axis, i in enumerate(index))
        assert result[index] == (x[index] if at < 0 else y[second])


def test_quantised_rows_are_joined_as_bytes() -> None:
    a, b = leaf(32, 2, dtype="q8_0"), leaf(64, 2, dtype="q8_0")
    x, y = np.zeros((1, 1, 2, 1, 34), np.uint8), np.ones((1, 1, 2, 2, 34), np.uint8)
    result = computed(ops.concat(a, b, 0), x, y)
    assert result[0, 0, 1, :, 0].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (node(Op.CONT, (4, 2), leaf(4, 3)), "[4, 3] and [4, 2] have not the same number of elements"),
        (node(Op.CPY, (4,), leaf(4, dtype="i32"), dtype="f16"), "type i32 is not converted to f16"),
        (node(Op.CPY, (32,), leaf(32, dtype="q8_0"), dtype="q4_0"), "type q8_0 is not converted to q4_0"),
        (node(Op.DUP, (4,), leaf(4, dtype="f64"), dtype="f64"), "values of type f64 are not computed"),
        (node(Op.REPEAT, (4,), leaf(3)), "source 0 [3] does not repeat to [4]"),
        (node(Op.REPEAT, (4,), leaf(2), dtype="f16"), "source 0 is of type f32, the result of type f16"),
        (node(Op.REPEAT, (64,), leaf(32, dtype="q8_0"), dtype="q8_0"), "type q8_0 is not repeated"),
        (node(Op.REPEAT_BACK, (3,), leaf(4)), "the result [3] does not repeat to [4]"),
        (node(Op.CONCAT, (4,), leaf(2), leaf(2), params=(4,)), "there is no dimension 4"),
        (node(Op.CONCAT, (5,), leaf(2), leaf(2)), "[2] and [2] one after the other in dimension 0 are not [5]"),
        (node(Op.CONCAT, (4, 3), leaf(2, 3), leaf(2, 2)), "in dimension 0 are not [4, 3]"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)
