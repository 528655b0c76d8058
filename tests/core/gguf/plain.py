"""GGUF the slow and obvious way: bytes put together by hand, and a parser that reads value after value.

Nothing here is shared with core/gguf.
"""

import io
import struct
from typing import Any

from hypothesis import strategies as st

CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
NAMES = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64")
STRING, ARRAY = 8, 9
Typed = tuple[int, Any]
"""A gguf_type and a value; of an array the elements' Typed."""
Row = tuple[str, tuple[int, ...], int, int]
"""Name, ne, ggml_type, offset."""


def text(value: str | bytes, order: str = "<") -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(order + "Q", len(data)) + data


def payload(kind: int, value: Any, order: str = "<") -> bytes:
    if kind == STRING:
        return text(value, order)
    if kind == ARRAY:
        inner, items = value
        return struct.pack(order + "IQ", inner, len(items)) + b"".join(payload(inner, item, order) for item in items)
    return struct.pack(order + CODES[kind], value)


def entry(key: str | bytes, kind: int, value: Any, order: str = "<") -> bytes:
    return text(key, order) + struct.pack(order + "I", kind) + payload(kind, value, order)


def row(name: str | bytes, ne: tuple[int, ...], kind: int = 0, offset: int = 0, order: str = "<") -> bytes:
    return text(name, order) + struct.pack(f"{order}I{len(ne)}QIQ", len(ne), *ne, kind, offset)


def gguf(entries: list[bytes], rows: list[bytes], version: int = 3, order: str = "<") -> bytes:
    head = b"GGUF" + struct.pack(order + "IQQ", version, len(rows), len(entries))
    return head + b"".join(entries) + b"".join(rows)


def parse(data: bytes) -> dict[str, Any]:
    """All values and rows of a good header, every value as an object."""
    stream = io.BytesIO(data)
    order = "<"

    def number(code: str) -> Any:
        form = struct.Struct(order + code)
        return form.unpack(stream.read(form.size))[0]

    def value(kind: int) -> Any:
        if kind == STRING:
            return stream.read(number("Q")).decode("utf-8", "replace")
        if kind == ARRAY:
            inner = number("I")
            return tuple(value(inner) for _ in range(number("Q")))
        return number(CODES[kind])

    assert stream.read(4) == b"GGUF"
    version = number("I")
    if version > 0xFFFF:
        order = ">"
        stream.seek(4)
        version = number("I")
    n_tensors, n_entries = number("Q"), number("Q")
    metadata = {value(STRING): value(number("I")) for _ in range(n_entries)}
    rows = []
    for _ in range(n_tensors):
        name = value(STRING)
        ne = tuple(number("Q") for _ in range(number("I")))
        rows.append((name, ne, number("I"), number("Q")))
    return {
        "version": version,
        "big_endian": order == ">",
        "metadata": metadata,
        "rows": rows,
        "end": stream.tell(),
    }


def _scalars(kind: int) -> st.SearchStrategy[Any]:
    if kind == STRING:
        return st.text(max_size=12)
    if kind == 7:
        return st.booleans()
    if kind in (6, 12):
        return st.floats(width=32 if kind == 6 else 64, allow_nan=False)
    bits = 8 * struct.calcsize(CODES[kind])
    signed = CODES[kind].islower()
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


@st.composite
def typed_values(draw: st.DrawFn, depth: int = 3) -> Typed:
    """A scalar, a string, or an array of them, nested up to `depth` levels."""
    kind = draw(st.sampled_from([*CODES, STRING] + [ARRAY] * 4 * (depth > 0)))
    if kind != ARRAY:
        return kind, draw(_scalars(kind))
    inner = draw(st.sampled_from([*CODES, STRING] + [ARRAY] * 4 * (depth > 1)))
    if inner == ARRAY:
        nested = draw(st.lists(typed_values(depth=depth - 1).filter(lambda one: one[0] == ARRAY), max_size=3))
        return ARRAY, (ARRAY, [value for _, value in nested])
    return ARRAY, (inner, draw(st.lists(_scalars(inner), max_size=8)))


BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 8: (32, 34), 12: (256, 144), 30: (1, 2), 39: (32, 17)}
"""Some ggml_types: elements and bytes per block."""


NAME = st.text(st.characters(codec="utf-8", min_codepoint=1), max_size=15)


@st.composite
def files(draw: st.DrawFn, order: str | None = None, version: int | None = None) -> bytes:
    """A good header with up to a handful of entries and tensors; no data."""
    order = order or draw(st.sampled_from("<>"))
    version = version or draw(st.sampled_from((2, 3)))
    keys = draw(st.lists(NAME.filter(len), unique=True, max_size=6))
    entries = [entry(key, *draw(typed_values()), order) for key in keys if key != "general.alignment"]
    alignment = draw(st.sampled_from((8, 32, 32, 64, 4096)))
    if alignment != 32:
        entries.insert(draw(st.integers(0, len(entries))), entry("general.alignment", 4, alignment, order))
    rows, offset = [], 0
    names = draw(st.lists(NAME, unique=True, max_size=5))
    for name in names:
        kind = draw(st.sampled_from(sorted(BLOCKS)))
        block, size = BLOCKS[kind]
        ne = tuple(draw(st.lists(st.integers(1, 40), max_size=4)))
        ne = (ne[0] * block, *ne[1:]) if ne else (() if block == 1 else (block,))
        rows.append(row(name, ne, kind, offset, order))
        elements = 1
        for length in ne:
            elements *= length
        offset += -(-(elements // block * size) // alignment) * alignment
    return gguf(entries, rows, version, order)
