"""Norms: sums in double, the rest in float."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import Array, computed, data, everywhere, leaf, node, off, wrong

SIZES = st.tuples(st.integers(1, 40), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))


def by_row(x: Array, function: object) -> Array:
    assert callable(function)
    result = np.empty(x.shape)
    for index in everywhere(x.shape[:3]):
        result[index] = function([float(v) for v in x[index]])
    return result


def rms(row: list[float]) -> list[np.float32]:
    """ggml_compute_forward_rms_norm_f32, one rounding after another."""
    total = 0.0
    for v in row:
        total += float(np.float32(v) * np.float32(v))
    mean = np.float32(total / len(row))
    scale = np.float32(1.0) / np.sqrt(mean + np.float32(1e-5))
    return [np.float32(v) * scale for v in row]


@given(SIZES, st.integers(0, 99), st.sampled_from((1e-3, 1.0, 50.0)))
@settings(deadline=None, max_examples=60)
def test_rms_norm_is_that_of_ggml_bit_for_bit(sizes: tuple[int, ...], seed: int, scale: float) -> None:
    a = leaf(*sizes)
    x = data(a, seed, scale)
    assert np.array_equal(computed(ops.rms_norm(a, 1e-5), x), by_row(x, rms))


def test_norm() -> None:
    a = leaf(33, 3, 2)
    x = data(a, scale=4.0) + np.float32(3.0)

    def norm(row: list[float]) -> list[float]:
        mean = sum(row) / len(row)
        variance = sum((v - mean) ** 2 for v in row) / len(row)
        return [(v - mean) / math.sqrt(variance + 1e-5) for v in row]

    assert off(computed(ops.norm(a, 1e-5), x), by_row(x, norm)) < 1e-6


def test_l2_norm() -> None:
    a = leaf(9, 3, 2)
    x = data(a)
    x[0, 1, 2, :] = 1e-4

    def norm(row: list[float]) -> list[float]:
        return [v / max(math.sqrt(sum(w * w for w in row)), 1e-2) for v in row]

    assert off(computed(ops.l2_norm(a, 1e-2), x), by_row(x, norm)) < 1e-6


@pytest.mark.parametrize("groups", [1, 2, 3, 5, 9])
def test_group_norm(groups: int) -> None:
    a = leaf(3, 2, 5, 2)
    x = data(a, scale=2.0)
    each = -(-5 // groups)
    wanted = np.empty(x.shape)
    for i3 in range(2):
        for first in range(0, 5, each):
            part = [float(x[i3, i2, i1, i0]) for i2, i1, i0 in everywhere(x.shape[1:]) if i2 // each == first // each]
            mean = sum(part) / len(part)
            variance = sum((v - mean) ** 2 for v in part) / len(part)
            for i2 in range(first, min(first + each, 5)):
                wanted[i3, i2] = (x[i3, i2] - mean) / math.sqrt(variance + 1e-5)
    assert off(computed(ops.group_norm(a, groups, 1e-5), x), wanted) < 1e-6


def test_the_way_back_through_rms_norm() -> None:
    a = leaf(6, 2)
    gradient, x = data(a, 1), data(a, 2)
    wanted = np.empty(x.shape)
    for i1 in range(2):
        row, slope = x[0, 0, i1].astype(float), gradient[0, 0, i1].astype(float)
        size = math.sqrt(sum(row * row) / 6 + 1e-5)
        wanted[0, 0, i1] = slope / size - row * sum(row * slope) / (6 * size**3)
    result = computed(node(Op.RMS_NORM_BACK, a.ne, a, a, params=(1e-5,)), gradient, x)
    assert off(result, wanted) < 1e-6


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (node(Op.RMS_NORM, (4,), leaf(4), params=(-1e-5,)), "is negative or no number"),
        (node(Op.NORM, (4,), leaf(4), params=(math.nan,)), "epsilon nan is negative or no number"),
        (node(Op.L2_NORM, (4,), leaf(5)), "the result is [4], not [5]"),
        (node(Op.GROUP_NORM, (4,), leaf(4), params=(0,)), "0 groups are not possible"),
        (node(Op.RMS_NORM_BACK, (4,), leaf(4), leaf(3)), "the result is [4], not [3] as source 1 asks for"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)
