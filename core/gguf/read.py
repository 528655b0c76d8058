"""Read a GGUF header, of a file (all parts of a split one) or of bytes that somebody sent.

What counts as a header-only file: one that ends at or before the byte where its tensor data start. A file that ends
later, but before its last tensor does, is an interrupted copy and refused. A file of full length is complete, even
when its data are a hole: nothing here looks at data.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from .cursor import Cursor, NeedMoreBytes
from .header import Header, Part, TensorInfo
from .limits import MAX_HEADER, MAX_KEYS, MAX_TENSORS, SMALLEST_ENTRY, SMALLEST_TENSOR
from .metadata import Metadata, Types, read_metadata
from .source import BytesSource, Source, file_source
from .splits import merge_parts, part_number, sibling_paths
from .table import read_table

__all__ = ["NeedMoreBytes", "merge_parts", "parse_header", "read_header"]

DEFAULT_ALIGNMENT = 32
VERSIONS = (2, 3)
FIXED_BYTES = 24

_NOT_GGUF = {
    b"version https://git-lfs": "a Git LFS pointer, not the model: run `git lfs pull`",
    b"<": "a web page, not a model: download the file itself",
    b"PK\x03\x04": "a zip archive (a PyTorch checkpoint?), not a GGUF: convert the model",
    b"\x1f\x8b": "gzip, not a GGUF: unpack it",
    b"lmgg": "GGML, the format before GGUF: convert the model again",
    b"fmgg": "GGMF, a format before GGUF: convert the model again",
    b"tjgg": "GGJT, a format before GGUF: convert the model again",
}


def read_header(path: str | Path) -> Header:
    """The header of the model at `path`; for one part of a split model, of all its parts.

    Raises:
        NeedMoreBytes: a file ends inside its header.
        InputError: a file cannot be read or is wrong, or a part is missing.
    """
    first = _parse(file_source(path), MAX_HEADER)
    if first.split_count == 1:
        return first
    paths = sibling_paths(Path(path), part_number(first), first.split_count)
    headers: list[Header] = []
    left, tensors = MAX_HEADER - first.header_bytes, MAX_TENSORS - len(first.tensors)
    for number, sibling in enumerate(paths):
        if number == part_number(first):
            headers.append(first)
            continue
        header = _parse(file_source(sibling), left, tensors)
        left -= header.header_bytes
        tensors -= len(header.tensors)
        headers.append(header)
    return merge_parts(headers)


def parse_header(data: bytes, where: str, file_bytes: int | None = None) -> Header:
    """The header in the first bytes of a file; of a split model, that of this part.

    Args:
        data: the first bytes, or all.
        where: the file's name for messages.
        file_bytes: size of the whole file, where it is known: then a file that is cut off is refused.

    Raises:
        NeedMoreBytes: the bytes end inside the header.
        InputError: they are wrong.
    """
    if file_bytes is not None and file_bytes < len(data):
        raise InputError(f"{where}: {len(data):,} bytes cannot be the beginning of a file of {file_bytes:,} bytes")
    return _parse(BytesSource(where, data, file_bytes), MAX_HEADER)


def _parse(source: Source, limit: int, most_tensors: int = MAX_TENSORS) -> Header:
    cursor = Cursor(source, limit)
    version, n_tensors, n_kv = _head(cursor)
    if n_tensors > most_tensors:
        raise cursor.error(f"{n_tensors:,} tensors, more than {MAX_TENSORS:,} in a model are not read")
    if n_kv > MAX_KEYS:
        raise cursor.error(f"{n_kv:,} metadata entries, more than {MAX_KEYS:,} are not read")
    cursor.require(cursor.pos + n_kv * SMALLEST_ENTRY + n_tensors * SMALLEST_TENSOR)
    cursor.tensors = n_tensors
    metadata, types = read_metadata(cursor, n_kv)
    alignment = _alignment(source, metadata, types)
    tensors = read_table(cursor, n_tensors, alignment, 0)
    header_bytes = cursor.pos
    data_offset = -(-header_bytes // alignment) * alignment if tensors else header_bytes
    part = _part(source, metadata, tensors, header_bytes, data_offset)
    return Header(version, cursor.order == ">", alignment, metadata, types, tensors, (part,))


def _head(cursor: Cursor) -> tuple[int, int, int]:
    """Version, number of tensors, number of metadata entries; the byte order goes to the cursor."""
    try:
        cursor.require(FIXED_BYTES)
    except NeedMoreBytes:
        if not b"GGUF".startswith(bytes(cursor.data[:4])):
            raise _no_gguf(cursor) from None
        raise
    if cursor.data[:4] != b"GGUF":
        raise _no_gguf(cursor)
    cursor.pos = 4
    version = cursor.number("I", 4)
    if version & 0xFFFF == 0 and version:  # gguf.cpp takes this for the other byte order
        cursor.order, cursor.pos = ">", 4
        version = cursor.number("I", 4)
    if version not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        raise cursor.error(f"GGUF version {version:,}, versions {known} are read; convert the model again")
    return version, cursor.number("Q", 8), cursor.number("Q", 8)


def _no_gguf(cursor: Cursor) -> InputError:
    start = bytes(cursor.data[:32]).lstrip()
    for beginning, meaning in _NOT_GGUF.items():
        if start.startswith(beginning):
            return InputError(f"{cursor.source.where}: this is {meaning}")
    return InputError(f"{cursor.source.where}: begins with {start[:4]!r} instead of b'GGUF', it is not a GGUF file")


def _alignment(source: Source, metadata: Metadata, types: Types) -> int:
    """``general.alignment``, as gguf.cpp checks it."""
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    kind = types.get("general.alignment", "u32")
    if kind != "u32" or not isinstance(value, int):
        raise InputError(f"{source.where}: key 'general.alignment' is {kind}, it must be u32")
    if value <= 0 or value & (value - 1):
        raise InputError(f"{source.where}: key 'general.alignment' is {value:,}, it must be a power of two")
    return value


def _part(
    source: Source, metadata: Metadata, tensors: tuple[TensorInfo, ...], header_bytes: int, data_offset: int
) -> Part:
    """Where the file's data are, or would be.

    Raises:
        InputError: the file ends inside its tensor data.
    """
    file_bytes = data_offset + tensors[-1].offset + tensors[-1].nbytes if tensors else header_bytes
    size = source.at_least
    if source.size is not None and data_offset < size < file_bytes:
        short = next(one for one in tensors if data_offset + one.offset + one.nbytes > size)
        raise InputError(
            f"{source.where}: tensor {short.name!r} ends at byte {data_offset + short.offset + short.nbytes:,}, the "
            f"file has {size:,} of {file_bytes:,} bytes; copy it again, or cut it to its first {header_bytes:,} bytes "
            f"to look at the header alone"
        )
    number = metadata.get("split.no")
    return Part(
        source,
        number if isinstance(number, int) else 0,
        header_bytes,
        data_offset,
        file_bytes,
        len(tensors),
        size >= file_bytes,
    )
