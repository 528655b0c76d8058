"""Bytes of quantised tensors to float32 and back, as ggml does (ggml-quants.c, ggml-cpu/arch/x86/quants.c).

Most of the formats are those of the `gguf` package, in slices that stay in the processor's cache; what it lacks or
rounds otherwise is here. Not in array API terms: weights are read on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dtypes import DType
from ..errors import InputError

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

VEC_DOT = {
    "f32": "f32",
    "f16": "f16",
    "bf16": "bf16",
    "q4_1": "q8_1",
    "q5_1": "q8_1",
    **dict.fromkeys(("q1_0", "q2_0", "q4_0", "q5_0", "q8_0", "mxfp4", "nvfp4", "iq4_nl"), "q8_0"),
    **dict.fromkeys(("q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "tq1_0", "tq2_0"), "q8_K"),
    **dict.fromkeys(("iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq1_s", "iq1_m", "iq4_xs"), "q8_K"),
}
"""The type to which the other factor of a product is rounded: vec_dot_type of the table in ggml-cpu.c. A type that is
not listed cannot be the first factor of a product."""

SLICE = 28 << 10
"""Elements that are converted at a time: temporaries of 112 KiB stay in the cache, and from 128 KiB on glibc's malloc
takes new pages for each. Measured 3 to 6 times as fast as whole tensors."""

IQ4_NL = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
"""kvalues_iq4nl."""

_HALF_MAX = np.float32(65504.0)


def dequantize(data: Bytes, dtype: DType) -> Floats:
    """to_float of a type: uint8 (..., blocks, bytes of a block) to float32 (..., blocks * elements of a block).

    Raises:
        InputError: the type is not a quantised one.
    """
    convert = _DEQUANTIZE.get(dtype.name) or _of_gguf(dtype, "dequantize_blocks")
    blocks = data.reshape(data.size // dtype.size, dtype.size)
    out = np.empty((len(blocks), dtype.block), np.float32)
    step = max(1, SLICE // dtype.block)
    with np.errstate(all="ignore"):
        for start in range(0, len(blocks), step):
            out[start : start + step] = convert(np.ascontiguousarray(blocks[start : start + step]))
    return out.reshape(*data.shape[:-2], data.shape[-2] * dtype.block)


def quantize(values: Floats, dtype: DType) -> Bytes:
    """from_float of a type: float32 (..., n) to uint8 (..., blocks, bytes of a block), n in whole blocks.

    Raises:
        InputError: the type is not a quantised one, or one that ggml-cpu only reads or takes a search to write.
    """
    if dtype.name not in QUANTIZED:
        raise InputError(f"values cannot be written as {dtype.name}, only as {', '.join(sorted(QUANTIZED))}")
    convert = _QUANTIZE.get(dtype.name) or _of_gguf(dtype, "quantize_blocks")
    blocks = values.reshape(values.size // dtype.block, dtype.block)
    out = np.empty((len(blocks), dtype.size), np.uint8)
    step = max(1, SLICE // dtype.block)
    with np.errstate(all="ignore"):
        for start in range(0, len(blocks), step):
            out[start : start + step] = convert(np.ascontiguousarray(blocks[start : start + step], dtype=np.float32))
    return out.reshape(*values.shape[:-1], values.shape[-1] // dtype.block, dtype.size)


def _of_gguf(dtype: DType, method: str) -> Callable[[Any], Any]:
    """How the gguf package converts blocks of a type.

    Raises:
        InputError: it knows no such type.
    """
    from gguf import quants  # a tenth of a second to import, and few runs need it
    from gguf.constants import GGMLQuantizationType

    found: Any = getattr(quants, GGMLQuantizationType(dtype.id).name, None) if dtype.quantized else None
    if found is None:
        raise InputError(f"type {dtype.name} is not a quantised one")
    found.init_grid()
    convert: Callable[[Any], Any] = getattr(found, method)
    return convert


def _scales(blocks: Bytes) -> Floats:
    """The float16 in the first two bytes of each block, as a column."""
    scales: Floats = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    return scales


def _scaled(scale: Floats, signed: Bytes) -> Floats:
    values: Floats = scale * signed.view(np.int8)
    return values


def _q8_0_values(blocks: Bytes) -> Floats:
    return _scaled(_scales(blocks), blocks[:, 2:])


def _q8_1_values(blocks: Bytes) -> Floats:
    """Without the sum in bytes 2 and 3. ggml has no to_float of this type: it is only ever a factor."""
    return _scaled(_scales(blocks), blocks[:, 4:])


def _q8_k_values(blocks: Bytes) -> Floats:
    return _scaled(blocks[:, :4].copy().view(np.float32), blocks[:, 4:260])


def _q1_0_values(blocks: Bytes) -> Floats:
    scale = _scales(blocks)
    values: Floats = np.where(np.unpackbits(blocks[:, 2:], axis=1, bitorder="little"), scale, -scale)
    return values


def _q2_0_values(blocks: Bytes) -> Floats:
    fields = blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8) & np.uint8(3)
    values: Floats = (fields.reshape(len(blocks), -1).astype(np.float32) - np.float32(1)) * _scales(blocks)
    return values


def _half_bytes(column: Floats) -> Bytes:
    raw: Bytes = column.astype(np.float16).view(np.uint8)
    return raw


def _largest(blocks: Floats) -> Floats:
    largest: Floats = np.abs(blocks).max(axis=1, keepdims=True)
    return largest


def _eights(blocks: Floats) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Scale (float32) and integers of q8_0 and q8_1, rounded as the AVX2 code does: to even, times 127 / largest."""
    largest = _largest(blocks)
    factor = np.where(largest != 0, np.float32(127) / largest, np.float32(0))
    return largest / np.float32(127), np.rint(blocks * factor).astype(np.int8)


def _to_q8_0(blocks: Floats) -> Bytes:
    scale, integers = _eights(blocks)
    return np.concatenate([_half_bytes(scale), integers.view(np.uint8)], axis=1)


def _to_q8_1(blocks: Floats) -> Bytes:
    scale, integers = _eights(blocks)
    total = scale * integers.sum(axis=1, keepdims=True, dtype=np.int32).astype(np.float32)
    return np.concatenate([_half_bytes(scale), _half_bytes(total), integers.view(np.uint8)], axis=1)


def _to_q1_0(blocks: Floats) -> Bytes:
    # summed one after the other in float32, as the C loop does
    total = np.cumsum(np.abs(blocks), axis=1, dtype=np.float32)[:, -1:]
    bits = np.packbits(blocks >= 0, axis=1, bitorder="little")
    return np.concatenate([_half_bytes(total / np.float32(blocks.shape[1])), bits], axis=1)


def _to_q2_0(blocks: Floats) -> Bytes:
    largest = _largest(blocks)
    scaled = blocks * np.where(largest > 0, np.float32(1) / largest, np.float32(0))
    # roundf: halves away from zero; the values lie in [-1, 1]
    fields = (np.trunc(scaled + np.copysign(np.float32(0.5), scaled)) + 1).astype(np.uint8).reshape(len(blocks), -1, 4)
    packed = fields[..., 0] | fields[..., 1] << 2 | fields[..., 2] << 4 | fields[..., 3] << 6
    return np.concatenate([_half_bytes(largest), packed], axis=1)


def _nearest_iq4(values: Floats) -> npt.NDArray[np.uint8]:
    """best_index_int8: the nearest of IQ4_NL, the upper one of two that are equally near."""
    above = np.clip(np.searchsorted(IQ4_NL, values, side="right"), 1, 15)
    below = values - IQ4_NL[above - 1] < IQ4_NL[above] - values
    return (above - below).astype(np.uint8)


def _to_iq4_nl(blocks: Floats) -> Bytes:
    """quantize_row_iq4_nl_impl as quantize_row_iq4_nl_ref calls it: one attempt, then the scale of least squares.

    The integers of a block of zeros are zeros here; in ggml they are those of the block before.
    """
    at = np.abs(blocks).argmax(axis=1)[:, None]
    extreme = np.take_along_axis(blocks, at, axis=1)
    empty = np.abs(extreme) < np.float32(1e-15)
    indices = _nearest_iq4(np.where(empty, np.float32(0), np.float32(1) / (extreme / IQ4_NL[0])) * blocks)
    nearest = IQ4_NL[indices]
    weighted = blocks * blocks * nearest
    # sums in float32, one after the other as the C loop has them
    by_value = np.cumsum(weighted * blocks, axis=1, dtype=np.float32)[:, -1:]
    by_nearest = np.cumsum(weighted * nearest, axis=1, dtype=np.float32)[:, -1:]
    scale = np.where(by_nearest > 0, by_value / by_nearest, np.float32(0))
    indices = np.where(empty, np.uint8(0), indices)
    return np.concatenate([_half_bytes(scale), indices[:, :16] | indices[:, 16:] << 4], axis=1)


_DEQUANTIZE: dict[str, Callable[[Bytes], Floats]] = {
    "q8_0": _q8_0_values,
    "q8_1": _q8_1_values,
    "q8_K": _q8_k_values,
    "q1_0": _q1_0_values,
    "q2_0": _q2_0_values,
}

_QUANTIZE: dict[str, Callable[[Floats], Bytes]] = {
    "q8_0": _to_q8_0,
    "q8_1": _to_q8_1,
    "q1_0": _to_q1_0,
    "q2_0": _to_q2_0,
    "iq4_nl": _to_iq4_nl,
}

QUANTIZED: Sequence[str] = (*_QUANTIZE, "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4", "tq1_0", "tq2_0")
"""The quantised types that can be written."""
