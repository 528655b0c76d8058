"""ROPE (ggml_compute_forward_rope_flt): sine and cosine of the C library, one product of each pair unrounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernel import Call, Kernel
from ..kernels import rope as usual
from ..kernels.arguments import present
from ..maths import Array, Maths
from .fused import Floats, fused
from .libm import cosf, sinf


def _rotated(a: Floats, b: Floats, cos: Floats, sin: Floats) -> tuple[Floats, Floats]:
    """rotate_pairs as it was compiled."""
    return fused(a, cos, -(b * sin)), fused(a, sin, b * cos)


def _rope(maths: Maths, call: Call, sources: Sequence[Array], forward: bool) -> Array:
    x, params = sources[0], usual.params_of(call)
    if not params.pairs:
        return x
    theta, magnitude = usual.thetas(maths, params, sources[1], present(sources, 2))
    cos, sin = cosf(theta) * np.float32(magnitude), sinf(theta) * np.float32(magnitude)
    if not forward:
        sin = -sin
    first, n = params.offset, 2 * params.pairs
    part = x[..., first : first + n]
    result = x.copy()
    turned = result[..., first : first + n]
    if params.mode == usual.NORMAL:
        turned[..., 0::2], turned[..., 1::2] = _rotated(part[..., 0::2], part[..., 1::2], cos, sin)
    else:
        half = params.pairs
        turned[..., :half], turned[..., half:] = _rotated(part[..., :half], part[..., half:], cos, sin)
    return result


def _forward(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _rope(maths, call, sources, forward=True)


def _backward(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _rope(maths, call, sources, forward=False)


ROPE = Kernel(_forward, usual.ROPE.check)
ROPE_BACK = Kernel(_backward, usual.ROPE_BACK.check)
