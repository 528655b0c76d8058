"""Every op with cases, and those that need none."""

from galloscope.core.op import Op
from galloscope.tests.core.backends.cases import attention, elementwise, moved, scans, shaped
from galloscope.tests.core.backends.cases.given import MakeCases

CASES: dict[Op, MakeCases] = {
    **elementwise.CASES,
    **moved.CASES,
    **attention.CASES,
    **shaped.CASES,
    **scans.CASES,
}
WITHOUT: dict[Op, str] = {}
"""Ops of KERNELS that the real ggml cannot be asked about, with the reason."""

CONTIGUOUS: dict[Op, str] = {
    **dict.fromkeys(
        (Op.SCALE, Op.SOFT_MAX_BACK, Op.DIAG_MASK_INF, Op.DIAG_MASK_ZERO, Op.TRI, Op.CONV_2D_DW),
        "its kernel in ggml-cpu asserts that",
    ),
    **dict.fromkeys(
        (Op.RWKV_WKV6, Op.RWKV_WKV7, Op.GATED_LINEAR_ATTN, Op.SOLVE_TRI),
        "its kernel in ggml-cpu goes through the bytes without looking at nb",
    ),
    Op.ARANGE: "it has no source",
    Op.TIMESTEP_EMBEDDING: "its source has one dimension",
}
"""Ops whose sources are contiguous in all cases, with the reason."""
