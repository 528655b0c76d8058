"""Functions of one element: the ops of their own, UNARY and GLU, against the C library's functions in double."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.backends.kernel import Read
from galloscope.core.backends.kernels import activations
from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.op import GLU_OPS, UNARY_OPS, Op
from galloscope.core.ops import Lazy, float_word
from galloscope.tests.core.backends.kernels.plain import (
    EXACT,
    NUMPY,
    Array,
    call_of,
    computed,
    data,
    half,
    leaf,
    node,
    off,
    table,
    wrong,
)

X = leaf(7, 3, 2, 2)
SPECIAL = np.array(
    [0.0, -0.0, 0.5, -0.5, 0.49999997, -1.5, 2.5, 1e-30, 88.0, -88.0, 1e4, -1e4, np.inf, -np.inf, np.nan], np.float32
).reshape(1, 1, 1, 15)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + _exp(-x))


def _gelu(x: float) -> float:
    return 0.5 * x * (1.0 + math.tanh(0.79788456080286536 * x * (1.0 + 0.044715 * x * x)))


def _round(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


def _xielu(x: float) -> float:
    return 0.9 * x * x + 0.5 * x if x > 0 else (math.expm1(min(x, -1e-6)) - x) * 0.8 + 0.5 * x


UNARY: dict[str, Callable[[float], float]] = {
    "ABS": abs,
    "SGN": lambda x: (x > 0) - (x < 0),
    "NEG": lambda x: -x,
    "STEP": lambda x: float(x > 0),
    "TANH": math.tanh,
    "ELU": lambda x: x if x > 0 else math.expm1(x),
    "RELU": lambda x: max(x, 0.0),
    "SIGMOID": _sigmoid,
    "GELU": _gelu,
    "GELU_QUICK": lambda x: x * _sigmoid(1.702 * x),
    "SILU": lambda x: x * _sigmoid(x),
    "HARDSWISH": lambda x: x * min(1.0, max(0.0, (x + 3.0) / 6.0)),
    "HARDSIGMOID": lambda x: min(1.0, max(0.0, (x + 3.0) / 6.0)),
    "EXP": _exp,
    "EXPM1": math.expm1,
    "SOFTPLUS": lambda x: x if x > 20 else math.log1p(math.exp(x)),
    "GELU_ERF": lambda x: 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0))),
    "XIELU": _xielu,
    "FLOOR": math.floor,
    "CEIL": math.ceil,
    "ROUND": _round,
    "TRUNC": math.trunc,
}


def unary(a: Lazy, name: str) -> Lazy:
    lazy = ops.unary(a, name)
    for word, value in enumerate((0.8, 0.9, 0.5, -1e-6) if name == "XIELU" else (), 1):
        lazy.set_param(word, float_word(value))
    return lazy


@pytest.mark.parametrize("name", UNARY_OPS)
def test_each_unary_op(name: str) -> None:
    x = data(X, scale=3.0)
    wanted = table(x.shape, lambda i: UNARY[name](float(x[i])))
    assert off(computed(unary(X, name), x, maths=EXACT), wanted) < 4e-7
    assert off(computed(unary(X, name), x), wanted) < (1e-3 if name in ("GELU", "GELU_QUICK") else 4e-7)


NO_NUMBER = {"SGN": 0.0, "STEP": 0.0, "RELU": 0.0, "HARDSIGMOID": 0.0}
"""What these make of what is no number; all others leave it."""


@pytest.mark.parametrize("name", UNARY_OPS)
def test_extreme_values(name: str) -> None:
    result = computed(unary(leaf(15), name), SPECIAL, maths=EXACT)
    special = [float(v) for v in SPECIAL.reshape(-1)]
    for x, y in zip(special, result.reshape(-1), strict=True):
        if math.isnan(x):
            assert y == NO_NUMBER[name] if name in NO_NUMBER else math.isnan(y)
        elif math.isfinite(x) and abs(x) < 1e3:
            assert y == pytest.approx(UNARY[name](x), rel=1e-6, abs=1e-6)
    if name in ("ROUND", "TRUNC", "FLOOR", "CEIL", "SGN", "ABS", "RELU", "SIGMOID"):
        assert not np.isnan(result.reshape(-1)[:-1]).any()


def test_gelu_goes_through_float16() -> None:
    x = data(X, scale=4.0)
    lazy = ops.gelu(X)
    looked_up = half(np.vectorize(lambda v: np.float32(_gelu(float(v))))(half(x)).astype(np.float32))
    assert off(computed(lazy, x), np.where(x <= -10, 0, np.where(x >= 10, x, looked_up))) < 5e-4
    assert np.array_equal(computed(lazy, x), half(computed(lazy, x)))
    assert not np.array_equal(computed(lazy, x, maths=EXACT), half(computed(lazy, x, maths=EXACT)))
    far = np.array([-10.5, 10.123456, 70000.0], np.float32).reshape(1, 1, 1, 3)
    assert computed(ops.gelu(leaf(3)), far).reshape(-1).tolist() == [0.0, far[0, 0, 0, 1], 70000.0]


def test_gelu_of_bf16_has_no_table() -> None:
    a = leaf(7, 3, dtype="bf16")
    x = data(leaf(7, 3))
    assert np.array_equal(computed(ops.gelu(a), x), computed(ops.gelu(a), x, maths=EXACT))


@given(st.floats(width=32, allow_nan=False, allow_subnormal=False))
def test_erf(x: float) -> None:
    result = activations.erf(NUMPY, np.array([x], np.float32))
    assert result.dtype == np.float32
    assert abs(float(result[0]) - math.erf(x)) <= 6.1e-8 * abs(math.erf(x)) + 1e-45


PLAIN: list[tuple[Lazy, Callable[[float], float], float]] = [
    (node(Op.SQR, X.ne, X), lambda x: float(np.float32(x) * np.float32(x)), 0.0),
    (node(Op.SIN, X.ne, X), math.sin, 2e-7),
    (node(Op.COS, X.ne, X), math.cos, 2e-7),
    (ops.scale(X, 0.1), lambda x: float(np.float32(x) * np.float32(0.1)), 0.0),
    (ops.clamp(X, -0.5, 1.0), lambda x: min(max(x, -0.5), 1.0), 0.0),
    (ops.leaky_relu(X, 0.25), lambda x: x if x > 0 else 0.25 * x, 0.0),
]


@pytest.mark.parametrize(("lazy", "function", "allowed"), PLAIN)
def test_ops_of_their_own(lazy: Lazy, function: Callable[[float], float], allowed: float) -> None:
    x = data(X)
    assert off(computed(lazy, x), table(x.shape, lambda i: function(float(x[i])))) <= allowed


def test_square_roots_and_logarithms() -> None:
    x = np.abs(data(X)) + np.float32(0.01)
    assert np.array_equal(computed(ops.sqrt(X), x), table(x.shape, lambda i: math.sqrt(x[i])).astype(np.float32))
    assert off(computed(node(Op.LOG, X.ne, X), x), table(x.shape, lambda i: math.log(x[i]))) < 2e-7


def test_scale_with_bias_is_rounded_once() -> None:
    x = data(X, scale=100.0)
    s, b = float(np.float32(1.1)), float(np.float32(-0.3))
    wanted = table(x.shape, lambda i: float(x[i]) * s + b).astype(np.float32)
    assert np.array_equal(computed(ops.scale_bias(X, 1.1, -0.3), x), wanted)


def test_clamp_of_no_number_is_the_upper_bound() -> None:
    assert computed(ops.clamp(leaf(15), -1.0, 2.0), SPECIAL).reshape(-1)[-1] == 2.0


def test_fill_reads_nothing() -> None:
    lazy = ops.fill(X, 0.1)
    assert list(KERNELS[Op.FILL].reads(call_of(lazy))) == [Read.NOT]
    result = computed(lazy, None)
    assert result.shape == X.ne[::-1]
    assert (result == np.float32(0.1)).all()


def _limit(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


GLU: dict[str, Callable[[float, float], float]] = {
    "REGLU": lambda x, g: max(x, 0.0) * g,
    "GEGLU": lambda x, g: UNARY["GELU"](x) * g,
    "SWIGLU": lambda x, g: UNARY["SILU"](x) * g,
    "SWIGLU_OAI": lambda x, g: min(x, 1.5) * _sigmoid(1.702 * min(x, 1.5)) * (_limit(g, -1.5, 1.5) + 1.0),
    "GEGLU_ERF": lambda x, g: UNARY["GELU_ERF"](x) * g,
    "GEGLU_QUICK": lambda x, g: UNARY["GELU_QUICK"](x) * g,
    "SWIGLU_CLAMP": lambda x, g: UNARY["SILU"](min(x, 1.5)) * _limit(g, -1.5, 1.5),
}


def _gate(lazy: Lazy) -> Lazy:
    lazy.set_param(2, float_word(1.702))
    lazy.set_param(3, float_word(1.5))
    return lazy


def _check_gate(name: str, lazy: Lazy, x: Array, gate: Array, *sources: Array | None) -> None:
    wanted = table(x.shape, lambda i: GLU[name](float(x[i]), float(gate[i])))
    assert off(computed(lazy, *sources, maths=EXACT), wanted) < 4e-7
    assert off(computed(lazy, *sources), wanted) < (1e-3 if name in ("GEGLU", "GEGLU_QUICK") else 4e-7)


@pytest.mark.parametrize("name", GLU_OPS)
def test_each_gate(name: str) -> None:
    a, both = leaf(5, 3, 2), leaf(11, 3, 2)
    x, gate = data(a, 1, 2.0), data(a, 2, 2.0)
    _check_gate(name, _gate(ops.glu_split(a, a, name)), x, gate, x, gate)
    y = data(both, 3, 2.0)
    left, right = y[..., :5], y[..., 5:10]  # an odd last element belongs to no half
    _check_gate(name, _gate(ops.glu(both, name)), left, right, y, None)
    _check_gate(name, _gate(ops.glu(both, name, swapped=True)), right, left, y, None)


def test_the_way_back_through_silu() -> None:
    gradient, x = data(X, 1), data(X, 2)
    step = 1e-5
    rise = table(x.shape, lambda i: UNARY["SILU"](float(x[i]) + step) - UNARY["SILU"](float(x[i]) - step))
    result = computed(node(Op.SILU_BACK, X.ne, X, X), gradient, x)
    assert off(result, gradient * rise / (2 * step)) < 1e-6


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (node(Op.UNARY, (4,), leaf(4), params=(22,)), "there is no unary op 22"),
        (node(Op.UNARY, (4,), leaf(4), params=(-1,)), "there is no unary op -1"),
        (node(Op.UNARY, (3,), leaf(4)), "the result is [3], not [4]"),
        (node(Op.SQR, (4,), leaf(4, dtype="i32")), "source 0 is of type i32"),
        (node(Op.SCALE, (4,)), "source 0 is missing"),
        (node(Op.FILL, (4,), leaf(4), dtype="i32"), "the result is of type i32"),
        (node(Op.GLU, (4,), leaf(8), params=(7,)), "there is no gate 7"),
        (node(Op.GLU, (4,), leaf(6)), "the result is [4], not [3] as a half of source 0 asks for"),
        (node(Op.GLU, (4,), leaf(4), leaf(5)), "the result is [4], not [5] as source 1 asks for"),
        (node(Op.SILU_BACK, (4,), leaf(4)), "source 1 is missing"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)


def test_far_below_zero_a_gate_does_not_count() -> None:
    x = np.array([-10.0, -11.0, 10.0], np.float32).reshape(1, 1, 1, 3)
    gate = np.full_like(x, np.inf)
    a = leaf(3)
    assert computed(ops.geglu_split(a, a), x, gate).reshape(-1).tolist() == [0.0, 0.0, np.inf]
    half_sources = leaf(3, dtype="f16")
    assert np.isnan(computed(ops.geglu_split(half_sources, half_sources), x, gate).reshape(-1)[:2]).all()
