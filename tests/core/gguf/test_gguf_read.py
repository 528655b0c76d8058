"""Headers that are good: every value type, both byte orders, long arrays left where they are, prefixes."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf import cursor as cursor_module
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import NeedMoreBytes, parse_header, read_header
from galloscope.core.gguf.values import LazyArray
from galloscope.tests.core.gguf.plain import ARRAY, NAMES, STRING, entry, files, gguf, parse, payload, row

SCALARS: dict[int, Any] = {
    0: 255,
    1: -128,
    2: 65535,
    3: -32768,
    4: 2**32 - 1,
    5: -(2**31),
    6: 0.5,
    7: True,
    8: "größer",
    10: 2**64 - 1,
    11: -(2**63),
    12: 1e300,
}


def same(value: Any) -> Any:
    """A value with every long array read."""
    return value.read() if isinstance(value, LazyArray) else value


def compare(header: Header, data: bytes) -> None:
    plain = parse(data)
    assert header.version == plain["version"]
    assert header.big_endian == plain["big_endian"]
    assert {key: same(value) for key, value in header.metadata.items()} == plain["metadata"]
    assert list(header.metadata) == list(plain["metadata"])
    assert [(one.name, one.ne[: one.n_dims], one.dtype.id, one.offset) for one in header.tensors] == plain["rows"]
    assert all(one.ne[one.n_dims :] == (1,) * (4 - one.n_dims) for one in header.tensors)
    assert header.header_bytes == plain["end"]
    alignment = plain["metadata"].get("general.alignment", 32)
    assert header.alignment == alignment
    assert header.data_offset == (-(-plain["end"] // alignment) * alignment if plain["rows"] else plain["end"])


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("order", ["<", ">"])
def test_every_type(order: str, version: int) -> None:
    entries = [entry(NAMES[kind], kind, value, order) for kind, value in SCALARS.items()]
    entries += [entry(f"{NAMES[kind]}s", ARRAY, (kind, [value] * 3), order) for kind, value in SCALARS.items()]
    entries.append(entry("nested", ARRAY, (ARRAY, [(STRING, ["a", ""]), (ARRAY, [(0, [1, 2])]), (5, [])]), order))
    data = gguf(entries, [row("t", (32, 2, 3), 2, 0, order)], version, order)
    header = parse_header(data, "x")
    compare(header, data)
    assert header.metadata["nested"] == (("a", ""), ((1, 2),), ())
    assert header.types["i8"] == "i8"
    assert header.types["strs"] == "arr[str]"
    assert header.types["nested"] == "arr[arr]"
    assert header.metadata["bool"] is True
    assert (header.tensors[0].dtype, header.tensors[0].nbytes) == (DTYPES["q4_0"], 6 * 18)


@given(files())
def test_the_obvious_parser_reads_the_same(data: bytes) -> None:
    compare(parse_header(data, "x"), data)


@given(files(), st.binary(max_size=50))
def test_every_prefix_parses_or_says_how_much_more(data: bytes, tail: bytes) -> None:
    whole = parse_header(data, "x")
    for length in range(len(data)):
        with pytest.raises(NeedMoreBytes) as caught:
            parse_header(data[:length], "x")
        assert length < caught.value.needed <= whole.header_bytes
    assert parse_header(data + tail, "x").tensors == whole.tensors


@given(files())
def test_asking_for_what_is_needed_ends(data: bytes) -> None:
    """As the page does: send what was asked for until it is enough."""
    size, rounds = 1, 0
    while rounds <= len(data):
        try:
            parse_header(data[:size], "x", len(data))
            break
        except NeedMoreBytes as error:
            size, rounds = error.needed, rounds + 1
    assert size <= len(data)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("first_read", [1, 7, 1 << 20])
def test_a_vocabulary_stays_in_the_file(
    order: str, first_read: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cursor_module, "FIRST_READ", first_read)
    tokens, scores = [f"token {i}" * (i % 5) for i in range(3000)], [i / 2 for i in range(3000)]
    nested = [(STRING, [str(i)] * 3) for i in range(1000)]
    data = gguf(
        [
            entry("tokens", ARRAY, (STRING, tokens), order),
            entry("scores", ARRAY, (6, scores), order),
            entry("nested", ARRAY, (ARRAY, nested), order),
            entry("after", 4, 7, order),
        ],
        [row("t", (5,), 0, 0, order)],
        3,
        order,
    )
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    header = read_header(path)
    compare(header, data)
    values = header.metadata
    assert isinstance(values["tokens"], LazyArray)
    assert isinstance(values["scores"], LazyArray)
    assert isinstance(values["nested"], LazyArray)
    assert (len(values["tokens"]), values["after"]) == (3000, 7)
    assert values["tokens"].read(3) == ("", "token 1", "token 2token 2")
    assert values["scores"].read(2) == (0.0, 0.5)
    assert values["tokens"].read(10**9) == tuple(tokens)
    start, end = values["tokens"].offset, values["tokens"].end
    assert data[start:end] == b"".join(payload(STRING, one, order) for one in tokens)
    path.write_bytes(data[: end - 1])
    with pytest.raises(InputError, match="open the file again"):
        values["tokens"].read()


def test_short_arrays_beyond_the_budget_stay_in_the_file() -> None:
    arrays = [entry(f"k{i}", ARRAY, (0, [i % 256] * 1000)) for i in range(300)]
    header = parse_header(gguf(arrays, []), "x")
    lazy = [key for key, value in header.metadata.items() if isinstance(value, LazyArray)]
    assert 0 < len(lazy) < 300
    assert same(header.metadata["k299"]) == (299 % 256,) * 1000


def test_tokens_that_are_not_utf8() -> None:
    header = parse_header(gguf([entry("tokens", ARRAY, (STRING, [b"\xff", "ok"]))], []), "x")
    assert header.metadata["tokens"] == ("\ufffd", "ok")


def test_data_missing_whole_or_cut(tmp_path: Path) -> None:
    head = gguf([entry("general.architecture", STRING, "llama")], [row("a", (8,)), row("b", (9,), 0, 32)])
    path = tmp_path / "x.gguf"
    start = -(-len(head) // 32) * 32
    whole = start + 32 + 36
    for size, complete in ((len(head), False), (start, False), (whole, True), (whole + 28, True)):
        path.write_bytes(head + bytes(size - len(head)))
        header = read_header(path)
        assert (header.complete, header.file_bytes, header.data_offset) == (complete, whole, start)
    for size, short in ((start + 1, "'a' ends at byte"), (start + 32, "'b' ends at byte"), (whole - 1, "'b' ends")):
        path.write_bytes(head + bytes(size - len(head)))
        with pytest.raises(InputError, match=short):
            read_header(path)
        with pytest.raises(InputError, match=short):
            parse_header(head, "x", size)
        assert not parse_header(head + bytes(size - len(head)), "x").complete
    assert parse_header(head, "x", whole).complete
    assert not parse_header(head, "x", start).complete


def test_a_file_that_is_none(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.gguf"
    os.mkfifo(fifo)
    for path, problem in ((fifo, "not a regular file"), (tmp_path, "irectory"), (tmp_path / "no", "No such file")):
        with pytest.raises(InputError, match=problem):
            read_header(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_header("a\0b")


def test_a_scalar_and_no_tensors() -> None:
    scalar = parse_header(gguf([], [row("s", ())]), "x").tensors[0]
    assert (scalar.ne, scalar.n_dims, scalar.nbytes, scalar.elements) == ((1, 1, 1, 1), 0, 4, 1)
    empty = parse_header(gguf([], []), "x")
    assert (empty.tensors, empty.header_bytes, empty.data_offset, empty.file_bytes, empty.complete) == (
        (),
        24,
        24,
        24,
        True,
    )


def test_keys_of_the_architecture() -> None:
    data = gguf([entry("general.architecture", STRING, "qwen3"), entry("qwen3.block_count", 4, 28)], [])
    header = parse_header(data, "x")
    assert (header.architecture, header.get("block_count"), header.get("nothing")) == ("qwen3", 28, None)
    assert parse_header(gguf([entry("general.architecture", 4, 1)], []), "x").architecture == ""


def test_hundred_thousand_tensors() -> None:
    rows = [row(f"blk.{i}.weight", (32,), 0, 128 * i) for i in range(100_000)]
    header = parse_header(gguf([], rows), "x")
    assert len(header.tensors) == 100_000
    assert header.tensors[-1].offset == 128 * 99_999
