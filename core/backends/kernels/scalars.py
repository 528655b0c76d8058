"""Single 32-bit floats on the host, as C computes them: no exception, but infinity or no number."""

from __future__ import annotations

import math

from ...ops.numbers import as_float


def power(base: float, exponent: float) -> float:
    """powf.

    >>> power(0.0, -1.0)
    inf
    """
    try:
        return as_float(math.pow(base, exponent))
    except OverflowError:
        return math.inf
    except ValueError:  # 0 to a negative power, or a broken power of a negative number
        return math.inf if base == 0.0 else math.nan


def whole(value: float, up: bool) -> float:
    """ceilf or floorf.

    >>> whole(-0.5, up=False), whole(float("inf"), up=True)
    (-1.0, inf)
    """
    if not math.isfinite(value):
        return value
    return float(math.ceil(value) if up else math.floor(value))


def larger(a: float, b: float) -> float:
    """MAX of ggml: b when one is no number."""
    return a if a > b else b


def smaller(a: float, b: float) -> float:
    """MIN of ggml: b when one is no number."""
    return a if a < b else b
