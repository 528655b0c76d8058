"""Models in several files: any one part opens the whole; what is missing, doubled or of another model is named."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import merge_parts, parse_header, read_header
from galloscope.core.gguf.splits import part_name
from galloscope.core.gguf.write import write_header_only
from galloscope.tests.core.gguf.plain import STRING, entry, gguf, row


def part(no: int, count: int, names: list[str], total: int | None, order: str = "<", version: int = 3) -> bytes:
    """One part: 32 f32 elements a tensor."""
    entries = [entry("split.no", 2, no, order), entry("split.count", 2, count, order)]
    if total is not None:
        entries.append(entry("split.tensors.count", 5, total, order))
    if no == 0:
        entries.append(entry("general.architecture", STRING, "llama", order))
    return gguf(entries, [row(name, (32,), 0, 128 * i, order) for i, name in enumerate(names)], version, order)


def write_parts(folder: Path, names: list[list[str]], prefix: str = "model") -> list[Path]:
    total, paths = sum(map(len, names)), []
    for no, own in enumerate(names):
        paths.append(folder / part_name(prefix, no, len(names)))
        paths[-1].write_bytes(part(no, len(names), own, total))
    return paths


def test_any_part_opens_the_whole(tmp_path: Path) -> None:
    paths = write_parts(tmp_path, [["a", "b"], [], ["c"]])
    for path in paths:
        header = read_header(path)
        assert [(one.name, one.part, one.offset) for one in header.tensors] == [("a", 0, 0), ("b", 0, 128), ("c", 2, 0)]
        assert [Path(one.source.where) for one in header.parts] == paths
        assert header.architecture == "llama"
        assert (header.split_count, header.complete) == (3, False)
        assert header.header_bytes == sum(path.stat().st_size for path in paths)
        assert header.file_bytes == sum(one.file_bytes for one in header.parts)


def test_whole_when_every_part_has_its_data(tmp_path: Path) -> None:
    paths = write_parts(tmp_path, [["a"], ["b"]])
    for path in paths:
        assert not read_header(paths[0]).complete
        size = parse_header(path.read_bytes(), "x").file_bytes
        path.write_bytes(path.read_bytes().ljust(size, b"\0"))
    assert read_header(paths[1]).complete


def test_missing_parts_are_named(tmp_path: Path) -> None:
    paths = write_parts(tmp_path, [[str(i)] for i in range(6)])
    paths[1].unlink()
    with pytest.raises(InputError, match=r"1 of 6 parts are missing beside it: model-00002-of-00006\.gguf$"):
        read_header(paths[5])
    for path in paths[2:5]:
        path.unlink()
    with pytest.raises(InputError, match=r"4 of 6 .*00002.*00003.*00004-of-00006\.gguf and 1 more"):
        read_header(paths[5])


@pytest.mark.parametrize("name", ["model.gguf", "model-00001-of-00003.gguf", "-00001-of-00002.gguf", "m-1-of-2.gguf"])
def test_a_renamed_part(name: str, tmp_path: Path) -> None:
    path = write_parts(tmp_path, [["a"], ["b"]])[0].rename(tmp_path / name)
    with pytest.raises(InputError, match=r"part 1 of 2; name it \*-00001-of-00002\.gguf"):
        read_header(path)


def test_parts_that_are_one_file(tmp_path: Path) -> None:
    """A circle: the second part is a link to the first."""
    paths = write_parts(tmp_path, [["a"], ["b"]])
    paths[1].unlink()
    paths[1].symlink_to(paths[0])
    with pytest.raises(InputError, match=r"part 1 is there twice, 'split\.no' is 0 where 1 is expected"):
        read_header(paths[0])
    paths[0].unlink()
    paths[0].symlink_to(paths[1])
    with pytest.raises(InputError, match="cannot be read"):
        read_header(paths[0])


def test_a_part_that_is_broken_or_no_file(tmp_path: Path) -> None:
    paths = write_parts(tmp_path, [["a"], ["b"]])
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[:40])
    with pytest.raises(InputError, match=r"00002-of-00002\.gguf: the file ends at byte 40"):
        read_header(paths[0])
    paths[1].unlink()
    paths[1].mkdir()
    with pytest.raises(InputError, match=r"00002-of-00002\.gguf: "):
        read_header(paths[0])


def headers(*parts: bytes) -> list[Header]:
    return [parse_header(data, f"part{i}") for i, data in enumerate(parts)]


WRONG: dict[str, tuple[list[bytes], str]] = {
    "twice": ([part(0, 2, ["a"], 2), part(0, 2, ["b"], 2)], "part 1 is there twice"),
    "third missing": ([part(0, 3, ["a"], 2), part(1, 3, ["b"], 2)], "2 parts of 3 are there, part 3 is missing"),
    "first missing": ([part(1, 2, ["a"], 2)], "part 1 is missing"),
    "too many": ([part(0, 2, ["a"], 2), part(1, 2, ["b"], 2), part(1, 2, ["c"], 2)], "part 2 is there twice"),
    "other count": ([part(0, 2, ["a"], 2), part(1, 3, ["b"], 2)], "'split.count' is 3, but 2"),
    "same tensor": ([part(0, 2, ["a"], 2), part(1, 2, ["a"], 2)], "tensor 'a' is also in part 1"),
    "wrong sum": ([part(0, 2, ["a"], 3), part(1, 2, ["b"], 3)], "'split.tensors.count' is 3, but the parts hold 2"),
    "no sum": ([part(0, 2, ["a"], None), part(1, 2, ["b"], None)], "'split.tensors.count' is missing"),
    "no number": ([gguf([entry("split.count", 2, 2)], [])], "'split.no' is missing"),
    "number is text": ([gguf([entry("split.count", 2, 2), entry("split.no", STRING, "0")], [])], "no integer"),
    "number too large": ([part(2, 2, [], 2)], "'split.no' is 2, of 2 parts the numbers are 0 to 1"),
    "65535 parts": ([part(0, 65535, ["a"], 1)], "'split.count' is 65,535"),
    "byte order": ([part(0, 2, ["a"], 2), part(1, 2, ["b"], 2, ">")], "byte order differs"),
    "version": ([part(0, 2, ["a"], 2), part(1, 2, ["b"], 2, "<", 2)], "version or byte order"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refused(name: str) -> None:
    parts, problem = WRONG[name]
    with pytest.raises(InputError, match=problem):
        merge_parts(headers(*parts))


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), max_size=12))
def test_the_order_of_upload_does_not_matter(order: list[int], homes: list[int]) -> None:
    names: list[list[str]] = [[], [], [], []]
    for i, home in enumerate(homes):
        names[home].append(f"t{i}")
    parts = [part(no, 4, own, len(homes)) for no, own in enumerate(names)]
    merged = merge_parts([parse_header(parts[no], f"part{no}") for no in order])
    assert [one.name for one in merged.tensors] == list(itertools.chain(*names))
    assert [one.source.where for one in merged.parts] == ["part0", "part1", "part2", "part3"]


def test_one_part_alone_says_that_it_is_one() -> None:
    [header] = headers(part(1, 3, ["a"], 5))
    assert (header.split_count, len(header.parts), header.complete) == (3, 1, False)


def test_a_copy_without_data(tmp_path: Path) -> None:
    header = read_header(write_parts(tmp_path, [["a", "b"], ["c"]])[1])
    first = write_header_only(tmp_path / "copy.gguf", header)
    assert first.name == "copy-00001-of-00002.gguf"
    copy = read_header(tmp_path / "copy-00002-of-00002.gguf")
    assert copy.complete
    assert copy.tensors == header.tensors
    [alone] = headers(part(1, 3, ["a"], 5))
    with pytest.raises(InputError, match="only 1 of 3 parts"):
        write_header_only(tmp_path / "alone.gguf", alone)
