"""IM2COL, CONV_2D, CONV_2D_DW and CONV_TRANSPOSE_1D, pixel by pixel in loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import (
    EXACT,
    Array,
    computed,
    data,
    half,
    leaf,
    node,
    off,
    table,
    wrong,
)


class Axis(NamedTuple):
    """Size of image and kernel along one dimension, stride, padding, dilation."""

    image: int
    kernel: int
    stride: int
    padding: int
    dilation: int

    def places(self) -> int:
        """How often the kernel fits."""
        count, start = 0, -self.padding
        while start + (self.kernel - 1) * self.dilation < self.image + self.padding:
            count, start = count + 1, start + self.stride
        return count


AXES = st.builds(Axis, st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.integers(0, 3), st.integers(1, 3))
ACROSS, DOWN = Axis(7, 3, 2, 1, 1), Axis(5, 2, 1, 2, 2)


def pixel(images: Array, n: int, c: int, across: Axis, down: Axis, at: tuple[int, int, int, int]) -> float:
    """What element (ky, kx) of the kernel meets at place (y, x): zero outside of the image."""
    y, x, ky, kx = at
    row = y * down.stride + ky * down.dilation - down.padding
    column = x * across.stride + kx * across.dilation - across.padding
    inside = 0 <= row < down.image and 0 <= column < across.image
    return float(images[n, c, row, column]) if inside else 0.0


def conv(op: Op, across: Axis, down: Axis, ne: tuple[int, ...], kernel: Lazy, channels: int, flag: int = 0) -> Lazy:
    params = (across.stride, down.stride, across.padding, down.padding, across.dilation, down.dilation, flag)
    return node(op, ne, kernel, leaf(across.image, down.image, channels, 2), params=params)


@given(AXES, AXES, st.integers(1, 2))
def test_im2col(across: Axis, down: Axis, channels: int) -> None:
    width, height = across.places(), down.places()
    assume(width and height)
    size = across.kernel * down.kernel
    kernel = leaf(across.kernel, down.kernel, channels, 5, dtype="f16")
    lazy = conv(Op.IM2COL, across, down, (size * channels, width, height, 2), kernel, channels, 1)
    images = data(leaf(across.image, down.image, channels, 2))

    def element(index: tuple[int, ...]) -> float:
        n, y, x, i = index
        c, ky, kx = i // size, i % size // across.kernel, i % across.kernel
        return pixel(images, n, c, across, down, (y, x, ky, kx))

    assert np.array_equal(computed(lazy, None, images), table((2, height, width, size * channels), element))


@given(AXES, st.integers(1, 2))
def test_im2col_of_one_dimension(across: Axis, channels: int) -> None:
    width = across.places()
    assume(width)
    lazy = node(
        Op.IM2COL, (across.kernel * channels, width, 3), leaf(across.kernel, channels, 5),
        leaf(across.image, channels, 3), params=(across.stride, 0, across.padding, 0, across.dilation, 0),
    )  # fmt: skip
    signal = data(leaf(across.image, channels, 3))

    def element(index: tuple[int, ...]) -> float:
        _, n, x, i = index
        c, kx = i // across.kernel, i % across.kernel
        column = x * across.stride + kx * across.dilation - across.padding
        return float(signal[0, n, c, column]) if 0 <= column < across.image else 0.0

    wanted = table((1, 3, width, across.kernel * channels), element)
    assert np.array_equal(computed(lazy, None, signal), wanted)


@given(AXES, AXES)
def test_conv_2d(across: Axis, down: Axis) -> None:
    width, height = across.places(), down.places()
    assume(width and height)
    kernel = leaf(across.kernel, down.kernel, 2, 3)
    lazy = conv(Op.CONV_2D, across, down, (width, height, 3, 2), kernel, 2)
    weights, images = data(kernel, 1), data(leaf(across.image, down.image, 2, 2), 2)
    assert off(computed(lazy, weights, images), convolved(weights, images, across, down)) < 1e-5


def convolved(weights: Array, images: Array, across: Axis, down: Axis) -> Array:
    def element(index: tuple[int, ...]) -> float:
        n, o, y, x = index
        return sum(
            float(weights[o, c, ky, kx]) * pixel(images, n, c, across, down, (y, x, ky, kx))
            for c in range(weights.shape[1])
            for ky in range(down.kernel)
            for kx in range(across.kernel)
        )

    return table((2, weights.shape[0], down.places(), across.places()), element)


def test_a_kernel_of_float16_rounds_the_image() -> None:
    kernel = leaf(3, 2, 2, 3, dtype="f16")
    lazy = conv(Op.CONV_2D, ACROSS, DOWN, (ACROSS.places(), DOWN.places(), 3, 2), kernel, 2)
    weights, images = half(data(kernel, 1)), data(leaf(7, 5, 2, 2), 2)
    made = computed(lazy, weights, images)
    assert off(made, convolved(weights, half(images), ACROSS, DOWN)) < 1e-6
    assert off(made, convolved(weights, images, ACROSS, DOWN)) > 1e-5
    assert off(computed(lazy, weights, images, maths=EXACT), convolved(weights, images, ACROSS, DOWN)) < 1e-6


@given(AXES, AXES)
def test_conv_2d_dw(across: Axis, down: Axis) -> None:
    width, height = across.places(), down.places()
    assume(width and height)
    kernel = leaf(across.kernel, down.kernel, 1, 3)
    lazy = conv(Op.CONV_2D_DW, across, down, (width, height, 3, 2), kernel, 3)
    weights, images = data(kernel, 1), data(leaf(across.image, down.image, 3, 2), 2)

    def element(index: tuple[int, ...]) -> float:
        n, c, y, x = index
        return sum(
            float(weights[c, 0, ky, kx]) * pixel(images, n, c, across, down, (y, x, ky, kx))
            for ky in range(down.kernel)
            for kx in range(across.kernel)
        )

    assert off(computed(lazy, weights, images), table((2, 3, height, width), element)) < 1e-5


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.sampled_from(["f32", "f16"]))
def test_conv_transpose_1d(length: int, width: int, stride: int, dtype: str) -> None:
    kernel, signal = leaf(width, 2, 3, dtype=dtype), leaf(length, 3)
    size = (length - 1) * stride + width
    lazy = node(Op.CONV_TRANSPOSE_1D, (size, 2), kernel, signal, params=(stride, 0, 1))
    weights, values = data(kernel, 1), data(signal, 2)
    kept = half(values) if dtype == "f16" else values
    wanted = np.zeros((1, 1, 2, size))
    for o in range(2):
        for i in range(length):
            for x in range(width):
                for c in range(3):
                    wanted[0, 0, o, i * stride + x] += float(weights[0, c, o, x]) * float(kept[0, 0, c, i])
    assert off(computed(lazy, weights, values), wanted) < 1e-5


@pytest.mark.parametrize(
    ("lazy", "why"),
    [
        (conv(Op.CONV_2D, ACROSS, DOWN, (4, 7, 3, 2), leaf(3, 2, 4, 3), 2), "source 0 has 4 channels and source 1 has"),
        (conv(Op.CONV_2D, ACROSS, DOWN, (5, 7, 3, 2), leaf(3, 2, 2, 3), 2), "the result is [5, 7, 3, 2], not [4, 7, 3"),
        (conv(Op.CONV_2D_DW, ACROSS, DOWN, (4, 7, 2, 2), leaf(3, 2, 1, 3), 2), "source 0 has 3 kernels for 2 channels"),
        (conv(Op.IM2COL, ACROSS, DOWN, (12, 4, 7, 2), leaf(3, 2, 4, 3), 2, 1), "source 0 has 4 channels and source 1"),
        (
            conv(Op.CONV_2D, Axis(7, 3, 0, 1, 1), DOWN, (4, 7, 3, 2), leaf(3, 2, 2, 3), 2),
            "a stride of 0 and a dilation of 1 are not possible",
        ),
        (
            conv(Op.CONV_2D, ACROSS, Axis(5, 2, 1, 2, -1), (4, 7, 3, 2), leaf(3, 2, 2, 3), 2),
            "a stride of 1 and a dilation of -1 are not possible",
        ),
        (
            node(Op.CONV_TRANSPOSE_1D, (5, 2), leaf(3, 2, 3), leaf(2, 3), params=(0, 0, 1)),
            "a stride of 0, a padding of 0 and a dilation of 1 are not possible",
        ),
        (
            node(Op.CONV_TRANSPOSE_1D, (5, 2), leaf(3, 2, 3), leaf(2, 4), params=(2, 0, 1)),
            "source 0 has 3 channels and source 1 has 4",
        ),
        (node(Op.IM2COL, (3, 2), None, leaf(4, 1)), "source 0 is missing"),
    ],
)
def test_what_does_not_fit(lazy: Lazy, why: str) -> None:
    assert wrong(lazy).startswith(why)
