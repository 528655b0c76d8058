"""Sums, products and the like with a second source that repeats; parts overwritten or added to."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import (
    Array,
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

OPERATIONS: dict[str, tuple[Callable[[Lazy, Lazy], Lazy], Callable[[np.float32, np.float32], np.float32]]] = {
    "add": (ops.add, lambda x, y: x + y),
    "sub": (ops.sub, lambda x, y: x - y),
    "mul": (ops.mul, lambda x, y: x * y),
    "div": (ops.div, lambda x, y: x / y),
}

SHAPES = st.tuples(*[st.tuples(st.integers(1, 3), st.integers(1, 3))] * 4)


@given(st.sampled_from(sorted(OPERATIONS)), SHAPES, st.integers(0, 9))
@settings(deadline=None, max_examples=60)
def test_the_second_source_repeats(name: str, sizes: tuple[tuple[int, int], ...], seed: int) -> None:
    make, function = OPERATIONS[name]
    b = leaf(*(n for n, _ in sizes))
    a = leaf(*(n * times for n, times in sizes))
    x, y = data(a, seed), data(b, seed + 1)
    result = computed(make(a, b), x, y)
    for index in everywhere(x.shape):
        assert result[index] == function(x[index], y[wrapped(index, y.shape)])


def test_one_number_is_added_to_all() -> None:
    a = leaf(4, 3, 2)
    x = data(a)
    result = computed(node(Op.ADD1, a.ne, a, leaf(1)), x, np.full((1, 1, 1, 1), 2.5, np.float32))
    assert off(result, table(x.shape, lambda i: float(x[i] + np.float32(2.5)))) == 0.0


def region(x: Array, part: Array, strides: tuple[int, int, int], offset: int, add: bool) -> Array:
    """Element by element at byte addresses."""
    flat = x.reshape(-1).copy()
    for i3, i2, i1, i0 in everywhere(part.shape):
        at = (offset + 4 * i0 + i1 * strides[0] + i2 * strides[1] + i3 * strides[2]) // 4
        flat[at] = flat[at] + part[i3, i2, i1, i0] if add else part[i3, i2, i1, i0]
    return np.reshape(flat, x.shape)


@pytest.mark.parametrize(("op", "inplace"), list(product((Op.SET, Op.ACC), (0, 1))))
def test_a_part_is_written_or_added(op: Op, inplace: int) -> None:
    a, b = leaf(6, 5, 3), leaf(2, 3, 2)
    x, part = data(a), data(b, 1)
    result = computed(node(op, a.ne, a, b, params=(24, 120, 360, 52, inplace)), x, part)
    assert off(result, region(x, part, (24, 120, 360), 52, op is Op.ACC)) == 0.0


def test_overlapping_rows_add_up_only_in_place() -> None:
    a, b = leaf(4), leaf(2, 2)
    x, part = np.zeros((1, 1, 1, 4), np.float32), np.ones((1, 1, 2, 2), np.float32)
    for inplace, wanted in ((0, [1, 1, 1, 0]), (1, [1, 2, 1, 0])):
        result = computed(node(Op.ACC, a.ne, a, b, params=(4, 8, 8, 0, inplace)), x, part)
        assert result.reshape(-1).tolist() == wanted


def test_integers_are_written_too() -> None:
    a, b = leaf(5, dtype="i32"), leaf(2, dtype="i32")
    lazy = node(Op.SET, a.ne, a, b, params=(8, 8, 8, 4), dtype="i32")
    assert computed(lazy, whole(a, 1, 2), whole(b, 7, 8)).reshape(-1).tolist() == [1, 7, 7, 1, 1]


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (node(Op.ADD, (4, 3), leaf(4, 3), leaf(3)), "source 1 [3] does not repeat to [4, 3]"),
        (node(Op.ADD, (4, 3), leaf(4, 3)), "source 1 is missing"),
        (node(Op.MUL, (4, 2), leaf(4, 3), leaf(4)), "the result is [4, 2], not [4, 3] as source 0 asks for"),
        (node(Op.ADD, (4,), leaf(4, dtype="i32"), leaf(4)), "source 0 is of type i32, where a float is needed"),
        (node(Op.ADD, (4,), leaf(4), leaf(4), dtype="i32"), "the result is of type i32, where a float is needed"),
        (node(Op.ADD1, (4,), leaf(4), leaf(4)), "source 1 is [4], not one number"),
        (node(Op.SET, (4,), leaf(4), leaf(2), params=(8, 8, 8, 12)), "the part ends at byte 20 of 16"),
        (node(Op.SET, (4,), leaf(4), leaf(2), params=(8, 8, 8, 6)), "are not whole elements of 4 bytes"),
        (node(Op.ACC, (4,), leaf(4), leaf(2), params=(8, 8, 8, -4)), "are not whole elements of 4 bytes"),
        (node(Op.ACC, (4,), leaf(4), leaf(2, dtype="f16")), "source 1 is of type f16, the result of type f32"),
        (node(Op.SET, (4,), leaf(4, dtype="f16"), leaf(2, dtype="f16"), dtype="f16"), "type f16, not f32 or i32"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)
