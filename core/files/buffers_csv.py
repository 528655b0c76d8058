"""Buffers from CSV, in the format of MiniMalloc (github.com/google/minimalloc, src/converter.cc).

A header names the columns, in any order: `id,lower,upper,size[,alignment][,hint][,gaps][,offset]`. Lifetimes are
half-open. `buffer` and `buffer_id` are other names of `id`, `begin` and `start` of `lower`; a column `end` instead of
`upper` holds the last step itself, in lifetimes and in gaps. Gaps are `a-b` (nothing is needed in steps [a, b)) or
`a-b@lo:hi` (only bytes [lo, hi) are), with spaces between them. An `offset` in the input is fixed, -1 or nothing leaves
it free; a hint of -1 or nothing is none. Columns of other names are passed over.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from ..errors import InputError, nearest, printable
from ..planners.instance import Gap, Instance
from .reading import read_bytes

MAX_BUFFERS = 2_000_000
"""Rows of a file; a million take some three seconds and 700 MB."""
BLOCK = 50_000
"""Rows that are taken from the text at a time."""

ALIASES = {"buffer": "id", "buffer_id": "id", "begin": "lower", "start": "lower", "end": "upper"}
NEEDED = ("id", "lower", "upper", "size")
NUMBERS = {"lower": None, "upper": None, "size": None, "alignment": 1, "hint": -1, "offset": -1}
"""Columns of whole numbers, with what an empty field means; None where it must not be empty."""
COLUMNS = ("id", "lower", "upper", "size", "alignment", "hint", "gaps", "offset")
CHUNK = "chunk"
"""Behind the offset of a plan that has several chunks."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,25}")
_GAP = re.compile(r"([+-]?[0-9]{1,20})-([+-]?[0-9]{1,20})(?:@([+-]?[0-9]{1,20}):([+-]?[0-9]{1,20}))?")


@dataclass(frozen=True, eq=False)
class BuffersFile:
    """What a CSV file holds.

    Attributes:
        instance: the buffers, in the file's order.
        header: its columns by the names they have there, without those that were passed over.
    """

    instance: Instance
    header: tuple[str, ...]


def read_buffers(path: str | Path) -> BuffersFile:
    """Read a CSV file, plain or gzip.

    Raises:
        InputError: it cannot be read, or what it says cannot be used; the sentence names the line.
    """
    return parse_buffers(read_bytes(path), printable(str(path)))


def parse_buffers(data: bytes, where: str) -> BuffersFile:
    """Buffers from the bytes of a CSV file.

    Args:
        data: the file.
        where: its name, for sentences.

    Raises:
        InputError: as for `read_buffers`.
    """
    if data.count(b"\n") + data.count(b"\r") > 2 * MAX_BUFFERS + 2:
        raise InputError(f"{where}: more than {MAX_BUFFERS:,} rows")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}, line {line}: not UTF-8 text; save the table as CSV in UTF-8") from None
    return _Reader(text, where).read()


class _Reader:
    """One file, by blocks of rows; where something is wrong the line is looked for only then."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.sober = text.isascii() and "_" not in text  # nothing that int() would take and no other program
        self.width = 0
        self.kinds: list[str] = []
        self.inclusive = 0
        self.ids: list[str] = []
        self.numbers: dict[str, list[np.ndarray]] = {}
        self.gap_texts: dict[int, str] = {}

    def read(self) -> BuffersFile:
        rows = (row for _, row in self._csv())
        header = self._header(next(rows, []))
        self.numbers = {kind: [] for kind in self.kinds if kind in NUMBERS or kind == CHUNK}
        for block in self._even() or self._uneven(rows):
            if len(self.ids) + len(block[0]) > MAX_BUFFERS:
                raise InputError(f"{self.where}: more than {MAX_BUFFERS:,} rows")
            self._take(block)
        return BuffersFile(self._instance(), header)

    def _csv(self) -> Iterator[tuple[int, list[str]]]:
        """(line, fields) of every row that is not blank."""
        reader = csv.reader(io.StringIO(self.text, newline=""), skipinitialspace=True, strict=True)
        try:
            for row in reader:
                if row and (len(row) > 1 or row[0].strip()):
                    yield reader.line_num, row
        except csv.Error as error:
            raise InputError(f"{self.where}, line {reader.line_num}: not a row of a CSV table ({error})") from None

    def _even(self) -> Iterator[list[Sequence[str]]] | None:
        """Blocks as columns; None where a field is quoted or lines differ in commas, which take three times as long."""
        data = self.text.encode().replace(b"\r\n", b"\n").strip(b"\n") + b"\n"
        if b'"' in data or b"\r" in data:
            return None
        signs = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(signs == ord("\n"))
        commas = np.searchsorted(np.flatnonzero(signs == ord(",")), ends)
        if (np.diff(commas, prepend=0) != self.width - 1).any():
            return None
        return self._slices(data, ends.tolist())

    def _slices(self, data: bytes, ends: list[int]) -> Iterator[list[Sequence[str]]]:
        for first in range(0, len(ends) - 1, BLOCK):
            last = min(first + BLOCK, len(ends) - 1)
            fields = data[ends[first] + 1 : ends[last]].decode().replace("\n", ",").split(",")
            yield [fields[k :: self.width] for k in range(self.width)]

    def _uneven(self, rows: Iterator[list[str]]) -> Iterator[list[Sequence[str]]]:
        """Blocks as columns, of any CSV."""
        while block := list(islice(rows, BLOCK)):
            for k, row in enumerate(block):
                if len(row) != self.width:
                    raise self._bad(k, f"{len(row)} fields, the header has {self.width}")
            yield list(zip(*block, strict=True))

    def _line(self, row: int) -> int:
        return next(line for number, (line, _) in enumerate(self._csv()) if number == row + 1)

    def _bad(self, row: int, text: str) -> InputError:
        """An error of a row, counted from the first one of the block that is being read."""
        return InputError(f"{self.where}, line {self._line(len(self.ids) + row)}: {text}")

    def _header(self, names: Sequence[str]) -> tuple[str, ...]:
        known = {*COLUMNS, *ALIASES, CHUNK}
        header = []
        for name in (field.strip() for field in names):
            kind = name.lower()
            if kind == "end":
                self.inclusive = 1
            kind = ALIASES.get(kind, kind)
            if kind not in known:
                near = nearest(kind, known)
                if near:
                    raise InputError(f"{self.where}: no column is called {name!r}{near}; known: {', '.join(COLUMNS)}")
                kind = ""
            elif kind in self.kinds:
                raise InputError(f"{self.where}: two columns for {kind}")
            self.kinds.append(kind)
            if kind and kind != CHUNK:
                header.append(name)
        missing = [kind for kind in NEEDED if kind not in self.kinds]
        if missing:
            raise InputError(
                f"{self.where}: no column {' and no column '.join(missing)}; the first line of a CSV of buffers names "
                "its columns, as in id,lower,upper,size"
            )
        self.width = len(self.kinds)
        return tuple(header)

    def _take(self, block: list[Sequence[str]]) -> None:
        columns = dict(zip(self.kinds, block, strict=True))
        for kind in self.numbers:
            self.numbers[kind].append(self._integers(kind, columns[kind]))
        for k, text in enumerate(columns.get("gaps", ())):
            if text.strip():
                self.gap_texts[len(self.ids) + k] = text
        names = [name.strip() for name in columns["id"]]
        if "" in names:
            raise self._bad(names.index(""), "the id is empty")
        self.ids += names

    def _integers(self, kind: str, fields: Sequence[str]) -> np.ndarray:
        try:
            if self.sober or ("_" not in (joined := "".join(fields)) and joined.isascii()):
                return np.array(list(map(int, fields)), dtype=np.int64)
        except (ValueError, OverflowError):
            pass
        return np.array([self._integer(kind, k, text.strip()) for k, text in enumerate(fields)], dtype=np.int64)

    def _integer(self, kind: str, row: int, text: str) -> int:
        empty = NUMBERS.get(kind, 0)
        if not text and empty is not None:
            return empty
        if _INTEGER.fullmatch(text) is None:
            raise self._bad(row, f"{kind} is {text!r}, not a whole number")
        if not -(1 << 63) <= int(text) < 1 << 63:
            raise self._bad(row, f"{kind} {text} does not fit into 64 bits")
        return int(text)

    def _instance(self) -> Instance:
        columns = {
            kind: np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
            for kind, parts in self.numbers.items()
        }
        ids, self.ids = self.ids, []  # from here on rows are counted from the first one
        if len(set(ids)) < len(ids):
            seen: dict[str, int] = {}
            for k, name in enumerate(ids):
                if name in seen:
                    raise self._bad(k, f"the id {name!r} stands in line {self._line(seen[name])} already")
                seen[name] = k
        if CHUNK in columns and columns[CHUNK].any():
            k = int((columns[CHUNK] != 0).argmax())
            raise self._bad(k, "a plan in several chunks; take the columns offset and chunk out to plan it anew")
        columns["upper"] = self._after(columns["upper"])
        self._check(columns)
        gaps = {k: self._gaps(k, text, columns) for k, text in self.gap_texts.items()}
        return Instance.of(
            columns["lower"],
            columns["upper"],
            columns["size"],
            ids=ids,
            alignment=columns.get("alignment", 1),
            fixed=columns.get("offset", -1),
            hint=np.maximum(columns["hint"], -1) if "hint" in columns else -1,
            gaps=gaps,
            name=self.where,
        )

    def _after(self, upper: np.ndarray) -> np.ndarray:
        if self.inclusive and upper.max(initial=0) == np.iinfo(np.int64).max:
            raise self._bad(int(upper.argmax()), "the step after its end does not fit into 64 bits")
        return upper + self.inclusive

    def _check(self, columns: dict[str, np.ndarray]) -> None:
        """What `Instance` refuses, with the line."""
        one = np.ones(1, dtype=np.int64)
        align, offset = columns.get("alignment", one), columns.get("offset", -one)
        for bad, text in (
            (columns["size"] < 0, "the size is below zero"),
            (columns["upper"] < columns["lower"], "it ends before it starts"),
            (align < 1, "the alignment is below one"),
            (offset < -1, "the offset is below zero"),
            ((offset >= 0) & (offset % np.maximum(align, 1) != 0), "the offset is no multiple of the alignment"),
        ):
            if bad.any():
                raise self._bad(int(bad.argmax()), text)

    def _gaps(self, row: int, text: str, columns: dict[str, np.ndarray]) -> tuple[Gap, ...]:
        found = []
        for word in text.split():
            parts = _GAP.fullmatch(word)
            if parts is None:
                raise self._bad(row, f"the gap {word!r} is not written as a-b or a-b@low:high")
            numbers = [int(part) for part in parts.groups(default="0")]
            gap = Gap(numbers[0], numbers[1] + self.inclusive, numbers[2], numbers[3])
            if not columns["lower"][row] <= gap.lower < gap.upper <= columns["upper"][row]:
                raise self._bad(row, f"the gap {word!r} has no steps, or some outside of the lifetime")
            if not 0 <= gap.low <= gap.high <= columns["size"][row]:
                raise self._bad(row, f"the bytes of the gap {word!r} are not inside the buffer")
            found.append(gap)
        found.sort()
        for earlier, later in pairwise(found):
            if later.lower < earlier.upper:
                raise self._bad(row, f"two gaps share step {later.lower}")
        return tuple(found)
