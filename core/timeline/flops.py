"""How much work a node is: arithmetic operations and bytes moved, from shapes alone.

These are the counts of the textbook, not of a kernel: a multiply and an add are two operations, every source is read
once and the result is written once. Nothing here knows a device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..op import VIEW_OPS, Op
from ..tensor import Tensor


class Work(NamedTuple):
    """One node.

    Attributes:
        flops: arithmetic operations.
        bytes: read and written.
        matrix: the operations are those of matrix products, which devices have units for.
    """

    flops: int
    bytes: int
    matrix: bool = False


NOTHING = Work(0, 0)
Sources = Sequence[Tensor]

PER_ELEMENT = {
    Op.SOFT_MAX: 5,
    Op.ROPE: 6,
    Op.RMS_NORM: 4,
    Op.NORM: 6,
    Op.L2_NORM: 4,
    Op.GROUP_NORM: 6,
    Op.UNARY: 8,
    Op.GLU: 10,
    Op.ARGSORT: 16,
    Op.TOP_K: 16,
    Op.SSM_CONV: 8,
}
"""Operations per element of the larger of result and first source; 1 for an op that is not here."""

MOVERS = frozenset({Op.CPY, Op.CONT, Op.DUP, Op.GET_ROWS, Op.SET_ROWS, Op.CONCAT, Op.REPEAT, Op.SET, Op.PAD, Op.FILL})
"""Ops that compute nothing."""


def work_of(node: Tensor, sources: Sources) -> Work:
    """The work of a node; none for a leaf, a view and an empty result (ggml computes none of these).

    Args:
        node: the result.
        sources: its sources without the empty slots, as the plan has them (scheduler copies included).
    """
    if node.op is Op.NONE or node.op in VIEW_OPS or not elements(node):
        return NOTHING
    counted = COUNTED.get(node.op)
    if counted is not None:
        found = counted(node, sources)
        if found is not None:
            return found
    return _by_elements(node, sources)


def elements(tensor: Tensor) -> int:
    """ggml_nelements."""
    a, b, c, d = tensor.ne
    return a * b * c * d


def size_of(tensor: Tensor) -> int:
    """Bytes of its elements, whatever lies between them (ggml_nbytes counts a strided tensor's gaps)."""
    return elements(tensor) // tensor.dtype.block * tensor.dtype.size


def _row_bytes(tensor: Tensor) -> int:
    """ggml_row_size of its first dimension."""
    return tensor.ne[0] // tensor.dtype.block * tensor.dtype.size


def _by_elements(node: Tensor, sources: Sources) -> Work:
    first = elements(sources[0]) if sources else 0
    each = 0 if node.op in MOVERS else PER_ELEMENT.get(node.op, 1)
    return Work(each * max(elements(node), first), sum(size_of(one) for one in sources) + size_of(node))


def _mul_mat(node: Tensor, sources: Sources) -> Work | None:
    """ggml_mul_mat: K products per element of the result."""
    if len(sources) < 2:
        return None
    moved = size_of(sources[0]) + size_of(sources[1]) + size_of(node)
    return Work(2 * sources[0].ne[0] * elements(node), moved, matrix=True)


def _mul_mat_id(node: Tensor, sources: Sources) -> Work | None:
    """ggml_mul_mat_id: as MUL_MAT; of the experts no more are read than ids can name."""
    if len(sources) < 3:
        return None
    experts, values, ids = sources[:3]
    read = min(experts.ne[2], elements(ids)) * (size_of(experts) // max(experts.ne[2], 1))
    return Work(2 * experts.ne[0] * elements(node), read + size_of(values) + size_of(ids) + size_of(node), matrix=True)


def _out_prod(node: Tensor, sources: Sources) -> Work | None:
    """ggml_out_prod: a product over the second dimension."""
    if len(sources) < 2:
        return None
    moved = size_of(sources[0]) + size_of(sources[1]) + size_of(node)
    return Work(2 * sources[0].ne[1] * elements(node), moved, matrix=True)


def _flash_attn(node: Tensor, sources: Sources) -> Work | None:
    """ggml_flash_attn_ext: q·k and the sum over v for every query, head and cell."""
    if len(sources) < 3:
        return None
    q, k, v = sources[:3]
    cells = k.ne[1]
    flops = 2 * q.ne[1] * q.ne[2] * q.ne[3] * cells * (k.ne[0] + v.ne[0])
    return Work(flops, sum(size_of(one) for one in sources) + size_of(node), matrix=True)


def _get_rows(node: Tensor, sources: Sources) -> Work | None:
    """ggml_get_rows: only the rows that are named are read."""
    if len(sources) < 2:
        return None
    read = elements(sources[1]) * _row_bytes(sources[0])
    return Work(0, read + size_of(sources[1]) + size_of(node))


def _set_rows(node: Tensor, sources: Sources) -> Work | None:
    """ggml_set_rows: only the rows that are named are written."""
    if len(sources) < 2:
        return None
    written = sources[0].ne[1] * sources[0].ne[2] * sources[0].ne[3] * _row_bytes(node)
    return Work(0, size_of(sources[0]) + size_of(sources[1]) + written)


def _convert(node: Tensor, sources: Sources) -> Work | None:
    """ggml_cpy: its second source is where the result goes, and is not read."""
    return Work(0, size_of(sources[0]) + size_of(node)) if sources else None


COUNTED: dict[Op, Callable[[Tensor, Sources], Work | None]] = {
    Op.MUL_MAT: _mul_mat,
    Op.MUL_MAT_ID: _mul_mat_id,
    Op.OUT_PROD: _out_prod,
    Op.FLASH_ATTN_EXT: _flash_attn,
    Op.GET_ROWS: _get_rows,
    Op.SET_ROWS: _set_rows,
    Op.CPY: _convert,
}
"""Ops that have a count of their own; None from one of them (a source is missing) leaves the count by elements."""
