"""The event log as JSON: one row per event, [kind, field, ...]; what is written and read back is equal."""

from __future__ import annotations

import msgspec

from ..errors import InputError
from ..events import Event


def dump_log(events: list[Event]) -> bytes:
    """The log as one JSON array."""
    return msgspec.json.encode(events)


def load_log(data: bytes, where: str = "log") -> list[Event]:
    """The events of a written log.

    Raises:
        InputError: it is no log; says which row.
    """
    try:
        return msgspec.json.decode(data, type=list[Event])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: not an event log: {error}") from None
