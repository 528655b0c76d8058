"""Which ops ggml-vulkan has kernels for: ggml_backend_vk_device_supports_op (ggml-vulkan.cpp, ggml 0.25.3).

The matrix products, attention and recurrent ops are in `vulkan_matrix`, the convolutions and the ops of training in
`vulkan_other`. An ability that depends on the GPU or its driver is a limit of the profile.
"""

from __future__ import annotations

from ..op import GLU_OPS, UNARY_OPS, Op
from .conditions import (
    FLOATS,
    RESULT,
    able,
    all_f32,
    converts,
    known,
    one_type,
    packed,
    packed_rows,
    sized,
    typed,
)
from .profile import Profile, Rule, anything
from .seen import Seen
from .vulkan_matrix import (
    WEIGHTS,
    flash_attn_ext,
    gated_delta_net,
    gated_linear_attn,
    lightning_indexer,
    mul_mat,
    mul_mat_id,
    ssm_scan,
)
from .vulkan_other import OTHER

_STORED = ("q1_0", "q2_0", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl")
_COPIES = {
    "f32": ("f32", "f16", "bf16", *_STORED, "i32"),
    "f16": ("f32", "f16"),
    **dict.fromkeys(("bf16", *_STORED, "i32"), ("f32",)),
}


def fits(op: Seen, device: Profile) -> str:
    """No tensor is larger than a buffer, or than a kernel can address.

    Before the switch: no tensor may be larger than a buffer, or than a kernel can address.
    """
    addressed = op.op in (Op.IM2COL, Op.IM2COL_3D) and device.named["buffer_device_address"]
    limits = ["max_buffer_size"]
    if not addressed and not device.named["shader_64bit_indexing"]:
        limits.append("max_storage_range")
    parts = [(f"source {slot}", one) for slot, one in enumerate(op.src) if one is not None]
    for what, one in (*parts, ("the result", op)):
        for limit in limits:
            if one.nbytes > device.named[limit]:
                return f"{op.op}: {what} has {one.nbytes} bytes, more than {limit} = {device.named[limit]}"
    return ""


def same_float(op: Seen, device: Profile) -> str:
    """It is f32 or f16, and stays so.

    SQR, SQRT, SIN, COS, CLAMP, LEAKY_RELU, LOG, TRI, DIAG.
    """
    return typed(op, 0, *FLOATS) or one_type(op, 0, RESULT)


def unary(op: Seen, device: Profile) -> str:
    """A function of ggml_unary_op; f32 or f16, and stays so.

    UNARY: all functions of ggml_unary_op.
    """
    return known(op, UNARY_OPS) or same_float(op, device)


def glu(op: Seen, device: Profile) -> str:
    """A function of ggml_glu_op; f32 or f16, all of one type.

    GLU: all functions of ggml_glu_op.
    """
    reason = known(op, GLU_OPS) or same_float(op, device)
    return reason or (one_type(op, 0, 1) if op.source(1) else "")


def get_rows(op: Seen, device: Profile) -> str:
    """A type with a kernel.

    GET_ROWS.
    """
    return typed(op, 0, *WEIGHTS, "i32")


def set_rows(op: Seen, device: Profile) -> str:
    """From f32 or f16 to a float, q1 to q8_0 or iq4_nl type; rows numbered by i32 or i64.

    SET_ROWS.
    """
    return typed(op, 0, *FLOATS) or typed(op, 1, "i32", "i64") or typed(op, RESULT, "f32", "f16", "bf16", *_STORED)


def copy(op: Seen, device: Profile) -> str:
    """A pair of types with a kernel; quants of one type contiguous.

    CONT, CPY, DUP: the target is source 1, or without one of the source's own type.
    """
    one, target = op.need(0), op.source(1)
    to = one.type if target is None else target.type
    reason = converts(op, _COPIES, one.type, to)
    if not reason or one.type != to or one.dtype.size % 2:
        return reason
    return packed(op, 0, RESULT) if one.dtype.quantized else ""


def repeat(op: Seen, device: Profile) -> str:
    """Elements of 2 or 4 bytes, of the same size on both sides.

    REPEAT: it moves elements of 2 or 4 bytes.
    """
    to, of = op.dtype.size, op.need(0).dtype.size
    if to != of:
        return f"{op.op}: the elements have {of} and {to} bytes, which must be equal"
    return sized(op, "the size of an element in bytes", to, 2, 4)


def rope(op: Seen, device: Profile) -> str:
    """The rows are contiguous.

    ROPE.
    """
    return packed_rows(op, RESULT, 0)


def group_norm(op: Seen, device: Profile) -> str:
    """It is contiguous.

    GROUP_NORM.
    """
    return packed(op, 0)


def norm(op: Seen, device: Profile) -> str:
    """Source and result are f32.

    NORM, L2_NORM.
    """
    return all_f32(op, 0, RESULT)


def binary(op: Seen, device: Profile) -> str:
    """All f32 or f16.

    ADD, SUB, MUL, DIV.
    """
    return typed(op, 0, *FLOATS) or typed(op, 1, *FLOATS) or typed(op, RESULT, *FLOATS)


def add_id(op: Seen, device: Profile) -> str:
    """All f32, chosen by i32.

    ADD_ID.
    """
    return all_f32(op, 0, 1, RESULT) or typed(op, 2, "i32")


def add1(op: Seen, device: Profile) -> str:
    """f32 with f32, or f16 with f32 or f16.

    ADD1.
    """
    return typed(op, 0, *FLOATS) or (typed(op, 1, "f32") if op.need(0).type == "f32" else typed(op, 1, *FLOATS))


def argsort(op: Seen, device: Profile) -> str:
    """Contiguous; rows longer than a workgroup only with the Vulkan memory model.

    ARGSORT: rows longer than a workgroup need the Vulkan memory model.
    """
    if (reason := packed(op, RESULT, 0)) or device.named["vulkan_memory_model"]:
        return reason
    most = 1 << min(workgroup_log2(device), 10)
    if op.ne[0] <= most:
        return ""
    return f"{op.op}: rows of {op.ne[0]} are longer than {most}, and vulkan_memory_model is 0"


def workgroup_log2(device: Profile) -> int:
    """max_workgroup_size_log2."""
    return max(device.named["workgroup_size"], 1).bit_length() - 1


def top_k(op: Seen, device: Profile) -> str:
    """It is contiguous.

    TOP_K: for every k there is a kernel, the radix select if no other.
    """
    return packed(op, RESULT, 0)


def acc(op: Seen, device: Profile) -> str:
    """All f32.

    ACC.
    """
    return all_f32(op, 0, 1, RESULT)


def put(op: Seen, device: Profile) -> str:
    """All f32 or all i32.

    SET.
    """
    return one_type(op, 0, 1, RESULT) or typed(op, 0, "f32", "i32")


def concat(op: Seen, device: Profile) -> str:
    """One type; rows of quants contiguous.

    CONCAT (ggml_vk_concat_supported).
    """
    if (reason := one_type(op, 0, 1, RESULT)) or not op.dtype.quantized:
        return reason or sized(op, "the size of an element in bytes", op.dtype.size, 1, 2, 4, 8)
    return packed_rows(op, 0, 1, RESULT)


def arange(op: Seen, device: Profile) -> str:
    """The result is f32.

    ARANGE.
    """
    return typed(op, RESULT, "f32")


def fill(op: Seen, device: Profile) -> str:
    """The result is f32 or f16.

    FILL.
    """
    return typed(op, RESULT, *FLOATS)


def packed_f32(op: Seen, device: Profile) -> str:
    """It is f32 and contiguous.

    SCALE, DIAG_MASK_INF, ARGMAX, POOL_1D, POOL_2D, SILU_BACK, RMS_NORM_BACK, OPT_STEP_ADAMW, OPT_STEP_SGD.
    """
    return packed(op, 0) or typed(op, 0, "f32")


def soft_max(op: Seen, device: Profile) -> str:
    """It is f32 and contiguous, the mask f32 or f16.

    SOFT_MAX; source 1 is the mask.
    """
    return packed_f32(op, device) or (typed(op, 1, *FLOATS) if op.source(1) else "")


def row_sums(op: Seen, device: Profile) -> str:
    """It is f32, the rows contiguous.

    SUM, SUM_ROWS, MEAN.
    """
    return typed(op, 0, "f32") or packed_rows(op, 0)


def cumsum(op: Seen, device: Profile) -> str:
    """It is f32, the rows contiguous; subgroup arithmetic in full subgroups.

    CUMSUM.
    """
    return able(op, device, "subgroup_arithmetic") or able(op, device, "subgroup_full") or row_sums(op, device)


def solve_tri(op: Seen, device: Profile) -> str:
    """All f32; no more right sides than a workgroup has threads, and a row fits in shared memory.

    SOLVE_TRI: the right sides are as many as a workgroup has threads at most, and a row must fit in memory.
    """
    rows, sides, threads = op.need(0).ne[0], op.need(1).ne[0], 1 << workgroup_log2(device)
    if reason := all_f32(op, RESULT, 0):
        return reason
    if sides > threads:
        return f"{op.op}: {sides} right sides are more than the {threads} threads of a workgroup"
    wanted, there = 4 * (rows + sides), device.named["shared_memory"]
    return f"{op.op}: {wanted} bytes of shared memory are wanted, there are {there}" if wanted > there else ""


RULES: dict[Op, Rule] = {
    Op.UNARY: unary,
    Op.GLU: glu,
    Op.MUL_MAT: mul_mat,
    Op.MUL_MAT_ID: mul_mat_id,
    Op.FLASH_ATTN_EXT: flash_attn_ext,
    Op.GET_ROWS: get_rows,
    Op.SET_ROWS: set_rows,
    **dict.fromkeys((Op.CONT, Op.CPY, Op.DUP), copy),
    Op.REPEAT: repeat,
    Op.ROPE: rope,
    **dict.fromkeys((Op.ROPE_BACK, Op.NONE, Op.RESHAPE, Op.VIEW, Op.PERMUTE, Op.TRANSPOSE, Op.RMS_NORM), anything),
    Op.GROUP_NORM: group_norm,
    **dict.fromkeys((Op.NORM, Op.L2_NORM), norm),
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL, Op.DIV), binary),
    Op.ADD_ID: add_id,
    **dict.fromkeys((Op.SILU_BACK, Op.RMS_NORM_BACK), packed_f32),
    **dict.fromkeys((Op.SQR, Op.SQRT, Op.SIN, Op.COS, Op.CLAMP, Op.LEAKY_RELU), same_float),
    **dict.fromkeys((Op.OPT_STEP_ADAMW, Op.OPT_STEP_SGD), packed_f32),
    **dict.fromkeys((Op.LOG, Op.TRI, Op.DIAG), same_float),
    Op.ARGSORT: argsort,
    Op.TOP_K: top_k,
    Op.ACC: acc,
    Op.SET: put,
    Op.CONCAT: concat,
    Op.ADD1: add1,
    Op.ARANGE: arange,
    Op.FILL: fill,
    **dict.fromkeys((Op.SCALE, Op.DIAG_MASK_INF), packed_f32),
    Op.SOFT_MAX: soft_max,
    **dict.fromkeys((Op.SUM, Op.SUM_ROWS, Op.MEAN), row_sums),
    Op.CUMSUM: cumsum,
    Op.SOLVE_TRI: solve_tri,
    **dict.fromkeys((Op.ARGMAX, Op.POOL_1D, Op.POOL_2D), packed_f32),
    **dict.fromkeys((Op.RWKV_WKV6, Op.RWKV_WKV7), anything),
    Op.GATED_LINEAR_ATTN: gated_linear_attn,
    Op.LIGHTNING_INDEXER: lightning_indexer,
    Op.GATED_DELTA_NET: gated_delta_net,
    Op.SSM_SCAN: ssm_scan,
    **OTHER,
}
"""Every op that the switch names; any other falls to its `default`, a refusal."""
