"""Convolutions (ggml-cpu/ops.cpp): IM2COL, CONV_2D, CONV_2D_DW, CONV_TRANSPOSE_1D."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...op import Op
from ..kernel import Call, Kernel, Read
from ..maths import Array, Maths
from .arguments import absent, not_float, result_differs
from .wanted import first


class Axis(NamedTuple):
    """How a kernel moves along one dimension: op_params of a convolution."""

    stride: int
    padding: int
    dilation: int

    def size(self, image: int, kernel: int) -> int:
        """ggml_calc_conv_output_size."""
        room = image + 2 * self.padding - self.dilation * (kernel - 1) - 1
        return (room // self.stride if room >= 0 else -(-room // self.stride)) + 1  # C divides towards zero

    def wrong(self) -> str:
        """Whether a stride or a dilation is not positive."""
        fine = self.stride > 0 and self.dilation > 0
        return "" if fine else f"a stride of {self.stride} and a dilation of {self.dilation} are not possible"


def _axes(call: Call) -> tuple[Axis, Axis]:
    """Width, then height."""
    return Axis(call.i32(0), call.i32(2), call.i32(4)), Axis(call.i32(1), call.i32(3), call.i32(5))


def _patch(maths: Maths, images: Array, axis: Axis, at: int, count: int, of: int) -> Array:
    """What element `at` of the kernel meets along array axis `of` at each of `count` places; zeros outside."""
    xp = maths.xp
    places = xp.arange(count, dtype=xp.int64) * axis.stride + (at * axis.dilation - axis.padding)
    inside = (places >= 0) & (places < images.shape[of])
    taken = xp.take(images, xp.where(inside, places, xp.zeros_like(places)), axis=of)
    inside = xp.reshape(inside, (1,) * of + (count,) + (1,) * (images.ndim - of - 1))
    return xp.where(inside, taken, xp.zeros_like(taken))


def _columns(maths: Maths, call: Call, images: Array, kernel: tuple[int, int], out: tuple[int, int]) -> Array:
    """Patches of images (N, C, H, W) as rows: (N, out H, out W, C * kernel H * kernel W)."""
    xp = maths.xp
    n, channels = images.shape[:2]
    across, down = _axes(call)
    result = xp.empty((n, *out, channels, *kernel), dtype=xp.float32)
    for y in range(kernel[0]):
        rows = _patch(maths, images, down, y, out[0], 2)
        for x in range(kernel[1]):
            patch = _patch(maths, rows, across, x, out[1], 3)
            result[:, :, :, :, y, x] = xp.permute_dims(patch, (0, 2, 3, 1))
    return xp.reshape(result, (n, *out, channels * kernel[0] * kernel[1]))


def _im2col(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    width, height = call.source(0).ne[:2]
    images = sources[1]
    _, out_width, out_height, _ = call.node.ne
    if call.i32(6) == 1:
        return _columns(maths, call, images, (height, width), (out_height, out_width))
    flat = maths.xp.permute_dims(images, (1, 2, 0, 3))  # (N, C, 1, W)
    columns = _columns(maths, call, flat, (1, width), (1, out_width))
    return maths.xp.reshape(columns, call.node.ne[::-1])


def _check_im2col(call: Call) -> str:
    return absent(call, 0) or not_float(call, 1) or first(_wrong_im2col(call))


def _wrong_im2col(call: Call) -> Iterator[str]:
    a, b = call.source(0).ne, call.source(1).ne
    across, down = _axes(call)
    flat = call.i32(6) != 1
    down = Axis(1, 0, 1) if flat else down
    yield across.wrong()
    yield down.wrong()
    if flat and b[3] != 1:
        yield "source 1 has three dimensions"
    channels = (a[1], b[1]) if flat else (a[2], b[2])
    if channels[0] != channels[1]:
        yield f"source 0 has {channels[0]} channels and source 1 has {channels[1]}"
    if 0 in b[: 1 if flat else 2]:
        yield "there is nothing in source 1"
    out = across.size(b[0], a[0])
    if flat:
        yield result_differs(call, (a[0] * a[1], out, b[2], 1), "the convolution")
    else:
        yield result_differs(call, (a[0] * a[1] * a[2], out, down.size(b[1], a[1]), b[3]), "the convolution")


def _conv_2d(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    kernel, images = sources
    out_channels, channels, height, width = kernel.shape
    if call.source(0).dtype.name == "f16" and not maths.exact:
        images = maths.half(images)
    out = (call.node.ne[1], call.node.ne[0])
    columns = _columns(maths, call, images, (height, width), out)
    rows = xp.reshape(kernel, (out_channels, channels * height * width))
    return xp.permute_dims(xp.matmul(columns, xp.matrix_transpose(rows)), (0, 3, 1, 2))


def _conv_2d_dw(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """One kernel for each channel."""
    xp = maths.xp
    kernel, images = sources
    across, down = _axes(call)
    width, height, channels, n = call.node.ne
    total = xp.zeros((n, channels, height, width), dtype=xp.float32)
    for y in range(kernel.shape[2]):
        rows = _patch(maths, images, down, y, height, 2)
        for x in range(kernel.shape[3]):
            weight = xp.reshape(kernel[:, 0, y, x], (1, channels, 1, 1))
            total = total + _patch(maths, rows, across, x, width, 3) * weight
    return total


def _check_conv_2d(call: Call) -> str:
    return not_float(call, 0, 1) or first(_wrong_conv_2d(call))


def _wrong_conv_2d(call: Call) -> Iterator[str]:
    a, b = call.source(0).ne, call.source(1).ne
    across, down = _axes(call)
    yield across.wrong()
    yield down.wrong()
    if call.node.op is Op.CONV_2D and a[2] != b[2]:
        yield f"source 0 has {a[2]} channels and source 1 has {b[2]}"
    if call.node.op is Op.CONV_2D_DW and (a[2] != 1 or a[3] != b[2]):
        yield f"source 0 has {a[3]} kernels for {b[2]} channels"
    if 0 in b:
        yield "there is nothing in source 1"
    out = (across.size(b[0], a[0]), down.size(b[1], a[1]), a[3], b[3])
    yield result_differs(call, out, "the convolution")


def _conv_transpose_1d(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """Each element of the input adds a scaled kernel to the output, stride apart."""
    xp = maths.xp
    kernel, signal = sources
    in_channels, out_channels, width = kernel.shape[1:]
    if call.source(0).dtype.name == "f16" and not maths.exact:
        signal = maths.half(signal)
    length, stride = signal.shape[3], call.i32(0)
    flat = xp.reshape(kernel, (in_channels, out_channels * width))
    parts = xp.matmul(xp.matrix_transpose(flat), xp.reshape(signal, (in_channels, length)))
    parts = xp.reshape(parts, (out_channels, width, length))
    result = xp.zeros((out_channels, call.node.ne[0]), dtype=xp.float32)
    for x in range(width):
        at = slice(x, x + (length - 1) * stride + 1, stride)
        result[:, at] = result[:, at] + parts[:, x, :]
    return xp.reshape(result, call.node.ne[::-1])


def _check_conv_transpose_1d(call: Call) -> str:
    return not_float(call, 0, 1) or first(_wrong_conv_transpose_1d(call))


def _wrong_conv_transpose_1d(call: Call) -> Iterator[str]:
    a, b = call.source(0).ne, call.source(1).ne
    stride, padding, dilation = call.i32(0), call.i32(1), call.i32(2)
    if stride <= 0 or padding != 0 or dilation != 1:
        yield f"a stride of {stride}, a padding of {padding} and a dilation of {dilation} are not possible"
    if a[2] != b[1] or a[3] != 1 or b[2:] != (1, 1):
        yield f"source 0 has {a[2]} channels and source 1 has {b[1]}"
    if not b[0]:
        yield "there is nothing in source 1"
    yield result_differs(call, ((b[0] - 1) * stride + a[0], a[1], 1, 1), "the convolution")


def _only_shape(call: Call) -> tuple[Read, ...]:
    """Of the kernel only the shape is of interest."""
    return Read.NOT, Read.VALUES


IM2COL = Kernel(_im2col, _check_im2col, _only_shape)
CONV_2D = Kernel(_conv_2d, _check_conv_2d)
CONV_2D_DW = Kernel(_conv_2d_dw, _check_conv_2d)
CONV_TRANSPOSE_1D = Kernel(_conv_transpose_1d, _check_conv_transpose_1d)
