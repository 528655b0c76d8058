"""Readers of one value each, put together to read a script; an error says what stands there and what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec

from ..errors import InputError, nearest, printable

Reader: TypeAlias = Callable[[object, str], Any]
"""Takes a plain value and where it stands; gives the checked one, or raises InputError."""
Made = TypeVar("Made", bound=msgspec.Struct)

INT32 = (1 << 31) - 1
"""The largest llama_pos."""


def shown(value: object) -> str:
    """A value as a script would hold it, short enough for a sentence.

    >>> shown("x"), shown(True), shown(None), shown([1, 2])
    ("'x'", 'true', 'null', 'a list')
    """
    if isinstance(value, str):
        return repr(printable(value if len(value) <= 40 else value[:37] + "..."))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number of too many digits"
    return "null" if value is None else str(value)


def whole(least: int, most: int) -> Reader:
    """A whole number of this range."""

    def read(value: object, where: str) -> int:
        if type(value) is not int or not least <= value <= most:
            raise InputError(f"{where}: {shown(value)} is not a whole number from {least:,} to {most:,}")
        return value

    return read


def power_of_two(most: int) -> Reader:
    """A power of two, this one at most."""

    def read(value: object, where: str) -> int:
        if type(value) is not int or not 1 <= value <= most or value & (value - 1):
            raise InputError(f"{where}: {shown(value)} is not a power of two from 1 to {most:,}")
        return value

    return read


def choice(*words: str) -> Reader:
    """One of these words."""

    def read(value: object, where: str) -> str:
        if not isinstance(value, str) or value not in words:
            hint = nearest(value, words) if isinstance(value, str) else ""
            known = ", ".join(word or "''" for word in words)
            raise InputError(f"{where}: {shown(value)} is not one of {known}{hint}")
        return value

    return read


def flag(value: object, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"{where}: {shown(value)} is neither true nor false")
    return value


def always(value: object, where: str) -> bool:
    """True: the call is made, or left out."""
    if value is not True:
        raise InputError(f"{where}: {shown(value)} is not true; leave the step out where the call is not made")
    return True


def text(most: int, *, free: bool = False) -> Reader:
    """A text of at most so many characters; a `free` one is cut and cleaned where another would be refused."""

    def read(value: object, where: str) -> str:
        if not isinstance(value, str):
            raise InputError(f"{where}: {shown(value)} is not a text")
        if free:
            return printable(" ".join(value.split()))[:most]
        if len(value) > most or not value.isprintable():
            raise InputError(f"{where}: {shown(value)} is not a text of at most {most:,} characters that can be shown")
        return value

    return read


def or_null(reader: Reader) -> Reader:
    """What another reader takes, or null."""
    return lambda value, where: None if value is None else reader(value, where)


def items(reader: Reader, most: int, least: int = 0) -> Reader:
    """A list; its length is checked before any of it is read."""

    def read(value: object, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise InputError(f"{where}: {shown(value)} is not a list")
        if not least <= len(value) <= most:
            raise InputError(f"{where}: a list of {len(value):,}, where {least:,} to {most:,} are allowed")
        return tuple(reader(one, f"{where}[{number}]") for number, one in enumerate(value))

    return read


def parts(**readers: Reader) -> Reader:
    """A list with one value for each of these names."""

    def read(value: object, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(readers):
            found = f"a list of {len(value):,}" if isinstance(value, list) else shown(value)
            names = ", ".join(name.replace("_", " ") for name in readers)
            raise InputError(f"{where}: {found} is not [{names}]")
        pairs = zip(readers.items(), value, strict=True)
        return tuple(reader(one, f"{where}: {name.replace('_', ' ')}") for (name, reader), one in pairs)

    return read


def struct(made: type[Made], readers: Mapping[str, Reader]) -> Callable[[object, str], Made]:
    """An object with some of these keys; those without a default have to be there."""
    needed = [one.name for one in msgspec.structs.fields(made) if one.required]

    def read(value: object, where: str) -> Made:
        if not isinstance(value, dict):
            raise InputError(
                f"{where}: {shown(value)} is not an object with keys such as {', '.join(list(readers)[:4])}"
            )
        dot = where + "." if where else ""
        found = {}
        for key, one in value.items():
            if key not in readers:
                place = f"{where}: " if where else ""
                hint = nearest(str(key), readers) or f"; known: {', '.join(readers)}"
                raise InputError(f"{place}there is no key {shown(key)}{hint}")
            found[key] = readers[key](one, f"{dot}{key}")
        for key in needed:
            if key not in found:
                raise InputError(f"{dot}{key}: this key is missing")
        return made(**found)

    return read
