"""The offload rule of ggml-cuda and ggml-vulkan: big enough batches are worth copying the weights of the CPU."""

from __future__ import annotations

from typing import Protocol

from ..dtypes import Shape
from ..op import Op
from .profile import Profile
from .seen import Seen

MIN_BATCH = 32
"""Rows from which on an op is taken over, unless GGML_OP_OFFLOAD_MIN_BATCH says otherwise."""


class Sized(Protocol):
    """A tensor of the engine, or an op as a device sees it."""

    @property
    def op(self) -> Op:
        """What computes it."""

    @property
    def ne(self) -> Shape:
        """Elements per dimension."""

    @property
    def n_rows(self) -> int:
        """ggml_nrows."""


def batch_size(op: Sized) -> int:
    """Rows that an op works on (get_op_batch_size of ggml-cuda.cu)."""
    if op.op is Op.GET_ROWS:
        return 0
    if op.op is Op.MUL_MAT:
        return op.ne[1]
    if op.op in (Op.MUL_MAT_ID, Op.ROPE, Op.ROPE_BACK):
        return op.ne[2]
    return op.n_rows


def big_batches(op: Seen, device: Profile) -> str:
    """ggml_backend_cuda_device_offload_op; the minimum is the device's limit `offload_min_batch`."""
    batch, least = batch_size(op), device.named["offload_min_batch"]
    return "" if batch >= least else f"{op.op}: a batch of {batch} is below the offload minimum of {least}"
