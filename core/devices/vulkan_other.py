"""Vulkan: convolutions, images, training and the hyper-connection ops (ggml_backend_vk_device_supports_op, 0.25.3)."""

from __future__ import annotations

from ..op import Op
from .conditions import (
    FLOATS,
    RESULT,
    able,
    all_f32,
    laid_out,
    one_type,
    packed,
    shaped_alike,
    sized,
    typed,
)
from .profile import Profile, Rule
from .seen import Seen

_BILINEAR = 1  # GGML_SCALE_MODE_BILINEAR
_ANTIALIAS = 1 << 9  # GGML_SCALE_FLAG_ANTIALIAS


def single(op: Seen, device: Profile) -> str:
    """It is f32.

    PAD, PAD_REFLECT_1D, ROLL, TIMESTEP_EMBEDDING, SSM_CONV.
    """
    return typed(op, 0, "f32")


def both(op: Seen, device: Profile) -> str:
    """Source and result are f32.

    REPEAT_BACK, GET_ROWS_BACK.
    """
    return all_f32(op, RESULT, 0)


def upscale(op: Seen, device: Profile) -> str:
    """It is f32; antialiasing with the bilinear mode only.

    UPSCALE: antialiasing only with the bilinear mode.
    """
    mode = op.param(0)
    if mode & _ANTIALIAS and mode & 0xFF != _BILINEAR:
        return f"{op.op}: antialiasing with mode {mode & 0xFF}, and only mode {_BILINEAR} (bilinear) has it"
    return typed(op, 0, "f32")


def out_prod(op: Seen, device: Profile) -> str:
    """All f32 and contiguous.

    OUT_PROD.
    """
    return packed(op, 0, 1) or all_f32(op, 0, 1, RESULT)


def soft_max_back(op: Seen, device: Profile) -> str:
    """Both f32 and contiguous.

    SOFT_MAX_BACK.
    """
    return packed(op, 0, 1) or all_f32(op, 0, 1)


def cross_entropy_loss(op: Seen, device: Profile) -> str:
    """Both f32, contiguous and of one shape; the result a scalar.

    CROSS_ENTROPY_LOSS.
    """
    return packed(op, 0, 1, RESULT) or all_f32(op, 0, 1, RESULT) or shaped_alike(op, 0, 1) or _scalar(op, RESULT)


def cross_entropy_loss_back(op: Seen, device: Profile) -> str:
    """All f32 and contiguous, of one shape with a scalar gradient.

    CROSS_ENTROPY_LOSS_BACK.
    """
    return (
        packed(op, 0, 1, 2, RESULT)
        or all_f32(op, 0, 1, 2, RESULT)
        or _scalar(op, 0)
        or shaped_alike(op, 1, 2)
        or shaped_alike(op, 1, RESULT)
    )


def _scalar(op: Seen, slot: int) -> str:
    return laid_out(op, lambda one: one.ne == (1, 1, 1, 1), "a scalar", slot)


def count_equal(op: Seen, device: Profile) -> str:
    """Both i32 and contiguous.

    COUNT_EQUAL.
    """
    return packed(op, 0, 1) or typed(op, 0, "i32") or typed(op, 1, "i32")


def im2col(op: Seen, device: Profile) -> str:
    """Source 1 is f32 and contiguous, the result f32 or f16.

    IM2COL.
    """
    return packed(op, 1) or im2col_3d(op, device)


def im2col_3d(op: Seen, device: Profile) -> str:
    """Source 1 is f32, the result f32 or f16.

    IM2COL_3D.
    """
    return typed(op, 1, "f32") or typed(op, RESULT, *FLOATS)


def conv_2d_dw(op: Seen, device: Profile) -> str:
    """An f32 or f16 kernel over f32.

    CONV_2D_DW.
    """
    return typed(op, 0, *FLOATS) or typed(op, 1, "f32")


def conv_transpose_1d(op: Seen, device: Profile) -> str:
    """Both f32.

    CONV_TRANSPOSE_1D.
    """
    return all_f32(op, 0, 1)


def col2im_1d(op: Seen, device: Profile) -> str:
    """One float type, contiguous.

    COL2IM_1D.
    """
    return typed(op, 0, *FLOATS, "bf16") or one_type(op, 0, RESULT) or packed(op, 0, RESULT)


def conv_2d(op: Seen, device: Profile) -> str:
    """A contiguous f32 or f16 kernel over contiguous f32, channels that match.

    CONV_2D, CONV_TRANSPOSE_2D: channels as ggml's own constructors put them.
    """
    into, outof = (3, 2) if op.op is Op.CONV_2D else (2, 3)
    kernel, image = op.need(0), op.need(1)
    return (
        conv_3d(op, device)
        or sized(op, "the element stride of source 0 in bytes", kernel.nb[0], 4, 2)
        or sized(op, "the number of channels of the result", op.ne[2], kernel.ne[into])
        or sized(op, "the number of channels of source 1", image.ne[2], kernel.ne[outof])
    )


def conv_3d(op: Seen, device: Profile) -> str:
    """A contiguous f32 or f16 kernel over contiguous f32.

    CONV_3D.
    """
    return typed(op, 0, *FLOATS) or all_f32(op, 1, RESULT) or packed(op, 0, 1, RESULT)


def hc_comb(op: Seen, device: Profile) -> str:
    """All f32; full subgroups of 16 lanes or more.

    DSV4_HC_COMB: a token takes 16 lanes of a subgroup.
    """
    reason = _every_f32(op)
    for limit in ("subgroup_basic", "subgroup_shuffle", "subgroup_full"):
        reason = reason or able(op, device, limit)
    lanes = device.named["subgroup_size"]
    return reason or (f"{op.op}: a subgroup has {lanes} lanes, fewer than 16" if lanes < 16 else "")


def hc_pre(op: Seen, device: Profile) -> str:
    """All f32, four streams.

    DSV4_HC_PRE.
    """
    return _every_f32(op) or sized(op, "the second dimension of source 0", op.need(0).ne[1], 4)


def hc_post(op: Seen, device: Profile) -> str:
    """All f32, four streams.

    DSV4_HC_POST.
    """
    return _every_f32(op) or sized(op, "the second dimension of source 1", op.need(1).ne[1], 4)


def _every_f32(op: Seen) -> str:
    return all_f32(op, RESULT, *(slot for slot, one in enumerate(op.src) if one is not None))


OTHER: dict[Op, Rule] = {
    Op.GET_ROWS_BACK: both,
    Op.REPEAT_BACK: both,
    Op.OUT_PROD: out_prod,
    Op.UPSCALE: upscale,
    **dict.fromkeys((Op.PAD, Op.PAD_REFLECT_1D, Op.ROLL), single),
    Op.SOFT_MAX_BACK: soft_max_back,
    Op.DSV4_HC_COMB: hc_comb,
    Op.DSV4_HC_PRE: hc_pre,
    Op.DSV4_HC_POST: hc_post,
    Op.CROSS_ENTROPY_LOSS: cross_entropy_loss,
    Op.CROSS_ENTROPY_LOSS_BACK: cross_entropy_loss_back,
    Op.COUNT_EQUAL: count_equal,
    Op.IM2COL: im2col,
    Op.IM2COL_3D: im2col_3d,
    Op.TIMESTEP_EMBEDDING: single,
    Op.CONV_2D_DW: conv_2d_dw,
    Op.SSM_CONV: single,
    Op.CONV_TRANSPOSE_1D: conv_transpose_1d,
    Op.COL2IM_1D: col2im_1d,
    **dict.fromkeys((Op.CONV_2D, Op.CONV_TRANSPOSE_2D), conv_2d),
    Op.CONV_3D: conv_3d,
}
