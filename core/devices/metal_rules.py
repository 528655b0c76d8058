"""Which ops ggml-metal has kernels for: ggml_metal_device_supports_op (ggml-metal-device.m, ggml 0.25.3).

The matrix products and attention are in `metal_matrix`. An ability that depends on the GPU is a limit of the profile.
"""

from __future__ import annotations

from ..op import GLU_OPS, UNARY_OPS, Op
from .conditions import (
    FLOATS,
    RESULT,
    able,
    all_f32,
    called,
    converts,
    known,
    laid_out,
    not_typed,
    one_type,
    op_name,
    packed,
    packed_rows,
    part,
    shaped_alike,
    sized,
    typed,
)
from .metal_matrix import flash_attn_ext, lightning_indexer, mul_mat, mul_mat_id
from .profile import Profile, Rule, anything
from .seen import Seen

BLOCKS = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
"""The block types with kernels for CONCAT, copies and the KV cache."""

_UNPACKED = ("f32", "f16")
_COPIES = {
    "f32": ("f32", "f16", "bf16", "q8_0", "q1_0", "q2_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "tq2_0", "i32"),
    "f16": _UNPACKED,
    "bf16": ("f32", "bf16"),
    **dict.fromkeys(("q1_0", "q2_0", *BLOCKS, "tq2_0"), _UNPACKED),
    "i32": ("f32", "i32"),
}
_INTO_ROWS = {
    "f32": ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "tq2_0"),
    "f16": ("f16",),
}


def bfloat(op: Seen, device: Profile) -> str:
    """Without bfloat: the result and the first three sources are not bf16.

    Before the switch: a GPU without bfloat refuses the type in the result and the first three sources.
    """
    if device.named["bfloat"]:
        return ""
    for slot in (RESULT, 0, 1, 2):
        if (slot == RESULT or op.source(slot)) and part(op, slot).type == "bf16":
            return f"{op_name(op)}: {called(slot)} is bf16, and the GPU lacks bfloat (bfloat is 0)"
    return ""


def elementwise(op: Seen, device: Profile) -> str:
    """It is f32 or f16, its rows contiguous.

    SCALE, FILL, CLAMP, SQR, SQRT, SIN, COS, LOG.
    """
    return packed_rows(op, 0) or typed(op, 0, *FLOATS)


def unary(op: Seen, device: Profile) -> str:
    """A function of ggml_unary_op; f32 or f16, rows contiguous.

    UNARY: all functions of ggml_unary_op.
    """
    return known(op, UNARY_OPS) or elementwise(op, device)


def glu(op: Seen, device: Profile) -> str:
    """A function of ggml_glu_op; f32 or f16, contiguous, gaps between rows aside.

    GLU: all functions of ggml_glu_op; ggml_is_contiguous_1.
    """
    gaps = laid_out(op, Seen.is_contiguous_1, "contiguous, gaps between rows aside", 0)
    return known(op, GLU_OPS) or gaps or typed(op, 0, *FLOATS)


def silu_back(op: Seen, device: Profile) -> str:
    """All f32, contiguous and of one shape.

    SILU_BACK.
    """
    return all_f32(op, 0, 1, RESULT) or packed(op, 0, 1, RESULT) or shaped_alike(op, 0, 1)


def concat(op: Seen, device: Profile) -> str:
    """One type: a float, an integer, or q4, q5, q8_0.

    CONCAT; bf16 needs bfloat, which `bfloat` has asked for.
    """
    return one_type(op, 0, 1, RESULT) or typed(op, 0, *FLOATS, "i8", "i16", "i32", "i64", "bf16", *BLOCKS)


def binary(op: Seen, device: Profile) -> str:
    """Both f32 or both f16, their rows contiguous.

    ADD, SUB, MUL, DIV, ADD_ID.
    """
    return packed_rows(op, 0, 1) or typed(op, 0, *FLOATS) or one_type(op, 0, 1)


def acc(op: Seen, device: Profile) -> str:
    """Source 0 is f32, the rows of both contiguous.

    ACC.
    """
    return packed_rows(op, 0, 1) or typed(op, 0, "f32")


def conv_transpose_2d(op: Seen, device: Profile) -> str:
    """An f32 or f16 kernel over f32, both contiguous.

    CONV_TRANSPOSE_2D.
    """
    return packed(op, 0, 1) or conv_2d_dw(op, device)


def conv_2d(op: Seen, device: Profile) -> str:
    """A contiguous f32 or f16 kernel over f32.

    CONV_2D.
    """
    return packed(op, 0) or conv_2d_dw(op, device)


def conv_2d_dw(op: Seen, device: Profile) -> str:
    """An f32 or f16 kernel over f32.

    CONV_2D_DW.
    """
    return typed(op, 0, *FLOATS) or all_f32(op, 1, RESULT)


def conv_3d(op: Seen, device: Profile) -> str:
    """An f32 or f16 kernel over f32, both contiguous.

    CONV_3D.
    """
    return packed(op, 0, 1) or typed(op, 0, *FLOATS) or typed(op, 1, "f32")


def col2im_1d(op: Seen, device: Profile) -> str:
    """One float type, contiguous.

    COL2IM_1D.
    """
    return typed(op, 0, *FLOATS, "bf16") or one_type(op, 0, RESULT) or packed(op, 0, RESULT)


def total(op: Seen, device: Profile) -> str:
    """Contiguous; simdgroup reduction.

    SUM.
    """
    return able(op, device, "simdgroup_reduction") or packed(op, 0)


def tri(op: Seen, device: Profile) -> str:
    """Its rows are contiguous.

    TRI.
    """
    return packed_rows(op, 0)


def reduction(op: Seen, device: Profile) -> str:
    """Its rows are contiguous; simdgroup reduction.

    SUM_ROWS, CUMSUM, MEAN, SOFT_MAX, GROUP_NORM, L2_NORM, NORM, RMS_NORM.
    """
    return able(op, device, "simdgroup_reduction") or packed_rows(op, 0)


def reduces(op: Seen, device: Profile) -> str:
    """Simdgroup reduction.

    ARGMAX, SSM_SCAN, SSM_CONV, OPT_STEP_ADAMW, OPT_STEP_SGD.
    """
    return able(op, device, "simdgroup_reduction")


def count_equal(op: Seen, device: Profile) -> str:
    """Both i32, into i64; simdgroup reduction.

    COUNT_EQUAL.
    """
    return reduces(op, device) or typed(op, 0, "i32") or typed(op, 1, "i32") or typed(op, RESULT, "i64")


def im2col(op: Seen, device: Profile) -> str:
    """Source 1 is f32 and contiguous, the result f32 or f16.

    IM2COL.
    """
    return packed(op, 1) or typed(op, 1, "f32") or typed(op, RESULT, *FLOATS)


def pool_1d(op: Seen, device: Profile) -> str:
    """It is f32 and contiguous.

    POOL_1D.
    """
    return packed(op, 0) or typed(op, 0, "f32")


def single(op: Seen, device: Profile) -> str:
    """It is f32.

    UPSCALE, POOL_2D, PAD, PAD_REFLECT_1D, TIMESTEP_EMBEDDING.
    """
    return typed(op, 0, "f32")


def leaky_relu(op: Seen, device: Profile) -> str:
    """It is f32 or f16.

    LEAKY_RELU.
    """
    return typed(op, 0, *FLOATS)


def roll(op: Seen, device: Profile) -> str:
    """It is contiguous.

    ROLL.
    """
    return packed(op, 0)


def hc_comb(op: Seen, device: Profile) -> str:
    """All f32 with contiguous rows, of the sizes of four streams; simdgroup reduction.

    DSV4_HC_COMB.
    """
    a, b, c = (op.need(slot).ne[0] for slot in (0, 1, 2))
    return (
        reduces(op, device)
        or all_f32(op, 0, 1, 2, RESULT)
        or sized(op, "the first dimension of source 0", a, 24)
        or (f"{op.op}: the first dimension of source 1 is {b}, below 3" if b < 3 else "")
        or sized(op, "the first dimension of source 2", c, 24)
        or packed_rows(op, 0, 1, 2)
    )


def hc_pre(op: Seen, device: Profile) -> str:
    """All f32 with contiguous rows; simdgroup reduction.

    DSV4_HC_PRE.
    """
    return reduces(op, device) or all_f32(op, 0, 1, RESULT) or packed_rows(op, 0, 1)


def hc_post(op: Seen, device: Profile) -> str:
    """All f32 with contiguous rows, four streams; simdgroup reduction.

    DSV4_HC_POST; source 3 may be missing.
    """
    slots = (0, 1, 2, 3) if op.source(3) else (0, 1, 2)
    reason = reduces(op, device) or all_f32(op, *slots, RESULT)
    reason = reason or sized(op, "the second dimension of source 1", op.need(1).ne[1], 4)
    reason = reason or sized(op, "the first dimension of source 2", op.need(2).ne[0], 4)
    for i, which in enumerate(("first", "second") if op.source(3) else ()):
        reason = reason or sized(op, f"the {which} dimension of source 3", op.need(3).ne[i], 4)
    return reason or packed_rows(op, *slots)


def gated_delta_net(op: Seen, device: Profile) -> str:
    """A head size that is a multiple of 32; simdgroup reduction.

    GATED_DELTA_NET.
    """
    width = op.need(2).ne[0]
    return reduces(op, device) or (f"{op.op}: head size {width} is not a multiple of 32" if width % 32 else "")


def solve_tri(op: Seen, device: Profile) -> str:
    """It is f32; simdgroup reduction.

    SOLVE_TRI.
    """
    return reduces(op, device) or typed(op, 0, "f32")


def copy(op: Seen, device: Profile) -> str:
    """A pair of types with a kernel.

    SET, CPY, DUP, CONT: a kernel for each pair of types.
    """
    return converts(op, _COPIES, op.need(0).type, op.type)


def get_rows(op: Seen, device: Profile) -> str:
    """A type other than nvfp4 and tq1_0.

    GET_ROWS.
    """
    return not_typed(op, 0, "nvfp4", "tq1_0")


def set_rows(op: Seen, device: Profile) -> str:
    """A pair of types with a kernel.

    SET_ROWS.
    """
    return converts(op, _INTO_ROWS, op.need(0).type, op.type)


RULES: dict[Op, Rule] = {
    **dict.fromkeys((Op.SCALE, Op.FILL, Op.CLAMP, Op.SQR, Op.SQRT, Op.SIN, Op.COS, Op.LOG), elementwise),
    Op.UNARY: unary,
    Op.SILU_BACK: silu_back,
    Op.GLU: glu,
    **dict.fromkeys((Op.NONE, Op.RESHAPE, Op.VIEW, Op.TRANSPOSE, Op.PERMUTE), anything),
    Op.CONCAT: concat,
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ADD_ID), binary),
    Op.ACC: acc,
    **dict.fromkeys((Op.REPEAT, Op.CONV_TRANSPOSE_1D), anything),
    Op.CONV_TRANSPOSE_2D: conv_transpose_2d,
    Op.COL2IM_1D: col2im_1d,
    Op.CONV_3D: conv_3d,
    Op.SUM: total,
    Op.TRI: tri,
    **dict.fromkeys((Op.SUM_ROWS, Op.CUMSUM, Op.MEAN, Op.SOFT_MAX, Op.GROUP_NORM, Op.L2_NORM), reduction),
    Op.COUNT_EQUAL: count_equal,
    Op.ARGMAX: reduces,
    **dict.fromkeys((Op.NORM, Op.RMS_NORM), reduction),
    **dict.fromkeys((Op.ROPE, Op.ROPE_BACK), anything),
    Op.IM2COL: im2col,
    Op.CONV_2D: conv_2d,
    Op.CONV_2D_DW: conv_2d_dw,
    Op.POOL_1D: pool_1d,
    **dict.fromkeys((Op.UPSCALE, Op.POOL_2D, Op.PAD, Op.PAD_REFLECT_1D, Op.TIMESTEP_EMBEDDING), single),
    Op.LEAKY_RELU: leaky_relu,
    **dict.fromkeys((Op.ARGSORT, Op.TOP_K, Op.ARANGE), anything),
    Op.ROLL: roll,
    Op.FLASH_ATTN_EXT: flash_attn_ext,
    Op.LIGHTNING_INDEXER: lightning_indexer,
    Op.DSV4_HC_COMB: hc_comb,
    Op.DSV4_HC_PRE: hc_pre,
    Op.DSV4_HC_POST: hc_post,
    **dict.fromkeys((Op.SSM_SCAN, Op.SSM_CONV), reduces),
    **dict.fromkeys((Op.RWKV_WKV6, Op.RWKV_WKV7), anything),
    Op.GATED_DELTA_NET: gated_delta_net,
    Op.SOLVE_TRI: solve_tri,
    Op.MUL_MAT: mul_mat,
    Op.MUL_MAT_ID: mul_mat_id,
    **dict.fromkeys((Op.SET, Op.CPY, Op.DUP, Op.CONT), copy),
    Op.GET_ROWS: get_rows,
    Op.SET_ROWS: set_rows,
    Op.DIAG: anything,
    **dict.fromkeys((Op.OPT_STEP_ADAMW, Op.OPT_STEP_SGD), reduces),
}
"""Every op that the switch names; any other falls to its `default`, a refusal."""
