"""Beside the real gguf.cpp of the xllamacpp wheel: the same of good files, and never more accepting on damaged ones."""

import json
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from galloscope.benchmarks import ggml_abi
from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import read_header
from galloscope.core.gguf.values import VALUE_TYPES, LazyArray
from galloscope.core.gguf.write import Typed, header_bytes

pytestmark = pytest.mark.skipif(not ggml_abi.available(), reason="the xllamacpp wheel is not installed")

SCRIPT = Path(__file__).with_name("real_gguf.py")
STRICTER = (
    "has 0 elements",
    "not UTF-8",
    "zero byte",
    "the bytes",
    "no model is larger",
    "no header is longer",
    "copy it again",
)
"""Where galloscope refuses what gguf.cpp takes."""


def model(chance: random.Random) -> bytes:
    """A made-up header with every type of value that gguf.cpp reads."""
    values: dict[str, Any] = {"general.architecture": "llama", "tokens": [str(i) for i in range(chance.randint(0, 9))]}
    for name, kind in VALUE_TYPES.items():
        if kind.size:
            values[f"one.{name}"] = Typed(kind, 1)
            values[f"many.{name}"] = Typed(kind, [1] * chance.randint(0, 5))
    if chance.random() < 0.3:
        values["many.long"] = list(range(2000))
    types = [dtype for dtype in DTYPES.values() if chance.random() < 0.4]
    rows = [
        (f"t{i}", dtype, (dtype.block * chance.randint(1, 3), 2)[: chance.randint(1, 2)])
        for i, dtype in enumerate(types)
    ]
    return header_bytes(values, rows, version=chance.choice((2, 3)), alignment=chance.choice((8, 32, 64)))


def damage(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(out))
        kind = chance.randrange(4)
        if kind < 2:
            out[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            out[at : at + 8] = struct.pack("<Q", chance.choice((2**63, 2**64 - 1, 0, 1, 33)))
        else:
            del out[at : at + chance.randint(1, 9)]
    return bytes(out)


def real(folder: Path) -> list[dict[str, Any] | None]:
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, check=False, timeout=120)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(list(folder.iterdir())), "gguf.cpp stopped the process"
    return answers


def ours(header: Header) -> dict[str, Any]:
    def entry(key: str, value: Any) -> list[Any]:
        kind, _, inner = header.types[key].removesuffix("]").partition("[")
        array = [VALUE_TYPES[inner].id, len(value)] if inner else None
        return [key, VALUE_TYPES[kind].id, array, value.split("\0")[0] if kind == "str" else None]

    return {
        "version": header.version,
        "alignment": header.alignment,
        "data_offset": header.data_offset,
        "entries": [entry(key, value) for key, value in header.metadata.items()],
        "tensors": [[one.name, one.dtype.id, one.offset, one.nbytes] for one in header.tensors],
    }


def outcome(path: Path) -> Header | str:
    try:
        return read_header(path)
    except InputError as error:
        return str(error)


def test_good_files(tmp_path: Path) -> None:
    for seed in range(30):
        data = model(random.Random(seed))
        (tmp_path / f"{seed:03}.gguf").write_bytes(data + bytes(64))
    lazy = 0
    for path, answer in zip(sorted(tmp_path.iterdir()), real(tmp_path), strict=True):
        path.write_bytes(path.read_bytes()[:-64])
        header = read_header(path)
        lazy += any(isinstance(value, LazyArray) for value in header.metadata.values())
        assert ours(header) == answer
    assert lazy


def test_damaged_files(tmp_path: Path) -> None:
    """What gguf.cpp refuses is refused; what it takes is taken alike, or refused for a reason that is written down."""
    for seed in range(1500):
        chance = random.Random(seed)
        (tmp_path / f"{seed:05}.gguf").write_bytes(damage(model(chance), chance) + bytes(4096))
    refused = 0
    for path, answer in zip(sorted(tmp_path.iterdir()), real(tmp_path), strict=True):
        got = outcome(path)
        if isinstance(got, str):
            assert answer is None or any(reason in got for reason in STRICTER), (path.name, got)
            refused += answer is None
        elif "arr[arr]" not in got.types.values():  # gguf.cpp has no arrays in arrays
            assert ours(got) == answer, path.name
    assert 100 < refused < 1500
