"""The 32-bit floats of C in Python: rounding, and the int32 words that op_params hold."""

from __future__ import annotations

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
