"""Where every tensor's bytes are: the plan of a run, or of another planner, in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import InputError
from ..planners.from_graph import GraphInstance
from ..planners.planner import Plan
from ..state import State


class Address(NamedTuple):
    """Buffer id (the first of its type), chunk, byte offset in it, and how many bytes the tensor takes."""

    buffer: int
    chunk: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A placement.

    Attributes:
        at: address of each tensor with bytes of its own that the plan placed, by tensor id.
        chunks: bytes of each (buffer, chunk).
    """

    at: Mapping[int, Address]
    chunks: Mapping[tuple[int, int], int]


def layout_of(state: State) -> Layout:
    """The addresses that ggml's allocator gave out in this run; the chunks as large as that needs.

    Raises:
        InputError: it gave none: ggml stopped, or the run only reserves.
    """
    if state.abort is not None:
        raise InputError(f"the graph cannot run, ggml stops: {state.abort}")
    if state.ok is False:
        raise InputError("the graph cannot run: the plan in force does not fit it, and nobody reserves anew")
    at = {t: Address(p.buffer, p.chunk, p.offset, p.size) for t, p in state.places.items()}
    if state.reserved and not at and state.lifetimes:
        raise InputError("this run only reserves memory, nothing has an address")
    return Layout(at, _chunks(at.values()))


def moved(layout: Layout, planned: Iterable[tuple[GraphInstance, Plan]]) -> Layout:
    """The layout with the addresses that other planners chose for some buffers."""
    at = dict(layout.at)
    for instance, plan in planned:
        for number, members in enumerate(instance.members):
            offset, chunk = plan.offsets[number], 0 if plan.chunks is None else plan.chunks[number]
            for tensor in members:
                before = at.get(tensor)
                if before is not None:
                    at[tensor] = Address(instance.buffer, int(chunk), int(offset), before.size)
    return Layout(at, _chunks(at.values()))


def _chunks(addresses: Iterable[Address]) -> dict[tuple[int, int], int]:
    sizes: dict[tuple[int, int], int] = {}
    for buffer, chunk, offset, size in addresses:
        sizes[buffer, chunk] = max(sizes.get((buffer, chunk), 0), offset + size)
    return sizes
