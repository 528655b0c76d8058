"""How many bytes a tensor takes in a buffer of some type."""

from __future__ import annotations

from ..errors import GgmlAbort
from ..graph import BufferType
from ..tensor import Tensor

_MAY_NOT_EXPAND = (
    "ggml-backend.cpp: GGML_ASSERT(size <= ggml_nbytes(tensor) || ggml_op_is_empty(tensor->op) || "
    "ggml_is_quantized(tensor->type) || ggml_op_alloc_size_may_expand(tensor->op)) failed"
)


def alloc_size(buft: BufferType, tensor: Tensor) -> int:
    """Unrounded bytes (ggml_backend_buft_get_alloc_size).

    Raises:
        GgmlAbort: the buffer type asks for extra bytes for an op where ggml allows none.
    """
    if not buft.pad_quant and not buft.op_extra:
        return tensor.nbytes
    size = buft.alloc_size(tensor)
    if size < 0:
        raise GgmlAbort(_MAY_NOT_EXPAND)
    return size
