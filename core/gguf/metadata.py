"""The metadata of a GGUF header: keys and values, after `gguf_init_from_reader` of gguf.cpp.

Stricter than gguf.cpp: limits (`limits.py`), keys in UTF-8 without zero bytes. More lenient: arrays in arrays are read.
"""

from __future__ import annotations

import struct

from .cursor import Cursor
from .limits import MAX_DEPTH, MAX_ELEMENTS, MAX_INNER, SHORT_ARRAY, SHORT_ARRAYS
from .values import BY_ID, STR, LazyArray, Value, ValueType, decode

Metadata = dict[str, Value]
Types = dict[str, str]


def read_metadata(cursor: Cursor, count: int) -> tuple[Metadata, Types]:
    """`count` entries: the value of each key, and its type as written in the file (``u32``, ``arr[str]``).

    Raises:
        InputError: an entry is wrong, names its key and byte position.
    """
    values: Metadata = {}
    types: Types = {}
    for index in range(count):
        cursor.entries = count - 1 - index
        cursor.what, cursor.at = f"metadata entry {index:,}", cursor.pos
        key = cursor.name()
        if not key:
            raise cursor.error("its key is empty")
        cursor.what = f"key {key!r}"
        if key in values:
            raise cursor.error("the key is there twice")
        kind = _type(cursor)
        if kind.size:
            start = cursor.take(kind.size)
            (values[key],) = struct.unpack_from(cursor.order + kind.code, cursor.data, start)
            types[key] = kind.name
        elif kind is STR:
            values[key] = cursor.string().decode("utf-8", "replace")
            types[key] = kind.name
        else:
            values[key], types[key] = _array(cursor)
    return values, types


def _type(cursor: Cursor) -> ValueType:
    number = cursor.number("I", 4)
    kind = BY_ID.get(number)
    if kind is None:
        raise cursor.error(f"unknown value type {number:,} at byte {cursor.pos - 4:,}, there are 0 to {max(BY_ID)}")
    return kind


def _array(cursor: Cursor) -> tuple[Value, str]:
    """Pass over an array; its elements when they are few."""
    kind = _type(cursor)
    count = cursor.number("Q", 8)
    start = cursor.pos
    before = cursor.elements
    _pass(cursor, kind, count, 1)
    elements = count if kind.size else cursor.elements - before
    if elements <= SHORT_ARRAY and cursor.kept + elements <= SHORT_ARRAYS:
        cursor.kept += elements
        if kind.size == 0:
            cursor.count_text(cursor.pos - start)
        value: Value = decode(kind, count, cursor.data, start, cursor.order)[0]
    else:
        value = LazyArray(kind, count, start, cursor.pos, cursor.order == ">", cursor.source)
    return value, f"arr[{kind.name}]"


def _pass(cursor: Cursor, kind: ValueType, count: int, depth: int) -> None:
    """Check the elements of an array and put the cursor behind them, without making objects."""
    if count > MAX_ELEMENTS:
        raise cursor.error(f"an array of {count:,} elements at byte {cursor.pos:,}, none has over {MAX_ELEMENTS:,}")
    if kind.size:
        cursor.elements += count if depth > 1 else 0
        cursor.take(count * kind.size)
        return
    cursor.elements += count
    if kind is STR:
        if cursor.elements > MAX_ELEMENTS:
            raise cursor.error(f"over {MAX_ELEMENTS:,} strings so far, at byte {cursor.pos:,}; no header has")
        _pass_strings(cursor, count)
        return
    cursor.inner += count
    if cursor.inner > MAX_INNER:
        raise cursor.error(f"over {MAX_INNER:,} arrays inside arrays so far, at byte {cursor.pos:,}; no header has")
    if depth == MAX_DEPTH:
        raise cursor.error(f"arrays more than {MAX_DEPTH} deep, at byte {cursor.pos:,}")
    for index in range(count):
        cursor.require(cursor.pos + 12 * (count - index))
        inner = _type(cursor)
        _pass(cursor, inner, cursor.number("Q", 8), depth + 1)


def _pass_strings(cursor: Cursor, count: int) -> None:
    """Walk over the lengths; the hot loop of a header with a vocabulary."""
    length = struct.Struct(cursor.order + "Q").unpack_from
    pos, left = cursor.pos, count
    while left:
        # At least the lengths of those to come must be there. Then walk until the bytes at hand run out.
        cursor.require(pos + 8 * left)
        data, passed = cursor.data, 0
        try:
            for passed in range(1, left + 1):  # noqa: B007 (counts the strings whose length was there)
                pos += 8 + length(data, pos)[0]
        except (struct.error, OverflowError):
            passed -= 1
        left -= passed
        cursor.require(pos + 8 * left)  # the last string may be longer than the bytes at hand
    cursor.pos = pos
