"""The 32-bit floats of C in Python: rounding, and the int32 words that op_params hold."""

from __future__ import annotations

import math
import struct


def as_float(value: float) -> float:
    """The nearest 32-bit float, as C's `float` keeps it; infinite when it is too large for one.

    >>> as_float(0.1)
    0.10000000149011612
    """
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return rounded


def as_int32(value: int) -> int:
    """An unsigned 32-bit number as C's `int` has it: from 2^31 on it is negative."""
    return value - (1 << 32) if value >= 1 << 31 else value


def quotient(a: float, b: float) -> float:
    """a / b of two 32-bit floats as C divides them: infinite or no number where Python raises."""
    if b:
        return as_float(a / b)
    return math.copysign(math.inf, a) * math.copysign(1.0, b) if a and not math.isnan(a) else math.nan


def logarithm(value: float) -> float:
    """logf: no number for one below 0, -infinity for 0."""
    if value > 0.0 or math.isnan(value):
        return as_float(math.log(value))
    return -math.inf if value == 0.0 else math.nan


def float_word(value: float) -> int:
    """The int32 with the bits of a 32-bit float: what ggml_set_op_params_f32 stores.

    >>> float_word(1.0)
    1065353216
    """
    word: int = struct.unpack("<i", struct.pack("<f", as_float(value)))[0]
    return word


def size_words(value: int) -> tuple[int, int]:
    """The two int32 words of a size_t, low word first."""
    low, high = struct.unpack("<ii", struct.pack("<Q", value))
    return low, high
