"""Devices as declared in a graph file: lists of what they cannot do.

Each answer is a sentence when it is a no and an empty string when it is a yes, so that a refusal is never without its
reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Backend
from ..op import VIEW_OPS, Op
from ..tensor import Tensor
from .batches import batch_size

_ALWAYS = VIEW_OPS | {Op.NONE}


def supports_everything(backend: Backend) -> bool:
    """No op and no type is refused: `why_unsupported` need not be asked."""
    return backend.ops is None and not (backend.ops_except or backend.types_except or backend.op_types_except)


def why_unsupported(backend: Backend, tensor: Tensor, sources: Sequence[Tensor]) -> str:
    """Why the backend cannot run the op (ggml_backend_supports_op), empty when it can."""
    op = tensor.op
    if op in backend.ops_except:
        return f"{backend.name} does not support {op}"
    if op in _ALWAYS:
        return ""
    if backend.ops is not None and op not in backend.ops:
        return f"{backend.name} supports only {', '.join(sorted(backend.ops))}"
    for where, one in [("the result", tensor), *((f"source {s.name}", s) for s in sources)]:
        name = one.dtype.name
        if name in backend.types_except:
            return f"{backend.name} does not support type {name} ({where})"
        if (op, name) in backend.op_types_except:
            return f"{backend.name} does not support {op} with type {name} ({where})"
    return ""


def why_not_offloaded(backend: Backend, tensor: Tensor) -> str:
    """Why the backend does not want the op of a host weight (ggml_backend_offload_op), empty when it does."""
    if backend.offload is not None and tensor.op not in backend.offload:
        return f"{backend.name} takes over {', '.join(sorted(backend.offload)) or 'nothing'}"
    batch = batch_size(tensor)
    if batch < backend.offload_min_batch:
        return f"a batch of {batch} is below {backend.name}'s offload minimum of {backend.offload_min_batch}"
    return ""
