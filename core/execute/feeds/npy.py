"""Tensors from `.npy` files, by name; everything else from another feed."""

from __future__ import annotations

import ast
import os
import stat
import struct
import warnings
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...errors import InputError, nearest
from ...ops.layout import shape_text
from ...tensor import Tensor
from ..feed import Bytes, Feed

NUMBERS = {
    "f32": "float32", "f16": "float16", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "bf16": "uint16",
}  # fmt: skip
"""What a file holds for a type with one element per block; bf16 as its bits."""


MAX_HEADER = 10_000
"""Bytes of a header that are read, as numpy's own limit."""


def parse_inputs(given: Iterable[str]) -> dict[str, Path]:
    """`NAME=FILE.npy`, as on the command line.

    >>> parse_inputs(["inp_tokens=tokens.npy"])["inp_tokens"].name
    'tokens.npy'

    Raises:
        InputError: it has no `=`, or a name is there twice.
    """
    files: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.rpartition("=")
        if not equals or not name or not path:
            raise InputError(f"--input {text}: give it as NAME=FILE.npy")
        if name in files:
            raise InputError(f"--input {text}: {name!r} is given twice")
        files[name] = Path(path)
    return files


def check_names(files: Mapping[str, Path], names: Iterable[str]) -> None:
    """Files are for leafs that a graph has.

    Raises:
        InputError: one is for none of these names.
    """
    known = set(names)
    for name, path in files.items():
        if name not in known:
            raise InputError(f"--input {name}={path}: the graph has no input {name!r}{nearest(name, known)}")


class NpyFeed:
    """Some tensors from files.

    A file has the tensor's type and, as numpy has it, its dimensions from the outermost to the innermost; leading ones
    may be left out. Of a quantised tensor it holds the bytes (uint8), in place of the innermost dimension.
    """

    def __init__(self, files: Mapping[str, Path], names: Iterable[str], other: Feed) -> None:
        """Check the names; the files are read when they are asked for.

        Args:
            files: path by name of the tensor.
            names: of the tensors that will be asked for: leafs of the graph.
            other: what fills the others.

        Raises:
            InputError: the graph has no such leaf.
        """
        check_names(files, names)
        self.files, self.other = dict(files), other

    def external(self, tensor: Tensor) -> Bytes | None:
        """A pre-allocated tensor."""
        path = self.files.get(tensor.name)
        return self.other.external(tensor) if path is None else read_npy(path, tensor)

    def leaf(self, tensor: Tensor) -> Bytes | None:
        """An input."""
        path = self.files.get(tensor.name)
        return self.other.leaf(tensor) if path is None else read_npy(path, tensor)


def read_npy(path: Path, tensor: Tensor) -> Bytes:
    """The bytes of a tensor from a file; shape, type and size are checked before any is read.

    Raises:
        InputError: the file cannot be read, or is not what the tensor needs.
    """
    if tensor.nbytes != prod(tensor.ne) // tensor.dtype.block * tensor.dtype.size:
        raise InputError(f"--input {tensor.name}={path}: the tensor is not contiguous, a file cannot fill it")
    try:
        # Without waiting: a pipe nobody writes to must not hang the reader.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InputError(f"{path}: not a regular file")
            shape, fortran, dtype = _header(file)
            _check(path, tensor, shape, dtype)
            have, need = os.fstat(file.fileno()).st_size, file.tell() + tensor.nbytes
            if have != need:
                raise InputError(f"{path}: the file has {have:,} bytes, its header asks for {need:,}; save it again")
            data = np.fromfile(file, np.uint8, tensor.nbytes)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except ValueError as error:
        raise InputError(f"{path}: not a .npy file of numbers, {error}") from None
    if len(data) != tensor.nbytes:
        raise InputError(f"{path}: the file ended after {len(data):,} of {tensor.nbytes:,} bytes of data")
    if fortran and len(shape) > 1:
        turned = data.view(dtype).reshape(shape, order="F")
        data = np.ascontiguousarray(turned).reshape(-1).view(np.uint8)
    return data


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether the first dimension is innermost, and type (numpy.lib.format).

    Raises:
        ValueError: it is not such a header. numpy's own reader warns and goes on to guess where one is broken.
    """
    start = file.read(8)
    if start[:6] != b"\x93NUMPY" or len(start) < 8 or start[6] not in (1, 2, 3):
        raise ValueError("it does not begin as one")
    code, length = ("<H", 2) if start[6] == 1 else ("<I", 4)
    (size,) = struct.unpack(code, file.read(length).ljust(length, b"\0"))
    if size > MAX_HEADER:
        raise ValueError(f"a header of {size:,} bytes")
    try:
        with warnings.catch_warnings():  # of a header that is no Python, on the error stream
            warnings.simplefilter("ignore")
            fields = ast.literal_eval(file.read(size).decode("latin1").strip())
            shape, fortran, dtype = fields["shape"], fields["fortran_order"], np.dtype(fields["descr"])
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        raise ValueError("its header is broken") from None
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape) or type(fortran) is not bool:
        raise ValueError("its header is broken")
    return shape, fortran, dtype


def _check(path: Path, tensor: Tensor, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    name = tensor.dtype.name
    wanted = np.dtype(NUMBERS.get(name, "uint8")).newbyteorder("<")
    if dtype != wanted:
        raise InputError(
            f"{path}: it holds {dtype.name}{' (big-endian)' if dtype.byteorder == '>' else ''}, tensor {tensor.name!r} "
            f"is {name}: save it with .astype({wanted.name!r})"
        )
    n0, *outer = tensor.ne
    innermost = n0 if name in NUMBERS else n0 // tensor.dtype.block * tensor.dtype.size
    needed = (*reversed(outer), innermost)
    if _bare(shape) != _bare(needed):
        asked = _bare(needed) or (1,)
        raise InputError(
            f"{path}: its shape is {shape}, tensor {tensor.name!r} ({name} {shape_text(tensor.ne)}) needs {asked}"
        )


def _bare(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Without leading ones."""
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape
