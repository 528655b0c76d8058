"""NORM, RMS_NORM and SUM_ROWS: sums in double, one number after the other or 8 at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernel import Call, Kernel
from ..kernels import norms as usual
from ..kernels import reductions
from ..maths import Array, Maths
from .fused import Doubles, Floats
from .softmax import in_groups

_ONE = np.float32(1)


def _total(x: Floats) -> Doubles:
    """The sum of each row, from left to right in double (ggml_vec_sum_f32)."""
    return np.cumsum(x, axis=-1, dtype=np.float64)[..., -1:]


def _norm(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    x = sources[0]
    n = x.shape[-1]
    centred = x - _total(x).astype(np.float32) / np.float32(n)
    variance = (in_groups(centred * centred) / n).astype(np.float32)
    return centred * (_ONE / np.sqrt(variance + np.float32(call.f32(0))))


def _rms_norm(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    x = sources[0]
    mean = (_total(x * x) / x.shape[-1]).astype(np.float32)
    return x * (_ONE / np.sqrt(mean + np.float32(call.f32(0))))


def _sum_rows(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _total(sources[0]).astype(np.float32)


NORM = Kernel(_norm, usual.NORM.check)
RMS_NORM = Kernel(_rms_norm, usual.RMS_NORM.check)
SUM_ROWS = Kernel(_sum_rows, reductions.SUM_ROWS.check)
