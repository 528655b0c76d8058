"""What ggml-cuda has kernels for: state space models, convolutions and the ops of training, the rest of `cuda_rules`.

Source: ggml_backend_cuda_device_supports_op (ggml-cuda.cu), ggml 0.25.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..op import Op
from .conditions import FLOATS, RESULT, packed, sized, typed
from .profile import Profile, Rule
from .seen import Seen


def get_rows_back(op: Seen, device: Profile) -> str:
    """All f32, the result of one plane.

    ggml_backend_cuda_device_supports_op, GGML_OP_GET_ROWS_BACK; ggml 0.25.3.
    """
    why = typed(op, RESULT, "f32") or typed(op, 0, "f32")
    if not why and (op.ne[2] != 1 or op.ne[3] != 1):
        return f"GET_ROWS_BACK: the result has {op.ne[2] * op.ne[3]} planes, not 1"
    return why


def set_(op: Seen, device: Profile) -> str:
    """All f32 or all i32.

    ggml_backend_cuda_device_supports_op, GGML_OP_SET; ggml 0.25.3.
    """
    return typed(op, RESULT, "f32", "i32") or typed(op, 0, op.type) or typed(op, 1, op.type)


def repeat_back(op: Seen, device: Profile) -> str:
    """It is f32, of at most 32768 planes.

    ggml_backend_cuda_device_supports_op, GGML_OP_REPEAT_BACK; ggml 0.25.3.
    """
    planes = op.need(0).ne[2] * op.need(0).ne[3]
    return typed(op, RESULT, "f32") or (
        "" if planes <= 1 << 15 else f"REPEAT_BACK: source 0 has {planes} planes, more than 32768"
    )


def col2im_1d(op: Seen, device: Profile) -> str:
    """One float type, contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_COL2IM_1D; ggml 0.25.3.
    """
    return typed(op, 0, *FLOATS, "bf16") or typed(op, RESULT, op.need(0).type) or packed(op, 0, RESULT)


def silu_back(op: Seen, device: Profile) -> str:
    """It is f32 and contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_SILU_BACK; ggml 0.25.3.
    """
    return packed(op, 0) or typed(op, 0, "f32")


def whole_source(op: Seen, device: Profile) -> str:
    """It is contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_RMS_NORM_BACK and GROUP_NORM; ggml 0.25.3.
    """
    return packed(op, 0)


def two_whole_sources(op: Seen, device: Profile) -> str:
    """Both sources are contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_IM2COL, IM2COL_3D, CONV_2D and ACC; ggml 0.25.3.
    """
    return packed(op, 0, 1)


def all_f32(op: Seen, device: Profile) -> str:
    """All f32.

    ggml_backend_cuda_device_supports_op, GGML_OP_OUT_PROD, DSV4_HC_COMB, DSV4_HC_PRE and DSV4_HC_POST, whose fourth
    source may be missing; ggml 0.25.3.
    """
    required = {Op.OUT_PROD: 2, Op.DSV4_HC_COMB: 3, Op.DSV4_HC_PRE: 2, Op.DSV4_HC_POST: 3}[op.op]
    optional = (3,) if op.op is Op.DSV4_HC_POST and op.source(3) is not None else ()
    checks = (typed(op, slot, "f32") for slot in (*range(required), *optional, RESULT))
    return next(filter(None, checks), "")


def ssm_scan(op: Seen, device: Profile) -> str:
    """Mamba 2: d_state 96, 128 or 256; Mamba 1: d_state 16 and one state kept.

    ggml_backend_cuda_device_supports_op, GGML_OP_SSM_SCAN; Mamba 2 when A has one value per head; ggml 0.25.3.
    """
    state = op.need(0)
    if op.need(3).ne[0] == 1:
        why = sized(op, "d_state", state.ne[0], 96, 128, 256)
        return why or ("" if state.ne[1] % 16 == 0 else f"SSM_SCAN: head size {state.ne[1]} is not a multiple of 16")
    if op.param(0) > 1:
        return f"SSM_SCAN: Mamba 1 has no kernel that keeps {op.param(0)} states"
    why = sized(op, "d_state of Mamba 1", state.ne[0], 16) or sized(op, "its head size", state.ne[1], 1)
    why = why or sized(op, "its number of groups", op.need(4).ne[1], 1)
    return why or ("" if state.ne[2] % 128 == 0 else f"SSM_SCAN: {state.ne[2]} heads are not a multiple of 128")


def ssm_conv(op: Seen, device: Profile) -> str:
    """d_inner is a multiple of 128.

    ggml_backend_cuda_device_supports_op, GGML_OP_SSM_CONV; ggml 0.25.3.
    """
    inner = op.need(0).ne[1]
    return "" if inner % 128 == 0 else f"SSM_CONV: d_inner {inner} is not a multiple of 128"


def soft_max_back(op: Seen, device: Profile) -> str:
    """No ALiBi.

    ggml_backend_cuda_device_supports_op, GGML_OP_SOFT_MAX_BACK; ggml 0.25.3.
    """
    bias = op.param_f32(1)
    return "" if bias == 0 else f"SOFT_MAX_BACK: ALiBi is on (max_bias {bias:g})"


def roll(op: Seen, device: Profile) -> str:
    """It is f32 and contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_ROLL; ggml 0.25.3.
    """
    return typed(op, 0, "f32") or packed(op, 0)


def conv_transpose_1d(op: Seen, device: Profile) -> str:
    """Both sources are f32.

    ggml_backend_cuda_device_supports_op, GGML_OP_CONV_TRANSPOSE_1D; ggml 0.25.3.
    """
    return typed(op, 0, "f32") or typed(op, 1, "f32")


def conv_3d(op: Seen, device: Profile) -> str:
    """An f32 or f16 kernel over f32, all contiguous.

    ggml_backend_cuda_device_supports_op, GGML_OP_CONV_3D; ggml 0.25.3.
    """
    return conv_2d_dw(op, device) or packed(op, 0, 1, RESULT)


def conv_2d_dw(op: Seen, device: Profile) -> str:
    """An f32 or f16 kernel over f32.

    ggml_backend_cuda_device_supports_op, GGML_OP_CONV_2D_DW; ggml 0.25.3.
    """
    return typed(op, 0, *FLOATS) or typed(op, 1, "f32") or typed(op, RESULT, "f32")


OTHER: Mapping[Op, Rule] = {
    **dict.fromkeys((Op.RMS_NORM_BACK, Op.GROUP_NORM), whole_source),
    **dict.fromkeys((Op.IM2COL, Op.IM2COL_3D, Op.CONV_2D, Op.ACC), two_whole_sources),
    **dict.fromkeys((Op.OUT_PROD, Op.DSV4_HC_COMB, Op.DSV4_HC_PRE, Op.DSV4_HC_POST), all_f32),
    Op.GET_ROWS_BACK: get_rows_back,
    Op.SET: set_,
    Op.REPEAT_BACK: repeat_back,
    Op.CONV_TRANSPOSE_1D: conv_transpose_1d,
    Op.COL2IM_1D: col2im_1d,
    Op.SILU_BACK: silu_back,
    Op.SSM_SCAN: ssm_scan,
    Op.SSM_CONV: ssm_conv,
    Op.SOFT_MAX_BACK: soft_max_back,
    Op.ROLL: roll,
    Op.CONV_3D: conv_3d,
    Op.CONV_2D_DW: conv_2d_dw,
}
"""The rules of this file by op."""
