"""Memory over time: how full each buffer is at each step, and who fills it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..check.liveness import live_steps
from ..op import Op
from ..state import Lifetime, State
from ..tensor import Flag


@dataclass(frozen=True, slots=True)
class Usage:
    """One buffer (all ids that share its type), sizes in bytes, rounded to the alignment.

    Attributes:
        buffer: its first id.
        backends: the backends whose default buffer type it is.
        size: planned bytes, all chunks.
        chunks: planned bytes per chunk.
        live: bytes alive at each step.
        peak: the most bytes alive at one step: no plan with these lifetimes can be smaller.
        peak_step: the first step with that many.
        at_peak: the tensors alive there, largest first.
        total: sum of all its tensors, in-place children not counted again.
        n_tensors: tensors it holds, in-place children included.
    """

    buffer: int
    backends: tuple[int, ...]
    size: int
    chunks: tuple[int, ...]
    live: tuple[int, ...]
    peak: int
    peak_step: int
    at_peak: tuple[int, ...]
    total: int
    n_tensors: int

    @property
    def fragmentation(self) -> float:
        """Share of the buffer that even at the peak holds nothing; a stale plan may hold more than fits, then 0."""
        return max(0.0, (self.size - self.peak) / self.size) if self.size else 0.0


def current_lifetimes(state: State) -> Mapping[int, Lifetime]:
    """Where each tensor lies in this run: as its reservation planned, or, where an earlier plan was kept, as placed.

    In the second case a lifetime is what the graph needs (first to last use), since the plan decided for another graph.
    """
    if state.lifetimes or not state.places:
        return state.lifetimes
    lifetimes = {}
    live = live_steps(state)
    for tensor, place in state.places.items():
        first, last = live.get(tensor, (0, state.n_steps - 1))
        align = state.buffers[place.buffer].buft.align
        size = -(-place.size // align) * align
        lifetimes[tensor] = Lifetime(
            tensor, place.buffer, place.chunk, place.offset, size, first, last + 1, freed=last + 1 < state.n_steps
        )
    return lifetimes


def usage(state: State) -> list[Usage]:
    """Every buffer of the run, in the order of ids, shared ones once."""
    members: dict[int, list[Lifetime]] = {}
    for life in (*current_lifetimes(state).values(), *state.earlier):
        members.setdefault(life.buffer, []).append(life)
    return [
        _usage(state, buffer, members.get(buffer, [])) for buffer, one in enumerate(state.buffers) if one.same_as < 0
    ]


def _usage(state: State, buffer: int, lifetimes: Iterable[Lifetime]) -> Usage:
    steps = max(state.n_steps, 1)
    change = [0] * (steps + 1)
    total = count = 0
    for life in lifetimes:
        change[min(life.born, steps)] += life.size
        change[min(life.dies, steps)] -= life.size
        total += life.size if life.parent < 0 else 0
        count += 1
    live = []
    now = 0
    for delta in change[:steps]:
        now += delta
        live.append(now)
    peak = max(live)
    peak_step = live.index(peak)
    alive = [life for life in lifetimes if life.born <= peak_step < life.dies and life.size]
    alive.sort(key=lambda life: (-life.size, life.tensor))
    chunks = state.buffers[buffer].chunks
    backends = tuple(b for b, one in enumerate(state.buffers) if b == buffer or one.same_as == buffer)
    return Usage(
        buffer, backends, sum(chunks), tuple(chunks), tuple(live), peak, peak_step,
        tuple(life.tensor for life in alive), total, count,
    )  # fmt: skip


def kind_of(state: State, tensor: int) -> str:
    """The op of a tensor, or what it is when nothing computes it."""
    one = state.tensors[tensor]
    if one.op is not Op.NONE:
        return str(one.op)
    if tensor in state.dependencies:
        return "dependency node"
    if tensor >= state.n_graph:
        return "scheduler copy"
    if one.is_weight:
        return "weight"
    return "input" if state.flags[tensor] & Flag.INPUT else "leaf"


def device_name(state: State, usage_of: Usage) -> str:
    """The device a buffer belongs to, for a reader: backend names, or the buffer type where no scheduler runs."""
    names = [state.backends[b].name for b in usage_of.backends]
    return " + ".join(names)
