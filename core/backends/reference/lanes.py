"""What the AVX2 code of ggml-cpu does with the 8 lanes of a register: horizontal sums, and its exponential function."""

from __future__ import annotations

import numpy as np

from .fused import Floats, fused

WIDTH = 8
"""float32 in a register."""


def folded(lanes: Floats) -> Floats:
    """The sum over 8 lanes in axis -2 (hsum of sgemm.cpp, hsum_float_8): halves, then quarters, then the last two."""
    four = lanes[..., 4:8, :] + lanes[..., 0:4, :]
    return paired(four)


def paired(four: Floats) -> Floats:
    """The sum over 4 lanes in axis -2: 0 with 2, 1 with 3."""
    two: Floats = four[..., 0:2, :] + four[..., 2:4, :]
    return two[..., 0, :] + two[..., 1, :]


def reduced(lanes: Floats) -> Floats:
    """The sum over 4 registers of 8 lanes in axis -2 (GGML_F32x8_REDUCE): neighbours are added first."""
    two = lanes[..., 0:16, :] + lanes[..., 16:32, :]
    one = two[..., 0:8, :] + two[..., 8:16, :]
    four = one[..., 0:4, :] + one[..., 4:8, :]
    pairs: Floats = four[..., 0::2, :] + four[..., 1::2, :]
    return pairs[..., 0, :] + pairs[..., 1, :]


_MAGIC = np.float32(float.fromhex("0x1.8p23"))
_LOG2_E = np.float32(float.fromhex("0x1.715476p+0"))
_LN2_HIGH = np.float32(float.fromhex("0x1.62e4p-1"))
_LN2_LOW = np.float32(float.fromhex("0x1.7f7d1cp-20"))
_FACTORS = tuple(
    np.float32(float.fromhex(text))
    for text in ("0x1.0e4020p-7", "0x1.573e2ep-5", "0x1.555e66p-3", "0x1.fffdb6p-2", "0x1.ffffecp-1")
)


def exponential(x: Floats) -> Floats:
    """ggml_v_expf: a polynomial around the nearest multiple of ln 2, with FMA."""
    with np.errstate(all="ignore"):
        z = fused(x, _LOG2_E, _MAGIC)
        n = z - _MAGIC
        b = fused(-n, _LN2_LOW, fused(-n, _LN2_HIGH, x))
        shifted = z.view(np.uint32) << np.uint32(23)
        k = (shifted + np.uint32(0x3F800000)).view(np.float32)
        u = b * b
        f0, f1, f2, f3, f4 = _FACTORS
        j = fused(fused(fused(f0, b, f1), u, fused(f2, b, f3)), u, f4 * b)
        result = fused(j, k, k)
        far = np.abs(n) > 126
        if far.any():
            result = np.where(far, _far(n, shifted, j), result)
    return result


def _far(n: Floats, shifted: np.ndarray, j: Floats) -> Floats:
    """Where 2^n is no normal number: two factors, or no factor but infinity and zero."""
    down = np.where(n <= 0, np.uint32(0x82000000), np.uint32(0))
    first = (down + np.uint32(0x7F000000)).view(np.float32)
    second = (shifted - down).view(np.float32)
    product: Floats = np.where(np.abs(n) > 192, first * first, fused(second, j, second) * first)
    return product
