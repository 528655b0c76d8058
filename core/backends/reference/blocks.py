"""Quantised weights taken apart once: small integers and their factors, in the order in which they are multiplied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..quants import IQ4_NL
from .fused import Floats

Bytes = npt.NDArray[np.uint8]
Small = npt.NDArray[np.int8]

_FP4 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8)
"""kvalues_fp4: twice the values of e2m1."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A matrix of m rows in L blocks of `block` elements.

    Attributes:
        name: the type.
        block: elements in a block: 32, or 256 of a K-quant.
        integers: (L, block, m), less the offset that the type stores them with, save where `bias` is set.
        factors: d of each block, (L, m).
        minima: what is multiplied by the sum of the other factor's integers, (L, m): m of q4_1 and q5_1, dmin of
            K-quants; None without.
        scales: of a K-quant, (L, sub-blocks, m).
        mins: of a K-quant with minima, (L, sub-blocks, m).
        bias: what is taken off the integers only in the sum (32 of q6_K).
    """

    name: str
    block: int
    integers: Small
    factors: Floats
    minima: Floats | None = None
    scales: Small | None = None
    mins: Small | None = None
    bias: int = 0


def unpacked(name: str, blocks: Bytes) -> Any:
    """The matrices of a tensor: an object array (ne3, ne2) of `Weights`.

    Args:
        name: a key of `UNPACK`.
        blocks: (ne3, ne2, m, L, bytes of a block).
    """
    made = np.empty(blocks.shape[:2], object)
    for at in np.ndindex(made.shape):
        made[at] = UNPACK[name](blocks[at])
    return made


def _half(blocks: Bytes, first: int) -> Floats:
    """A float16 in each block, as (L, m)."""
    values = np.ascontiguousarray(blocks[..., first : first + 2]).view(np.float16)[..., 0]
    return np.ascontiguousarray(values.T).astype(np.float32)


def _ordered(integers: npt.NDArray[Any]) -> Small:
    """(m, L, block) as int8 (L, block, m)."""
    return np.ascontiguousarray(integers.transpose(1, 2, 0)).astype(np.int8)


def _nibbles(packed: Bytes) -> Bytes:
    """The lower halves of all bytes, then the upper ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


def _fifth(bits: Bytes) -> Bytes:
    """32 bits as numbers 0 or 16."""
    return np.left_shift(np.unpackbits(bits, axis=-1, bitorder="little"), 4, dtype=np.uint8)


def _q8_0(blocks: Bytes) -> Weights:
    return Weights("q8_0", 32, _ordered(blocks[..., 2:].view(np.int8)), _half(blocks, 0))


def _q4_0(blocks: Bytes) -> Weights:
    return Weights("q4_0", 32, _ordered(_nibbles(blocks[..., 2:]).astype(np.int8) - 8), _half(blocks, 0))


def _q5_0(blocks: Bytes) -> Weights:
    integers = _nibbles(blocks[..., 6:]) | _fifth(blocks[..., 2:6])
    return Weights("q5_0", 32, _ordered(integers.astype(np.int8) - 16), _half(blocks, 0))


def _iq4_nl(blocks: Bytes) -> Weights:
    values = IQ4_NL.astype(np.int8)[_nibbles(blocks[..., 2:])]
    return Weights("iq4_nl", 32, _ordered(values), _half(blocks, 0))


def _mxfp4(blocks: Bytes) -> Weights:
    values = _FP4[_nibbles(blocks[..., 1:])]
    factors = np.ldexp(np.float32(1), blocks[..., 0].astype(np.int32) - 128)
    return Weights("mxfp4", 32, _ordered(values), np.ascontiguousarray(factors.T))


def _q4_1(blocks: Bytes) -> Weights:
    return Weights("q4_1", 32, _ordered(_nibbles(blocks[..., 4:])), _half(blocks, 0), _half(blocks, 2))


def _q5_1(blocks: Bytes) -> Weights:
    integers = _nibbles(blocks[..., 8:]) | _fifth(blocks[..., 4:8])
    return Weights("q5_1", 32, _ordered(integers), _half(blocks, 0), _half(blocks, 2))


def _six_bits(packed: Bytes) -> tuple[Small, Small]:
    """Scales and minima of q4_K and q5_K, 8 of 6 bits each in 12 bytes (get_scale_min_k4)."""
    low, high, last = packed[..., 0:4], packed[..., 4:8], packed[..., 8:12]
    scales = np.concatenate([low & 63, last & 15 | (low >> 6) << 4], axis=-1)
    mins = np.concatenate([high & 63, last >> 4 | (high >> 6) << 4], axis=-1)
    return _ordered(scales), _ordered(mins)


def _k_nibbles(packed: Bytes) -> Bytes:
    """256 halves of 128 bytes: of each 32 bytes the lower ones, then the upper ones."""
    return _nibbles(packed.reshape(*packed.shape[:-1], 4, 32)).reshape(*packed.shape[:-1], 256)


def _q4_k(blocks: Bytes) -> Weights:
    scales, mins = _six_bits(blocks[..., 4:16])
    integers = _ordered(_k_nibbles(blocks[..., 16:144]))
    return Weights("q4_K", 256, integers, _half(blocks, 0), _half(blocks, 2), scales, mins)


def _q5_k(blocks: Bytes) -> Weights:
    scales, mins = _six_bits(blocks[..., 4:16])
    high = blocks[..., 16:48][..., None, :] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    integers = _k_nibbles(blocks[..., 48:176]) | high.reshape(*high.shape[:-2], 256) << 4
    return Weights("q5_K", 256, _ordered(integers), _half(blocks, 0), _half(blocks, 2), scales, mins)


def _q6_k(blocks: Bytes) -> Weights:
    low = _nibbles(blocks[..., 0:128].reshape(*blocks.shape[:-1], 2, 64))
    pairs = blocks[..., 128:192].reshape(*blocks.shape[:-1], 2, 1, 32)
    high = pairs >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    integers = low | high.reshape(low.shape) << 4
    scales = _ordered(blocks[..., 192:208].view(np.int8))
    flat = _ordered(integers.reshape(*integers.shape[:-2], 256))
    return Weights("q6_K", 256, flat, _half(blocks, 208), scales=scales, bias=32)


def _two_bits(packed: Bytes) -> Bytes:
    """256 fields of 2 bits: of each 32 bytes the lowest ones first."""
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    quarters: Bytes = packed.reshape(*packed.shape[:-1], 2, 1, 32) >> shifts & np.uint8(3)
    return quarters.reshape(*packed.shape[:-1], 256)


def _q2_k(blocks: Bytes) -> Weights:
    scales = blocks[..., 0:16]
    integers = _ordered(_two_bits(blocks[..., 16:80]))
    mins = _ordered(scales >> 4)
    return Weights("q2_K", 256, integers, _half(blocks, 80), _half(blocks, 82), _ordered(scales & 15), mins)


def _q3_k(blocks: Bytes) -> Weights:
    high = blocks[..., None, 0:32] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    integers = (_two_bits(blocks[..., 32:96]) | high.reshape(*high.shape[:-2], 256) << 2).astype(np.int8) - 4
    packed = blocks[..., 96:108]
    upper = packed[..., None, 8:12] >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    lower = np.stack([packed[..., 0:4], packed[..., 4:8]], axis=-2)
    scales = np.concatenate([lower & 15, lower >> 4], axis=-2) | upper << 4
    signed = scales.reshape(*scales.shape[:-2], 16).astype(np.int8) - 32
    return Weights("q3_K", 256, _ordered(integers), _half(blocks, 108), scales=_ordered(signed))


def _iq4_xs(blocks: Bytes) -> Weights:
    values = IQ4_NL.astype(np.int8)[_nibbles(blocks[..., 8:136].reshape(*blocks.shape[:-1], 8, 16))]
    pairs = blocks[..., 2:4].copy().view(np.uint16)
    high = (pairs >> np.arange(0, 16, 2, dtype=np.uint16) & 3).astype(np.uint8)
    low = (blocks[..., 4:8, None] >> np.array([0, 4], np.uint8) & 15).reshape(high.shape)
    scales = (low | high << 4).astype(np.int8) - 32
    flat = values.reshape(*values.shape[:-2], 256)
    return Weights("iq4_xs", 256, _ordered(flat), _half(blocks, 0), scales=_ordered(scales))


UNPACK: dict[str, Callable[[Bytes], Weights]] = {
    "q8_0": _q8_0,
    "q4_0": _q4_0,
    "q5_0": _q5_0,
    "iq4_nl": _iq4_nl,
    "q4_1": _q4_1,
    "q5_1": _q5_1,
    "mxfp4": _mxfp4,
    "q2_K": _q2_k,
    "q3_K": _q3_k,
    "q4_K": _q4_k,
    "q5_K": _q5_k,
    "q6_K": _q6_k,
    "iq4_xs": _iq4_xs,
}
"""The types whose products are followed."""
