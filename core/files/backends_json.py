"""The `bufts` and `backends` of a graph file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..devices.profile import OWN_LIMITS, Profile
from ..dtypes import DTYPES
from ..errors import InputError, nearest
from ..graph import Backend, BufferType
from ..op import Op
from ..tensor import MAX_NAME
from .graph_schema import BackendDoc, BuftDoc, GraphDoc

MAX_BACKENDS = 16
"""GGML_SCHED_MAX_BACKENDS."""
MAX_SIZE = 1 << 53
"""Larger byte counts are nonsense, and no longer exact in a browser."""


class Devices(NamedTuple):
    """Buffer types and backends, and their indices by name."""

    bufts: tuple[BufferType, ...]
    backends: tuple[Backend, ...]
    buft_index: dict[str, int]
    backend_index: dict[str, int]


def read_devices(doc: GraphDoc) -> Devices:
    """All buffer types (declared ones first, then those that backends bring along) and the backends in order."""
    docs = [BackendDoc("CPU")] if doc.backends is None else doc.backends
    if not docs:
        raise InputError("backends: the list is empty; leave it out for one CPU")
    if len(docs) > MAX_BACKENDS:
        raise InputError(f"backends: {len(docs)} of them, ggml allows {MAX_BACKENDS}")
    backends = [(one, _profile_of(one, f"backends: {one.name!r}")) for one in docs]
    bufts: dict[str, BufferType] = {}
    for declared in doc.bufts:
        if declared.name in bufts:
            raise InputError(f"bufts: {declared.name!r} is declared twice")
        where = f"bufts: {declared.name!r}"
        profile = _profile_of(declared, where)
        bufts[declared.name] = _buffer_type(declared, profile, where, host=declared.host, name=declared.name)
    _add_own_types(backends, bufts)
    index = {name: i for i, name in enumerate(bufts)}
    made = tuple(_backend(one, profile, index, tuple(bufts.values())) for one, profile in backends)
    names = {backend.name: i for i, backend in enumerate(made)}
    if len(names) < len(made):
        raise InputError("backends: two of them have the same name")
    return Devices(tuple(bufts.values()), made, index, names)


def _profile_of(doc: BackendDoc | BuftDoc, where: str) -> Profile | None:
    """The profile that fills in what the object leaves out: its own keys override limits of the same name."""
    if not doc.profile:
        if doc.limits:
            raise InputError(f"{where}: limits belong to a profile; write the keys themselves without one")
        return None
    from ..devices.known import profile_with  # all rules of all devices: most graph files name none

    try:
        plain = profile_with(doc.profile, tuple(sorted(doc.limits.items())))
        known = plain.limits()
        keys = (*OWN_LIMITS, "offload_min_batch") if isinstance(doc, BackendDoc) else OWN_LIMITS
        said = {key: getattr(doc, key) for key in keys if getattr(doc, key) is not None}
        differs = {key: value for key, value in said.items() if value != known.get(key)}
        return profile_with(doc.profile, tuple(sorted({**doc.limits, **differs}.items()))) if differs else plain
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _kind_of(doc: BackendDoc, profile: Profile | None) -> str:
    """The declared type, else the profile's, else cpu for names that start with CPU, else gpu."""
    return doc.type or (profile.type if profile else "cpu" if doc.name.startswith("CPU") else "gpu")


def _own_type(doc: BackendDoc, profile: Profile | None) -> str:
    """Name of its default buffer type."""
    return doc.buft or (profile.buft_of(doc.name) if profile else doc.name)


def _add_own_types(backends: list[tuple[BackendDoc, Profile | None]], bufts: dict[str, BufferType]) -> None:
    """A default buffer type nobody declared is made from its namesake's inline fields, else from its first user's."""
    by_name = {one.name: (one, profile) for one, profile in backends}
    for one, profile in backends:
        name = _own_type(one, profile)
        if name in bufts:
            continue
        namesake = by_name.get(name)
        maker, made_like = namesake if namesake and _own_type(*namesake) == name else (one, profile)
        host = maker.host
        if host is None and not made_like:
            host = _kind_of(maker, made_like) in ("cpu", "accel")
        bufts[name] = _buffer_type(maker, made_like, f"backends: {maker.name!r}", host=host, name=name)


def _buffer_type(
    doc: BackendDoc | BuftDoc, profile: Profile | None, where: str, *, host: bool | None, name: str
) -> BufferType:
    if not name.isprintable() or not 1 <= len(name) < MAX_NAME:
        raise InputError(f"{where}: a name has 1 to {MAX_NAME - 1} characters that can be printed")
    align, max_size, pad_quant = 32 if doc.align is None else doc.align, doc.max_size, doc.pad_quant or 0
    if profile:
        align, max_size, pad_quant = profile.align, profile.max_size, profile.pad_quant
        host = profile.host if host is None else host
    if align < 1 or align & (align - 1) or align > 1 << 30:
        raise InputError(f"{where}: align {align} is not a power of two up to 2^30")
    if max_size is not None and not 1 <= max_size <= MAX_SIZE:
        raise InputError(f"{where}: max_size {max_size} is not between 1 and 2^53 bytes")
    if not 0 <= pad_quant <= 1 << 30:
        raise InputError(f"{where}: pad_quant {pad_quant} is not between 0 and 2^30 elements")
    for op, size in doc.op_extra.items():
        if not 0 <= size <= MAX_SIZE:
            raise InputError(f"{where}: op_extra {op} {size} is not between 0 and 2^53 bytes")
    return BufferType(
        name,
        bool(host),
        align,
        max_size,
        pad_quant,
        doc.op_extra,
        profile=doc.profile,
        limits=dict(profile.changed) if profile else {},
    )


def _backend(doc: BackendDoc, profile: Profile | None, index: dict[str, int], bufts: Sequence[BufferType]) -> Backend:
    where = f"backends: {doc.name!r}"
    if not doc.name.isprintable() or not 1 <= len(doc.name) < MAX_NAME:
        raise InputError(f"{where}: a name has 1 to {MAX_NAME - 1} characters that can be printed")
    kind = _kind_of(doc, profile)
    own = _own_type(doc, profile)
    if doc.supports_buft is not None:
        supports = frozenset(_find(index, name, f"{where}: supports_buft") for name in doc.supports_buft)
    elif profile:
        supports = frozenset(
            i for i, b in enumerate(bufts) if b.name == own or profile.supports_buft(own, b.name, b.host)
        )
    else:
        shares = kind in ("cpu", "accel")
        supports = frozenset(i for i, b in enumerate(bufts) if b.name == own or (shares and b.host))
    for name in (*doc.types_except, *(pair[1] for pair in doc.op_types_except)):
        if name not in DTYPES:
            raise InputError(f"{where}: {name!r} is not a ggml type{nearest(name, DTYPES)}")
    offload: frozenset[Op] | None
    if isinstance(doc.offload, str):
        if doc.offload != "*":
            raise InputError(f'{where}: offload is a list of ops or "*", not {doc.offload!r}')
        offload = None
    elif doc.offload is None:
        offload = None if profile else frozenset()
    else:
        offload = frozenset(doc.offload)
    min_batch = 0 if profile else doc.offload_min_batch or 0
    if not 0 <= min_batch <= MAX_SIZE:
        raise InputError(f"{where}: offload_min_batch {min_batch} is not between 0 and 2^53 rows")
    is_async, events = doc.is_async, doc.events
    if is_async is None:
        is_async = profile.is_async if profile else kind == "gpu"
    if events is None:
        events = profile.has_events if profile else is_async
    return Backend(
        name=doc.name,
        type=kind,
        buft=index[own],
        supports_buft=supports,
        ops=None if doc.ops is None else frozenset(doc.ops),
        ops_except=frozenset(doc.ops_except),
        types_except=frozenset(doc.types_except),
        op_types_except=frozenset(doc.op_types_except),
        offload=offload,
        offload_min_batch=min_batch,
        is_async=is_async,
        has_events=events,
        profile=doc.profile,
        limits=dict(profile.changed) if profile else {},
    )


def _find(index: dict[str, int], name: str, where: str) -> int:
    if name not in index:
        raise InputError(f"{where}: {name!r} is not a buffer type of this file{nearest(name, index)}")
    return index[name]
