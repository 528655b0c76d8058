"""What the checks of products, convolutions and scans ask beyond `arguments`."""

from __future__ import annotations

from collections.abc import Iterable

from ...dtypes import Shape
from ...ops.layout import shape_text
from ..kernel import Call
from .arguments import is_float


def first(complaints: Iterable[str]) -> str:
    """The first complaint that is not empty; a generator is not asked for what comes after it."""
    return next(filter(None, complaints), "")


def repeats(small: Shape, large: Shape) -> bool:
    """Whether `small` repeats over the dimensions 2 and 3 of `large`, as the matrices of a product do."""
    return 0 not in small[2:] and not large[2] % small[2] and not large[3] % small[3]


def wrong_source(call: Call, slot: int, ne: Shape) -> str:
    """Whether a source that is there is no float or has another shape than this."""
    found = call.source(slot)
    if not is_float(found.dtype):
        return f"source {slot} is of type {found.dtype.name}, where a float is needed"
    return "" if found.ne == ne else f"source {slot} is {shape_text(found.ne)}, not {shape_text(ne)}"
