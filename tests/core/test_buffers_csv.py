"""Buffers as CSV: every way to write them, what is refused and how it is said, and back again."""

import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from galloscope.core.errors import InputError
from galloscope.core.files import buffers_csv
from galloscope.core.files.buffers_csv import parse_buffers, read_buffers
from galloscope.core.files.buffers_write import dump_buffers
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.planner import Constraint, Plan
from galloscope.tests.core.planners.instances import instances

EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
"""Of MiniMalloc's documentation."""
FULL = "id,lower,upper,size,alignment,hint,gaps,offset\na,5,10,15,1,0,,30\nb,6,12,18,2,-1,7-8 9-10@1:17,-1\n"


def parse(text: str) -> Instance:
    return parse_buffers(text.encode(), "x.csv").instance


def same(one: Instance, other: Instance) -> bool:
    columns = ("lower", "upper", "size", "alignment", "fixed", "hint")
    return (
        one.ids == other.ids
        and all(getattr(one, name).tolist() == getattr(other, name).tolist() for name in columns)
        and {k: gaps for k, gaps in one.gaps.items() if gaps} == {k: gaps for k, gaps in other.gaps.items() if gaps}
    )


def test_the_documented_example() -> None:
    found = parse(EXAMPLE)
    assert found.ids == ("b1", "b2", "b3", "b4", "b5")
    assert found.lower.tolist() == [0, 3, 0, 9, 0]
    assert found.upper.tolist() == [3, 9, 9, 21, 21]
    assert found.size.tolist() == [4] * 5
    assert found.alignment.tolist() == [1] * 5
    assert found.fixed.tolist() == found.hint.tolist() == [-1] * 5
    assert not found.gaps


def test_every_column() -> None:
    found = parse(FULL)
    assert found.alignment.tolist() == [1, 2]
    assert found.hint.tolist() == [0, -1]
    assert found.fixed.tolist() == [30, -1]
    assert found.gaps == {1: (Gap(7, 8), Gap(9, 10, 1, 17))}


SAME_AS_EXAMPLE = {
    "any order": "size,upper,id,lower\n4,3,b1,0\n4,9,b2,3\n4,9,b3,0\n4,21,b4,9\n4,21,b5,0\n",
    "aliases": EXAMPLE.replace("id,lower", "buffer,begin"),
    "other aliases": EXAMPLE.replace("id,lower", "buffer_id,start"),
    "inclusive end": "id,start,end,size\nb1,0,2,4\nb2,3,8,4\nb3,0,8,4\nb4,9,20,4\nb5,0,20,4\n",
    "capitals": EXAMPLE.replace("id,lower,upper,size", "ID,Lower,Upper,Size"),
    "a byte order mark": "\ufeff" + EXAMPLE,
    "CRLF": EXAMPLE.replace("\n", "\r\n"),
    "CR": EXAMPLE.replace("\n", "\r"),
    "no last newline": EXAMPLE.rstrip("\n"),
    "blank lines": "\n" + EXAMPLE.replace("\nb3", "\n\n  \nb3") + "\n\n",
    "spaces": EXAMPLE.replace(",", " , "),
    "quotes": EXAMPLE.replace("b1,0", '"b1","0"'),
    "quotes after spaces": EXAMPLE.replace("b1,0", '"b1", "0"'),
    "plus signs and zeros": EXAMPLE.replace("b2,3,9", "b2,+3,009"),
    "a column of another name": EXAMPLE.replace("size\n", "size,comment\n").replace("4\n", "4,hello\n"),
    "empty optional columns": EXAMPLE.replace("size\n", "size,alignment,hint,gaps,offset\n").replace("4\n", "4,,,,\n"),
    "hints below zero": EXAMPLE.replace("size\n", "size,hint\n").replace("4\n", "4,-7\n"),
    "chunk 0": EXAMPLE.replace("size\n", "size,chunk\n").replace("4\n", "4,0\n"),
}


@pytest.mark.parametrize("text", SAME_AS_EXAMPLE.values(), ids=SAME_AS_EXAMPLE)
def test_other_ways_to_write_the_example(text: str) -> None:
    assert same(parse(text), parse(EXAMPLE))


def test_gaps_of_an_inclusive_end_are_inclusive_too() -> None:
    found = parse("id,start,end,size,gaps\na,5,9,15,\nb,6,11,18,9-9  7-7@2:3\n")
    assert found.gaps == {1: (Gap(7, 8, 2, 3), Gap(9, 10))}


def test_gaps_at_negative_steps() -> None:
    assert parse("id,lower,upper,size,gaps\na,-9,5,15,-8--6 -3-2\n").gaps == {0: (Gap(-8, -6), Gap(-3, 2))}


def test_a_header_alone_is_no_buffers() -> None:
    assert len(parse("id,lower,upper,size\n")) == len(parse("id,lower,upper,size")) == 0


def test_odd_ids() -> None:
    found = parse('id,lower,upper,size\n"a,b",0,1,4\n"say ""x""",0,1,4\n"two\nlines",0,1,4\nübung_1,0,1,4\n0,0,1,4\n')
    assert found.ids == ("a,b", 'say "x"', "two\nlines", "übung_1", "0")
    again = parse_buffers(dump_buffers(found), "x.csv").instance
    assert again.ids == found.ids


HEAD = "id,lower,upper,size"
REFUSED = {
    "missing columns": ("id,lower\na,0\n", "x.csv: no column upper and no column size; the first line"),
    "no header": ("0,1,2,3\n", "x.csv: no column id and no column lower"),
    "nothing": ("", "x.csv: no column id"),
    "semicolons": ("id;lower;upper;size\na;0;1;4\n", "x.csv: no column id"),
    "two columns": ("id,lower,start,upper,size\n", "x.csv: two columns for lower"),
    "end and upper": ("id,lower,end,upper,size\n", "x.csv: two columns for upper"),
    "a typing error": (HEAD + ",aligment\na,0,1,4,1\n", "x.csv: no column is called 'aligment' (did you mean 'align"),
    "short row": (HEAD + "\na,0,1,4\nb,0,1\n", "x.csv, line 3: 3 fields, the header has 4"),
    "long row": (HEAD + "\na,0,1,4,5\n", "x.csv, line 2: 5 fields, the header has 4"),
    "short, then long": (HEAD + "\na,0,1\n4,b,0,1,4\n", "x.csv, line 2: 3 fields, the header has 4"),
    "no number": (HEAD + "\na,0,1,four\n", "x.csv, line 2: size is 'four', not a whole number"),
    "a fraction": (HEAD + "\na,0,1,4.0\n", "x.csv, line 2: size is '4.0', not a whole number"),
    "an underscore": (HEAD + "\na,0,1,1_000\n", "x.csv, line 2: size is '1_000', not a whole number"),
    "other digits": (HEAD + "\na,0,1,\u0664\n", "x.csv, line 2: size is '\u0664', not a whole number"),
    "empty": (HEAD + "\na,0,1,\n", "x.csv, line 2: size is '', not a whole number"),
    "after blank lines": ("\n" + HEAD + "\n\n\na,0,1,x\n", "x.csv, line 5: size is 'x'"),
    "after two lines in quotes": (HEAD + '\n"a\nb",0,1,4\nc,0,1,x\n', "x.csv, line 4: size is 'x'"),
    "huge": (HEAD + f"\na,0,1,{1 << 63}\n", "x.csv, line 2: size 9223372036854775808 does not fit into 64 bits"),
    "endless": (HEAD + "\na,0,1," + "9" * 5000 + "\n", "x.csv, line 2: size is '999"),
    "sums": (HEAD + f"\na,0,1,{1 << 62}\nb,0,1,{1 << 62}\n", "x.csv: sizes and alignments add up to more than"),
    "end beyond": (f"id,lower,end,size\na,0,{(1 << 63) - 1},4\n", "x.csv, line 2: the step after its end"),
    "far step": (HEAD + f"\na,0,{(1 << 63) - 1},4\n", "x.csv: buffer 'a' has a step beyond"),
    "below zero": (HEAD + "\na,0,1,-4\n", "x.csv, line 2: the size is below zero"),
    "backwards": (HEAD + "\na,3,1,4\n", "x.csv, line 2: it ends before it starts"),
    "alignment 0": (HEAD + ",alignment\na,0,1,4,0\n", "x.csv, line 2: the alignment is below one"),
    "offset": (HEAD + ",offset\na,0,1,4,-2\n", "x.csv, line 2: the offset is below zero"),
    "off": (HEAD + ",alignment,offset\na,0,1,4,8,4\n", "x.csv, line 2: the offset is no multiple of the alignment"),
    "same id": (HEAD + "\na,0,1,4\nb,0,1,4\na,5,6,4\n", "x.csv, line 4: the id 'a' stands in line 2 already"),
    "no id": (HEAD + "\na,0,1,4\n ,0,1,4\n", "x.csv, line 3: the id is empty"),
    "odd gap": (HEAD + ",gaps\na,0,9,4,1-2-3\n", "x.csv, line 2: the gap '1-2-3' is not written as a-b or a-b@low"),
    "letters": (HEAD + ",gaps\na,0,9,4,A-B\n", "x.csv, line 2: the gap 'A-B' is not written as"),
    "gap outside": (HEAD + ",gaps\na,0,9,4,8-10\n", "x.csv, line 2: the gap '8-10' has no steps, or some outside"),
    "no steps": (HEAD + ",gaps\na,0,9,4,3-3\n", "x.csv, line 2: the gap '3-3' has no steps, or some outside"),
    "bytes outside": (HEAD + ",gaps\na,0,9,4,3-4@2:5\n", "x.csv, line 2: the bytes of the gap '3-4@2:5' are not"),
    "shared step": (HEAD + ",gaps\na,0,9,4,3-5 4-6\n", "x.csv, line 2: two gaps share step 4"),
    "chunks": (HEAD + ",offset,chunk\na,0,9,4,0,0\nb,0,9,4,0,1\n", "x.csv, line 3: a plan in several chunks; take"),
    "open quote": (HEAD + '\n"a,0,1,4\n', "x.csv, line 2: not a row of a CSV table"),
    "long field": (HEAD + '\n"' + "a" * 200_000 + '",0,1,4\n', "x.csv, line 2: not a row of a CSV table (field larger"),
}


@pytest.mark.parametrize(("text", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused_with_the_line(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert str(caught.value).startswith(sentence)


def test_not_utf_8() -> None:
    with pytest.raises(InputError, match=r"x\.csv, line 3: not UTF-8 text; save the table as CSV in UTF-8"):
        parse_buffers(EXAMPLE.encode().replace(b"b2", b"b\xff"), "x.csv")


def test_a_line_far_down_is_named() -> None:
    rows = [f"{k},0,1,4\n" for k in range(buffers_csv.BLOCK + 10)]
    rows[-3] = "x,0,1,y\n"
    with pytest.raises(InputError, match=f"x.csv, line {len(rows) - 1}: size is 'y'"):
        parse(HEAD + "\n" + "".join(rows))
    rows[-3] = "x,0,1\n"
    with pytest.raises(InputError, match=f"x.csv, line {len(rows) - 1}: 3 fields"):
        parse(HEAD + "\n" + "".join(rows))


def test_many_rows_in_blocks() -> None:
    count = 2 * buffers_csv.BLOCK + 1
    even = parse(HEAD + "\n" + "".join(f"b{k},{k},{k + 2},{k % 7}\n" for k in range(count)))
    quoted = parse(HEAD + "\n" + "".join(f'"b{k}",{k},{k + 2},{k % 7}\n' for k in range(count)))
    assert len(even) == count
    assert same(even, quoted)
    assert even.ids[-1] == f"b{count - 1}"


def test_too_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers_csv, "MAX_BUFFERS", 4)
    with pytest.raises(InputError, match=r"x\.csv: more than 4 rows"):
        parse(EXAMPLE)
    with pytest.raises(InputError, match=r"x\.csv: more than 4 rows"):
        parse(EXAMPLE + "\n" * 10)


def test_from_a_file(tmp_path: Path) -> None:
    plain, packed, empty = tmp_path / "a.csv", tmp_path / "a.csv.gz", tmp_path / "empty.csv"
    plain.write_text(EXAMPLE)
    packed.write_bytes(gzip.compress(EXAMPLE.encode()))
    empty.write_text("\n")
    assert same(read_buffers(plain).instance, read_buffers(packed).instance)
    with pytest.raises(InputError, match="the file is empty"):
        read_buffers(empty)
    with pytest.raises(InputError, match="cannot be read"):
        read_buffers(tmp_path / "none.csv")


def test_written_as_minimalloc_writes_it() -> None:
    found = parse_buffers(EXAMPLE.encode(), "x.csv")
    plan = Plan(np.array([8, 8, 4, 4, 0]))
    wanted = "id,lower,upper,size,offset\nb1,0,3,4,8\nb2,3,9,4,8\nb3,0,9,4,4\nb4,9,21,4,4\nb5,0,21,4,0\n"
    assert dump_buffers(found.instance, plan, found.header).decode() == wanted
    full = parse_buffers(FULL.encode(), "x.csv")
    assert dump_buffers(full.instance).decode() == FULL
    assert dump_buffers(full.instance, Plan(np.array([30, 0]))).decode() == FULL.replace("17,-1", "17,0")


def test_the_columns_of_the_input_are_kept() -> None:
    text = "size,note,buffer,END,begin,gaps\n8,x,a,4,0,1-2@0:4\n"
    found = parse_buffers(text.encode(), "x.csv")
    written = dump_buffers(found.instance, Plan(np.array([0])), found.header).decode()
    assert written == "size,buffer,END,begin,gaps,offset\n8,a,4,0,1-2@0:4,0\n"


def test_a_plan_read_back_is_fixed() -> None:
    found = parse_buffers(EXAMPLE.encode(), "x.csv")
    written = dump_buffers(found.instance, Plan(np.array([8, 8, 4, 4, 0])), found.header)
    assert parse_buffers(written, "x.csv").instance.fixed.tolist() == [8, 8, 4, 4, 0]


def test_chunks_get_a_column() -> None:
    instance = Instance.of([0, 0], [1, 1], [8, 8], max_chunk=8)
    written = dump_buffers(instance, Plan(np.array([0, 0]), np.array([0, 1]))).decode()
    assert written == "id,lower,upper,size,offset,chunk\n0,0,1,8,0,0\n1,0,1,8,0,1\n"


@given(instances(frozenset({Constraint.ALIGNMENT, Constraint.FIXED, Constraint.HINT, Constraint.GAPS})))
def test_written_and_read_is_the_same(instance: Instance) -> None:
    assert same(parse_buffers(dump_buffers(instance), "x.csv").instance, instance)
    old = dump_buffers(instance, None, ("buffer", "start", "end", "size"))
    assert same(parse_buffers(old, "x.csv").instance, instance)


def damaged(rng: random.Random) -> bytes:
    """A good file with a few bytes changed, taken out, put in or doubled."""
    signs = b"\x00\xff\"'\r,;\n-@: 09azAZ\xef\xbb\xbf"
    data = bytearray(FULL.encode())
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data)) if data else 0
        kind = rng.randrange(4)
        if kind == 0:
            data[at : at + 1] = bytes([rng.choice(signs)])
        elif kind == 1:
            del data[at : at + rng.randint(1, 9)]
        elif kind == 2:
            data[at:at] = bytes(rng.choices(signs, k=rng.randint(1, 3)))
        else:
            data[at:at] = data[: rng.randint(0, len(data))]
    return bytes(data)


def outcome(data: bytes) -> tuple[str, bytes]:
    """The refusal, or all that was read."""
    try:
        return "", dump_buffers(parse_buffers(data, "x.csv").instance)
    except InputError as error:
        return str(error), b""


def test_damaged_files_are_refused_or_read_but_never_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the quick way to take a text apart says the same as the csv module does."""
    rng = random.Random(20)
    files = [damaged(rng) for _ in range(1500)]
    found = [outcome(data) for data in files]
    assert all(not sentence or sentence.startswith("x.csv") for sentence, _ in found)
    assert 20 < sum(not sentence for sentence, _ in found) < 1450
    monkeypatch.setattr(buffers_csv._Reader, "_even", lambda self: None)
    assert found == [outcome(data) for data in files]
