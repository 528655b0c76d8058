"""Where the bytes of a header come from: a file, or bytes that somebody sent."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

import msgspec

from ..errors import InputError


class FileSource(msgspec.Struct, frozen=True):
    """A regular file. It is opened for each read, so nothing has to be closed.

    Attributes:
        path: where it lies.
        size: bytes of the file when it was first opened.
    """

    path: Path
    size: int

    @property
    def where(self) -> str:
        """The file's name for messages."""
        return str(self.path)

    @property
    def at_least(self) -> int:
        """Bytes that the whole file surely has."""
        return self.size

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`; fewer where the file ends earlier.

        Raises:
            InputError: it cannot be read, or is no regular file any more.
        """
        with _opened(self.path) as file:
            file.seek(start)
            pieces = []
            while start < end and (piece := file.read(end - start)):
                pieces.append(piece)
                start += len(piece)
        return b"".join(pieces)


class BytesSource(msgspec.Struct, frozen=True):
    """The beginning of a file, in memory.

    Attributes:
        where: the file's name for messages.
        data: its first bytes, or all of them.
        size: bytes of the whole file, when the sender said so.
    """

    where: str
    data: bytes
    size: int | None = None

    @property
    def at_least(self) -> int:
        """Bytes that the whole file surely has."""
        return len(self.data) if self.size is None else self.size

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`; fewer where the data end earlier."""
        return self.data[start:end]


Source = FileSource | BytesSource


def file_source(path: str | Path) -> FileSource:
    """A file that exists, with its size.

    Raises:
        InputError: there is none, it cannot be read, or it is no regular file.
    """
    with _opened(path) as file:
        return FileSource(Path(path), os.fstat(file.fileno()).st_size)


@contextmanager
def _opened(path: str | Path) -> Iterator[FileIO]:
    try:
        # Without waiting: a pipe nobody writes to must not hang the reader.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with FileIO(handle) as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InputError(f"{path}: not a regular file")
            yield file
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
