"""GLU: an activation of `unary` times the gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...op import GLU_OPS
from ..kernel import Call, Kernel
from ..kernels import glu as usual
from ..kernels.arguments import present
from ..maths import Array, Maths
from . import libm
from .fused import Floats
from .unary import gelu, gelu_erf, gelu_quick, silu

_ONE = np.float32(1)


def _geglu(call: Call, x: Floats, gate: Floats) -> Floats:
    # ggml_vec_geglu_f32 does not look at the gate there
    return np.where(x <= -10, np.float32(0), gelu(x) * gate)


def _swiglu_oai(call: Call, x: Floats, gate: Floats) -> Floats:
    x, gate = usual.limited(np, x, gate, call.f32(3))
    alpha = np.float32(call.f32(2))
    made: Floats = x / (_ONE + libm.expf(alpha * -x)) * (gate + _ONE)
    return made


def _swiglu_clamp(call: Call, x: Floats, gate: Floats) -> Floats:
    x, gate = usual.limited(np, x, gate, call.f32(3))
    made: Floats = x / (_ONE + libm.expf(-x)) * gate
    return made


FUNCTIONS: dict[str, Callable[[Call, Floats, Floats], Floats]] = {
    "GEGLU": _geglu,
    "SWIGLU": lambda call, x, gate: silu(x) * gate,
    "SWIGLU_OAI": _swiglu_oai,
    "GEGLU_ERF": lambda call, x, gate: gelu_erf(x) * gate,
    "SWIGLU_CLAMP": _swiglu_clamp,
    "GEGLU_QUICK": lambda call, x, gate: gelu_quick(x) * gate,
}
"""Of float32, by name in enum ggml_glu_op."""


def _glu(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    function = FUNCTIONS.get(GLU_OPS[call.i32(0)])
    if function is None or call.source(0).dtype.name != "f32":
        return usual.GLU.compute(maths, call, sources)
    return function(call, *usual.halves(call, sources[0], present(sources, 1)))


GLU = Kernel(_glu, usual.GLU.check)
