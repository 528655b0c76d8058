"""Random blocks of quantised types: any bits for the quants, small finite numbers where a block has its scales.

Source of the layouts: ggml-common.h (block_*). With uniform quants the values of a block are spread as `spread` says,
for a scale of 1; a second scale shifts them back around 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...dtypes import DType
from ...errors import InputError
from ..feed import Bytes


class Scales(NamedTuple):
    """Where the scales of a block lie.

    Attributes:
        spread: standard deviation of the values when the scale is 1.
        at: byte of the f16 scale `d`.
        second: byte of a second f16 (`m`, `dmin`, `s`), -1 for none.
        factor: the second one in units of the first.
    """

    spread: float
    at: int = 0
    second: int = -1
    factor: float = 0.0


HALVES: dict[str, Scales] = {
    "q4_0": Scales(4.61), "q4_1": Scales(4.61, 0, 2, -7.5), "q5_0": Scales(9.24), "q5_1": Scales(9.24, 0, 2, -15.5),
    "q8_0": Scales(74.0), "q8_1": Scales(74.0, 0, 2, 0.0), "q1_0": Scales(1.0), "q2_0": Scales(1.12),
    "q2_K": Scales(13.9, 80, 82, 1.5), "q3_K": Scales(43.3, 108), "q4_K": Scales(258.0, 0, 2, 7.5),
    "q5_K": Scales(526.0, 0, 2, 15.5), "q6_K": Scales(1364.0, 208), "tq1_0": Scales(0.82, 52),
    "tq2_0": Scales(1.12, 64), "iq2_xxs": Scales(53.3), "iq2_xs": Scales(55.8), "iq2_s": Scales(56.5),
    "iq3_xxs": Scales(143.0), "iq3_s": Scales(140.0), "iq1_s": Scales(7.2), "iq4_nl": Scales(67.2),
    "iq4_xs": Scales(1252.0),
}  # fmt: skip
"""Types whose scales are f16 in one place."""

_OTHERS = {"iq1_m": 7.17, "mxfp4": 2.92, "nvfp4": 2.92, "q8_K": 74.0}
"""Spread of the types whose scales are kept otherwise."""

QUANTISED = frozenset(HALVES) | frozenset(_OTHERS)


def set_scales(blocks: Bytes, dtype: DType, deviation: float) -> None:
    """Overwrite the scales of blocks of random bits.

    Args:
        blocks: (blocks, bytes per block); changed.
        dtype: a quantised type.
        deviation: what the standard deviation of the values shall be, more or less.

    Raises:
        InputError: the layout of the type is not known.
    """
    if dtype.name not in QUANTISED:
        raise InputError(f"random weights of type {dtype.name} cannot be made, its layout is not known")
    # Blocks differ in scale by up to a factor of 5/3, taken from the bits of each.
    wobble = 0.75 + blocks[:, -1].astype(np.float32) / 512
    halves = HALVES.get(dtype.name)
    if halves is not None:
        scale = (deviation / halves.spread * wobble).astype(np.float32)
        _put(blocks, halves.at, scale.astype(np.float16).view(np.uint8))
        if halves.second >= 0:
            _put(blocks, halves.second, (scale * halves.factor).astype(np.float16).view(np.uint8))
        return
    scale = (deviation / _OTHERS[dtype.name] * wobble).astype(np.float32)
    if dtype.name == "q8_K":
        _put(blocks, 0, scale.view(np.uint8))
        sums = blocks[:, 4:260].view(np.int8).reshape(-1, 16, 16).sum(axis=2, dtype=np.int16)
        _put(blocks, 260, np.ascontiguousarray(sums).view(np.uint8))
    elif dtype.name == "mxfp4":
        blocks[:, 0] = np.clip(127 + np.round(np.log2(scale)), 1, 254).astype(np.uint8)
    elif dtype.name == "nvfp4":
        # Unsigned e4m3, bias 7; below 2^-6 in steps of 2^-9.
        exponent = np.clip(np.floor(np.log2(scale)), -6, 7)
        steps = np.clip(np.round(scale / 2**exponent * 8), 1, 15)
        blocks[:, :4] = (steps + 8 * (exponent + 6)).astype(np.uint8)[:, None]
    else:
        # iq1_m keeps its f16 in the upper four bits of four little-endian words.
        bits = scale.astype(np.float16).view(np.uint16)
        for word in range(4):
            part = (bits >> np.uint16(4 * word) & np.uint16(15)).astype(np.uint8)
            blocks[:, 49 + 2 * word] = blocks[:, 49 + 2 * word] & 15 | part << 4


def _put(blocks: Bytes, at: int, data: Bytes) -> None:
    """Bytes into each block, as many as there are for each."""
    each = len(data.reshape(-1)) // len(blocks) if len(blocks) else 0
    blocks[:, at : at + each] = data.reshape(len(blocks), each)
