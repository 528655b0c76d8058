"""Rounding to float16 by adding a large number is the conversion to float16 and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.backends.half import half

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
FINITE = np.sort(EVERY[np.isfinite(EVERY)])
MIDDLES = ((FINITE[:-1].astype(np.float64) + FINITE[1:]) / 2).astype(np.float32)


def bits(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    return values.view(np.uint32)


def converted(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


@pytest.mark.parametrize("below", [32768.0, np.inf])
@pytest.mark.parametrize("towards", [None, np.inf, -np.inf])
@pytest.mark.parametrize("values", [FINITE, MIDDLES], ids=["floats", "middles"])
def test_every_float16_and_what_lies_between(
    values: npt.NDArray[np.float32], towards: float | None, below: float
) -> None:
    values = values[np.abs(values) < below]
    if towards is not None:
        values = np.nextafter(values, np.float32(towards))
    assert values.size > 60000
    assert np.array_equal(bits(half(values)), bits(converted(values)))


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 65519.99, 65520.0, -1e38, 1e-45, -0.0])
def test_one_odd_value_among_many(odd: float) -> None:
    values = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    values[77] = odd
    made = half(values)
    assert np.array_equal(made, converted(values), equal_nan=True)
    assert np.signbit(made[77]) == np.signbit(np.float32(odd))


@given(st.integers(0, 1 << 32), st.integers(1, 9000))
def test_any_bits(seed: int, count: int) -> None:
    values = np.random.default_rng(seed).integers(0, 1 << 32, count, np.uint32).view(np.float32)
    values = np.where(np.abs(values) < 30000, values, np.float32(1.5))  # no more than that takes the quick way
    before = values.copy()
    assert np.array_equal(bits(half(values)), bits(converted(values)))
    assert np.array_equal(bits(values), bits(before))


def test_any_shape() -> None:
    values = np.random.default_rng(0).standard_normal((3, 50, 41)).astype(np.float32)
    assert half(values).shape == (3, 50, 41)
    # memory that is not contiguous is read as it lies
    assert np.array_equal(half(values.transpose(2, 0, 1)), converted(values).transpose(2, 0, 1))
    assert half(np.empty((0, 4), np.float32)).shape == (0, 4)
