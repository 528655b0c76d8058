"""The fused multiply-add against exact fractions, where rounding twice goes wrong too."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core.backends.reference.fused import chain, fused

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**60), max_value=2.0**60)
NEAR = st.integers(-3, 3)


def nearest(value: Fraction) -> np.float32:
    """The float32 nearest to a fraction, the even one of two."""
    guess = np.float32(float(value))
    around = [np.nextafter(guess, np.float32(to)) for to in (-np.inf, np.inf)]
    return min((guess, *around), key=lambda one: (abs(Fraction(float(one)) - value), int(one.view(np.uint32)) & 1))


def exact(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    return nearest(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))


@given(NUMBERS, NUMBERS, NUMBERS)
@settings(max_examples=300)
def test_one_rounding(a: float, b: float, c: float) -> None:
    x, y, z = map(np.float32, (a, b, c))
    assert fused(x, y, z) == exact(x, y, z)


@given(st.integers(1 << 23, (1 << 24) - 1), st.integers(-140, 60), NEAR, NEAR, st.booleans())
@settings(max_examples=300)
def test_beside_the_middle_of_two_numbers(significand: int, exponent: int, up: int, down: int, negative: bool) -> None:
    """The product is half a unit in the last place of the addend, or a little off."""
    c = np.ldexp(np.float32(significand), exponent - 23)
    a = np.ldexp(np.float32(2**23 + up), exponent - 23 - 24)
    b = np.float32(2**23 + down) / np.float32(2**23)
    signed = -a if negative else a
    assert fused(signed, b, c) == exact(signed, b, c)


def test_rounding_twice_would_show() -> None:
    a = np.float32((1 + 2.0**-23) * 2.0**-24)
    b, c = np.float32(1 - 2.0**-23), np.float32(1 + 2.0**-23)
    twice = np.float32(float(a) * float(b) + float(c))
    assert fused(a, b, c) == exact(a, b, c) != twice


def test_infinity_and_no_number() -> None:
    inf, nan = np.float32(np.inf), np.float32(np.nan)
    with np.errstate(all="ignore"):
        made = fused(np.array([inf, inf, nan, 2], np.float32), np.float32(1), np.array([1, -inf, 1, nan], np.float32))
    assert np.array_equal(made, np.array([inf, nan, nan, nan]), equal_nan=True)


def test_a_chain_adds_one_after_the_other() -> None:
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 5, 7)).astype(np.float32)
    total = np.zeros(7, np.float32)
    for i in range(5):
        total = np.array([exact(*one) for one in zip(a[i], b[i], total, strict=True)])
    assert np.array_equal(chain((a[i].astype(np.float64) * b[i] for i in range(5)), (7,)), total)


def test_a_chain_of_nothing_is_zero() -> None:
    assert np.array_equal(chain(iter(()), (2, 3)), np.zeros((2, 3), np.float32))
