"""A cost model as a value: the rates of every device and link of a machine, and how to read and change them.

::

    {"format": "galloscope-cost", "version": 1,
     "devices": {"cuda": {"matrix": 1.6e14, "memory": 1e12}, "CUDA1": {"launch": 2e-6}},
     "links": {"CUDA0-CUDA1": {"speed": 5e10}, "host-CUDA0": {"latency": 8e-6}},
     "call": 4e-6}

A device is named as in the graph, or by its profile (`cuda`) or type (`gpu`); what is left out stays as assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from ..errors import InputError, nearest, printable
from ..graph import Backend
from .rates import ASSUMED, BUS, CALL, PEER, SHARED, WITHIN, Device, Link

HOST = -1
"""The host's memory, where a link names a backend."""
HOST_NAME = "host"

MOST_TEXT = 4000
LOWEST, HIGHEST = 1.0, 1e24
"""Rates lie between; none is a fraction of a byte or an operation per second."""
LONGEST = 3600.0
"""Seconds: the longest latency."""

RATES = frozenset({"matrix", "other", "memory", "speed"})
"""Fields that are a number per second; the others are seconds."""


@dataclass(frozen=True, slots=True)
class Cost:
    """How long things take on the backends of one problem.

    Attributes:
        names: of the backends, by id.
        devices: by backend id.
        stands_for: the kind of machine each device's assumed numbers stand for.
        links: by (lower id, higher id), HOST being the lowest; every pair is there.
        link_for: the same for links.
        call: seconds the host spends on handing over one piece of work.
        changed: what is not as assumed, as (place, field): ("CUDA0", "matrix"), ("", "call").
    """

    names: tuple[str, ...]
    devices: tuple[Device, ...]
    stands_for: tuple[str, ...]
    links: dict[tuple[int, int], Link]
    link_for: dict[tuple[int, int], str]
    call: float = CALL
    changed: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    def link(self, one: int, other: int) -> Link:
        """The link between two backends, or one and HOST."""
        return self.links[min(one, other), max(one, other)]

    def link_name(self, pair: tuple[int, int]) -> str:
        """How a file names a link: "host-CUDA0", "CUDA0-CUDA1", "host-host"."""
        return "-".join(HOST_NAME if one == HOST else self.names[one] for one in pair)


def kind_of(backend: Backend) -> str:
    """Which row of `ASSUMED` a backend takes: its profile, else its type."""
    return backend.profile if backend.profile in ASSUMED else backend.type


def assumed(backends: Sequence[Backend]) -> Cost:
    """The model that holds until somebody knows better."""
    kinds = [kind_of(backend) for backend in backends]
    links: dict[tuple[int, int], tuple[Link, str]] = {(HOST, HOST): WITHIN}
    for i, kind in enumerate(kinds):
        links[HOST, i] = WITHIN if kind in SHARED else BUS
        for j in range(i):
            both = kind in SHARED and kinds[j] in SHARED
            links[j, i] = WITHIN if both else BUS if kind in SHARED or kinds[j] in SHARED else PEER
        links[i, i] = (Link(ASSUMED[kind][0].memory / 2, 5e-6), "a copy inside the device's memory")
    return Cost(
        tuple(backend.name for backend in backends),
        tuple(ASSUMED[kind][0] for kind in kinds),
        tuple(ASSUMED[kind][1] for kind in kinds),
        {pair: link for pair, (link, _) in links.items()},
        {pair: why for pair, (_, why) in links.items()},
    )


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    format: str = "galloscope-cost"
    version: int = 1
    devices: dict[str, dict[str, float]] = {}
    links: dict[str, dict[str, float]] = {}
    call: float | None = None


def read_cost(data: bytes, where: str, backends: Sequence[Backend]) -> Cost:
    """The assumed model with what a file changes.

    Raises:
        InputError: it is no cost model, or names what these backends do not have; `where` stands for the file.
    """
    try:
        found = msgspec.json.decode(data, type=_Document)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: not a cost model ({error}); docs/timeline.md has an example") from None
    if found.format != "galloscope-cost" or found.version != 1:
        raise InputError(f"{where}: format {found.format!r} version {found.version}, expected 'galloscope-cost' 1")
    cost = assumed(backends)
    known, profiles = {*ASSUMED, *cost.names}, {one.profile for one in backends}
    here = {*cost.names, *profiles, *(one.type for one in backends)}
    # The general first: what a file says about a kind does not undo what it says about a device of that kind.
    for name in sorted(found.devices, key=lambda name: 2 if name in cost.names else int(name in profiles)):
        if name not in known:
            raise InputError(f"{where}: no device or kind is called {name!r}{nearest(name, known)}")
        if name not in here:
            told = ", ".join(f"{one.name} ({kind_of(one)})" for one in backends)
            raise InputError(f"{where}: no device of this graph is a {name!r}; it has {told}")
        for i, one in enumerate(backends):
            if name == one.name or (name not in cost.names and name in (one.profile, one.type)):
                cost = with_device(cost, i, found.devices[name], where)
    for name, values in found.links.items():
        cost = with_link(cost, _pair(cost, name, where), values, where)
    return cost if found.call is None else with_call(cost, found.call, where)


def _pair(cost: Cost, name: str, where: str) -> tuple[int, int]:
    pairs = {cost.link_name(pair): pair for pair in cost.links}
    pairs |= {cost.link_name((b, a)): (a, b) for a, b in cost.links}
    if name not in pairs:
        links = ", ".join(cost.link_name(pair) for pair in sorted(cost.links) if pair[0] != pair[1])
        raise InputError(f"{where}: no link is called {name!r}; there are {links}")
    return pairs[name]


def with_device(cost: Cost, device: int, values: dict[str, float], where: str) -> Cost:
    """Some numbers of one device changed.

    Raises:
        InputError: there is no such number, or it is out of range.
    """
    place = cost.names[device]
    _check(values, Device.__struct_fields__, f"{where}: device {place!r}")
    changed = msgspec.structs.replace(cost.devices[device], **values)
    devices = (*cost.devices[:device], changed, *cost.devices[device + 1 :])
    return replace(cost, devices=devices, changed=cost.changed | {(place, key) for key in values})


def with_link(cost: Cost, pair: tuple[int, int], values: dict[str, float], where: str) -> Cost:
    """Some numbers of one link changed.

    Raises:
        InputError: there is no such number, or it is out of range.
    """
    place = cost.link_name(pair)
    _check(values, Link.__struct_fields__, f"{where}: link {place!r}")
    links = {**cost.links, pair: msgspec.structs.replace(cost.links[pair], **values)}
    return replace(cost, links=links, changed=cost.changed | {(place, key) for key in values})


def with_call(cost: Cost, seconds: float, where: str) -> Cost:
    """Another time that the host spends on a call.

    Raises:
        InputError: it is out of range.
    """
    _check({"call": seconds}, ("call",), where)
    return replace(cost, call=seconds, changed=cost.changed | {("", "call")})


def _check(values: dict[str, float], known: Sequence[str], where: str) -> None:
    for key, value in values.items():
        if key not in known:
            raise InputError(
                f"{where} has no number {printable(key)!r}{nearest(key, known)}; it has {', '.join(known)}"
            )
        low, high = (LOWEST, HIGHEST) if key in RATES else (0.0, LONGEST)
        if not math.isfinite(value) or not low <= value <= high:
            what = "a number per second, 1 or more" if key in RATES else "seconds, from 0 to 3600"
            raise InputError(f"{where}: {key} is {value:g}, expected {what}")


def cost_numbers(cost: Cost) -> dict[str, Any]:
    """Every number by name, as files have them: rates per second, launches, latencies and `call` in seconds."""
    return {
        "devices": {name: msgspec.structs.asdict(one) for name, one in zip(cost.names, cost.devices, strict=True)},
        "links": {cost.link_name(pair): msgspec.structs.asdict(link) for pair, link in cost.links.items()},
        "call": cost.call,
    }


def write_cost(cost: Cost) -> bytes:
    """The whole model as a file that `read_cost` reads back to the same model."""
    document = {"format": "galloscope-cost", "version": 1, **cost_numbers(cost)}
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def parse_changes(text: str, backends: Sequence[Backend]) -> Cost:
    """The assumed model with the changes of an address: `0.matrix:6e13,0-1.speed:2e10,h-0.latency:1e-5,call:2e-6`.

    Devices are numbered as in the graph, `h` is the host; names of strangers stay out of addresses.

    Raises:
        InputError: a part cannot be read.
    """
    cost, where = assumed(backends), "cost"
    if len(text) > MOST_TEXT:
        raise InputError(f"cost: {len(text)} letters are more than {MOST_TEXT}")
    for part in filter(None, text.split(",")):
        name, _, number = part.partition(":")
        place, _, key = name.rpartition(".")
        try:
            value = float(number)
            ids = [HOST if one == "h" else int(one) for one in place.split("-")] if place else []
        except ValueError:
            raise InputError(f"cost: {part!r} cannot be read; an example is 0.matrix:6e13") from None
        if not place and key == "call":
            cost = with_call(cost, value, where)
        elif len(ids) == 1 and 0 <= ids[0] < len(backends):
            cost = with_device(cost, ids[0], {key: value}, where)
        elif len(ids) == 2 and (min(ids), max(ids)) in cost.links:
            cost = with_link(cost, (min(ids), max(ids)), {key: value}, where)
        else:
            raise InputError(f"cost: {part!r} names no device or link of this graph")
    return cost


def nanoseconds(amount: int, rate: float) -> int:
    """The time for `amount` at `rate` per second, rounded up to whole nanoseconds.

    Integer arithmetic from the exact ratio of the rate, so that every machine gets the same.

    >>> nanoseconds(1000, 1e9), nanoseconds(1, 3e9), nanoseconds(0, 1.0)
    (1000, 1, 0)
    """
    above, below = rate.as_integer_ratio()
    return -(-amount * 1_000_000_000 * below // above)


def latency(seconds: float) -> int:
    """Seconds as whole nanoseconds.

    >>> latency(2e-6)
    2000
    """
    return round(seconds * 1e9)
