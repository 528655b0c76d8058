"""The tensor table of a GGUF header, after `gguf_init_from_reader` of gguf.cpp.

Stricter than gguf.cpp: limits (`limits.py`), names in UTF-8 without zero bytes, no tensor without elements.
"""

from __future__ import annotations

import struct

from ..dtypes import DTYPES, DType, Shape
from .cursor import Cursor
from .header import TensorInfo
from .limits import MAX_BYTES, MAX_INT64, MAX_NAME

BY_ID: dict[int, DType] = {dtype.id: dtype for dtype in DTYPES.values()}
REMOVED = (4, 5, 31, 32, 33, 36, 37, 38)
MAX_DIMS = 4


def read_table(cursor: Cursor, count: int, alignment: int, part: int) -> tuple[TensorInfo, ...]:
    """`count` rows; each tensor's data must follow the one before, padded to `alignment` bytes, as gguf.cpp demands.

    Raises:
        InputError: a row is wrong, names its tensor and byte position.
    """
    seen: set[str] = set()
    rows: list[TensorInfo] = []
    expected = 0
    tail = struct.Struct(cursor.order + "IQ")
    for index in range(count):
        cursor.tensors = count - 1 - index
        cursor.what, cursor.at = f"row {index:,} of the tensor table", cursor.pos
        name = cursor.name()
        cursor.what = f"tensor {name!r}"
        if len(name.encode()) > MAX_NAME:
            raise cursor.error(f"its name has {len(name.encode()):,} bytes, ggml takes {MAX_NAME}")
        if name in seen:
            raise cursor.error("the name is there twice")
        seen.add(name)
        ne, n_dims = _shape(cursor)
        type_id, offset = tail.unpack_from(cursor.data, cursor.take(tail.size))
        dtype = BY_ID.get(type_id)
        if dtype is None:
            raise cursor.error(_unknown(type_id))
        nbytes = _nbytes(cursor, dtype, ne)
        if offset != expected:
            raise cursor.error(_displaced(offset, expected, alignment, rows))
        expected = offset + -(-nbytes // alignment) * alignment
        if expected > MAX_BYTES:
            raise cursor.error(f"its data end at offset {offset + nbytes:,}, no model is larger than 2^53 bytes")
        rows.append(TensorInfo(name, dtype, ne, offset, nbytes, n_dims, part))
    return tuple(rows)


def _shape(cursor: Cursor) -> tuple[Shape, int]:
    """The dimensions, padded with 1; a scalar has none."""
    n_dims = cursor.number("I", 4)
    if n_dims > MAX_DIMS:
        raise cursor.error(f"{n_dims:,} dimensions, ggml has at most {MAX_DIMS}")
    start = cursor.take(8 * n_dims)
    ne = (*struct.unpack_from(f"{cursor.order}{n_dims}Q", cursor.data, start), 1, 1, 1, 1)[:MAX_DIMS]
    elements = 1
    for dimension, size in enumerate(ne):
        if not 0 < size <= MAX_INT64:
            raise cursor.error(f"dimension {dimension} has {size:,} elements, 1 to 2^63 - 1 are possible")
        elements *= size
    if elements > MAX_INT64:
        raise cursor.error(f"{' x '.join(map(str, ne[:n_dims]))} elements are more than 2^63")
    return ne, n_dims


def _nbytes(cursor: Cursor, dtype: DType, ne: Shape) -> int:
    """Bytes of a contiguous tensor (ggml_nbytes)."""
    if ne[0] % dtype.block:
        raise cursor.error(f"rows of {ne[0]:,} elements are not whole blocks of {dtype.block} ({dtype.name})")
    return ne[0] // dtype.block * dtype.size * ne[1] * ne[2] * ne[3]


def _unknown(type_id: int) -> str:
    if type_id in REMOVED:
        return f"type {type_id} was removed from ggml; convert the model again"
    return f"unknown type {type_id:,}, ggml has 0 to {max(BY_ID)}"


def _displaced(offset: int, expected: int, alignment: int, rows: list[TensorInfo]) -> str:
    """Why an offset is not the one that gguf.cpp expects."""
    if offset % alignment:
        return f"its data offset {offset:,} is no multiple of the alignment {alignment:,}"
    place = f"its data begin at offset {offset:,}"
    for other in rows:
        if other.offset <= offset < other.offset + other.nbytes:
            return f"{place}, inside those of tensor {other.name!r}"
    after = f"tensor {rows[-1].name!r} ends" if rows else "the data begin"
    return f"{place}, ggml reads only tensors one after the other: {after} at {expected:,}"
