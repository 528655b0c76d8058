"""The patterns of `-ot` as std::regex reads them: the ECMAScript grammar of libstdc++, byte by byte, in the C locale.

What differs from Python's `re`, and is followed here: POSIX classes (`[[:digit:]]`), `[]` and `[^]`, `a{` is an error,
`a**` is none, `(?i)` and look-behind do not exist, and an escape that means nothing stands for its character.
"""

from __future__ import annotations

import string
from typing import NoReturn, Union

import msgspec

from ..errors import InputError

MAX_PATTERN = 1000
"""Characters of a pattern."""
MAX_DEPTH = 40
"""Groups in groups."""
MAX_REPEAT = 1000
"""Largest number in braces."""

ALL = frozenset(map(chr, range(256)))
_NAMED: dict[str, frozenset[str]] = {
    "alpha": frozenset(string.ascii_letters),
    "digit": frozenset(string.digits),
    "alnum": frozenset(string.ascii_letters + string.digits),
    "upper": frozenset(string.ascii_uppercase),
    "lower": frozenset(string.ascii_lowercase),
    "space": frozenset(" \t\n\v\f\r"),
    "blank": frozenset(" \t"),
    "punct": frozenset(string.punctuation),
    "xdigit": frozenset(string.hexdigits),
    "cntrl": frozenset([*map(chr, range(32)), "\x7f"]),
    "graph": frozenset(string.ascii_letters + string.digits + string.punctuation),
    "print": frozenset(string.ascii_letters + string.digits + string.punctuation + " "),
    "d": frozenset(string.digits),
    "w": frozenset(string.ascii_letters + string.digits + "_"),
    "s": frozenset(" \t\n\v\f\r"),
}
WORD = _NAMED["w"]
_CLASSES = ("[:", "[=", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S")
_CONTROL = {"0": "\0", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Chars(msgspec.Struct, frozen=True, tag=True):
    """One character of a set."""

    chars: frozenset[str]


class Assert(msgspec.Struct, frozen=True, tag=True):
    """`^`, `$`, `b` (word boundary) or `B`."""

    kind: str


class Sequence(msgspec.Struct, frozen=True, tag=True):
    """One after another; empty for nothing at all."""

    items: tuple[Node, ...]


class Either(msgspec.Struct, frozen=True, tag=True):
    """One of several."""

    items: tuple[Node, ...]


class Repeat(msgspec.Struct, frozen=True, tag=True):
    """`item` from `least` to `most` times; None for endless."""

    item: Node
    least: int
    most: int | None


class Ahead(msgspec.Struct, frozen=True, tag=True):
    """Look-ahead: `(?=...)`, or `(?!...)` when `negative`."""

    item: Node
    negative: bool


Node = Union[Chars, Assert, Sequence, Either, Repeat, Ahead]  # noqa: UP007


def as_bytes(text: str) -> str:
    """The text as std::regex sees it: one character per byte of UTF-8."""
    return text.encode("utf-8", "replace").decode("latin-1")


def parse(pattern: str) -> Node:
    """The pattern as a tree.

    Raises:
        InputError: std::regex would throw, or the pattern holds a backreference or is too large.
    """
    if len(pattern) > MAX_PATTERN:
        raise InputError(f"pattern of {len(pattern)} characters: up to {MAX_PATTERN} are read")
    return _Parser(pattern).whole()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.shown = pattern
        self.text = as_bytes(pattern)
        self.pos = 0
        self.depth = 0

    def whole(self) -> Node:
        node = self.either()
        if self.pos < len(self.text):
            self.fail("')' closes nothing" if self.peek() == ")" else f"nothing before {self.peek()!r} to repeat")
        return node

    def fail(self, what: str) -> NoReturn:
        raise InputError(
            f"pattern {self.shown!r}: {what} at character {self.pos + 1}; llama.cpp's std::regex refuses it "
            "and the model would not load"
        )

    def peek(self) -> str:
        return self.text[self.pos : self.pos + 1]

    def take(self, what: str) -> bool:
        if what and self.text.startswith(what, self.pos):
            self.pos += len(what)
            return True
        return False

    def next(self, missing: str) -> str:
        char = self.peek()
        if not char:
            self.fail(missing)
        self.pos += 1
        return char

    def either(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InputError(f"pattern {self.shown!r}: more than {MAX_DEPTH} groups in one another")
        items = [self.sequence()]
        while self.take("|"):
            items.append(self.sequence())
        self.depth -= 1
        return items[0] if len(items) == 1 else Either(tuple(items))

    def sequence(self) -> Node:
        items: list[Node] = []
        while (item := self.term()) is not None:
            items.append(item)
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def term(self) -> Node | None:
        char = self.peek()
        if not char or char in "|)*+?{":
            return None
        if char in "^$":
            self.pos += 1
            return Assert(char)
        if self.take("\\b"):
            return Assert("b")
        if self.take("\\B"):
            return Assert("B")
        for opening, negative in (("(?=", False), ("(?!", True)):
            if self.take(opening):
                return Ahead(self.group(), negative)
        item = self.atom()
        stacked = 0
        while (times := self.quantifier()) is not None:
            item = Repeat(item, *times)
            stacked += 1
            if stacked > MAX_DEPTH:
                raise InputError(f"pattern {self.shown!r}: more than {MAX_DEPTH} repetitions of one another")
            self.take("?")  # lazy: which match it finds, not whether
        return item

    def group(self) -> Node:
        node = self.either()
        if not self.take(")"):
            self.fail("a group is not closed")
        return node

    def atom(self) -> Node:
        if self.take("(?:"):
            return self.group()
        if self.take("(?"):
            self.fail("'(?' starts no group that std::regex knows (there are '(?:', '(?=' and '(?!')")
        if self.take("("):
            return self.group()
        if self.take("["):
            return Chars(self.brackets())
        if self.take("."):
            return Chars(ALL - frozenset("\n\r"))
        if self.take("\\"):
            return Chars(self.escape(inside=False))
        return Chars(frozenset(self.next("")))

    def quantifier(self) -> tuple[int, int | None] | None:
        if self.take("*"):
            return 0, None
        if self.take("+"):
            return 1, None
        if self.take("?"):
            return 0, 1
        if not self.take("{"):
            return None
        least = self.count()
        most: int | None = least
        if self.take(","):
            most = None if self.peek() == "}" else self.count()
        if not self.take("}"):
            self.fail("a brace is not closed")
        if most is not None and most < least:
            self.fail(f"{{{least},{most}}} runs backwards")
        return least, most

    def count(self) -> int:
        start = self.pos
        while self.peek().isdigit():
            self.pos += 1
        digits = self.text[start : self.pos]
        if not digits:
            self.fail("a number is missing after '{'")
        if len(digits) > 6 or int(digits) > MAX_REPEAT:
            raise InputError(f"pattern {self.shown!r}: repeats {digits[:12]} times, up to {MAX_REPEAT} are followed")
        return int(digits)

    def escape(self, inside: bool) -> frozenset[str]:
        """What stands behind a backslash; in brackets `b` is the backspace."""
        char = self.next("nothing after the backslash")
        if char in _CONTROL and (char != "b" or inside):
            return frozenset(_CONTROL[char])
        if char in "dws":
            return _NAMED[char]
        if char in "DWS":
            return ALL - _NAMED[char.lower()]
        if char == "B" and inside:
            self.fail("'\\B' in brackets")
        if char == "c":
            return frozenset(self.next("nothing after '\\c'"))
        if char in "xu":
            return frozenset(self.hexadecimal(2 if char == "x" else 4))
        if char.isdigit():
            raise InputError(
                f"pattern {self.shown!r}: the backreference '\\{char}' is not followed here; write the group out again"
            )
        return frozenset(char)

    def hexadecimal(self, digits: int) -> str:
        found = self.text[self.pos : self.pos + digits]
        if len(found) < digits or not set(found) <= _NAMED["xdigit"]:
            self.fail(f"{digits} hexadecimal digits are missing")
        self.pos += digits
        return chr(int(found, 16) & 0xFF)

    def brackets(self) -> frozenset[str]:
        negative = self.take("^")
        chars: set[str] = set()
        last: str | None = None  # the character a range may start at; "" after a class, None after a range
        while not self.take("]"):
            if not self.peek():
                self.fail("a bracket is not closed")
            if last is not None and self.peek() == "-" and not self.text.startswith("-]", self.pos):
                if not last:
                    self.fail("a range starts in a class")
                self.pos += 1
                end = self.member()
                if len(end) != 1:
                    self.fail("a range ends in a class")
                low, high = ord(last), ord(next(iter(end)))
                if high < low:
                    self.fail("a range runs backwards")
                chars.update(map(chr, range(low, high + 1)))
                last = None
                continue
            single = not self.text.startswith(_CLASSES, self.pos)
            found = self.member()
            chars |= found
            last = next(iter(found)) if single else ""
        return ALL - chars if negative else frozenset(chars)

    def member(self) -> frozenset[str]:
        if self.take("[:"):
            name = self.until(":]")
            if name.lower() not in _NAMED:
                self.fail(f"there is no class [:{name}:]")
            return _NAMED[name.lower()]
        for opening, closing in (("[.", ".]"), ("[=", "=]")):
            if self.take(opening):
                name = self.until(closing)
                if len(name) != 1:
                    self.fail(f"there is no character called {name!r}")
                return frozenset(name)
        if self.take("\\"):
            return self.escape(inside=True)
        return frozenset(self.next("a bracket is not closed"))

    def until(self, closing: str) -> str:
        end = self.text.find(closing, self.pos)
        if end < 0:
            self.fail(f"{closing!r} is missing")
        name, self.pos = self.text[self.pos : end], end + len(closing)
        return name
