"""Headers written: read back equal, byte for byte when nothing changes, and with a hole for the data."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from galloscope.core.dtypes import DTYPES, F32
from galloscope.core.errors import InputError
from galloscope.core.gguf.read import parse_header, read_header
from galloscope.core.gguf.values import ARR, I8, STR, U8, U16, U64, LazyArray
from galloscope.core.gguf.values import F32 as F32_VALUE
from galloscope.core.gguf.write import Typed, header_bytes, typed_metadata, write_header_only
from galloscope.tests.core.gguf.plain import ARRAY, STRING, entry, files, gguf, parse


def test_the_type_follows_the_value() -> None:
    given_values: dict[str, Any] = {
        "bool": True,
        "small": 7,
        "negative": -7,
        "large": 2**40,
        "very negative": -(2**40),
        "float": 0.5,
        "text": "ä",
        "list": [1, -1],
        "mixed": [1, 0.5],
        "bools": (True, False),
        "texts": ["a", ""],
        "nothing": [],
        "lists": [[1], ["x"], [[0.5]]],
        "said": Typed(U16, 3),
        "said list": Typed(I8, [-1]),
        "said lists": Typed(ARR, [Typed(U8, [1, 2]), [3]]),
    }
    header = parse_header(header_bytes(given_values, []), "x")
    assert list(header.types.values()) == [
        *("bool", "u32", "i32", "u64", "i64", "f32", "str"),
        *("arr[i32]", "arr[f32]", "arr[bool]", "arr[str]", "arr[u32]", "arr[arr]", "u16", "arr[i8]", "arr[arr]"),
    ]
    assert header.metadata == {
        **given_values,
        "list": (1, -1),
        "mixed": (1.0, 0.5),
        "texts": ("a", ""),
        "nothing": (),
        "lists": ((1,), ("x",), ((0.5,),)),
        "said": 3,
        "said list": (-1,),
        "said lists": ((1, 2), (3,)),
    }


@pytest.mark.parametrize(
    "value",
    [
        *(None, b"x", 2**64, -(2**63) - 1, [2**63, -1], [1, "a"], [True, 1.5], [None], {"a": 1}, "\ud800"),
        *(Typed(U8, 256), Typed(U8, "a"), Typed(STR, 1), Typed(ARR, [1]), Typed(ARR, 1), [Typed(U8, 1)]),
    ],
)
def test_values_that_gguf_has_not(value: Any) -> None:
    with pytest.raises(InputError, match=r"key 'k': .* cannot be written"):
        header_bytes({"k": value}, [])


@pytest.mark.parametrize(
    ("name", "ne", "problem"),
    [
        ("t", (0,), "dimension 0"),
        ("t", (33,), "whole blocks"),
        ("t", (32,) * 5, "5 dimensions"),
        ("t", (-32,), "'t'"),
        ("\ud800", (32,), "cannot be written"),
        ("n" * 64, (32,), "64 bytes"),
        ("t", (2**63, 2), "9,223,372"),
    ],
)
def test_tensors_that_ggml_has_not(name: str, ne: tuple[int, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        header_bytes({}, [(name, DTYPES["q8_0"], ne)])


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("alignment", [1, 32, 4096])
def test_the_obvious_parser_reads_what_was_written(alignment: int, version: int, big_endian: bool) -> None:
    rows = [("a", F32, (3, 5)), ("b", DTYPES["q4_K"], (512, 2, 1, 7)), ("c", F32, ())]
    data = header_bytes({"k": 1}, rows, version=version, big_endian=big_endian, alignment=alignment)
    plain = parse(data)
    assert (plain["version"], plain["big_endian"], plain["end"]) == (version, big_endian, len(data))
    second = -(-60 // alignment) * alignment
    third = second + -(-4032 // alignment) * alignment
    assert plain["rows"] == [("a", (3, 5), 0, 0), ("b", (512, 2, 1, 7), 12, second), ("c", (), 0, third)]
    assert plain["metadata"] == ({"k": 1} if alignment == 32 else {"k": 1, "general.alignment": alignment})


@given(files())
def test_a_header_written_again_is_the_same(data: bytes) -> None:
    header = parse_header(data, "x")
    metadata = typed_metadata(header)
    if any(name == "arr[arr]" for name in header.types.values()):
        return  # the types of inner arrays are not kept
    again = header_bytes(
        metadata,
        [(one.name, one.dtype, one.ne[: one.n_dims]) for one in header.tensors],
        version=header.version,
        big_endian=header.big_endian,
        alignment=header.alignment,
    )
    assert again == data


def test_a_vocabulary_is_written_again() -> None:
    data = gguf([entry("tokens", ARRAY, (STRING, [str(i) for i in range(5000)]))], [])
    header = parse_header(data, "x")
    assert isinstance(header.metadata["tokens"], LazyArray)
    assert header_bytes(typed_metadata(header), []) == data
    changed = parse_header(header_bytes({**typed_metadata(header), "tokens": Typed(F32_VALUE, [1.0])}, []), "x")
    assert changed.metadata == {"tokens": (1.0,)}


def test_a_copy_with_a_hole(tmp_path: Path) -> None:
    """As long as the original, whatever its size, and of no size on disk."""
    model = header_bytes(
        {"general.architecture": "llama", "k": Typed(U64, 1)},
        [(f"blk.{i}.w", DTYPES["q8_0"], (8192, 8192)) for i in range(1000)],
    )
    header = parse_header(model, "made up")
    path = write_header_only(tmp_path / "x.gguf", header)
    copy = read_header(path)
    assert path.stat().st_size == header.file_bytes == 1000 * 8192 * 8192 // 32 * 34 + header.data_offset
    assert copy.complete
    assert (copy.metadata, copy.types, copy.tensors) == (header.metadata, header.types, header.tensors)
    short = write_header_only(tmp_path / "short.gguf", header, sparse=False)
    assert short.read_bytes() == model
    assert not read_header(short).complete
    assert read_header(write_header_only(tmp_path / "again.gguf", read_header(short))).complete
    with pytest.raises(FileExistsError):
        write_header_only(path, header)


def test_a_copy_of_a_file_that_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf([entry("key", 4, 1)], []))
    header = read_header(path)
    path.write_bytes(b"GGUF")
    with pytest.raises(InputError, match="shorter than it was"):
        write_header_only(tmp_path / "copy.gguf", header)
    assert not (tmp_path / "copy.gguf").exists()
