"""One source, element by element, with an op of its own in ggml (unary-ops.cpp and ops.cpp of ggml-cpu)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..kernel import Call, Kernel, Read
from ..maths import Array, Maths
from .arguments import elementwise, not_float_result, source_shape


def _kernel(function: Callable[[Maths, Array], Array]) -> Kernel:
    def compute(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
        return function(maths, sources[0])

    return Kernel(compute, elementwise)


SQR = _kernel(lambda maths, x: x * x)
"""ggml_compute_forward_sqr."""

SQRT = _kernel(lambda maths, x: maths.xp.sqrt(x))
"""ggml_compute_forward_sqrt."""

LOG = _kernel(lambda maths, x: maths.xp.log(x))
"""ggml_compute_forward_log."""

SIN = _kernel(lambda maths, x: maths.xp.sin(x))
"""ggml_compute_forward_sin."""

COS = _kernel(lambda maths, x: maths.xp.cos(x))
"""ggml_compute_forward_cos."""


def _scale(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    factor, bias = call.f32(0), call.f32(1)
    if bias == 0.0:
        return sources[0] * factor
    # ggml multiplies and adds with one rounding; in double the product of two floats is exact.
    wide = xp.astype(sources[0], xp.float64)
    return xp.astype(wide * factor + bias, xp.float32)


SCALE = Kernel(_scale, elementwise)
"""ggml_compute_forward_scale: times op_params[0] plus op_params[1]."""


def _clamp(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    low, high = call.f32(0), call.f32(1)
    below = xp.where(sources[0] < high, sources[0], high)  # what is no number becomes `high`, as MIN of ggml does it
    return xp.where(below > low, below, low)


CLAMP = Kernel(_clamp, elementwise)
"""ggml_compute_forward_clamp: low in op_params[0], high in op_params[1]."""


def _leaky_relu(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    x = sources[0]
    return xp.where(x > 0.0, x, 0.0) + call.f32(0) * xp.where(x < 0.0, x, 0.0)


LEAKY_RELU = Kernel(_leaky_relu, elementwise)
"""ggml_compute_forward_leaky_relu: the slope below zero in op_params[0]."""


def _fill(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return maths.xp.full(source_shape(call.node.ne), call.f32(0), dtype=maths.xp.float32)


def _reads_nothing(call: Call) -> Sequence[Read]:
    return (Read.NOT,) * len(call.src)


FILL = Kernel(_fill, not_float_result, _reads_nothing)
"""ggml_compute_forward_fill: op_params[0] everywhere."""
