"""Diagonals and triangles, padding, numbers in a row, pictures resized and pooled."""

from __future__ import annotations

import math
import operator
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
    wrong,
)

SMALL = st.tuples(*[st.integers(1, 3)] * 4)


def test_a_row_as_a_diagonal() -> None:
    a = leaf(4, 1, 2, 3)
    x = data(a)
    wanted = table((3, 2, 4, 4), lambda i: float(x[i[0], i[1], 0, i[3]]) if i[2] == i[3] else 0.0)
    assert np.array_equal(computed(node(Op.DIAG, (4, 4, 2, 3), a), x), wanted)


@pytest.mark.parametrize(("op", "value"), [(Op.DIAG_MASK_INF, -math.inf), (Op.DIAG_MASK_ZERO, 0.0)])
@pytest.mark.parametrize("past", [0, 2, 9])
def test_what_lies_ahead_is_masked(op: Op, value: float, past: int) -> None:
    a = leaf(5, 3, 2)
    x = data(a)
    wanted = table(x.shape, lambda i: value if i[3] > past + i[2] else float(x[i]))
    assert np.array_equal(computed(node(op, a.ne, a, params=(past,)), x), wanted)


@pytest.mark.parametrize("kind", range(4))
def test_triangles(kind: int) -> None:
    a = leaf(4, 4, 2)
    x = data(a)
    kept = (operator.ge, operator.gt, operator.le, operator.lt)[kind]
    wanted = table(x.shape, lambda i: float(x[i]) if kept(i[3], i[2]) else 0.0)
    assert np.array_equal(computed(node(Op.TRI, a.ne, a, params=(kind,)), x), wanted)


@given(SMALL, st.tuples(*[st.integers(0, 4)] * 8), st.integers(0, 1))
@settings(deadline=None, max_examples=40)
def test_padding(sizes: tuple[int, ...], pads: tuple[int, ...], circular: int) -> None:
    a = leaf(*sizes)
    x = data(a)
    ne = tuple(n + pads[2 * d] + pads[2 * d + 1] for d, n in enumerate(sizes))
    result = computed(node(Op.PAD, ne, a, params=(*pads, circular)), x)
    for index in everywhere(result.shape):
        at = tuple(i - pads[2 * (3 - axis)] for axis, i in enumerate(index))
        inside = all(0 <= i < n for i, n in zip(at, x.shape, strict=True))
        if circular or inside:
            assert result[index] == x[tuple(i % n for i, n in zip(at, x.shape, strict=True))]
        else:
            assert result[index] == 0.0


@pytest.mark.parametrize(("before", "behind"), [(0, 0), (2, 4), (4, 1)])
def test_mirrored_rows(before: int, behind: int) -> None:
    a = leaf(5, 2)
    x = data(a)
    result = computed(node(Op.PAD_REFLECT_1D, (5 + before + behind, 2), a, params=(before, behind)), x)
    for index in everywhere(result.shape):
        at = index[3] - before
        at = -at if at < 0 else 8 - at if at > 4 else at
        assert result[index] == x[0, 0, index[2], at]


@given(SMALL, st.tuples(*[st.integers(-2, 2)] * 4))
@settings(deadline=None, max_examples=40)
def test_rolling(sizes: tuple[int, ...], shifts: tuple[int, ...]) -> None:
    a = leaf(*sizes)
    lazy = node(Op.ROLL, a.ne, a, params=shifts)
    if any(abs(shift) >= n for shift, n in zip(shifts, sizes, strict=True)):
        assert "are too large for" in wrong(lazy)
        return
    x = data(a)
    result = computed(lazy, x)
    for index in everywhere(x.shape):
        assert result[index] == x[tuple((i - shifts[3 - axis]) % x.shape[axis] for axis, i in enumerate(index))]


def test_numbers_in_a_row() -> None:
    result = computed(node(Op.ARANGE, (30,), params=(1.25, 4.25, 0.1)))
    start, step = float(np.float32(1.25)), float(np.float32(0.1))
    assert result.reshape(-1).tolist() == [float(np.float32(start + i * step)) for i in range(30)]


@pytest.mark.parametrize("dim", [1, 2, 7, 16])
def test_timesteps_as_vectors(dim: int) -> None:
    steps = np.array([0.0, 1.0, 250.5], np.float32).reshape(1, 1, 1, 3)
    result = computed(node(Op.TIMESTEP_EMBEDDING, (dim, 3), leaf(3), params=(dim, 10000)), steps)
    half = dim // 2
    for i1, i0 in product(range(3), range(dim)):
        if i0 == 2 * half:
            assert result[0, 0, i1, i0] == 0.0
            continue
        angle = float(steps[0, 0, 0, i1]) * math.exp(-math.log(10000) * (i0 % half) / half)
        wanted = math.cos(angle) if i0 < half else math.sin(angle)
        assert result[0, 0, i1, i0] == pytest.approx(wanted, abs=5e-5)  # a float of 250 is that far off


def triangle(at: float) -> float:
    return max(1.0 - abs(at), 0.0)


def cubic(at: float) -> float:
    """The convolution kernel for alpha = -0.75."""
    at = abs(at)
    if at <= 1.0:
        return (1.25 * at - 2.25) * at * at + 1.0
    return ((-0.75 * at + 3.75) * at - 6.0) * at + 3.0 if at < 2.0 else 0.0


def resized(row: Array, new: int, mode: int) -> Array:
    """One row in another length, element by element; where an element comes from is computed in float."""
    old, offset = len(row), np.float32(0.0 if mode & 256 else 0.5)
    factor = np.float32((new - 1) / (old - 1) if mode & 256 and new > 1 and old > 1 else new / old)
    result = np.zeros(new)
    for i in range(new):
        if mode & 255 == 0:
            result[i] = row[int(np.float32(i) / factor)]
            continue
        if mode & 512:
            support, middle = max(np.float32(1.0), 1 / factor), (np.float32(i) + offset) / factor
            low, high = int(max(middle - support + offset, 0)), int(min(middle + support + offset, old))
            weights = {j: triangle((j - middle + offset) / support) for j in range(low, high)}
        else:
            middle = (np.float32(i) + offset) / factor - offset
            first, shape = (math.floor(middle), triangle) if mode & 255 == 1 else (math.floor(middle) - 1, cubic)
            weights = {j: shape(j - middle) for j in range(first, first + (2 if mode & 255 == 1 else 4))}
        weight = sum(weights.values())
        result[i] = sum(w * row[min(max(j, 0), old - 1)] for j, w in weights.items()) / weight
    return result


@pytest.mark.parametrize("mode", [0, 1, 2, 256, 257, 258, 513, 769])
@pytest.mark.parametrize(("old", "new"), [((4, 5), (7, 3)), ((3, 2), (6, 9)), ((8, 6), (3, 6)), ((1, 4), (5, 1))])
def test_resized_pictures(mode: int, old: tuple[int, int], new: tuple[int, int]) -> None:
    a = leaf(*old, 2)
    x = data(a)
    result = computed(node(Op.UPSCALE, (*new, 4), a, params=(mode,)), x)
    for i2 in range(4):
        rows = np.array([resized(row, new[0], mode) for row in x[0, i2 // 2].astype(float)])
        wanted = np.array([resized(column, new[1], mode) for column in rows.T]).T
        assert off(result[0, i2], wanted) < 2e-6


POOLS = st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2))


def windows(old: int, size: int, step: int, pad: int) -> list[range]:
    count = (old + 2 * pad - size) // step + 1
    return [range(max(0, i * step - pad), max(0, min(old, i * step - pad + size))) for i in range(count)]


@given(POOLS, st.integers(0, 1))
@settings(deadline=None, max_examples=60)
def test_pooled_rows(sizes: tuple[int, int, int, int], op: int) -> None:
    old, size, step, pad = sizes
    found = windows(old, size, step, pad)
    if not found:
        return
    a = leaf(old, 2)
    x = data(a)
    result = computed(node(Op.POOL_1D, (len(found), 2), a, params=(op, size, step, pad)), x)
    for i1, (i0, window) in product(range(2), enumerate(found)):
        inside = [float(x[0, 0, i1, j]) for j in window]
        wanted = sum(inside) / max(1, len(inside)) if op else max(inside, default=-3.4028234663852886e38)
        assert result[0, 0, i1, i0] == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@given(POOLS, POOLS, st.integers(0, 1))
@settings(deadline=None, max_examples=60)
def test_pooled_planes(across: tuple[int, int, int, int], down: tuple[int, int, int, int], op: int) -> None:
    columns, rows = windows(*across), windows(*down)
    if not columns or not rows:
        return
    a = leaf(across[0], down[0], 2)
    x = data(a)
    params = (op, across[1], down[1], across[2], down[2], across[3], down[3])
    result = computed(node(Op.POOL_2D, (len(columns), len(rows), 2), a, params=params), x)
    for i2, (i1, row), (i0, column) in product(range(2), enumerate(rows), enumerate(columns)):
        inside = [float(x[0, i2, r, c]) for r, c in product(row, column)]
        wanted = sum(inside) / (across[1] * down[1]) if op else max(inside, default=-3.4028234663852886e38)
        assert result[0, i2, i1, i0] == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (node(Op.DIAG, (4, 4), leaf(4, 2)), "source 0 [4, 2] is no single row"),
        (node(Op.DIAG, (4, 3), leaf(4)), "the result is [4, 3], not [4, 4]"),
        (node(Op.DIAG_MASK_INF, (4,), leaf(4), params=(-1,)), "-1 past elements are not possible"),
        (node(Op.TRI, (4, 4), leaf(4, 4), params=(4,)), "there is no triangle 4"),
        (node(Op.TRI, (4, 3), leaf(4, 3)), "[4, 3] are no square matrices"),
        (node(Op.PAD, (4,), leaf(4), params=(1, 1)), "the result is [4], not [6] as padding asks for"),
        (node(Op.PAD, (4,), leaf(4), params=(-1, 1)), "are partly negative"),
        (node(Op.PAD, (2,), leaf(0), params=(1, 1, 0, 0, 0, 0, 0, 0, 1)), "nothing is there to go round in"),
        (node(Op.PAD_REFLECT_1D, (8,), leaf(4), params=(4, 0)), "4 and 0 elements cannot be mirrored in rows of 4"),
        (node(Op.PAD_REFLECT_1D, (8,), leaf(4), params=(1, 0)), "the result is [8], not [5]"),
        (node(Op.ARANGE, (4,), params=(0.0, 5.0, 1.0)), "from 0.0 to 5.0 by 1.0 are 5 steps, not 4"),
        (node(Op.ARANGE, (4,), params=(0.0, 5.0, 0.0)), "are inf steps, not 4"),
        (node(Op.TIMESTEP_EMBEDDING, (4, 2), leaf(2), params=(6, 100)), "the result is [4, 2], not [6, 2]"),
        (node(Op.TIMESTEP_EMBEDDING, (4, 2), leaf(2, 0), params=(4, 100)), "source 0 is empty"),
        (node(Op.UPSCALE, (4,), leaf(4), params=(3,)), "there is no way 3 to resize"),
        (node(Op.UPSCALE, (4,), leaf(4), params=(512,)), "only bilinear resizing is antialiased"),
        (node(Op.UPSCALE, (4,), leaf(0)), "source 0 is empty"),
        (node(Op.POOL_1D, (4,), leaf(4), params=(2, 1, 1, 0)), "there is no pooling 2"),
        (node(Op.POOL_1D, (4,), leaf(4), params=(0, 0, 1, 0)), "windows of [0] with steps [1] and pads [0]"),
        (node(Op.POOL_1D, (4, 2), leaf(4), params=(0, 1, 1, 0)), "differ in more than 1 dimension(s)"),
        (node(Op.POOL_2D, (4, 2, 2), leaf(4, 2), params=(0, 1, 1, 1, 1)), "differ in more than 2 dimension(s)"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)


def test_pad_as_its_constructor_makes_it() -> None:
    a = leaf(2)
    result = computed(ops.pad(a, 1, 1, 0, 0), np.array([3.0, 4.0], np.float32).reshape(1, 1, 1, 2))
    assert result.reshape(2, 3).tolist() == [[3.0, 4.0, 0.0], [0.0, 0.0, 0.0]]
