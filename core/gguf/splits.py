"""Models in several files, ``name-00001-of-00003.gguf``, after llama-model-loader.cpp and `llama_split_path`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..errors import InputError
from .header import Header, TensorInfo
from .limits import MAX_BYTES, MAX_PARTS

NAMED = 3
"""Missing parts that an error names."""


def part_name(prefix: str, number: int, count: int) -> str:
    """The name of part `number` (from 0), as `llama_split_path` makes it.

    >>> part_name("qwen", 0, 3)
    'qwen-00001-of-00003.gguf'
    """
    return f"{prefix}-{number + 1:05}-of-{count:05}.gguf"


def part_number(header: Header) -> int:
    """``split.no`` of a part of several, from 0.

    Raises:
        InputError: it is missing, or not below ``split.count``.
    """
    where, number, count = header.parts[0].source.where, header.metadata.get("split.no"), header.split_count
    if count > MAX_PARTS:
        raise InputError(f"{where}: key 'split.count' is {count:,}, more than {MAX_PARTS:,} parts are not read")
    if not isinstance(number, int) or isinstance(number, bool):
        raise InputError(f"{where}: key 'split.count' is {count:,} but 'split.no' is missing or no integer")
    if not 0 <= number < count:
        raise InputError(
            f"{where}: key 'split.no' is {number:,}, of {count:,} parts the numbers are 0 to {count - 1:,}"
        )
    return number


def sibling_paths(path: Path, number: int, count: int) -> list[Path]:
    """The paths of all parts beside the given one, which is part `number`.

    Raises:
        InputError: the name does not fit, or files are missing.
    """
    ending = part_name("", number, count)
    if not path.name.endswith(ending) or path.name == ending:
        raise InputError(
            f"{path}: this is part {number + 1} of {count}; name it *{ending}, so that the other parts are found"
        )
    prefix = path.name[: -len(ending)]
    names = [part_name(prefix, other, count) for other in range(count)]
    missing = [name for name in names if not os.path.lexists(path.with_name(name))]
    if missing:
        more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
        raise InputError(
            f"{path}: {len(missing):,} of {count:,} parts are missing beside it: {', '.join(missing[:NAMED])}{more}"
        )
    return [path.with_name(name) for name in names]


def merge_parts(headers: Sequence[Header]) -> Header:
    """One header from those of all parts, in any order; the metadata are those of the first part.

    Raises:
        InputError: a part is missing, there twice or of another model; a tensor is in two parts; the sum is wrong.
    """
    ordered = sorted(headers, key=part_number)
    first = ordered[0]
    count = first.split_count
    where = first.parts[0].source.where
    for place, header in enumerate(ordered):
        part, name = header.parts[0], header.parts[0].source.where
        if header.split_count != count:
            raise InputError(f"{name}: key 'split.count' is {header.split_count:,}, but {count:,} in {where}")
        if part.no != place:
            wrong = f"part {part.no + 1} is there twice" if part.no < place else f"part {place + 1} is missing"
            raise InputError(f"{name}: {wrong}, 'split.no' is {part.no} where {place} is expected")
        if (header.version, header.big_endian) != (first.version, first.big_endian):
            raise InputError(f"{name}: GGUF version or byte order differs from that of {where}")
    if len(ordered) != count:
        raise InputError(f"{where}: {len(ordered):,} parts of {count:,} are there, part {len(ordered) + 1} is missing")
    tensors: list[TensorInfo] = []
    owner: dict[str, int] = {}
    for place, header in enumerate(ordered):
        for tensor in header.tensors:
            if owner.setdefault(tensor.name, place) != place:
                raise InputError(
                    f"{header.parts[0].source.where}: tensor {tensor.name!r} is also in part {owner[tensor.name] + 1}"
                )
            tensors.append(msgspec.structs.replace(tensor, part=place))
    expected = first.metadata.get("split.tensors.count")
    if expected != len(tensors):
        said = "missing" if expected is None else f"{expected!r}"
        raise InputError(f"{where}: key 'split.tensors.count' is {said}, but the parts hold {len(tensors):,} tensors")
    size = sum(header.file_bytes for header in ordered)
    if size > MAX_BYTES:
        raise InputError(f"{where}: its parts take {size:,} bytes, no model is larger than 2^53 bytes")
    return msgspec.structs.replace(
        first, tensors=tuple(tensors), parts=tuple(part for header in ordered for part in header.parts)
    )
