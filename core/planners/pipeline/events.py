"""What the pipeline decided, stage by stage, as small frozen structs; `replay.py` folds them.

Buffers are indices of the instance, tensors ids of the run, sizes and offsets bytes, lifetimes half-open.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

import msgspec

from ...decision import Decision
from .intervals import Interval as Interval


class Stage(str, Enum):
    """The stages in order."""

    ORDER = "order"
    INTERVALS = "intervals"
    GROUPS = "groups"
    INTERFERENCE = "interference"
    PLACES = "places"
    RESULT = "result"


class Begin(Decision, frozen=True):
    """A stage starts; `what` says by which rule where there is a choice."""

    stage: Stage
    what: str


class Step(Decision, frozen=True):
    """The node runs next."""

    node: int


class Group(Decision, frozen=True):
    """A buffer: what a planner is asked to place. `members` are tensors, none for buffers that come from a list."""

    buffer: int
    lower: int
    upper: int
    size: int
    members: tuple[int, ...]


class Conflict(Decision, frozen=True):
    """An edge of the interference graph: both buffers need bytes at a common step."""

    one: int
    other: int


class Clique(Decision, frozen=True):
    """Buffers that all conflict, in steps [lower, upper): what joined and left since the clique before."""

    lower: int
    upper: int
    bytes: int
    joined: tuple[int, ...]
    left: tuple[int, ...]


class Placed(Decision, frozen=True):
    """A buffer gets its place. `on`: the buffers it rests on; none where it lies on the ground, or floats."""

    buffer: int
    chunk: int
    offset: int
    pool: int
    on: tuple[int, ...]


class Result(Decision, frozen=True):
    """Bytes of all chunks, and the most that is alive at a step, first at step `at`."""

    peak: int
    bound: int
    at: int


Event: TypeAlias = Begin | Step | Interval | Group | Conflict | Clique | Placed | Result

_LIST: TypeAlias = list[Event]


def to_json(events: Sequence[Event]) -> bytes:
    """One row [kind, field, ...] per event."""
    return msgspec.json.encode(list(events))


def from_json(data: bytes) -> list[Event]:
    """What `to_json` wrote."""
    return msgspec.json.decode(data, type=_LIST)
