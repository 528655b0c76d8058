"""Op GLU: the activation of one half times the other half, or of one source times another (ops.cpp of ggml-cpu)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...op import GLU_OPS
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .activations import Table, gelu, gelu_erf, gelu_quick, silu, table_of
from .arguments import not_float, optional, other_shape, present, result_differs


def _reglu(maths: Maths, call: Call, x: Array, gate: Array) -> Array:
    return maths.xp.where(x > 0.0, x * gate, 0.0)


def _geglu(maths: Maths, call: Call, x: Array, gate: Array) -> Array:
    table = table_of(maths, call.source(0).dtype)
    result = gelu(maths, x, table) * gate
    # ggml_vec_geglu_f32 does not look at the gate there: it may be infinite.
    return maths.xp.where(x <= -10.0, 0.0, result) if table is Table.MIDDLE else result


def _geglu_quick(maths: Maths, call: Call, x: Array, gate: Array) -> Array:
    return gelu_quick(maths, x, table_of(maths, call.source(0).dtype)) * gate


def limited(xp: Any, x: Array, gate: Array, limit: float) -> tuple[Array, Array]:
    """std::min of x and std::clamp of the gate: what is no number stays."""
    gate = xp.where(gate < -limit, -limit, xp.where(gate > limit, limit, gate))
    return xp.where(x > limit, limit, x), gate


def _swiglu_oai(maths: Maths, call: Call, x: Array, gate: Array) -> Array:
    alpha, limit = call.f32(2), call.f32(3)
    x, gate = limited(maths.xp, x, gate, limit)
    return x / (1.0 + maths.xp.exp(alpha * -x)) * (gate + 1.0)


def _swiglu_clamp(maths: Maths, call: Call, x: Array, gate: Array) -> Array:
    x, gate = limited(maths.xp, x, gate, call.f32(3))
    return silu(maths, x) * gate


FUNCTIONS: dict[str, Callable[[Maths, Call, Array, Array], Array]] = {
    "REGLU": _reglu,
    "GEGLU": _geglu,
    "SWIGLU": lambda maths, call, x, gate: silu(maths, x) * gate,
    "SWIGLU_OAI": _swiglu_oai,
    "GEGLU_ERF": lambda maths, call, x, gate: gelu_erf(maths, x) * gate,
    "GEGLU_QUICK": _geglu_quick,
    "SWIGLU_CLAMP": _swiglu_clamp,
}
"""By name in enum ggml_glu_op."""


def _check(call: Call) -> str:
    which = call.i32(0)
    if found := not_float(call, 0) or ("" if 0 <= which < len(GLU_OPS) else f"there is no gate {which}"):
        return found
    ne = call.source(0).ne
    if optional(call, 1) is None:
        return result_differs(call, (ne[0] // 2, *ne[1:]), "a half of source 0")
    return not_float(call, 1) or other_shape(call, 0, 1)


def halves(call: Call, x: Array, gate: Array | None) -> tuple[Array, Array]:
    """What the activation is of, and the gate: of one source its halves."""
    if gate is not None:
        return x, gate
    n = x.shape[3] // 2
    x, gate = x[:, :, :, :n], x[:, :, :, n : 2 * n]
    return (gate, x) if call.i32(1) else (x, gate)


def _glu(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    x, gate = halves(call, sources[0], present(sources, 1))
    return FUNCTIONS[GLU_OPS[call.i32(0)]](maths, call, x, gate)


GLU = Kernel(_glu, _check)
"""ggml_compute_forward_glu: op_params have the gate, whether the halves change places, alpha and the limit."""
