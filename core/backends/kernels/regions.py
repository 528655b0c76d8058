"""A part of the first source overwritten with, or added to by, the second (ops.cpp of ggml-cpu).

The part is given in bytes, so both the source and the result are contiguous and of 4-byte elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ...ops.layout import is_contiguous
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import mixed_types, other_result, other_shape

_SIZE = 4
"""Bytes of an element."""


def _check(call: Call, *names: str) -> str:
    found = mixed_types(call, 0, 1) or other_result(call, *names) or other_shape(call, 0)
    if found:
        return found
    if not is_contiguous(call.node) or not is_contiguous(call.source(0)):
        return "source 0 and the result must be contiguous"
    *strides, offset = (call.i32(word) for word in range(4))
    if min(offset, *strides) < 0 or any(n % _SIZE for n in (offset, *strides)):
        return f"strides {strides} and offset {offset} (bytes) are not whole elements of {_SIZE} bytes"
    n0, *ne = call.source(1).ne
    if n0 and all(ne):
        end = offset + n0 * _SIZE + sum((n - 1) * stride for n, stride in zip(ne, strides, strict=True))
        if end > call.node.nbytes:
            return f"the part ends at byte {end} of {call.node.nbytes}"
    return ""


def _write(maths: Maths, call: Call, sources: Sequence[Array], add: bool) -> Array:
    xp = maths.xp
    part = sources[1]
    before = xp.reshape(sources[0], (-1,))
    result = xp.asarray(before, copy=True)
    # ggml_acc adds to what source 0 has; only in place is that the result itself.
    base = result if call.i32(4) else before
    nb1, nb2, nb3, offset = (call.i32(word) // _SIZE for word in range(4))
    n3, n2, n1, n0 = part.shape
    for i3, i2, i1 in product(range(n3), range(n2), range(n1)):
        start = offset + i3 * nb3 + i2 * nb2 + i1 * nb1
        row = part[i3, i2, i1, :]
        result[start : start + n0] = base[start : start + n0] + row if add else row
    return xp.reshape(result, sources[0].shape)


def _check_set(call: Call) -> str:
    return _check(call, "f32", "i32")


def _set(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _write(maths, call, sources, add=False)


SET = Kernel(_set, _check_set)
"""ggml_compute_forward_set: op_params have nb1, nb2, nb3 and the offset of the part in bytes."""


def _check_acc(call: Call) -> str:
    return _check(call, "f32")


def _acc(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _write(maths, call, sources, add=True)


ACC = Kernel(_acc, _check_acc)
"""ggml_compute_forward_acc: as SET, but added."""
