"""Pictures made larger or smaller (ggml_compute_forward_upscale_f32 of ggml-cpu)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...ops.numbers import as_float
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import empty, not_float

_NEAREST, _BILINEAR, _BICUBIC = range(3)
"""enum ggml_scale_mode, the low byte of op_params[0]."""
_ALIGN_CORNERS, _ANTIALIAS = 1 << 8, 1 << 9
"""GGML_SCALE_FLAG_*."""


class Axis(NamedTuple):
    """One dimension that is resized.

    Attributes:
        old: elements before.
        new: elements after.
        factor: how much larger, a float.
        offset: where in an element its middle is.
    """

    old: int
    new: int
    factor: float
    offset: float


def _axis(call: Call, dim: int) -> Axis:
    old, new = call.source(0).ne[dim], call.node.ne[dim]
    if call.i32(0) & _ALIGN_CORNERS and dim < 2:
        factor = (new - 1) / (old - 1) if new > 1 and old > 1 else new / old
        return Axis(old, new, as_float(factor), 0.0)
    return Axis(old, new, as_float(new / old), 0.0 if call.i32(0) & _ALIGN_CORNERS else 0.5)


def _check(call: Call) -> str:
    if found := not_float(call, 0):
        return found
    mode, flags = call.i32(0) & 0xFF, call.i32(0) & ~0xFF
    if mode > _BICUBIC or flags & ~(_ALIGN_CORNERS | _ANTIALIAS):
        return f"there is no way {call.i32(0)} to resize"
    if flags & _ANTIALIAS and mode != _BILINEAR:
        return "only bilinear resizing is antialiased"
    return empty(call, 0)


def _nearest(maths: Maths, x: Array, axis: Axis, at: int) -> Array:
    """Each element copied from the one it came from."""
    xp = maths.xp
    if axis.old == axis.new and axis.factor == 1.0:
        return x
    places = xp.astype(xp.arange(axis.new, dtype=xp.float32) / axis.factor, xp.int64)
    return _picked(maths, x, axis, at, places)


def _picked(maths: Maths, x: Array, axis: Axis, at: int, places: Array) -> Array:
    """Elements at these places, at most the last one and at least the first."""
    return maths.xp.take(x, maths.xp.clip(places, 0, axis.old - 1), axis=at)


def _along(maths: Maths, values: Array, at: int) -> Array:
    """One value for each element of an axis, to be broadcast."""
    return maths.xp.reshape(values, tuple(-1 if a == at else 1 for a in range(4)))


def _places(maths: Maths, axis: Axis) -> tuple[Array, Array]:
    """The element before each new one, and how far behind it that one lies."""
    xp = maths.xp
    at = (xp.arange(axis.new, dtype=xp.float32) + axis.offset) / axis.factor - axis.offset
    return xp.astype(xp.floor(at), xp.int64), at


def _linear(maths: Maths, x: Array, axis: Axis, at: int) -> Array:
    xp = maths.xp
    before, where = _places(maths, axis)
    first = xp.clip(before, 0, axis.old - 1)
    part = _along(maths, xp.clip(where - xp.astype(first, xp.float32), 0.0, 1.0), at)
    behind = _picked(maths, x, axis, at, before + 1)
    return xp.take(x, first, axis=at) * (1.0 - part) + behind * part


def _cubic(maths: Maths, x: Array, axis: Axis, at: int) -> Array:
    """Four elements, weighted with the cubic convolution for alpha = -0.75."""
    xp = maths.xp
    before, where = _places(maths, axis)
    part = where - xp.astype(before, xp.float32)
    result = xp.zeros_like(_picked(maths, x, axis, at, before))
    for step, weight in zip(range(-1, 3), _cubic_weights(xp.astype(part, xp.float64)), strict=True):
        factor = _along(maths, xp.astype(weight, xp.float32), at)
        result = result + _picked(maths, x, axis, at, before + step) * factor
    return result


def _cubic_weights(part: Array) -> tuple[Array, Array, Array, Array]:
    """In double: the polynomials cancel most of themselves."""
    a = -0.75

    def near(x: Array) -> Array:
        return ((a + 2) * x - (a + 3)) * x * x + 1.0

    def far(x: Array) -> Array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(part + 1.0), near(part), near(1.0 - part), far(2.0 - part)


def _antialiased(maths: Maths, x: Array, axis: Axis, at: int) -> Array:
    """A triangle as wide as one new element or one old one, whichever is wider; weights add up to 1."""
    xp = maths.xp
    support = max(1.0, as_float(1.0 / axis.factor))
    middle = xp.reshape((xp.arange(axis.new, dtype=xp.float32) + axis.offset) / axis.factor, (-1, 1))
    old = xp.reshape(xp.arange(axis.old, dtype=xp.float32), (1, -1))
    first = xp.clip(xp.trunc(middle - support + axis.offset), 0.0, float(axis.old))
    last = xp.clip(xp.trunc(middle + support + axis.offset), 0.0, float(axis.old))
    weights = 1.0 - xp.abs((old - middle + axis.offset) * as_float(1.0 / support))
    weights = xp.where((old >= first) & (old < last) & (weights > 0.0), weights, 0.0)
    total = xp.sum(weights, axis=1, keepdims=True)
    weights = weights / xp.where(total > 0.0, total, 1.0)
    moved = xp.matmul(xp.moveaxis(x, at, 3), xp.matrix_transpose(weights))
    return xp.moveaxis(moved, 3, at)


def _upscale(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    mode, x = call.i32(0) & 0xFF, sources[0]
    planar = (_nearest, _antialiased if call.i32(0) & _ANTIALIAS else _linear, _cubic)[mode]
    for dim in range(4):
        resize = planar if dim < 2 else _nearest
        x = resize(maths, x, _axis(call, dim), 3 - dim)
    return x


UPSCALE = Kernel(_upscale, _check)
"""ggml_compute_forward_upscale: to the shape of the result; only dimensions 0 and 1 are interpolated."""
