"""BLAS: big matrix products on the CPU's own memory, for OpenBLAS, MKL, BLIS, NVPL or Accelerate.

Source: ggml_backend_blas_device_* in ggml-blas.cpp; ggml 0.25.3.
"""

from __future__ import annotations

from ..dtypes import DTYPES
from ..op import Op
from .conditions import all_f32, laid_out, packed, typed
from .profile import Profile, anything
from .seen import Seen

UNPACKS = tuple(name for name in DTYPES if name not in ("i8", "i16", "i32", "i64", "f64", "q8_1", "q8_K"))
"""f32, and the types that ggml's traits can turn into it (to_float)."""

_HADAMARD = 1  # GGML_HINT_SRC0_IS_HADAMARD


def mul_mat(op: Seen, device: Profile) -> str:
    """Contiguous, f32 inputs, at least `min_batch` in each dimension, no Hadamard matrix.

    MUL_MAT (ggml_backend_blas_device_supports_op): worth it from `min_batch` on in each of the three dimensions.
    """
    if op.param(1) == _HADAMARD:
        return f"{op.op}: source 0 is a Hadamard matrix, for which the CPU has a faster way"
    least = device.named["min_batch"]
    for what, size in (("rows of source 0", op.ne[0]), ("rows of source 1", op.ne[1]), ("columns", op.need(1).ne[0])):
        if size < least:
            return f"{op.op}: {size} {what} are below the minimum of {least}"
    return packed(op, 0, 1) or typed(op, 1, "f32") or typed(op, 0, *UNPACKS)


def out_prod(op: Seen, device: Profile) -> str:
    """Both f32 matrices, the first contiguous, the second so or transposed.

    OUT_PROD (ggml_backend_blas_device_supports_op).
    """
    return (
        all_f32(op, 0, 1)
        or laid_out(op, lambda one: one.ne[2] == 1 and one.ne[3] == 1, "a matrix", 0, 1)
        or packed(op, 0)
        or laid_out(op, lambda one: one.is_contiguous() or one.is_transposed(), "contiguous or transposed", 1)
    )


def reads(device: Profile, own: str, buft: str, host: bool) -> bool:
    """Any host memory (ggml_backend_blas_device_supports_buft)."""
    return host


BLAS = Profile(
    name="blas",
    title="BLAS",
    backend="BLAS",
    type="accel",
    memory=0,
    source="ggml_backend_blas_device_supports_op (ggml 0.25.3)",
    rules={
        **dict.fromkeys((Op.NONE, Op.RESHAPE, Op.VIEW, Op.PERMUTE, Op.TRANSPOSE), anything),
        Op.MUL_MAT: mul_mat,
        Op.OUT_PROD: out_prod,
    },
    numbered=False,
    host=True,
    buft="CPU",
    reads=reads,
    named={"min_batch": 32},
    units={"min_batch": "rows and columns that a matrix product needs to be worth it"},
    simplified=("BLAS works in the CPU's memory and reports none of its own.",),
)
