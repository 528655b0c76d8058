"""The data of a GGUF: the bytes that the gguf package wrote, of split models too; what is missing is said."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.data import GgufData
from galloscope.core.gguf.read import parse_header, read_header
from galloscope.core.gguf.write import Row, header_bytes, write_header_only

ROWS: list[Row] = [("a", DTYPES["f32"], [3]), ("b", DTYPES["q4_0"], [32, 5]), ("c", DTYPES["f16"], [2, 2, 2, 2])]


def model(tmp_path: Path, rows: list[Row], name: str = "m.gguf", **metadata: object) -> tuple[Path, dict[str, bytes]]:
    """A model whose every byte is known: the header from the project's writer, the data laid out here."""
    header = header_bytes({"general.architecture": "llama", **metadata}, rows)  # type: ignore[dict-item]
    sizes = {"a": 12, "b": 90, "c": 32, "big": 1 << 18}
    data = header + bytes(-len(header) % 32)
    contents = {}
    for number, (tensor, _, _) in enumerate(rows):
        contents[tensor] = bytes((number * 50 + i) % 251 for i in range(sizes[tensor]))
        data += contents[tensor] + bytes(-sizes[tensor] % 32)
    path = tmp_path / name
    path.write_bytes(data)
    return path, contents


def test_bytes_are_those_of_the_file(tmp_path: Path) -> None:
    path, contents = model(tmp_path, ROWS)
    data = GgufData(read_header(path))
    for name, wanted in contents.items():
        found = data.bytes(name)
        assert found.dtype == np.uint8
        assert found.tobytes() == wanted
        assert not found.flags.writeable
    assert data.bytes("a").base is not None, "a copy was made"
    with pytest.raises(InputError, match="it has no tensor 'nothing'"):
        data.bytes("nothing")


def test_split_models(tmp_path: Path) -> None:
    contents = {}
    for number, rows in enumerate((ROWS[:1], ROWS[1:])):
        split = {"split.no": number, "split.count": 2, "split.tensors.count": 3}
        _, own = model(tmp_path, rows, f"m-0000{number + 1}-of-00002.gguf", **split)
        contents.update(own)
    data = GgufData(read_header(tmp_path / "m-00001-of-00002.gguf"))
    assert {name: data.bytes(name).tobytes() for name in contents} == contents
    with pytest.raises(InputError, match="1 of 2 parts are there"):
        GgufData(parse_header((tmp_path / "m-00001-of-00002.gguf").read_bytes(), "one part"))


def test_a_header_alone_is_refused_with_tensor_and_byte(tmp_path: Path) -> None:
    path, _ = model(tmp_path, ROWS)
    header = read_header(path)
    short = write_header_only(tmp_path / "short.gguf", header, sparse=False)
    at = header.data_offset
    with pytest.raises(InputError, match=rf"short.gguf: .*ends with its header .*'a' would begin at byte {at:,}"):
        GgufData(read_header(short))
    with pytest.raises(InputError, match="sent: only its header was sent, tensor 'a' has no data"):
        GgufData(parse_header(path.read_bytes(), "sent"))


def test_a_hole_in_place_of_the_data_is_refused(tmp_path: Path) -> None:
    path, contents = model(tmp_path, [*ROWS, ("big", DTYPES["f32"], [1 << 16])])
    hollow = write_header_only(tmp_path / "hollow.gguf", read_header(path))
    if os.stat(hollow).st_blocks * 512 >= os.stat(hollow).st_size:
        pytest.skip("the file system keeps no holes")
    with pytest.raises(InputError, match=r"hollow.gguf: a hole .* with tensor 'a'"):
        GgufData(read_header(hollow))
    assert GgufData(read_header(path)).bytes("big").tobytes() == contents["big"]


def test_a_file_that_changes_afterwards(tmp_path: Path) -> None:
    path, _ = model(tmp_path, ROWS)
    data = GgufData(read_header(path))
    os.truncate(path, path.stat().st_size - 32)
    with pytest.raises(InputError, match="open it again"):
        data.bytes("a")
    path.unlink()
    with pytest.raises(InputError, match="cannot be mapped"):
        data.bytes("a")


def test_big_endian_data_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.gguf"
    header = header_bytes({"general.architecture": "llama"}, ROWS[:1], big_endian=True)
    path.write_bytes(header + bytes(-len(header) % 32) + struct.pack(">3f", 1, 2, 3))
    with pytest.raises(InputError, match="big-endian"):
        GgufData(read_header(path))


def test_a_model_without_tensors_has_no_data_to_miss(tmp_path: Path) -> None:
    path = tmp_path / "none.gguf"
    path.write_bytes(header_bytes({"general.architecture": "llama"}, []))
    assert GgufData(read_header(path)).infos == {}
