"""Two sources, element by element (binary-ops.cpp of ggml-cpu): the second repeats to the shape of the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ops.layout import shape_text
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import broadcast, no_repeat, not_float, other_shape


def _check(call: Call) -> str:
    return not_float(call, 0, 1) or other_shape(call, 0) or no_repeat(call, 1, 0)


def _kernel(function: Callable[[Array, Array], Array]) -> Kernel:
    def compute(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
        a, b = sources[0], sources[1]
        return function(a, broadcast(maths, b, a.shape))

    return Kernel(compute, _check)


ADD = _kernel(lambda a, b: a + b)
"""ggml_compute_forward_add; a quantised first source is added to as values."""

SUB = _kernel(lambda a, b: a - b)
"""ggml_compute_forward_sub."""

MUL = _kernel(lambda a, b: a * b)
"""ggml_compute_forward_mul."""

DIV = _kernel(lambda a, b: a / b)
"""ggml_compute_forward_div."""


def _check_add1(call: Call) -> str:
    found = not_float(call, 0, 1) or other_shape(call, 0)
    if not found and call.source(1).ne != (1, 1, 1, 1):
        found = f"source 1 is {shape_text(call.source(1).ne)}, not one number"
    return found


def _add1(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return sources[0] + sources[1]


ADD1 = Kernel(_add1, _check_add1)
"""ggml_compute_forward_add1: one number to all elements."""
