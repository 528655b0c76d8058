"""Element by element: sums, products, norms, scaling (ggml.c)."""

from __future__ import annotations

from ..dtypes import DTYPES
from ..op import Op
from .layout import can_repeat, is_contiguous, is_padded_1d
from .lazy import Lazy, check, dup_tensor, new_tensor
from .numbers import float_word

_F32, _F16 = DTYPES["f32"], DTYPES["f16"]


def dup(a: Lazy) -> Lazy:
    """ggml_dup."""
    return dup_tensor(a).become(Op.DUP, a)


def _binary(op: Op, a: Lazy, b: Lazy) -> Lazy:
    check(can_repeat(b.ne, a.ne), op, "the second must repeat to the shape of the first", a, b)
    return dup_tensor(a).become(op, a, b)


def add(a: Lazy, b: Lazy) -> Lazy:
    """ggml_add: b repeats to a's shape."""
    return _binary(Op.ADD, a, b)


def sub(a: Lazy, b: Lazy) -> Lazy:
    """ggml_sub."""
    return _binary(Op.SUB, a, b)


def mul(a: Lazy, b: Lazy) -> Lazy:
    """ggml_mul."""
    return _binary(Op.MUL, a, b)


def div(a: Lazy, b: Lazy) -> Lazy:
    """ggml_div."""
    return _binary(Op.DIV, a, b)


def add_id(a: Lazy, b: Lazy, ids: Lazy) -> Lazy:
    """ggml_add_id: adds the row of b that ids names."""
    check(a.ne[0] == b.ne[0], "ADD_ID", "the rows must have equal length", a, b)
    check(a.ne[1] == ids.ne[0] and a.ne[2] == ids.ne[1], "ADD_ID", "one id for each row of the first", a, ids)
    check(ids.dtype.name == "i32", "ADD_ID", "ids are of type i32", ids)
    return dup_tensor(a).become(Op.ADD_ID, a, b, ids)


def sqr(a: Lazy) -> Lazy:
    """ggml_sqr."""
    return dup_tensor(a).become(Op.SQR, a)


def sqrt(a: Lazy) -> Lazy:
    """ggml_sqrt."""
    return dup_tensor(a).become(Op.SQRT, a)


def scale(a: Lazy, s: float, inplace: bool = False) -> Lazy:
    """ggml_scale: times s."""
    return scale_bias(a, s, 0.0, inplace)


def scale_bias(a: Lazy, s: float, b: float, inplace: bool = False) -> Lazy:
    """ggml_scale_bias: times s, plus b."""
    check(is_padded_1d(a), "SCALE", "only rows may be padded", a)
    return dup_tensor(a, inplace).become(Op.SCALE, a, params=(float_word(s), float_word(b)))


def clamp(a: Lazy, low: float, high: float) -> Lazy:
    """ggml_clamp."""
    return dup_tensor(a).become(Op.CLAMP, a, params=(float_word(low), float_word(high)))


def fill(a: Lazy, value: float) -> Lazy:
    """ggml_fill."""
    check(a.dtype in (_F32, _F16), "FILL", "only f32 and f16 can be filled", a)
    check(is_contiguous(a), "FILL", "the tensor must be contiguous", a)
    return dup_tensor(a).become(Op.FILL, a, params=(float_word(value),))


def leaky_relu(a: Lazy, negative_slope: float, inplace: bool = False) -> Lazy:
    """ggml_leaky_relu."""
    return dup_tensor(a, inplace).become(Op.LEAKY_RELU, a, params=(float_word(negative_slope),))


def norm(a: Lazy, eps: float) -> Lazy:
    """ggml_norm."""
    return dup_tensor(a).become(Op.NORM, a, params=(float_word(eps),))


def rms_norm(a: Lazy, eps: float) -> Lazy:
    """ggml_rms_norm."""
    return dup_tensor(a).become(Op.RMS_NORM, a, params=(float_word(eps),))


def l2_norm(a: Lazy, eps: float) -> Lazy:
    """ggml_l2_norm."""
    return dup_tensor(a).become(Op.L2_NORM, a, params=(float_word(eps),))


def group_norm(a: Lazy, n_groups: int, eps: float) -> Lazy:
    """ggml_group_norm."""
    return dup_tensor(a).become(Op.GROUP_NORM, a, params=(n_groups, float_word(eps)))


def sum_rows(a: Lazy) -> Lazy:
    """ggml_sum_rows."""
    return new_tensor(a.dtype, 1, *a.ne[1:]).become(Op.SUM_ROWS, a)


def mean(a: Lazy) -> Lazy:
    """ggml_mean."""
    return new_tensor(_F32, 1, *a.ne[1:]).become(Op.MEAN, a)


def cumsum(a: Lazy) -> Lazy:
    """ggml_cumsum."""
    check(a.dtype is _F32, "CUMSUM", "only f32 can be summed up", a)
    return dup_tensor(a).become(Op.CUMSUM, a)
