"""The `bufts` and `backends` of a graph file."""

from __future__ import annotations

from typing import NamedTuple

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
    backends = [BackendDoc("CPU")] if doc.backends is None else doc.backends
    if not backends:
        raise InputError("backends: the list is empty; leave it out for one CPU")
    if len(backends) > MAX_BACKENDS:
        raise InputError(f"backends: {len(backends)} of them, ggml allows {MAX_BACKENDS}")
    bufts: dict[str, BufferType] = {}
    for declared in doc.bufts:
        if declared.name in bufts:
            raise InputError(f"bufts: {declared.name!r} is declared twice")
        bufts[declared.name] = _buffer_type(declared, f"bufts: {declared.name!r}", host=declared.host)
    _add_own_types(backends, bufts)
    index = {name: i for i, name in enumerate(bufts)}
    hosts = frozenset(i for i, buft in enumerate(bufts.values()) if buft.host)
    made = tuple(_backend(one, index, hosts) for one in backends)
    names = {backend.name: i for i, backend in enumerate(made)}
    if len(names) < len(made):
        raise InputError("backends: two of them have the same name")
    return Devices(tuple(bufts.values()), made, index, names)


def kind_of(doc: BackendDoc) -> str:
    """The declared type, else cpu for names that start with CPU, else gpu."""
    return doc.type or ("cpu" if doc.name.startswith("CPU") else "gpu")


def _add_own_types(backends: list[BackendDoc], bufts: dict[str, BufferType]) -> None:
    """A default buffer type nobody declared is made from its namesake's inline fields, else from its first user's."""
    by_name = {one.name: one for one in backends}
    for one in backends:
        name = one.buft or one.name
        if name in bufts:
            continue
        namesake = by_name.get(name)
        maker = namesake if namesake is not None and (namesake.buft or namesake.name) == name else one
        host = maker.host if maker.host is not None else kind_of(maker) in ("cpu", "accel")
        bufts[name] = _buffer_type(maker, f"backends: {maker.name!r}", host=host, name=name)


def _buffer_type(doc: BackendDoc | BuftDoc, where: str, *, host: bool, name: str | None = None) -> BufferType:
    if not (name or doc.name).isprintable() or not 1 <= len(name or doc.name) < MAX_NAME:
        raise InputError(f"{where}: a name has 1 to {MAX_NAME - 1} characters that can be printed")
    if doc.align < 1 or doc.align & (doc.align - 1) or doc.align > 1 << 30:
        raise InputError(f"{where}: align {doc.align} is not a power of two up to 2^30")
    if doc.max_size is not None and not 1 <= doc.max_size <= MAX_SIZE:
        raise InputError(f"{where}: max_size {doc.max_size} is not between 1 and 2^53 bytes")
    if not 0 <= doc.pad_quant <= 1 << 30:
        raise InputError(f"{where}: pad_quant {doc.pad_quant} is not between 0 and 2^30 elements")
    for op, size in doc.op_extra.items():
        if not 0 <= size <= MAX_SIZE:
            raise InputError(f"{where}: op_extra {op} {size} is not between 0 and 2^53 bytes")
    return BufferType(name or doc.name, host, doc.align, doc.max_size, doc.pad_quant, doc.op_extra)


def _backend(doc: BackendDoc, index: dict[str, int], hosts: frozenset[int]) -> Backend:
    where = f"backends: {doc.name!r}"
    if not doc.name.isprintable() or not 1 <= len(doc.name) < MAX_NAME:
        raise InputError(f"{where}: a name has 1 to {MAX_NAME - 1} characters that can be printed")
    kind = kind_of(doc)
    buft = index[doc.buft or doc.name]
    if doc.supports_buft is None:
        supports = frozenset({buft}) | (hosts if kind in ("cpu", "accel") else frozenset())
    else:
        supports = frozenset(_find(index, name, f"{where}: supports_buft") for name in doc.supports_buft)
    for name in (*doc.types_except, *(pair[1] for pair in doc.op_types_except)):
        if name not in DTYPES:
            raise InputError(f"{where}: {name!r} is not a ggml type{nearest(name, DTYPES)}")
    offload: frozenset[Op] | None
    if isinstance(doc.offload, str):
        if doc.offload != "*":
            raise InputError(f'{where}: offload is a list of ops or "*", not {doc.offload!r}')
        offload = None
    else:
        offload = frozenset(doc.offload)
    if not 0 <= doc.offload_min_batch <= MAX_SIZE:
        raise InputError(f"{where}: offload_min_batch {doc.offload_min_batch} is not between 0 and 2^53 rows")
    is_async = kind == "gpu" if doc.is_async is None else doc.is_async
    return Backend(
        name=doc.name,
        type=kind,
        buft=buft,
        supports_buft=supports,
        ops=None if doc.ops is None else frozenset(doc.ops),
        ops_except=frozenset(doc.ops_except),
        types_except=frozenset(doc.types_except),
        op_types_except=frozenset(doc.op_types_except),
        offload=offload,
        offload_min_batch=doc.offload_min_batch,
        is_async=is_async,
        has_events=is_async if doc.events is None else doc.events,
    )


def _find(index: dict[str, int], name: str, where: str) -> int:
    if name not in index:
        raise InputError(f"{where}: {name!r} is not a buffer type of this file{nearest(name, index)}")
    return index[name]
