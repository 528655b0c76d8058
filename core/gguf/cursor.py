"""A position in a header: fetches more of the file as it is needed, and says where and what when something is wrong."""

from __future__ import annotations

import struct

from ..errors import InputError
from .limits import MAX_HEADER, MAX_TEXT, SMALLEST_ENTRY, SMALLEST_TENSOR
from .source import FileSource, Source

FIRST_READ = 1 << 20
"""Bytes of a file that are read at first; then as many again each time, at most MOST_AHEAD beyond what is asked for."""
MOST_AHEAD = 16 << 20


class NeedMoreBytes(InputError):
    """The bytes end inside the header.

    Attributes:
        needed: a lower bound on the bytes of the file, from its beginning, that hold metadata and tensor table. Always
            more than there were, never more than the header has.
    """

    def __init__(self, message: str, needed: int) -> None:
        """The sentence, and how many bytes are needed at least."""
        super().__init__(message)
        self.needed = needed


class Cursor:
    """Reads forward through one header.

    Attributes:
        data: the beginning of the file, as much as was needed so far.
        pos: the next byte to read.
        order: ``<`` or ``>``, the byte order of the file.
        what: what is being read, for messages.
        at: the byte where that begins.
        entries: metadata entries still to come after the current one.
        tensors: rows of the tensor table still to come after the current one.
        text: bytes of names and strings kept so far.
        elements: elements of arrays of strings, and of arrays in arrays, passed so far.
        inner: arrays inside arrays passed so far.
        kept: elements of arrays that were turned into tuples so far.
    """

    __slots__ = (
        "at", "data", "elements", "entries", "inner", "kept", "limit", "order", "pos", "source", "tensors", "text",
        "what",
    )  # fmt: skip

    def __init__(self, source: Source, limit: int = MAX_HEADER) -> None:
        """At the beginning of a source; `limit` is the largest header in bytes."""
        self.source = source
        self.data: bytes | bytearray = bytearray() if isinstance(source, FileSource) else source.data
        self.pos = 0
        self.order = "<"
        self.what = "the head"
        self.at = 0
        self.entries = self.tensors = 0
        self.text = self.elements = self.inner = self.kept = 0
        self.limit = limit

    def error(self, problem: str) -> InputError:
        """An error about what is being read: one sentence with its place."""
        return InputError(f"{self.source.where}: {self.what} at byte {self.at:,}: {problem}")

    def rest(self) -> int:
        """The fewest bytes that must follow what is being read."""
        return self.entries * SMALLEST_ENTRY + self.tensors * SMALLEST_TENSOR

    def require(self, end: int) -> None:
        """Have the bytes before `end` in `data`.

        Raises:
            NeedMoreBytes: there are fewer.
            InputError: no header is that long, or the sender said that the whole file is shorter.
        """
        if end <= len(self.data):
            return
        if end + self.rest() > self.limit:
            raise self.error(f"reaches to byte {end:,}, no header is longer than {self.limit >> 20} MiB")
        have = len(self.data)
        if isinstance(self.data, bytearray):
            goal = max(end, have + min(have, MOST_AHEAD), FIRST_READ)
            self.data += self.source.read(have, min(goal, self.limit))
            have = len(self.data)
            if end <= have:
                return
        needed = end + self.rest()
        place = f"inside {self.what} that begins at byte {self.at:,}; the header has at least {needed:,} bytes"
        size = self.source.size
        if size is None or needed <= size:
            raise NeedMoreBytes(f"{self.source.where}: the bytes sent end at {have:,}, {place}", needed)
        sentence = f"{self.source.where}: the file ends at byte {size:,}, {place}: copy the file again"
        raise NeedMoreBytes(sentence, needed) if isinstance(self.source, FileSource) else InputError(sentence)

    def take(self, size: int) -> int:
        """Pass `size` bytes that exist; the position of the first."""
        start = self.pos
        self.require(start + size)
        self.pos = start + size
        return start

    def number(self, code: str, size: int) -> int:
        """The next integer, of a letter of the struct module and its size in bytes."""
        (value,) = struct.unpack_from(self.order + code, self.data, self.take(size))
        return int(value)

    def string(self) -> bytes:
        """The next string, a length of 8 bytes in front."""
        size = self.number("Q", 8)
        start = self.take(size)
        self.count_text(size)
        return bytes(self.data[start : start + size])

    def count_text(self, size: int) -> None:
        """`size` bytes of names or strings are about to be kept."""
        self.text += size
        if self.text > MAX_TEXT:
            raise self.error(f"names and strings take more than {MAX_TEXT >> 20} MiB, no header's do")

    def name(self) -> str:
        """The next string, which must be UTF-8 without a zero byte: to llama.cpp the name would end there."""
        data = self.string()
        if b"\0" in data:
            raise self.error(f"its name holds a zero byte, at {data.index(0):,} of {len(data):,}")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"its name is not UTF-8 (byte {error.start} of {len(data):,})") from None
