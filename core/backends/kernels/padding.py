"""Elements added around a tensor or pushed around in it (ops.cpp of ggml-cpu)."""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import Shape
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import elementwise, not_float, result_differs, source_shape


def _pads(call: Call) -> tuple[tuple[int, int], ...]:
    """Elements before and behind each dimension."""
    return tuple((call.i32(2 * dim), call.i32(2 * dim + 1)) for dim in range(4))


def _check_pad(call: Call) -> str:
    if found := not_float(call, 0):
        return found
    pads, ne = _pads(call), call.source(0).ne
    if min(min(pair) for pair in pads) < 0:
        return f"pads {[list(pair) for pair in pads]} are partly negative"
    if call.i32(8) and 0 in ne:
        return "nothing is there to go round in"
    n0, n1, n2, n3 = (n + before + behind for n, (before, behind) in zip(ne, pads, strict=True))
    return result_differs(call, (n0, n1, n2, n3), "padding")


def _pad(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x = sources[0]
    pads = _pads(call)[::-1]
    if call.i32(8):  # circular
        for axis, (before, behind) in enumerate(pads):
            if before or behind:
                n = x.shape[axis]
                x = xp.take(x, xp.arange(-before, n + behind, dtype=xp.int64) % n, axis=axis)
        return x
    result = xp.zeros(source_shape(call.node.ne), dtype=xp.float32)
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, pads, strict=True))
    result[inner] = x
    return result


PAD = Kernel(_pad, _check_pad)
"""ggml_compute_forward_pad: op_params have the elements before and behind each dimension, and whether they go round."""


def _check_reflect(call: Call) -> str:
    if found := not_float(call, 0):
        return found
    before, behind, ne = call.i32(0), call.i32(1), call.source(0).ne
    if not (0 <= before < ne[0] and 0 <= behind < ne[0]):
        return f"{before} and {behind} elements cannot be mirrored in rows of {ne[0]}"
    wanted: Shape = (ne[0] + before + behind, *ne[1:])
    return result_differs(call, wanted, "padding")


def _reflect(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x, before, behind = sources[0], call.i32(0), call.i32(1)
    n = x.shape[3]
    left = xp.flip(x[:, :, :, 1 : before + 1], axis=3)
    right = xp.flip(x[:, :, :, n - 1 - behind : n - 1], axis=3)
    return xp.concat([left, x, right], axis=3)


PAD_REFLECT_1D = Kernel(_reflect, _check_reflect)
"""ggml_compute_forward_pad_reflect_1d: rows continued as in a mirror that stands on the last element."""


def _check_roll(call: Call) -> str:
    if found := elementwise(call):
        return found
    shifts, ne = [call.i32(word) for word in range(4)], call.node.ne
    fits = all(abs(shift) < n for shift, n in zip(shifts, ne, strict=True))
    return "" if fits else f"shifts {shifts} are too large for {list(ne)}"


def _roll(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    shifts = tuple(call.i32(3 - axis) for axis in range(4))
    return maths.xp.roll(sources[0], shifts, axis=(0, 1, 2, 3))


ROLL = Kernel(_roll, _check_roll)
"""ggml_compute_forward_roll: op_params have how far each dimension moves."""
