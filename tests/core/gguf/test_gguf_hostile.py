"""Headers that are wrong: one sentence with the file, the key or tensor and the byte, before memory is taken."""

import random
import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.gguf import limits, metadata
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import NeedMoreBytes, parse_header
from galloscope.tests.core.gguf.plain import ARRAY, STRING, entry, files, gguf, payload, row, text

U64 = 2**64 - 1


def head(n_tensors: int, n_entries: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_entries)


def array(kind: int, count: int) -> bytes:
    """The beginning of an entry with an array, without its elements."""
    return text("key") + struct.pack("<IIQ", ARRAY, kind, count)


HOSTILE: dict[str, tuple[bytes, str]] = {
    "magic": (b"GGUX" + bytes(40), "begins with b'GGUX'"),
    "web page": (b"<!DOCTYPE html><html>" + bytes(40), "a web page"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
    "zip": (b"PK\x03\x04" + bytes(40), "zip"),
    "old format": (b"tjgg" + bytes(40), "GGJT"),
    "short and wrong": (b"GX", "begins with b'GX'"),
    "version 0": (head(0, 0, 0), "GGUF version 0"),
    "version 1": (head(0, 0, 1), "GGUF version 1,"),
    "version 4": (head(0, 0, 4), "GGUF version 4"),
    "version 4, big-endian": (b"GGUF" + struct.pack(">IQQ", 4, 0, 0), "GGUF version 4"),
    "2^63 tensors": (head(2**63, 0), "9,223,372,036,854,775,808 tensors"),
    "2^63 entries": (head(0, 2**63), "9,223,372,036,854,775,808 metadata entries"),
    "a million tensors": (head(1_000_000, 0) + row("x", (1,)), "1,000,000 tensors"),
    "a million tensors that are there": (
        head(1_000_000, 0) + row("x", (32,)) * 1_000_000,
        "1,000,000 tensors",
    ),
    "empty key": (gguf([entry("", 4, 1)], []), "entry 0 at byte 24: its key is empty"),
    "key of 2^63": (head(0, 1) + struct.pack("<Q", 2**63) + bytes(20), "entry 0 at byte 24"),
    "key is no UTF-8": (gguf([entry(b"\xff", 4, 1)], []), "not UTF-8"),
    "key with a zero": (gguf([entry("ke\0y", 4, 1)], []), "zero byte, at 2 of 4"),
    "same key": (gguf([entry("key", 4, 1), entry("key", 5, 1)], []), "'key' at byte 43: the key is there twice"),
    "value type": (head(0, 1) + text("key") + struct.pack("<I", 13) + bytes(9), "unknown value type 13"),
    "string of 2^63": (head(0, 1) + text("key") + struct.pack("<IQ", STRING, 2**63), "'key' at byte 24"),
    "string of 2^64-1": (head(0, 1) + text("key") + struct.pack("<IQ", STRING, U64), "'key' at byte 24"),
    "string of 300 MB": (head(0, 1) + text("key") + struct.pack("<IQ", STRING, 300_000_000), "no header is longer"),
    "65 MiB of text": (gguf([entry("key", STRING, b"x" * (65 << 20))], []), "strings take more than 64 MiB"),
    "array of 2^63": (head(0, 1) + array(4, 2**63), "9,223,372,036,854,775,808 elements"),
    "strings 2^63": (head(0, 1) + array(STRING, 2**63), "9,223,372,036,854,775,808 elements"),
    "array type": (head(0, 1) + array(77, 1) + bytes(9), "unknown value type 77"),
    "inner type": (head(0, 1) + array(ARRAY, 1) + struct.pack("<IQ", 78, 1), "unknown value type 78"),
    "inner 2^63": (head(0, 1) + array(ARRAY, 1) + struct.pack("<IQ", 4, 2**63), "elements"),
    "string in array": (head(0, 1) + array(STRING, 2) + struct.pack("<QQ", U64, 0), "'key' at byte 24"),
    "deep": (head(0, 1) + array(ARRAY, 1) + struct.pack("<IQ", ARRAY, 1) * 100_000, "more than 8 deep"),
    "many inner": (head(0, 1) + array(ARRAY, 10**6) + bytes(12 * 10**6), "over 65,536 arrays inside arrays"),
    "alignment u64": (gguf([entry("general.alignment", 10, 32)], []), "is u64, it must be u32"),
    "alignment str": (gguf([entry("general.alignment", STRING, "32")], []), "is str, it must be u32"),
    "alignment list": (gguf([entry("general.alignment", ARRAY, (4, [32]))], []), r"is arr\[u32\]"),
    "alignment 0": (gguf([entry("general.alignment", 4, 0)], []), "power of two"),
    "alignment 48": (gguf([entry("general.alignment", 4, 48)], []), "power of two"),
    "same tensor": (gguf([], [row("a", (8,)), row("a", (8,), 0, 32)]), "'a' at byte 57: the name is there twice"),
    "tensor name no UTF-8": (gguf([], [row(b"\xc3", (8,))]), "row 0 of the tensor table at byte 24"),
    "tensor name with a zero": (gguf([], [row("\0", (8,))]), "zero byte, at 0 of 1"),
    "name of 64 bytes": (gguf([], [row("x" * 64, (8,))]), "its name has 64 bytes, ggml takes 63"),
    "name of 2^63": (head(1, 0) + struct.pack("<Q", 2**63) + bytes(40), "row 0 of the tensor table at byte 24"),
    "five dimensions": (gguf([], [row("a", (1, 1, 1, 1, 1))]), "'a' at byte 24: 5 dimensions"),
    "2^31 dimensions": (head(1, 0) + text("a") + struct.pack("<I", 2**31) + bytes(40), "2,147,483,648 dimensions"),
    "dimension 0": (gguf([], [row("a", (8, 0))]), "dimension 1 has 0 elements"),
    "dimension 2^63": (gguf([], [row("a", (2**63,))]), "dimension 0 has 9,223,372,036,854,775,808 elements"),
    "too many elements": (gguf([], [row("a", (2**32, 2**31))]), "4294967296 x 2147483648 elements"),
    "too many bytes": (gguf([], [row("a", (2**60,))]), "no model is larger"),
    "wrapped product": (gguf([], [row("a", (2**32, 2**32, 2**32, 2**32))]), "are more than"),
    "unknown type": (gguf([], [row("a", (8,), 99)]), "'a' at byte 24: unknown type 99"),
    "removed type": (gguf([], [row("a", (32,), 4)]), "type 4 was removed from ggml"),
    "type 2^31": (gguf([], [row("a", (8,), 2**31)]), "unknown type"),
    "rows split a block": (gguf([], [row("a", (33,), 2)]), r"rows of 33 elements are not whole blocks of 32 \(q4_0\)"),
    "misaligned": (gguf([], [row("a", (8,), 0, 8)]), "offset 8 is no multiple of the alignment 32"),
    "offset 2^63": (gguf([], [row("a", (8,), 0, 2**63)]), "offset 9,223,372,036,854,775,808"),
    "overlap": (gguf([], [row("a", (64,)), row("b", (8,), 0, 128)]), "'b' at byte 57.*inside those of tensor 'a'"),
    "same place": (gguf([], [row("a", (64,)), row("b", (8,), 0, 0)]), "'b' at byte 57.*inside those of tensor 'a'"),
    "gap": (gguf([], [row("a", (8,)), row("b", (8,), 0, 64)]), "tensor 'a' ends at 32"),
    "gap in front": (gguf([], [row("a", (8,), 0, 32)]), "the data begin at 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_refused(name: str) -> None:
    data, problem = HOSTILE[name]
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=problem) as caught:
            parse_header(data, "hostile.gguf")
        assert tracemalloc.get_traced_memory()[1] < 2 * len(data) + 1_000_000
    finally:
        tracemalloc.stop()
    assert not isinstance(caught.value, NeedMoreBytes)
    sentence = str(caught.value)
    assert sentence.startswith("hostile.gguf: ")
    assert sentence.isprintable()
    assert len(sentence) < 430


def test_counts_are_checked_against_the_bytes_at_once() -> None:
    """Counts within the limits that cannot be there say so before anything is read."""
    with pytest.raises(NeedMoreBytes, match="at least 3,800,024 bytes") as caught:
        parse_header(head(limits.MAX_TENSORS, limits.MAX_KEYS) + b"\xff" * 1000, "x")
    assert caught.value.needed == 24 + 14 * limits.MAX_KEYS + 24 * limits.MAX_TENSORS
    with pytest.raises(InputError, match="copy the file again") as final:
        parse_header(head(10, 10), "x", 100)
    assert not isinstance(final.value, NeedMoreBytes)


def test_strings_of_all_arrays_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "MAX_ELEMENTS", 2500)
    arrays = [entry(f"k{i}", ARRAY, (STRING, [""] * 1000)) for i in range(3)]
    assert parse_header(gguf(arrays[:2], []), "x").metadata.keys() == {"k0", "k1"}
    with pytest.raises(InputError, match=r"'k2' at byte .*over 2,500 strings so far"):
        parse_header(gguf(arrays, []), "x")


def test_a_size_that_cannot_be() -> None:
    with pytest.raises(InputError, match="cannot be the beginning"):
        parse_header(head(0, 0), "x", 3)


def test_control_characters_in_names_do_not_reach_a_terminal() -> None:
    with pytest.raises(InputError) as caught:
        parse_header(gguf([entry("a\x1b[31m\n", 4, 1)] * 2, []), "x")
    assert str(caught.value).isprintable()


def outcome(data: bytes, size: int | None = None) -> Header | InputError:
    try:
        return parse_header(data, "x", size)
    except InputError as error:
        return error


@given(files(), st.integers(0, 2**32), st.booleans())
def test_damaged_bytes_give_a_header_or_a_sentence(data: bytes, seed: int, sized: bool) -> None:
    chance = random.Random(seed)
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(damaged))
        kind = chance.randrange(4)
        if kind == 0:
            damaged[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            damaged[at : at + 8] = struct.pack("<Q", chance.choice((2**63, U64, 0, 1, len(data), 2**31)))
        elif kind == 2:
            damaged[at : at + chance.randint(1, 9)] = b""
        else:
            damaged[at:at] = damaged[: chance.randint(1, 30)]
        damaged = damaged or bytearray(b"G")
    result = outcome(bytes(damaged), len(damaged) if sized else None)
    if isinstance(result, NeedMoreBytes):
        assert len(damaged) < result.needed <= limits.MAX_HEADER
        assert not sized
    elif isinstance(result, Header):
        assert result.header_bytes <= len(damaged)
        assert sum(one.elements for one in result.tensors) < 2**63
    else:
        assert str(result).startswith("x: ")


@given(st.binary(max_size=300))
def test_noise_after_the_magic(noise: bytes) -> None:
    assert isinstance(outcome(b"GGUF" + noise), (Header, InputError))


def test_a_length_that_ends_exactly_and_one_beyond() -> None:
    body = payload(ARRAY, (STRING, ["ab", "c"]))
    for cut in range(1, len(body)):
        data = head(0, 1) + text("key") + struct.pack("<I", ARRAY) + body[:-cut]
        result = outcome(data)
        assert isinstance(result, NeedMoreBytes)
        assert len(data) < result.needed <= len(data) + cut
