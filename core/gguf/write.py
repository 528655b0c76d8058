"""Write GGUF headers: made-up models, and copies of real headers without their data.

llama.cpp's loader checks that every tensor lies inside its file but, asked for no allocation, never reads there: a
header with a hole of the right size behind it is a model to it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Union

import msgspec

from ..dtypes import DType
from ..errors import InputError
from .header import Header
from .read import DEFAULT_ALIGNMENT, parse_header
from .splits import part_name
from .values import ARR, BOOL, F32, I32, I64, STR, U32, U64, VALUE_TYPES, LazyArray, Scalar, ValueType


class Typed(msgspec.Struct, frozen=True):
    """A metadata value with its type: ``Typed(U16, 3)``, or of an array ``Typed(F32, [1.0, 2.0])`` its elements'."""

    type: ValueType
    value: Scalar | Sequence[Given]


Given = Union[Scalar, Typed, Sequence["Given"]]  # noqa: UP007
"""What may stand for a value: an int becomes u32, i32, u64 or i64, the first that holds it (and all its neighbours in
a list), a float f32; an empty list becomes one of u32."""
Row = tuple[str, DType, Sequence[int]]

_RANGES = ((U32, 0, 2**32 - 1), (I32, -(2**31), 2**31 - 1), (U64, 0, 2**64 - 1), (I64, -(2**63), 2**63 - 1))
_KINDS: dict[type, ValueType] = {bool: BOOL, str: STR, float: F32, list: ARR, tuple: ARR, Typed: ARR}


def header_bytes(
    metadata: Mapping[str, Given],
    tensors: Sequence[Row],
    *,
    version: int = 3,
    big_endian: bool = False,
    alignment: int = DEFAULT_ALIGNMENT,
) -> bytes:
    """A header, up to the end of the tensor table; the tensors follow one another, aligned.

    Args:
        metadata: values by key. ``general.alignment`` is added when `alignment` is not 32.
        tensors: name, type and elements per dimension, innermost first.
        version: of the format, 2 or 3.
        big_endian: byte order.
        alignment: of tensor data, in bytes.

    Raises:
        InputError: a value has no type, or the result would not be read again.
    """
    order = ">" if big_endian else "<"
    entries = dict(metadata)
    if alignment != DEFAULT_ALIGNMENT:
        entries.setdefault("general.alignment", Typed(U32, alignment))
    pieces = [b"GGUF", struct.pack(order + "IQQ", version, len(tensors), len(entries))]
    for key, given in entries.items():
        try:
            pieces += [_string(key, order), _entry(given, order)]
        except (struct.error, TypeError, ValueError) as error:
            raise InputError(f"key {key!r}: {given!r} cannot be written as GGUF metadata ({error})") from None
    offset = 0
    for name, dtype, ne in tensors:
        try:
            row = struct.pack(f"{order}I{len(ne)}QIQ", len(ne), *ne, dtype.id, offset)
            pieces += [_string(name, order), row]
        except (struct.error, ValueError) as error:
            raise InputError(f"tensor {name!r}: {list(ne)} cannot be written as a GGUF tensor ({error})") from None
        offset += -(-(prod(ne) // dtype.block * dtype.size) // alignment) * alignment
    data = b"".join(pieces)
    parse_header(data, "the header to be written")
    return data


def write_header_only(path: str | Path, header: Header, *, sparse: bool = True) -> Path:
    """A copy of a model without its data: the bytes of its header, then a hole where the tensors would be.

    A split model makes several files beside each other: ``name.gguf`` becomes ``name-00001-of-00003.gguf`` and so on.

    Args:
        path: the file to write; it must not exist.
        header: as read from a file or from bytes; all its parts must be there.
        sparse: make the files as long as the originals (llama.cpp wants that); otherwise they end with the header.

    Returns:
        The path of the first file.

    Raises:
        InputError: a part is missing, or the original has changed.
        OSError: a file cannot be written.
    """
    count = header.split_count
    if len(header.parts) != count:
        raise InputError(
            f"{header.parts[0].source.where}: only {len(header.parts)} of {count} parts of the model are there"
        )
    path = Path(path)
    paths = [path] if count == 1 else [path.with_name(part_name(path.stem, one.no, count)) for one in header.parts]
    for target, part in zip(paths, header.parts, strict=True):
        data = part.source.read(0, part.header_bytes)
        if len(data) != part.header_bytes:
            raise InputError(f"{part.source.where}: the file is shorter than it was; open it again")
        with open(target, "xb") as file:
            file.write(data)
            if sparse:
                file.truncate(part.file_bytes)
    return paths[0]


def typed_metadata(header: Header) -> dict[str, Given]:
    """The metadata of a header with their types, long arrays read, so that they can be changed and written again.

    Arrays inside arrays get their types from their values.

    Raises:
        InputError: the file has changed.
    """
    entries: dict[str, Given] = {}
    for key, value in header.metadata.items():
        name = header.types[key].removeprefix("arr[").removesuffix("]")
        entries[key] = Typed(VALUE_TYPES[name], value.read() if isinstance(value, LazyArray) else value)
    return entries


def _string(text: str, order: str) -> bytes:
    data = text.encode()
    return struct.pack(order + "Q", len(data)) + data


def _entry(given: Given, order: str) -> bytes:
    """The type of a value, and the value."""
    kind, value = _typed(given)
    if isinstance(value, (list, tuple)):
        return struct.pack(order + "I", ARR.id) + _array(kind, value, order)
    return struct.pack(order + "I", kind.id) + _scalar(kind, value, order)


def _array(kind: ValueType, values: Sequence[Given], order: str) -> bytes:
    """The type of the elements, their number, and they."""
    head = struct.pack(order + "IQ", kind.id, len(values))
    if kind.size:
        return head + struct.pack(f"{order}{len(values)}{kind.code}", *values)
    return head + b"".join(_scalar(kind, one, order) for one in values)


def _scalar(kind: ValueType, value: object, order: str) -> bytes:
    """One element of an array, or a value that is none."""
    if kind.size:
        return struct.pack(order + kind.code, value)
    if kind is STR and isinstance(value, str):
        return _string(value, order)
    if kind is ARR and isinstance(value, (list, tuple, Typed)):
        inner, values = _typed(value)
        if isinstance(values, (list, tuple)):
            return _array(inner, values, order)
    raise TypeError(f"a {type(value).__name__} is no {kind.name}")


def _typed(given: Given) -> tuple[ValueType, object]:
    """The type of a value, or of a list's elements, and the bare value."""
    if isinstance(given, Typed):
        return given.type, given.value
    if isinstance(given, (list, tuple)):
        return _kind(given), given
    return _kind([given]), given


def _kind(values: Sequence[object]) -> ValueType:
    """The type that holds all values."""
    integers = [one for one in values if type(one) is int]
    if len(integers) == len(values):
        low, high = min(integers, default=0), max(integers, default=0)
        for kind, least, most in _RANGES:
            if least <= low and high <= most:
                return kind
        raise ValueError("no integer type of GGUF holds it")
    kinds = {F32 if type(one) is int else _KINDS.get(type(one)) for one in values}
    found = kinds.pop()
    if kinds or found is None:
        raise TypeError("GGUF has no type for it; a list has elements of one type")
    return found
