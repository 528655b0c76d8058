"""The ops whose kernels follow ggml's order of summation; the others are computed by the kernels of `KERNELS`."""

from __future__ import annotations

from ...op import Op
from ..kernel import Kernel
from ..kernels.known import KERNELS
from . import attention, glu, matmul, norms, rope, scans, softmax, unary

REFERENCE: dict[Op, Kernel] = {
    **KERNELS,
    Op.MUL_MAT: matmul.MUL_MAT,
    Op.MUL_MAT_ID: matmul.MUL_MAT_ID,
    Op.FLASH_ATTN_EXT: attention.FLASH_ATTN_EXT,
    Op.SOFT_MAX: softmax.SOFT_MAX,
    Op.ROPE: rope.ROPE,
    Op.ROPE_BACK: rope.ROPE_BACK,
    Op.GLU: glu.GLU,
    Op.UNARY: unary.UNARY,
    Op.SSM_SCAN: scans.SSM_SCAN,
    Op.GATED_DELTA_NET: scans.GATED_DELTA_NET,
    Op.NORM: norms.NORM,
    Op.RMS_NORM: norms.RMS_NORM,
    Op.SUM_ROWS: norms.SUM_ROWS,
}
