"""SOFT_MAX (ggml_compute_forward_soft_max_f32, ggml_vec_soft_max_f32)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernel import Call, Kernel
from ..kernels import softmax as usual
from ..kernels.arguments import broadcast, present
from ..maths import Array, Maths
from .fused import Doubles, Floats, fused
from .lanes import WIDTH, exponential, folded
from .libm import expf


def exponentials(x: Floats, most: Floats) -> tuple[Floats, Doubles]:
    """exp(x - most) along the last axis, and their sum (ggml_vec_soft_max_f32).

    What is left of a row after whole 8s goes through expf.
    """
    whole = x.shape[-1] // WIDTH * WIDTH
    values = exponential(x[..., :whole] - most)
    if whole < x.shape[-1]:
        values = np.concatenate([values, expf(x[..., whole:] - most)], axis=-1)
    return values, in_groups(values)


def in_groups(values: Floats) -> Doubles:
    """The sum of each row: groups of 8 in float, their sums and what is left one after the other in double."""
    whole = values.shape[-1] // WIDTH * WIDTH
    groups = folded(values[..., :whole].reshape(*values.shape[:-1], -1, WIDTH, 1))[..., 0]
    return np.cumsum(np.concatenate([groups, values[..., whole:]], axis=-1), axis=-1, dtype=np.float64)[..., -1:]


def _soft_max(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    x = sources[0] * np.float32(call.f32(0))
    mask, sinks = present(sources, 1), present(sources, 2)
    if mask is not None:
        seen = broadcast(maths, mask[:, :, : x.shape[2]], x.shape)
        slopes = np.asarray(usual.slopes(x.shape[1], call.f32(1)), np.float32).reshape(1, -1, 1, 1)
        x = fused(slopes, seen, x)
    most = x.max(axis=3, keepdims=True)
    if sinks is not None:
        sinks = sinks.reshape(1, -1, 1, 1)
        most = np.maximum(most, sinks)
    values, total = exponentials(x, most)
    if sinks is not None:
        total = total + expf(sinks - most).astype(np.float64)
    return values * (1.0 / total).astype(np.float32)


SOFT_MAX = Kernel(_soft_max, usual.SOFT_MAX.check)
