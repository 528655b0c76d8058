"""The tensor data of a model, as read-only maps of its files: nothing is read before it is used."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .header import Header, Part, TensorInfo
from .source import FileSource

Bytes = npt.NDArray[np.uint8]

_PAGE = 1 << 16
"""No file system keeps data and holes in pieces larger than this, so a hole is looked for behind the next multiple."""


class GgufData:
    """Tensors by name.

    Attributes:
        header: of the model, all parts of a split one.
        infos: rows of the tensor table by name.
    """

    def __init__(self, header: Header) -> None:
        """Check that every part is there with its data.

        Raises:
            InputError: a part is missing or holds no data, or its numbers are big-endian.
        """
        self.header = header
        self.infos: dict[str, TensorInfo] = {info.name: info for info in header.tensors}
        self._maps: dict[int, Bytes] = {}
        where = header.parts[0].source.where
        if header.big_endian:
            raise InputError(f"{where}: its data are big-endian, only little-endian ones are computed with")
        if len(header.parts) != header.split_count:
            raise InputError(f"{where}: {len(header.parts)} of {header.split_count} parts are there, all are needed")
        for number, part in enumerate(header.parts):
            self._check(number, part)

    def bytes(self, name: str) -> Bytes:
        """The data of a tensor: a flat read-only array of its bytes.

        Raises:
            InputError: there is no such tensor, or its file has changed.
        """
        info = self.infos.get(name)
        if info is None:
            raise InputError(f"{self.header.parts[0].source.where}: it has no tensor {name!r}")
        start = self.header.parts[info.part].data_offset + info.offset
        return self._map(info.part)[start : start + info.nbytes]

    def _check(self, number: int, part: Part) -> None:
        """A file that ends with its header, or has a hole in place of its data, cannot be computed with."""
        first = next((one for one in self.header.tensors if one.part == number), None)
        if first is None:
            return
        source, at = part.source, part.data_offset + first.offset
        advice = "give a file with the weights, or random weights"
        if not isinstance(source, FileSource):
            raise InputError(f"{source.where}: only its header was sent, tensor {first.name!r} has no data; {advice}")
        if not part.complete:
            raise InputError(
                f"{source.where}: the file ends with its header at byte {source.size:,}, the data of tensor "
                f"{first.name!r} would begin at byte {at:,}; {advice}"
            )
        if _is_hole(source, part.data_offset):
            raise InputError(
                f"{source.where}: a hole of the file system is in place of the data, which begin at byte {at:,} with "
                f"tensor {first.name!r}; {advice}"
            )

    def _map(self, number: int) -> Bytes:
        """The whole file, mapped at its first use."""
        found = self._maps.get(number)
        if found is not None:
            return found
        part = self.header.parts[number]
        assert isinstance(part.source, FileSource)
        try:
            mapped = np.memmap(part.source.path, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:
            raise InputError(f"{part.source.where}: cannot be mapped into memory ({error})") from None
        if len(mapped) != part.source.size:
            raise InputError(
                f"{part.source.where}: the file has {len(mapped):,} bytes, it had {part.source.size:,}; open it again"
            )
        plain: Bytes = mapped.view(np.ndarray)
        self._maps[number] = plain
        return plain


def _is_hole(source: FileSource, start: int) -> bool:
    """Whether nothing was ever written behind `start`; False where the system cannot tell."""
    start = -(-start // _PAGE) * _PAGE
    seek_data = getattr(os, "SEEK_DATA", None)
    if seek_data is None or start >= source.size:
        return False
    try:
        handle = os.open(source.path, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{source.where}: cannot be read ({error.strerror})") from None
    try:
        os.lseek(handle, start, seek_data)
    except OSError:  # ENXIO: no data up to the end
        return True
    finally:
        os.close(handle)
    return False
