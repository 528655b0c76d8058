"""From bytes at an address to contiguous arrays, and back. Strides and types end here: the math sees neither.

Used of the array module beyond the standard: `ndarray.view`, `lib.stride_tricks.as_strided`, `ascontiguousarray`,
`ndarray.astype` (`ATTRIBUTES`); what quantised types need is done on the host by `quants`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import InputError
from ..tensor import Tensor
from .backend import Span
from .maths import Array

ATTRIBUTES = (
    "ndarray.view",
    "ndarray.astype",
    "ndarray.reshape",
    "lib.stride_tricks.as_strided",
    "ascontiguousarray",
    "asarray",
    "broadcast_to",
    "arange",
    "where",
    "isnan",
    "isfinite",
    "uint8",
    "uint16",
    "uint32",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
)
"""Everything that gather and scatter take from the array module; a test compares it with numpy and cupy."""

NUMBERS = {
    "f32": "float32",
    "f16": "float16",
    "f64": "float64",
    "bf16": "uint16",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}
"""The types with one element per block, and what an array of them holds; bf16 as its bits."""

INTEGERS = frozenset({"i8", "i16", "i32", "i64"})

MOST = 1 << 34
"""Elements of one tensor. With strides of 0 it has more of them than bytes, and so more than its buffer tells."""

Host = Callable[[Array], Any]


def numbers(xp: Any, tensor: Tensor, span: Span) -> Array:
    """A view of the tensor's elements, shape ne reversed, any strides; not for quantised types.

    Raises:
        InputError: it reaches out of its memory.
    """
    kind = getattr(xp, NUMBERS[tensor.dtype.name])
    shape, strides = tensor.ne[::-1], tensor.nb[::-1]
    return xp.lib.stride_tricks.as_strided(_bytes(tensor, span, shape, strides).view(kind), shape, strides)


def blocks(xp: Any, tensor: Tensor, span: Span) -> Array:
    """A view of the tensor's bytes, shape (ne3, ne2, ne1, blocks per row, bytes per block); of any type.

    Raises:
        InputError: it reaches out of its memory.
    """
    dtype, ne, nb = tensor.dtype, tensor.ne, tensor.nb
    shape = (ne[3], ne[2], ne[1], ne[0] // dtype.block, dtype.size)
    strides = (nb[3], nb[2], nb[1], nb[0], 1)
    return xp.lib.stride_tricks.as_strided(_bytes(tensor, span, shape, strides), shape, strides)


def _bytes(tensor: Tensor, span: Span, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """The tensor's bytes, checked: nothing else keeps a strided view inside its memory."""
    if prod(tensor.ne) > MOST:
        raise InputError(f"tensor {tensor.name!r} has {prod(tensor.ne)} elements: this graph can be planned, not run")
    last = tensor.dtype.size if len(shape) == len(tensor.ne) else 1
    reach = last + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if min(shape) > 0 else 0
    if min(strides) < 0 or span.start + max(reach, tensor.nbytes) > span.memory.size:
        raise InputError(
            f"tensor {tensor.name!r} reaches to byte {span.start + max(reach, tensor.nbytes)} of memory that has "
            f"{span.memory.size}"
        )
    flat = span.memory[span.start : span.start + max(reach, tensor.nbytes)]
    return flat[: flat.size // tensor.dtype.size * tensor.dtype.size] if last > 1 else flat


def to_values(xp: Any, dtype: DType, seen: Array, to_host: Host) -> Array:
    """A view from `numbers` or, for quantised types, `blocks` as contiguous float32 or integers."""
    name = dtype.name
    if name == "f32" or name in INTEGERS:
        return xp.ascontiguousarray(seen)
    if name in ("f16", "f64"):
        return xp.ascontiguousarray(seen.astype(xp.float32))
    if name == "bf16":
        return (xp.ascontiguousarray(seen).astype(xp.uint32) << 16).view(xp.float32)
    from .quants import dequantize

    return xp.asarray(dequantize(np.ascontiguousarray(to_host(seen)), dtype))
