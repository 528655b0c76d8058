"""What a GGUF header says: metadata, tensor table, and where the data would be."""

from __future__ import annotations

from math import prod

import msgspec

from ..dtypes import DType, Shape
from .source import Source
from .values import Value


class TensorInfo(msgspec.Struct, frozen=True, gc=False):
    """One row of the tensor table.

    Attributes:
        name: up to 63 bytes of UTF-8.
        dtype: its ggml_type.
        ne: elements per dimension, innermost first, padded with 1.
        offset: of its data, in bytes from the data start of its part.
        nbytes: bytes of its data (ggml_nbytes).
        n_dims: dimensions in the file, 0 to 4.
        part: index into `Header.parts`.
    """

    name: str
    dtype: DType
    ne: Shape
    offset: int
    nbytes: int
    n_dims: int
    part: int = 0

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.ne)


class Part(msgspec.Struct, frozen=True):
    """One file of a model.

    Attributes:
        source: where its bytes are read from.
        no: its place among the parts, from 0 (``split.no``).
        header_bytes: bytes of metadata and tensor table; what follows is padding and data.
        data_offset: byte at which its tensor data start.
        file_bytes: bytes up to the end of its last tensor, whether or not they are there.
        tensors: how many it holds.
        complete: its data are there, as far as the file's size tells.
    """

    source: Source
    no: int
    header_bytes: int
    data_offset: int
    file_bytes: int
    tensors: int
    complete: bool


class Header(msgspec.Struct, frozen=True):
    """The header of a model: one file, or all parts of a split one.

    Attributes:
        version: of the format, 2 or 3.
        big_endian: byte order of the file.
        alignment: bytes to which tensor data are aligned (``general.alignment``, or 32).
        metadata: values by key, in the order of the file; of a split file, those of its first part.
        types: the type of each value as written in the file: ``u32``, ``str``, ``arr[str]``.
        tensors: the tensor table, of all parts.
        parts: the files, in order. Of an upload of one part of several, only that one.
    """

    version: int
    big_endian: bool
    alignment: int
    metadata: dict[str, Value]
    types: dict[str, str]
    tensors: tuple[TensorInfo, ...]
    parts: tuple[Part, ...]

    @property
    def data_offset(self) -> int:
        """Byte at which the tensor data of the first file start."""
        return self.parts[0].data_offset

    @property
    def header_bytes(self) -> int:
        """Bytes of metadata and tensor tables, over all parts: the beginning of each file that is needed."""
        return sum(part.header_bytes for part in self.parts)

    @property
    def file_bytes(self) -> int:
        """Bytes of the whole model, over all parts, whether or not they are on disk."""
        return sum(part.file_bytes for part in self.parts)

    @property
    def complete(self) -> bool:
        """All parts are there with their data; False for header-only prefixes."""
        return len(self.parts) == self.split_count and all(part.complete for part in self.parts)

    @property
    def split_count(self) -> int:
        """How many files the model has (``split.count``)."""
        count = self.metadata.get("split.count")
        return count if isinstance(count, int) and count > 1 else 1

    @property
    def architecture(self) -> str:
        """``general.architecture``; empty where there is none."""
        value = self.metadata.get("general.architecture")
        return value if isinstance(value, str) else ""

    def get(self, suffix: str) -> Value | None:
        """The value of ``<architecture>.<suffix>``, as llama.cpp names its keys; None where there is none."""
        return self.metadata.get(f"{self.architecture}.{suffix}")
