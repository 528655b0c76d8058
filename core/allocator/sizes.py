"""How many bytes a tensor takes in a buffer of some type."""

from __future__ import annotations

from ..columns import Columns
from ..devices.seen import MissingSource
from ..errors import GgmlAbort
from ..graph import BufferType

_MAY_NOT_EXPAND = (
    "ggml-backend.cpp: GGML_ASSERT(size <= ggml_nbytes(tensor) || ggml_op_is_empty(tensor->op) || "
    "ggml_is_quantized(tensor->type) || ggml_op_alloc_size_may_expand(tensor->op)) failed"
)


def alloc_size(buft: BufferType, columns: Columns, tensor: int) -> int:
    """Unrounded bytes (ggml_backend_buft_get_alloc_size).

    Raises:
        GgmlAbort: the buffer type asks for extra bytes for an op where ggml allows none, or looks at a source that is
            not there.
    """
    try:
        size = buft.alloc_size(tensor, columns.tensors, columns.src[tensor])
    except MissingSource as error:
        raise GgmlAbort(f"{buft.name} reads through a null pointer: {error}") from None
    if size < 0:
        raise GgmlAbort(_MAY_NOT_EXPAND)
    return size
