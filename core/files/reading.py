"""Bytes from a path, with every size checked before memory is taken."""

from __future__ import annotations

import zlib
from pathlib import Path

from ..errors import InputError

MAX_BYTES = 256 << 20
"""Largest graph file, unpacked (bytes). The 50,000-node corpus graph is 5.4 MB."""
MAX_OBJECTS = 400_000
MAX_VALUES = 10_000_000


def read_bytes(path: str | Path) -> bytes:
    """The file's bytes, unpacked when it is gzip.

    Raises:
        InputError: it cannot be read, is too large, or its gzip stream is broken.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    return unpack(data, str(path))


def unpack(data: bytes, where: str) -> bytes:
    """Undo gzip when there is any, within the size limits; `where` is the file's name for messages."""
    if len(data) > MAX_BYTES:
        raise InputError(f"{where}: larger than {MAX_BYTES >> 20} MiB, no graph file is")
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data, where)
    if not data.strip():
        raise InputError(f"{where}: the file is empty")
    if data.count(b"{") > MAX_OBJECTS or data.count(b",") > MAX_VALUES:
        raise InputError(f"{where}: more than {MAX_OBJECTS} objects or {MAX_VALUES} values, no graph has")
    return data


def _gunzip(data: bytes, where: str) -> bytes:
    parts = []
    room = MAX_BYTES + 1
    try:
        while data:
            stream = zlib.decompressobj(wbits=31)
            part = stream.decompress(data, room)
            parts.append(part)
            room -= len(part)
            if room <= 0:
                raise InputError(f"{where}: unpacks to more than {MAX_BYTES >> 20} MiB, no graph file does")
            if not stream.eof:
                raise InputError(f"{where}: the gzip stream ends early, at byte {len(data)} of the file; copy it again")
            data = stream.unused_data
            if data[:2] != b"\x1f\x8b":
                break
    except zlib.error as error:
        raise InputError(f"{where}: broken gzip stream ({error}); copy the file again") from None
    return b"".join(parts)
