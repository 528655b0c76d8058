"""The types of metadata values (enum gguf_type), and arrays that are read when somebody asks."""

from __future__ import annotations

import struct
from typing import Union

import msgspec

from ..errors import InputError
from .source import Source


class ValueType(msgspec.Struct, frozen=True):
    """One gguf_type.

    Attributes:
        name: as `gguf_type_name` prints it.
        id: the number in enum gguf_type.
        code: the letter of the struct module; empty for strings and arrays.
        size: bytes; 0 for strings and arrays, whose size varies.
    """

    name: str
    id: int
    code: str = ""
    size: int = 0


U8 = ValueType("u8", 0, "B", 1)
I8 = ValueType("i8", 1, "b", 1)
U16 = ValueType("u16", 2, "H", 2)
I16 = ValueType("i16", 3, "h", 2)
U32 = ValueType("u32", 4, "I", 4)
I32 = ValueType("i32", 5, "i", 4)
F32 = ValueType("f32", 6, "f", 4)
BOOL = ValueType("bool", 7, "?", 1)
STR = ValueType("str", 8)
ARR = ValueType("arr", 9)
U64 = ValueType("u64", 10, "Q", 8)
I64 = ValueType("i64", 11, "q", 8)
F64 = ValueType("f64", 12, "d", 8)

VALUE_TYPES: dict[str, ValueType] = {
    one.name: one for one in (U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64)
}
"""Every type by name."""
BY_ID: dict[int, ValueType] = {one.id: one for one in VALUE_TYPES.values()}
"""Every type by its number in the file."""

Scalar = Union[bool, int, float, str]  # noqa: UP007 (a type alias must also evaluate on Python 3.10 with strings)
Items = tuple["Scalar | Items", ...]


class LazyArray(msgspec.Struct, frozen=True):
    """A long array of the metadata: checked and measured, not turned into objects.

    Attributes:
        type: of the elements; ``arr`` for an array of arrays.
        count: number of elements.
        offset: byte position of the first element in the file.
        end: byte position after the last.
        big_endian: byte order of the file.
        source: where to read them.
    """

    type: ValueType
    count: int
    offset: int
    end: int
    big_endian: bool
    source: Source

    def __len__(self) -> int:
        """Number of elements."""
        return self.count

    def read(self, most: int | None = None, errors: str = "replace") -> Items:
        """The elements, or the first `most` of them; `errors` as for `decode`.

        Raises:
            InputError: the file has changed since its header was read.
        """
        count = self.count if most is None else min(most, self.count)
        end = self.offset + count * self.type.size if self.type.size else self.end
        data = self.source.read(self.offset, end)
        try:
            return decode(self.type, count, data, 0, ">" if self.big_endian else "<", errors)[0]
        except (struct.error, IndexError, KeyError):
            raise InputError(
                f"{self.source.where}: the array at byte {self.offset:,} is not what it was; open the file again"
            ) from None


Value = Union[Scalar, Items, LazyArray]  # noqa: UP007


def decode(
    kind: ValueType, count: int, data: bytes | bytearray, start: int, order: str, errors: str = "replace"
) -> tuple[Items, int]:
    """The elements of an array that has been checked, and the position after them; `order` is ``<`` or ``>``.

    Bytes that are no UTF-8 show as U+FFFD, or as `errors` of bytes.decode says: tokens of some vocabularies are not.

    Raises:
        struct.error, IndexError, KeyError: the data are not those that were checked.
    """
    if kind.size:
        return struct.unpack_from(f"{order}{count}{kind.code}", data, start), start + count * kind.size
    items: list[Scalar | Items] = []
    if kind is STR:
        length = struct.Struct(order + "Q").unpack_from
        for _ in range(count):
            (size,) = length(data, start)
            end = start + 8 + size
            if end > len(data):
                raise IndexError(end)
            items.append(data[start + 8 : end].decode("utf-8", errors))
            start = end
        return tuple(items), start
    for _ in range(count):
        number, inner = struct.unpack_from(order + "IQ", data, start)
        item, start = decode(BY_ID[number], inner, data, start + 12, order, errors)
        items.append(item)
    return tuple(items), start
