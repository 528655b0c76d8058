"""Bytes moved or converted: ops.cpp of ggml-cpu, ggml_compute_forward_dup and what is like it."""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import DType
from ...ops.layout import can_repeat, n_elements, shape_text
from ..kernel import Call, Kernel, Read
from ..maths import Array, Maths
from .arguments import FLOATS, absent, mixed_types, not_float, source_shape

_LOWEST = -(2**31)


def _check_copy(call: Call) -> str:
    if found := absent(call, 0):
        return found
    source, node = call.source(0), call.node
    if n_elements(source.ne) != n_elements(node.ne):
        return f"{shape_text(source.ne)} and {shape_text(node.ne)} have not the same number of elements"
    if source.dtype.id == node.dtype.id:
        return mixed_types(call, 0)
    if not _converts(source.dtype, node.dtype):
        return f"type {source.dtype.name} is not converted to {node.dtype.name}"
    return ""


def _converts(source: DType, target: DType) -> bool:
    """Which types ggml_compute_forward_dup converts; from quantised ones to f16 and bf16 too, as GPUs do."""
    if source.quantized:
        return target.name in FLOATS
    if source.name in FLOATS:
        return target.name in FLOATS or target.quantized or (source.name, target.name) == ("f32", "i32")
    return (source.name, target.name) == ("i32", "f32")


def _as_blocks(call: Call) -> bool:
    return call.node.dtype.quantized and call.source(0).dtype.id == call.node.dtype.id


def _reads_copy(call: Call) -> Sequence[Read]:
    first = Read.BLOCKS if _as_blocks(call) else Read.VALUES
    return (first, *(Read.NOT,) * (len(call.src) - 1))


def _copy(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x, node = sources[0], call.node
    shape = source_shape(node.ne)
    if _as_blocks(call):
        return xp.reshape(x, (*shape[:3], shape[3] // node.dtype.block, node.dtype.size))
    if node.dtype.name == "i32" and call.source(0).dtype.name == "f32":
        # Towards zero; what does not fit becomes the lowest, as x86 converts.
        fits = (x >= float(_LOWEST)) & (x < -float(_LOWEST))
        x = xp.astype(xp.where(fits, x, float(_LOWEST)), xp.int32)
    elif node.dtype.name == "f32" and call.source(0).dtype.name == "i32":
        x = xp.astype(x, xp.float32)
    return xp.reshape(x, shape)


CPY = Kernel(_copy, _check_copy, _reads_copy)
"""ggml_compute_forward_cpy: source 1 is where the result lies and is not read."""

CONT = Kernel(_copy, _check_copy, _reads_copy)
"""ggml_compute_forward_cont."""

DUP = Kernel(_copy, _check_copy, _reads_copy)
"""ggml_compute_forward_dup."""


def _check_repeat(call: Call) -> str:
    found = mixed_types(call, 0)
    if not found and call.node.dtype.quantized:
        found = f"type {call.node.dtype.name} is not repeated"
    if not found and not can_repeat(call.source(0).ne, call.node.ne):
        found = f"source 0 {shape_text(call.source(0).ne)} does not repeat to {shape_text(call.node.ne)}"
    return found


def _repeat(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    x, shape = sources[0], source_shape(call.node.ne)
    return maths.xp.tile(x, tuple(want // n for n, want in zip(x.shape, shape, strict=True)))


REPEAT = Kernel(_repeat, _check_repeat)
"""ggml_compute_forward_repeat."""


def _check_repeat_back(call: Call) -> str:
    found = not_float(call, 0)
    if not found and not can_repeat(call.node.ne, call.source(0).ne):
        found = f"the result {shape_text(call.node.ne)} does not repeat to {shape_text(call.source(0).ne)}"
    return found


def _repeat_back(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x, shape = sources[0], source_shape(call.node.ne)
    parts = []
    for n, want in zip(x.shape, shape, strict=True):
        parts += [n // want, want]
    return xp.sum(xp.reshape(x, tuple(parts)), axis=(0, 2, 4, 6))


REPEAT_BACK = Kernel(_repeat_back, _check_repeat_back)
"""ggml_compute_forward_repeat_back: the sum of what a repeat would have made."""


def _check_concat(call: Call) -> str:
    found = mixed_types(call, 0, 1)
    dim = call.i32(0)
    if not found and not 0 <= dim < 4:
        found = f"there is no dimension {dim}"
    if found:
        return found
    a, b, node = call.source(0).ne, call.source(1).ne, call.node.ne
    fits = all(node[d] == (a[d] + b[d] if d == dim else a[d]) and (d == dim or a[d] == b[d]) for d in range(4))
    if not fits:
        shapes = f"{shape_text(a)} and {shape_text(b)}"
        return f"{shapes} one after the other in dimension {dim} are not {shape_text(node)}"
    return ""


def _concat(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return maths.xp.concat([sources[0], sources[1]], axis=3 - call.i32(0))


def _reads_concat(call: Call) -> Sequence[Read]:
    return (Read.BLOCKS if call.node.dtype.quantized else Read.VALUES,) * len(call.src)


CONCAT = Kernel(_concat, _check_concat, _reads_concat)
"""ggml_compute_forward_concat: along dimension op_params[0]; quantised sources as blocks."""
