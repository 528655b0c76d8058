"""What ggml-cpu keeps of the second factor of a product: rounded to the vec_dot type of the first, in float32."""

from __future__ import annotations

from collections.abc import Callable

from .maths import Array, Maths

LARGEST = 3.4028234663852886e38
"""The largest float32."""


def rounded(maths: Maths, values: Array, vec_dot: str) -> Array:
    """Values as the vec_dot type holds them: from_float (quantize_row_* of ggml-cpu on AVX2), then to_float.

    Args:
        maths: the array module.
        values: float32, rows in the last axis, a whole number of blocks each.
        vec_dot: a type that is a value of `core.backends.quants.VEC_DOT`.

    Returns:
        float32 of the same shape; the array itself when nothing is rounded.
    """
    return _ROUNDINGS[vec_dot](maths, values)


def lost_sums(maths: Maths, values: Array) -> Array:
    """What the float16 sum in each block of q8_1 is off from the sum of the block's values: (..., n / 32).

    A product with q4_1 or q5_1 multiplies the smallest value of a block by that sum, and only the rest by the values.
    """
    xp = maths.xp
    if values.shape[-1] == 0:
        return values
    blocks, largest = _blocks(maths, values, 32)
    total = xp.sum(xp.round(blocks * _inverse(maths, largest)), axis=-1, keepdims=True)
    scale = largest / 127.0
    return (maths.half(scale * total) - maths.half(scale) * total)[..., 0]


def block_minima(maths: Maths, values: Array) -> Array:
    """The smallest value of each block of 32: the minimum that q4_1 and q5_1 store, where one of the integers is 0.

    ggml's quantisers leave no block without a 0, save the few that an importance matrix shifts.
    """
    xp = maths.xp
    shape = tuple(values.shape)
    return xp.min(xp.reshape(values, (*shape[:-1], shape[-1] // 32, 32)), axis=-1)


def _kept(maths: Maths, values: Array) -> Array:
    return values


def _half(maths: Maths, values: Array) -> Array:
    return maths.half(values)


def _brain(maths: Maths, values: Array) -> Array:
    """ggml_compute_fp32_to_bf16: 8 bits of significand, halves to even."""
    xp = maths.xp
    wide = xp.astype(values, xp.float64)
    usual = xp.isfinite(wide) & (wide != 0)
    # float64 tells the logarithm of the float32 below a power of two from that of the power
    exponent = xp.floor(xp.log2(xp.abs(xp.where(usual, wide, xp.asarray(1.0, dtype=xp.float64)))))
    exponent = xp.maximum(exponent, xp.asarray(-126.0, dtype=xp.float64))
    unit = xp.asarray(2.0, dtype=xp.float64) ** (exponent - 7.0)
    near = xp.where(usual, xp.round(wide / unit) * unit, wide)
    beyond = xp.asarray(float("inf"), dtype=xp.float64)
    near = xp.where(near > LARGEST, beyond, xp.where(near < -LARGEST, -beyond, near))
    return xp.astype(near, xp.float32)


def _blocks(maths: Maths, values: Array, block: int) -> tuple[Array, Array]:
    """Values in blocks along a new last axis, and the largest magnitude of each."""
    xp = maths.xp
    shape = tuple(values.shape)
    blocks = xp.reshape(values, (*shape[:-1], shape[-1] // block, block))
    return blocks, xp.max(xp.abs(blocks), axis=-1, keepdims=True)


def _inverse(maths: Maths, largest: Array) -> Array:
    """127 / largest, and 0 where that is not finite: zeros, and numbers too small for a scale."""
    xp = maths.xp
    none = xp.zeros_like(largest)
    safe = xp.where(largest > 127 / LARGEST, largest, xp.ones_like(largest))
    return xp.where(largest > 127 / LARGEST, xp.asarray(127.0, dtype=xp.float32) / safe, none)


def _eight(maths: Maths, values: Array) -> Array:
    """quantize_row_q8_0 and quantize_row_q8_1 (arch/x86/quants.c): blocks of 32, the scale kept as float16."""
    xp = maths.xp
    if values.shape[-1] == 0:
        return values
    blocks, largest = _blocks(maths, values, 32)
    integers = xp.round(blocks * _inverse(maths, largest))
    return xp.reshape(integers * maths.half(largest / 127.0), tuple(values.shape))


def _eight_k(maths: Maths, values: Array) -> Array:
    """quantize_row_q8_K_ref: blocks of 256, the scale in float32.

    ggml gives scale and integers the sign of the first extreme value; it cancels.
    """
    xp = maths.xp
    if values.shape[-1] == 0:
        return values
    blocks, largest = _blocks(maths, values, 256)
    factor = _inverse(maths, largest)
    scale = xp.where(factor > 0, 1.0 / xp.where(factor > 0, factor, xp.ones_like(factor)), factor)
    return xp.reshape(xp.round(blocks * factor) * scale, tuple(values.shape))


_ROUNDINGS: dict[str, Callable[[Maths, Array], Array]] = {
    "f32": _kept,
    "f16": _half,
    "bf16": _brain,
    "q8_0": _eight,
    "q8_1": _eight,
    "q8_K": _eight_k,
}
