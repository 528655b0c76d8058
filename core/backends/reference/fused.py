"""Fused multiply-add of float32 arrays: one rounding, as the FMA instructions have it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

_KEPT = np.uint32(0x1FFFFFFF)
_TIE = np.uint32(0x10000000)
"""The low word of a float64 that lies in the middle between two float32."""
_SMALLEST = 2.0**-126
"""The smallest normal float32: below it the middles lie elsewhere."""


def fused(a: Floats | np.float32, b: Floats | np.float32, c: Floats | np.float32) -> Floats:
    """a * b + c rounded once (fmaf); the shapes broadcast."""
    return rounded_sum(np.multiply(a, b, dtype=np.float64), np.asarray(c, np.float64))


def rounded_sum(product: Doubles, addend: Doubles) -> Floats:
    """The sum of an exact product and a float32 number, rounded to float32 once.

    The sum in float64 is rounded already, and rounding it again goes wrong where it has become the middle between two
    float32: there, and among denormal results, it is first moved to the side where the exact sum lies.

    Args:
        product: the product of two float32, exact in float64.
        addend: float32 values in float64.
    """
    return _sum(np.asarray(product), np.asarray(addend)).astype(np.float32)


def chain(products: Iterable[Doubles], shape: tuple[int, ...], exact: bool = False) -> Floats:
    """The sum of exact products, one FMA after the other, from zero.

    Args:
        products: one after the other, all of the same shape.
        shape: of the result.
        exact: no sum of a product and a float32 number needs more bits than float64 has.
    """
    total = None
    for product in products:
        if total is None:
            total = product.astype(np.float32)
        elif exact:
            total = np.add(product, total, dtype=np.float64).astype(np.float32)
        else:
            total = _sum(product, total.astype(np.float64)).astype(np.float32)
    return np.zeros(shape, np.float32) if total is None else total


def _sum(product: Doubles, addend: Doubles) -> Doubles:
    """What rounds to the right float32."""
    total = np.asarray(product + addend)
    flat = total.reshape(-1)
    unsure = (flat.view(np.uint32)[::2] & _KEPT) == _TIE
    small = np.abs(flat) < _SMALLEST
    if small.any():
        unsure |= small & (flat != 0)
    at = np.flatnonzero(unsure)
    if at.size:
        whole = (np.broadcast_to(values, total.shape).reshape(-1) for values in (product, addend))
        flat[at] = _on_the_exact_side(flat[at], *(values[at] for values in whole))
    return total


def _on_the_exact_side(total: Doubles, first: Doubles, second: Doubles) -> Doubles:
    """Round to odd: a sum that is not exact and ends with bit 0 becomes its neighbour on the side of the exact sum."""
    # TwoSum of Knuth: what the addition lost
    part = total - first
    lost = (first - (total - part)) + (second - part)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    moved = np.nextafter(total, np.copysign(np.inf, lost))
    return np.where(even & (lost != 0), moved, total)
