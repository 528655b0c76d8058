"""Products with quantised weights: ggml_vec_dot_*_q8_* (arch/x86/quants.c), tinyBLAS_Q0_AVX, and tiles of K-quants.

The integers are multiplied and added exactly, in any order, and only what is then done in float follows ggml.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...dtypes import DTYPES
from ..quants import quantize
from .blocks import Weights
from .fused import Doubles, Floats, chain, fused, rounded_sum
from .lanes import WIDTH, folded, paired

SIZE = 1 << 16
"""Sums that are held side by side: float64 temporaries of 256 KiB."""
TILED = 8
"""So many rows, and K-quants are multiplied in tiles (ggml_tiled_min_batch)."""
MOST = float(1 << 16)
"""No sum of four products of 8-bit integers is larger."""
GROUP = 4
"""Neighbours that one lane adds up: maddubs and madd each take two."""


class Columns(NamedTuple):
    """Rows of the other factor, rounded to q8_0, q8_1 or q8_K.

    Attributes:
        integers: (n, L, block), float32.
        factors: (n, L).
        sums: q8_1: what each block keeps as the sum of its values, (n, L).
    """

    integers: Floats
    factors: Floats
    sums: Floats | None = None


def columns_of(weights: Weights, rows: Floats) -> Columns:
    """Rows (n, k) rounded to the vec_dot type of the weights."""
    blocks = rows.reshape(len(rows), -1, weights.block)
    if weights.block == 256:
        return _eight_k(blocks)
    kept = "q8_0" if weights.minima is None else "q8_1"
    raw = quantize(np.ascontiguousarray(rows), DTYPES[kept])
    first = 2 if weights.minima is None else 4
    integers = raw[..., first:].view(np.int8).astype(np.float32)
    return Columns(integers, _half(raw, 0), None if weights.minima is None else _half(raw, 2))


def _half(raw: npt.NDArray[np.uint8], first: int) -> Floats:
    return np.ascontiguousarray(raw[..., first : first + 2]).view(np.float16)[..., 0].astype(np.float32)


def _eight_k(blocks: Floats) -> Columns:
    """quantize_row_q8_K_ref: the first of the largest magnitude becomes -127."""
    at = np.abs(blocks).argmax(axis=-1)[..., None]
    extreme = np.take_along_axis(blocks, at, axis=-1)
    with np.errstate(all="ignore"):
        factor = np.float32(-127) / extreme
        integers = np.minimum(np.rint(factor * blocks), np.float32(127))
        scale = np.float32(1) / factor
    empty = extreme == 0
    return Columns(np.where(empty, np.float32(0), integers), np.where(empty, np.float32(0), scale)[..., 0])


def product(weights: Weights, columns: Columns, n: int, small: bool = False) -> Floats:
    """Rows times weights: (rows, m).

    Args:
        weights: of m rows.
        columns: the other factor.
        n: how many rows ggml multiplies with these weights at a time; decides between its kernels.
        small: tinyBLAS multiplies where it knows the type.
    """
    count, m = len(columns.factors), weights.factors.shape[1]
    result = np.empty((count, m), np.float32)
    wide = min(m, max(1, SIZE // (WIDTH * max(1, count))), 1 << 13)
    wide = max(wide, min(m, 256))
    made = _tiled if n >= TILED else _blocks_of_256
    if weights.block == 32:
        in_turns = weights.name == "mxfp4" or (weights.name == "iq4_nl" and not small)
        made = _in_turns if in_turns else _blocks_of_32
    for left in range(0, m, wide):
        here = slice(left, min(m, left + wide))
        result[:, here] = made(weights, columns, here)
    return result


def _in_lanes(columns: Floats, integers: npt.NDArray[np.int8]) -> Floats:
    """The sums of 4 neighbours' products: columns (n, 32) and weights (32, m) to (n, 8, m).

    All are whole numbers that float32 holds.
    """
    four = integers.astype(np.float32).reshape(WIDTH, GROUP, -1)
    sums: Floats = np.einsum("nli,lim->nlm", columns.reshape(-1, WIDTH, GROUP), four)
    return sums


def _products(weights: Weights, columns: Columns, here: slice, blocks: range) -> Iterator[Doubles]:
    """For each block of 32 both factors' product times the sums of 4 neighbours, (n, 8, m)."""
    for i in blocks:
        sums = _in_lanes(columns.integers[:, i], weights.integers[i, :, here])
        scale = columns.factors[:, i, None] * weights.factors[i, here]
        yield np.multiply(sums, scale[:, None], dtype=np.float64)


def _is_exact(weights: Weights, columns: Columns, here: slice) -> bool:
    """Float64 holds all sums of products of blocks of 32 exactly.

    They are whole multiples of the last bits of two float16 factors, and cannot be larger than all of them together.
    """
    factors = np.abs(weights.factors[:, here]), np.abs(columns.factors)
    largest = np.dot(factors[0].max(axis=1).astype(np.float64), factors[1].max(axis=0).astype(np.float64)) * MOST
    return bool(largest < 2.0**53 * _last_bit(factors[0]) * _last_bit(factors[1]))


def _last_bit(factors: Floats) -> float:
    """What all these float16 values, none negative, are whole multiples of."""
    least = float(factors.min(initial=1.0, where=factors > 0))
    return max(2.0**-24, 2.0 ** (math.frexp(least)[1] - 11))


def _in_turns(weights: Weights, columns: Columns, here: slice) -> Floats:
    """ggml_vec_dot_iq4_nl_q8_0 and mxfp4: even and odd blocks have sums of their own, a last single one has none."""
    count, blocks = columns.factors.shape
    shape = (count, WIDTH, weights.factors[:, here].shape[1])
    whole = blocks // 2 * 2
    even, odd = (chain(_products(weights, columns, here, range(first, whole, 2)), shape) for first in range(2))
    result = folded(even + odd)
    if whole < blocks:
        sums = _in_lanes(columns.integers[:, whole], weights.integers[whole, :, here]).sum(axis=1)
        result = fused(columns.factors[:, whole, None] * weights.factors[whole, here], sums, result)
    return result


def _blocks_of_32(weights: Weights, columns: Columns, here: slice) -> Floats:
    """One FMA for each block."""
    count, blocks = columns.factors.shape
    shape = (count, WIDTH, weights.factors[:, here].shape[1])
    result = folded(chain(_products(weights, columns, here, range(blocks)), shape, _is_exact(weights, columns, here)))
    if weights.minima is not None and columns.sums is not None:
        minima = weights.minima[:, here]
        lowest = (np.multiply(columns.sums[:, i, None], minima[i], dtype=np.float64) for i in range(blocks))
        result = result + chain(lowest, result.shape)
    return result


def _parts(weights: Weights, columns: Columns, here: slice, block: int, lanes: bool) -> npt.NDArray[np.int64]:
    """The sums of a block of a K-quant, scales applied: (n, 8, m) by lanes, else (n, m); 32-bit integers."""
    assert weights.scales is not None
    count = len(columns.factors)
    wide = weights.factors[:, here].shape[1]
    scales = weights.scales[block, :, here].astype(np.int64)
    per = 256 // len(scales)
    total = np.zeros((count, WIDTH, wide), np.int64)
    for start in range(0, 256, 32):
        part = columns.integers[:, block, start : start + 32]
        sums = _in_lanes(part, weights.integers[block, start : start + 32, here])
        own = np.repeat(scales[start // per : (start + 32) // per], WIDTH // (32 // per), axis=0)
        total += sums.astype(np.int64) * own
    if weights.bias:
        low = _sums(columns, block, 16)[:, :, None] * scales
        total -= weights.bias * (low[:, 0::2] + low[:, 1::2])
    return total if lanes else total.sum(axis=1)


def _sums(columns: Columns, block: int, size: int) -> npt.NDArray[np.int64]:
    """The sums of so many neighbours of the other factor's integers: (n, 256 / size)."""
    values = columns.integers[:, block].astype(np.int64)
    sums: npt.NDArray[np.int64] = values.reshape(len(values), -1, size).sum(axis=2)
    return sums


def _lowest(weights: Weights, columns: Columns, here: slice, block: int) -> npt.NDArray[np.int64]:
    """Minima times the other factor's sums: (n, sub-blocks, m)."""
    assert weights.mins is not None
    mins = weights.mins[block, :, here].astype(np.int64)
    products: npt.NDArray[np.int64] = _sums(columns, block, 256 // len(mins))[:, :, None] * mins
    return products


def _wide(whole: npt.NDArray[Any]) -> Doubles:
    """Integers as the float32 that they are converted to."""
    return whole.astype(np.float32).astype(np.float64)


def _blocks_of_256(weights: Weights, columns: Columns, here: slice) -> Floats:
    """ggml_vec_dot_*_q8_K: one FMA for each block and lane, and one for the minima.

    q2_K adds the minima of a block to the same sums before it; q4_K has 4 sums for them, q5_K one.
    """
    count, blocks = columns.factors.shape
    factors = weights.factors[:, here]
    m = factors.shape[1]

    def own(i: int) -> Doubles:
        scale = columns.factors[:, i, None] * factors[i]
        products: Doubles = _wide(_parts(weights, columns, here, i, lanes=True)) * scale[:, None]
        return products

    if weights.minima is None:
        return folded(chain(map(own, range(blocks)), (count, WIDTH, m)))
    minima = weights.minima[:, here]

    def lowest(i: int) -> Doubles:
        sums = _lowest(weights, columns, here, i)
        pairs = sums.sum(axis=1, keepdims=True) if weights.name == "q5_K" else sums[:, 0::2] + sums[:, 1::2]
        products: Doubles = _wide(pairs) * (-columns.factors[:, i, None] * minima[i])[:, None]
        return products

    if weights.name == "q2_K":
        return folded(chain((part(i) for i in range(blocks) for part in (lowest, own)), (count, WIDTH, m)))
    result = folded(chain(map(own, range(blocks)), (count, WIDTH, m)))
    lanes = 4 if weights.name == "q4_K" else 1
    low = chain(map(lowest, range(blocks)), (count, lanes, m))
    return result + (paired(low) if lanes == 4 else low[:, 0])


def _tiled(weights: Weights, columns: Columns, here: slice) -> Floats:
    """tiled_run_microtile_avx2: a block is summed up in integers, then two or three roundings."""
    count, blocks = columns.factors.shape
    factors = weights.factors[:, here]
    total = np.zeros((count, factors.shape[1]), np.float32)
    for i in range(blocks):
        sums = _parts(weights, columns, here, i, lanes=False).astype(np.float32) * factors[i]
        if weights.minima is not None:
            low = _wide(_lowest(weights, columns, here, i).sum(axis=1)) * -weights.minima[i, here].astype(np.float64)
            sums = rounded_sum(low, sums.astype(np.float64))
        own = np.multiply(sums, columns.factors[:, i, None], dtype=np.float64)
        total = rounded_sum(own, total.astype(np.float64))
    return total
