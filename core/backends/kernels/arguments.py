"""What the checks of several kernels ask: is a source there, is it a float, do shapes fit, are row ids in range.

Each check returns why not, as `Kernel.check` does, or an empty string. Types are asked for as the arithmetic needs:
ggml-cpu refuses some mixtures of float types that other devices compute, and they have one meaning everywhere.
"""

from __future__ import annotations

from typing import Any

from ...dtypes import DType, Shape
from ...errors import InputError
from ...ops.layout import can_repeat, shape_text
from ...tensor import Tensor
from ..kernel import Call
from ..maths import Array, Maths

FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64")


def optional(call: Call, slot: int) -> Tensor | None:
    """The source in a slot, None when there is none."""
    return call.src[slot] if slot < len(call.src) else None


def is_float(dtype: DType) -> bool:
    """Whether values of this type come as float32: the small floats and everything quantised."""
    return dtype.quantized or dtype.name in FLOATS


def absent(call: Call, *slots: int) -> str:
    """Whether one of these sources is missing."""
    return next((f"source {slot} is missing" for slot in slots if optional(call, slot) is None), "")


def not_float(call: Call, *slots: int) -> str:
    """Whether one of these sources is missing or no float, or the result is none."""
    found = absent(call, *slots)
    for slot in () if found else slots:
        dtype = call.source(slot).dtype
        if not is_float(dtype):
            return f"source {slot} is of type {dtype.name}, where a float is needed"
    return found or not_float_result(call)


def not_float_result(call: Call) -> str:
    """Whether the result is no float."""
    dtype = call.node.dtype
    return "" if is_float(dtype) else f"the result is of type {dtype.name}, where a float is needed"


def other_type(call: Call, slot: int, *names: str) -> str:
    """Whether a source that is there is of none of these types."""
    dtype = call.source(slot).dtype
    return "" if dtype.name in names else f"source {slot} is of type {dtype.name}, not {' or '.join(names)}"


def other_result(call: Call, *names: str) -> str:
    """Whether the result is of none of these types."""
    dtype = call.node.dtype
    return "" if dtype.name in names else f"the result is of type {dtype.name}, not {' or '.join(names)}"


def mixed_types(call: Call, *slots: int) -> str:
    """Whether one of these sources is missing or not of the type of the result."""
    found = absent(call, *slots)
    for slot in () if found else slots:
        if call.source(slot).dtype.id != call.node.dtype.id:
            return f"source {slot} is of type {call.source(slot).dtype.name}, the result of type {call.node.dtype.name}"
    return found or unknown_type(call)


def unknown_type(call: Call) -> str:
    """Whether the result is of a type that has no values here (f64)."""
    dtype = call.node.dtype
    return "" if is_float(dtype) or dtype.name in INTEGERS else f"values of type {dtype.name} are not computed"


def other_shape(call: Call, *slots: int) -> str:
    """Whether one of these sources has not the shape of the result (ggml_are_same_shape)."""
    for slot in slots:
        if found := result_differs(call, call.source(slot).ne, f"source {slot}"):
            return found
    return ""


def result_differs(call: Call, ne: Shape, what: str) -> str:
    """Whether the result has not this shape."""
    if call.node.ne == ne:
        return ""
    return f"the result is {shape_text(call.node.ne)}, not {shape_text(ne)} as {what} asks for"


def empty(call: Call, slot: int) -> str:
    """Whether a source has no elements."""
    return f"source {slot} is empty" if 0 in call.source(slot).ne else ""


def not_scalar(call: Call) -> str:
    """Whether the result has more than one element (ggml_is_scalar)."""
    ne = call.node.ne
    return "" if ne == (1, 1, 1, 1) else f"the result is {shape_text(ne)}, not one number"


def no_repeat(call: Call, small: int, large: int) -> str:
    """Whether one source does not repeat to the shape of another (ggml_can_repeat)."""
    a, b = call.source(small).ne, call.source(large).ne
    return "" if can_repeat(a, b) else f"source {small} {shape_text(a)} does not repeat to {shape_text(b)}"


def elementwise(call: Call) -> str:
    """Whether source 0 is no float of the shape of the result."""
    return not_float(call, 0) or other_shape(call, 0)


def negative_eps(call: Call, word: int = 0) -> str:
    """Whether the epsilon in op_params is negative or no number."""
    eps = call.f32(word)
    return "" if eps >= 0.0 else f"epsilon {eps} is negative or no number"


def broadcast(maths: Maths, array: Array, shape: tuple[int, ...]) -> Array:
    """An array that goes with one of `shape`: as it is where plain broadcasting does it, else repeated as ggml does."""
    have = array.shape
    if all(n in (1, want) for n, want in zip(have, shape, strict=True)):
        return array
    return maths.xp.tile(array, tuple(want // n for n, want in zip(have, shape, strict=True)))


def check_rows(maths: Maths, ids: Array, rows: int, what: str) -> None:
    """Raise InputError when a row id does not name one of `rows` rows."""
    low, high = int(maths.xp.min(ids)), int(maths.xp.max(ids))
    if low < 0 or high >= rows:
        raise InputError(f"row id {low if low < 0 else high} is outside of the {rows} rows of {what}")


def source_shape(ne: Shape) -> tuple[int, int, int, int]:
    """The shape of an array of a tensor: ne reversed."""
    return ne[3], ne[2], ne[1], ne[0]


def present(sources: Any, slot: int) -> Array | None:
    """The array of an optional source."""
    return sources[slot] if slot < len(sources) else None
