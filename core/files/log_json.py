"""The event log as JSON: one row per event, [kind, field, ...]; what is written and read back is equal."""

from __future__ import annotations

import typing

import msgspec

from ..errors import InputError
from ..events import Event

KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in typing.get_args(Event)}


def dump_log(events: list[Event]) -> bytes:
    """The log as one JSON array."""
    return msgspec.json.encode([(type(event).__name__, *event) for event in events])


def load_log(data: bytes, where: str = "log") -> list[Event]:
    """The events of a written log.

    Raises:
        InputError: it is no log; says which row.
    """
    try:
        rows = msgspec.json.decode(data, type=list[list[typing.Any]])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: not an event log: {error}") from None
    events: list[Event] = []
    for number, row in enumerate(rows):
        kind = KINDS.get(row[0]) if row and isinstance(row[0], str) else None
        if kind is None:
            raise InputError(f"{where}: event {number}: {str(row)[:60]} is no known event")
        try:
            events.append(msgspec.convert(row[1:], kind))
        except msgspec.ValidationError as error:
            raise InputError(f"{where}: event {number} ({row[0]}): {error}") from None
    return events
