"""Bytes from a path, with every size checked before memory is taken."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from pathlib import Path

from ..errors import InputError

MAX_BYTES = 256 << 20
"""Largest graph file, unpacked (bytes). The 50,000-node corpus graph is 5.4 MB."""
MAX_OBJECTS = 200_000
MAX_LISTS = 2_000_000
MAX_VALUES = 10_000_000


def read_bytes(path: str | Path) -> bytes:
    """The file's bytes, unpacked when it is gzip.

    Raises:
        InputError: it cannot be read, is no regular file, is too large, or its gzip stream is broken.
    """
    try:
        # Without waiting: a pipe nobody writes to must not hang the reader.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InputError(f"{path}: not a regular file")
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return unpack(data or b"", str(path))


def unpack(data: bytes, where: str) -> bytes:
    """Undo gzip when there is any, within the size limits; `where` is the file's name for messages."""
    if len(data) > MAX_BYTES:
        raise InputError(f"{where}: larger than {MAX_BYTES >> 20} MiB, no graph file is")
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data, where)
    if not data.strip():
        raise InputError(f"{where}: the file is empty")
    if data.count(b"{") > MAX_OBJECTS or data.count(b"[") > MAX_LISTS or data.count(b",") > MAX_VALUES:
        raise InputError(
            f"{where}: more than {MAX_OBJECTS:,} objects, {MAX_LISTS:,} lists or {MAX_VALUES:,} values, no graph has"
        )
    return data


def _gunzip(data: bytes, where: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            text = stream.read(MAX_BYTES + 1)
    except EOFError:
        raise InputError(
            f"{where}: the gzip stream ends early, after {len(data):,} bytes; copy the file again"
        ) from None
    except (OSError, zlib.error) as error:
        raise InputError(f"{where}: broken gzip stream ({error}); copy the file again") from None
    if len(text) > MAX_BYTES:
        raise InputError(f"{where}: unpacks to more than {MAX_BYTES >> 20} MiB, no graph file does")
    return text
