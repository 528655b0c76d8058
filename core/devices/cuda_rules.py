"""What ggml-cuda has kernels for, op by op: the cases of ggml_backend_cuda_device_supports_op (ggml-cuda.cu).

Source: ggml 0.25.3, an NVIDIA build with CUDA 11.7 or later (GGML_CUDA_USE_CUB). Each rule is one `case` label there,
or several that share their lines. Attention is in `cuda_attention`, what language models rarely use in `cuda_other`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..dtypes import DTYPES
from ..op import GLU_OPS, UNARY_OPS, Op
from .conditions import FLOATS, RESULT, known, laid_out, packed, packed_rows, typed
from .cuda_attention import flash_attention, lightning_indexer
from .cuda_other import OTHER
from .profile import Profile, Rule, anything
from .seen import Seen

SUPER_BLOCK = 256
"""QK_K: elements of a super-block of the K and IQ types."""

QUANTS = tuple(name for name, dtype in DTYPES.items() if dtype.quantized)
MATRIX_TYPES = ("f32", "f16", "bf16", *(q for q in QUANTS if q not in ("q8_1", "tq1_0", "tq2_0")))
ROWS_WHOLE = ("iq4_nl", "mxfp4")
ROWS_TYPES = ("f32", "f16", "bf16", "i32", *(q for q in MATRIX_TYPES if q in QUANTS and q not in ("nvfp4", "q8_K")))
STORED_TYPES = ("f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl")
PLAIN = ("f32", "f16", "bf16")
COPIED = frozenset(
    {(a, b) for a in PLAIN for b in PLAIN}
    | {("f32", b) for b in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "i32")}
    | {(a, "f32") for a in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "i32")}
    | {("i32", "i32")}
)
"""(from, to) of CPY whatever the strides."""

SOURCE_HADAMARD = 1
"""GGML_HINT_SRC0_IS_HADAMARD."""
PREC_F32 = 10
"""GGML_PREC_F32."""


def unary(op: Seen, device: Profile) -> str:
    """It is contiguous; XIELU is not bf16.

    ggml_backend_cuda_device_supports_op, GGML_OP_UNARY; ggml 0.25.3.
    """
    why = known(op, UNARY_OPS)
    if not why and UNARY_OPS[op.param(0)] == "XIELU" and op.need(0).type == "bf16":
        return "UNARY XIELU: there is no kernel for bf16"
    return why or packed(op, 0)


def glu(op: Seen, device: Profile) -> str:
    """It is contiguous, gaps between rows aside; SWIGLU_OAI and SWIGLU_CLAMP are not bf16.

    ggml_backend_cuda_device_supports_op, GGML_OP_GLU; ggml 0.25.3.
    """
    why = known(op, GLU_OPS)
    if why:
        return why
    kind, a = GLU_OPS[op.param(0)], op.need(0)
    if kind in ("SWIGLU_OAI", "SWIGLU_CLAMP") and a.type == "bf16":
        return f"GLU {kind}: there is no kernel for bf16"
    return laid_out(op, Seen.is_contiguous_1, "contiguous, gaps between rows aside", 0)


def mul_mat(op: Seen, device: Profile) -> str:
    """Packed rows of a type with a kernel; f16 goes with f16 only; experts not in f32 precision.

    ggml_backend_cuda_device_supports_op, GGML_OP_MUL_MAT and MUL_MAT_ID (the exception for Hadamard matrices is
    ggml_cuda_op_mul_mat_use_fwht, fwht.cu); ggml 0.25.3.
    """
    a, b = op.need(0), op.need(1)
    for slot, one in enumerate((a, b)):
        if one.nb[0] != one.dtype.size:
            return f"{op.op}: the elements of source {slot} are {one.nb[0]} bytes apart, not {one.dtype.size}"
    if b.type == "f16" and a.type != "f16" and not _hadamard(op, a, b):
        return f"{op.op}: source 1 is f16 and source 0 {a.type}; f16 goes with f16 only"
    if op.op is Op.MUL_MAT_ID and op.param(3) == PREC_F32:
        return "MUL_MAT_ID: f32 precision was asked for (op_params[3]), which its kernels do not have"
    return typed(op, 0, *MATRIX_TYPES)


def _hadamard(op: Seen, a: Seen, b: Seen) -> bool:
    return (
        op.op is Op.MUL_MAT
        and op.param(1) == SOURCE_HADAMARD
        and a.type == op.type == "f32"
        and b.is_contiguous()
        and op.is_contiguous()
        and b.same_shape(op)
    )


def get_rows(op: Seen, device: Profile) -> str:
    """A type with a kernel; rows of iq4_nl and mxfp4 are a multiple of 256 elements.

    ggml_backend_cuda_device_supports_op, GGML_OP_GET_ROWS; ggml 0.25.3.
    """
    a = op.need(0)
    if a.type in ROWS_WHOLE and a.ne[0] % SUPER_BLOCK:
        return f"GET_ROWS: rows of {a.ne[0]} {a.type} are not a multiple of {SUPER_BLOCK} elements"
    return typed(op, 0, *ROWS_TYPES)


def set_rows(op: Seen, device: Profile) -> str:
    """From f32 to a float, q4, q5, q8_0 or iq4_nl type, or from f16 to f16; rows numbered by i32 or i64.

    ggml_backend_cuda_device_supports_op, GGML_OP_SET_ROWS; ggml 0.25.3.
    """
    from_, to = op.need(0).type, op.type
    if not (from_ == "f32" and to in STORED_TYPES) and not from_ == to == "f16":
        return f"SET_ROWS: there is no kernel that stores {from_} as {to}"
    return typed(op, 1, "i32", "i64")


def cpy(op: Seen, device: Profile) -> str:
    """A pair of types with a kernel, or equal types and both contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_CPY; ggml 0.25.3.
    """
    a, b = op.need(0), op.need(1)
    if (a.type, b.type) in COPIED or (a.type == b.type and a.is_contiguous() and b.is_contiguous()):
        return ""
    if a.type == b.type:
        return f"CPY: {a.type} is copied to {b.type} only when both are contiguous"
    return f"CPY: there is no kernel from {a.type} to {b.type}"


def repeat(op: Seen, device: Profile) -> str:
    """It is f32 or f16.

    ggml_backend_cuda_device_supports_op, GGML_OP_REPEAT; ggml 0.25.3.
    """
    return typed(op, 0, *FLOATS)


def concat(op: Seen, device: Profile) -> str:
    """One type; quants contiguous and of whole blocks.

    ggml_backend_cuda_device_supports_op, GGML_OP_CONCAT; ggml 0.25.3.
    """
    a, b, axis = op.need(0), op.need(1), op.param(0)
    if not a.type == b.type == op.type:
        return f"CONCAT: {a.type} and {b.type} into {op.type}; all three must be of one type"
    if not a.dtype.quantized:
        return ""  # every such type has 1, 2, 4 or 8 bytes
    test = Seen.is_contiguous if axis == 3 else Seen.is_contiguous_to_3
    for slot, one in enumerate((a, b)):
        why = laid_out(op, test, "contiguous as quants must be", slot)
        if why:
            return why
        if one.ne[0] % one.dtype.block:
            return f"CONCAT: rows of {one.ne[0]} are no whole {one.type} blocks of {one.dtype.block}"
    return ""


def rows_of_source(op: Seen, device: Profile) -> str:
    """The rows are contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_NORM, RMS_NORM, L2_NORM and SUM; ggml 0.25.3.
    """
    return packed_rows(op, 0)


def row_sums(op: Seen, device: Profile) -> str:
    """All f32, the rows contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_SUM_ROWS and MEAN; ggml 0.25.3.
    """
    return typed(op, 0, "f32") or typed(op, RESULT, "f32") or packed_rows(op, 0)


def scale(op: Seen, device: Profile) -> str:
    """It is f32 or bf16, and stays so.

    ggml_backend_cuda_device_supports_op, GGML_OP_SCALE; ggml 0.25.3.
    """
    return typed(op, 0, "f32", "bf16") or typed(op, RESULT, op.need(0).type)


def arithmetic(op: Seen, device: Profile) -> str:
    """All f32 or f16, or bf16 with bf16 or f32 into bf16.

    ggml_backend_cuda_device_supports_op, GGML_OP_ADD, SUB, MUL and DIV; ggml 0.25.3.
    """
    if "bf16" in (op.need(0).type, op.need(1).type, op.type):
        return typed(op, 0, "bf16") or typed(op, RESULT, "bf16") or typed(op, 1, "bf16", "f32")
    return typed(op, 0, *FLOATS) or typed(op, 1, *FLOATS) or typed(op, RESULT, *FLOATS)


def rope(op: Seen, device: Profile) -> str:
    """Packed rows, contiguous over the sequences.

    ggml_backend_cuda_device_supports_op, GGML_OP_ROPE and ROPE_BACK; ggml 0.25.3.
    """
    a = op.need(0)
    if a.nb[0] != a.dtype.size:
        return f"{op.op}: the elements of source 0 are {a.nb[0]} bytes apart, not {a.dtype.size}"
    return laid_out(op, Seen.is_contiguous_2, "contiguous over its sequences", 0)


ALWAYS = (
    Op.NONE, Op.RESHAPE, Op.VIEW, Op.PERMUTE, Op.TRANSPOSE, Op.ADD_ID, Op.ADD1, Op.SQR, Op.SQRT, Op.SIN, Op.COS,
    Op.CLAMP, Op.LOG, Op.DUP, Op.ARGMAX, Op.COUNT_EQUAL, Op.CONT, Op.DIAG_MASK_INF, Op.SOFT_MAX, Op.CONV_TRANSPOSE_2D,
    Op.POOL_1D, Op.POOL_2D, Op.TOP_K, Op.ARGSORT, Op.PAD, Op.UPSCALE, Op.PAD_REFLECT_1D, Op.ARANGE,
    Op.TIMESTEP_EMBEDDING, Op.LEAKY_RELU, Op.RWKV_WKV6, Op.GATED_LINEAR_ATTN, Op.RWKV_WKV7, Op.GATED_DELTA_NET,
    Op.CROSS_ENTROPY_LOSS, Op.CROSS_ENTROPY_LOSS_BACK, Op.OPT_STEP_ADAMW, Op.OPT_STEP_SGD, Op.FILL, Op.CUMSUM, Op.TRI,
    Op.DIAG, Op.SOLVE_TRI,
)  # fmt: skip
"""Ops that ggml-cuda takes whatever their arguments; TOP_K and ARGSORT because a release build has CUB."""

RULES: Mapping[Op, Rule] = {
    **dict.fromkeys(ALWAYS, anything),
    **dict.fromkeys((Op.MUL_MAT, Op.MUL_MAT_ID), mul_mat),
    **dict.fromkeys((Op.NORM, Op.RMS_NORM, Op.L2_NORM, Op.SUM), rows_of_source),
    **dict.fromkeys((Op.SUM_ROWS, Op.MEAN), row_sums),
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL, Op.DIV), arithmetic),
    **dict.fromkeys((Op.ROPE, Op.ROPE_BACK), rope),
    Op.UNARY: unary,
    Op.GLU: glu,
    Op.GET_ROWS: get_rows,
    Op.SET_ROWS: set_rows,
    Op.CPY: cpy,
    Op.REPEAT: repeat,
    Op.CONCAT: concat,
    Op.SCALE: scale,
    Op.FLASH_ATTN_EXT: flash_attention,
    Op.LIGHTNING_INDEXER: lightning_indexer,
    **OTHER,
}
"""The rule of every op that supports_op names."""
