"""Devices as words: `cuda`, `cuda:24GiB`, `cuda:24GiB:align=256,max_size=4GiB`."""

from __future__ import annotations

import re

from ..errors import InputError, nearest
from ..llama.options import DeviceSpec
from .known import DEVICES, device

UNITS = {
    "": 1,
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "K": 1 << 10,
    "M": 1 << 20,
    "G": 1 << 30,
    "T": 1 << 40,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
"""What may stand behind a number of bytes."""

_BYTES = re.compile(r"(\d{1,17})(?:\.(\d{1,9}))?\s*([A-Za-z]*)", re.ASCII)
MAX_BYTES = 1 << 53
"""Larger byte counts are nonsense, and no longer exact in a browser."""


def parse_bytes(text: str, where: str) -> int:
    """A number of bytes with an optional unit, as an exact integer.

    >>> parse_bytes("1.5GiB", "--device")
    1610612736

    Raises:
        InputError: it is no number, the unit is unknown, or the result is no whole number up to 2^53.
    """
    found = _BYTES.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{where}: {text!r} is not a number of bytes such as 24GiB, 8000MB or 1073741824")
    whole, fraction, unit = found.group(1), found.group(2) or "", found.group(3)
    known = {name.lower(): size for name, size in UNITS.items()}
    if unit.lower() not in known:
        names = [name for name in UNITS if name]
        raise InputError(f"{where}: {unit!r} is not a unit{nearest(unit, names)}; known: {', '.join(names)}")
    parts: int = 10 ** len(fraction)
    size, rest = divmod(int(whole + fraction) * known[unit.lower()], parts)
    if rest or size > MAX_BYTES:
        raise InputError(f"{where}: {text!r} is not a whole number of bytes up to 2^53")
    return size


def bytes_word(size: int) -> str:
    """The shortest exact way to write a number of bytes; `parse_bytes` reads it back.

    >>> bytes_word(24 << 30), bytes_word(1000)
    ('24GiB', '1000')
    """
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size and size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)


def parse_device(text: str) -> DeviceSpec:
    """`NAME[:MEMORY][:LIMIT=VALUE,...]`.

    >>> parse_device("cuda:24GiB:align=256").limits
    {'align': 256}

    Raises:
        InputError: the name, the memory or a limit is not usable.
    """
    name, *parts = text.strip().split(":")
    where = f"device {text!r}"
    if name not in DEVICES:
        raise InputError(f"{where}: {name!r} is not a device{nearest(name, DEVICES)}; known: {', '.join(DEVICES)}")
    memory: int | None = None
    limits: dict[str, int] = {}
    if parts and "=" not in parts[0]:
        given = parts.pop(0)
        memory = parse_bytes(given, f"{where}, memory")
        if given.strip().isdecimal() and memory < 1 << 20:
            raise InputError(f"{where}: {given} is a number of bytes; say {given}GiB or {given}MiB")
    if len(parts) > 1:
        raise InputError(f"{where}: expected NAME[:MEMORY][:LIMIT=VALUE,...]")
    for pair in parts[0].split(",") if parts else ():
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key or not value.strip():
            raise InputError(f"{where}: {pair!r} is not LIMIT=VALUE, such as align=256")
        if key in limits:
            raise InputError(f"{where}: {key} is given twice")
        limits[key] = parse_bytes(value, f"{where}, {key}")
    spec = DeviceSpec(name, memory, limits)
    device(spec)  # it raises what is wrong with the limits
    return spec


def device_text(spec: DeviceSpec) -> str:
    """The text that `parse_device` reads back."""
    words = [spec.profile]
    if spec.memory is not None:
        word = bytes_word(spec.memory)
        words.append(f"{word}B" if word.isdecimal() else word)
    if spec.limits:
        words.append(",".join(f"{name}={bytes_word(value)}" for name, value in spec.limits.items()))
    return ":".join(words)
