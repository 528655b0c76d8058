"""Op UNARY: one function of enum ggml_unary_op to each element (unary-ops.cpp of ggml-cpu)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...op import UNARY_OPS
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .activations import gelu, gelu_erf, gelu_quick, relu, sigmoid, silu, table_of
from .arguments import elementwise, not_float, other_shape


def _sign(maths: Maths, call: Call, x: Array) -> Array:
    return maths.xp.where(x > 0.0, 1.0, maths.xp.where(x < 0.0, -1.0, maths.xp.zeros_like(x)))


def _step(maths: Maths, call: Call, x: Array) -> Array:
    return maths.xp.where(x > 0.0, maths.xp.ones_like(x), 0.0)


def _elu(maths: Maths, call: Call, x: Array) -> Array:
    return maths.xp.where(x > 0.0, x, maths.xp.expm1(x))


def _hard_sigmoid(maths: Maths, call: Call, x: Array) -> Array:
    """What is no number becomes 0: fmaxf takes the other one."""
    line = relu(maths, (x + 3.0) / 6.0)
    return maths.xp.where(line < 1.0, line, 1.0)


def _softplus(maths: Maths, call: Call, x: Array) -> Array:
    return maths.xp.where(x > 20.0, x, maths.xp.log(1.0 + maths.xp.exp(x)))


def _expm1(maths: Maths, call: Call, x: Array) -> Array:
    """expf(x) - 1, which loses most of a small x: the exponential is rounded correctly, as the C library has it."""
    xp = maths.xp
    return xp.astype(xp.exp(xp.astype(x, xp.float64)), xp.float32) - 1.0


def _round(maths: Maths, call: Call, x: Array) -> Array:
    """roundf: halves away from zero, where the array standard's round goes to even."""
    xp = maths.xp
    whole = xp.trunc(x)
    return xp.where(xp.abs(x - whole) >= 0.5, whole + xp.sign(x), whole)


def _xielu(maths: Maths, call: Call, x: Array) -> Array:
    """op_xielu; alpha_n, alpha_p, beta and epsilon stand in op_params[1..4]."""
    xp = maths.xp
    alpha_n, alpha_p, beta, eps = (call.f32(word) for word in range(1, 5))
    lower = xp.where(x < eps, x, eps)
    return xp.where(x > 0.0, alpha_p * x * x + beta * x, (xp.expm1(lower) - x) * alpha_n + beta * x)


FUNCTIONS: dict[str, Callable[[Maths, Call, Array], Array]] = {
    "ABS": lambda maths, call, x: maths.xp.abs(x),
    "SGN": _sign,
    "NEG": lambda maths, call, x: -x,
    "STEP": _step,
    "TANH": lambda maths, call, x: maths.xp.tanh(x),
    "ELU": _elu,
    "RELU": lambda maths, call, x: relu(maths, x),
    "SIGMOID": lambda maths, call, x: sigmoid(maths, x),
    "GELU": lambda maths, call, x: gelu(maths, x, table_of(maths, call.source(0).dtype)),
    "GELU_QUICK": lambda maths, call, x: gelu_quick(maths, x, table_of(maths, call.source(0).dtype)),
    "SILU": lambda maths, call, x: silu(maths, x),
    "HARDSWISH": lambda maths, call, x: x * _hard_sigmoid(maths, call, x),
    "HARDSIGMOID": _hard_sigmoid,
    "EXP": lambda maths, call, x: maths.xp.exp(x),
    "EXPM1": _expm1,
    "SOFTPLUS": _softplus,
    "GELU_ERF": lambda maths, call, x: gelu_erf(maths, x),
    "XIELU": _xielu,
    "FLOOR": lambda maths, call, x: maths.xp.floor(x),
    "CEIL": lambda maths, call, x: maths.xp.ceil(x),
    "ROUND": _round,
    "TRUNC": lambda maths, call, x: maths.xp.trunc(x),
}
"""By name in enum ggml_unary_op."""


def _check(call: Call) -> str:
    which = call.i32(0)
    return elementwise(call) or ("" if 0 <= which < len(UNARY_OPS) else f"there is no unary op {which}")


def _unary(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return FUNCTIONS[UNARY_OPS[call.i32(0)]](maths, call, sources[0])


UNARY = Kernel(_unary, _check)
"""ggml_compute_forward_unary: which one stands in op_params[0]."""


def _check_silu_back(call: Call) -> str:
    return not_float(call, 0, 1) or other_shape(call, 0, 1)


def _silu_back(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    gradient, x = sources[0], sources[1]
    s = sigmoid(maths, x)
    return gradient * s * (1.0 + x * (1.0 - s))


SILU_BACK = Kernel(_silu_back, _check_silu_back)
"""ggml_compute_forward_silu_back: source 0 is the gradient, source 1 what SILU was given."""
