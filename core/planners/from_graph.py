"""A traced graph as planning instances, one per buffer that ggml's allocator plans, each with ggml's own placement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..allocator.gallocr import Gallocr
from ..build import Built
from ..columns import Columns
from ..errors import GgmlAbort, InputError
from ..events import Event, Reuse
from ..graph import Graph
from ..state import State
from .instance import Gap, Instance
from .pipeline.intervals import Because, Interval, intervals
from .pipeline.order import step_order
from .planner import Plan


@dataclass(frozen=True, eq=False)
class GraphBuffers(Instance):
    """Buffers that come from a graph, so that ggml has placed them already.

    Attributes:
        engine_plan: where the allocator put them; None where it was not asked or stopped.
        engine_refuses: then why, a sentence without its subject; "" when its plan is for other constraints.
    """

    engine_plan: Plan | None = None
    engine_refuses: str = ""


@dataclass(frozen=True, eq=False)
class GraphInstance:
    """One buffer of ggml_gallocr, all buffer ids that share its type.

    Attributes:
        instance: what a planner is asked. Sizes are rounded up to the alignment, as ggml takes them.
        members: by buffer of the instance its tensors: the owner, its in-place heirs, then the views of these.
        intervals: of the tensors in it, by tensor id.
        steps: the node that runs in each step.
        state: the run.
        buffer: the first buffer id.
        in_place: in-place chains are one buffer each.
        order: of the steps, a key of `pipeline.order.ORDERS`.
    """

    instance: GraphBuffers
    members: tuple[tuple[int, ...], ...]
    intervals: tuple[Interval, ...]
    steps: tuple[int, ...]
    state: State
    buffer: int
    in_place: bool
    order: str

    @property
    def ggml(self) -> Plan | None:
        """The engine's own placement."""
        return self.instance.engine_plan


class _Placed(NamedTuple):
    """What the engine decided: tensor -> (first buffer id, chunk, offset), and child -> parent."""

    places: Mapping[int, tuple[int, int, int]]
    parents: Mapping[int, int]
    refuses: str = ""


def instances(state: State, in_place: bool = True, order: str = "ggml") -> list[GraphInstance]:
    """One instance per buffer that the allocator plans, in the order of `explain.usage.usage`.

    Args:
        state: a run whose graph has been planned.
        in_place: the engine's in-place decisions stand; else every tensor has bytes of its own and the engine is asked
            again without them.
        order: of the steps; in another one than ggml's its in-place rule decides anew.

    Raises:
        InputError: the run ended before a plan was made, or there is no such order.
    """
    if order == "ggml" and in_place:
        placed = _in_force(state)
    else:
        placed = _asked_again(state, step_order(state, order), in_place=in_place)
        if order != "ggml":
            placed = placed._replace(
                refuses="plans the steps in the order of the graph, so it has no plan for another one"
            )
    steps = step_order(state, order)
    return _build(state, steps, placed, in_place=in_place, order=order)


def _in_force(state: State) -> _Placed:
    """The addresses of this run, and those in-place decisions of the plan in force that it follows."""
    if state.places:
        places = {t: (place.buffer, place.chunk, place.offset) for t, place in state.places.items()}
    else:
        places = {t: (life.buffer, life.chunk, life.offset) for t, life in state.lifetimes.items()}
    parents = {}
    for step, slot in state.plan_reuse.items():  # positions, not tensors: the plan may have been made for another graph
        if step < state.n_steps:
            child = state.alloc_nodes[step][0]
            sources = state.src[child]
            if slot < len(sources) and child in places and places[child] == places.get(sources[slot]):
                parents[child] = sources[slot]
    return _Placed(places, parents)


def _asked_again(state: State, steps: Sequence[int], *, in_place: bool) -> _Placed:
    """What the allocator does with these steps, from nothing; where it stops, the buffers of the run itself."""
    columns = Columns(Graph(tuple(state.tensors), ()), Built([], [], state.names))
    columns.src = list(state.src)
    columns.flags = state.flags
    nodes, node_buffers = _columns(state.alloc_nodes[step] for step in steps)
    leafs, leaf_buffers = _columns(state.alloc_leafs)
    gallocr = Gallocr(state.bufts, [backend.buft for backend in state.backends], in_place=in_place)
    log: list[Event] = []
    try:
        gallocr.reserve(columns, nodes, leafs, node_buffers, leaf_buffers, log.append)
    except GgmlAbort as error:
        return _in_force(state)._replace(refuses=f"stops on this graph: {error}")
    places = {}
    known = list(zip(leafs, gallocr.leaf_slots, strict=True))
    for node, (slot, sources) in zip(nodes, gallocr.node_slots, strict=True):
        known += [*zip(state.src[node], sources, strict=True), (node, slot)]
    for tensor, slot in known:
        if slot is not None:
            places[tensor] = (gallocr.first[slot[0]], slot[1], slot[2])
    return _Placed(places, {event.child: event.parent for event in log if isinstance(event, Reuse)})


def _columns(pairs: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    tensors, buffers = [], []
    for tensor, buffer in pairs:
        tensors.append(tensor)
        buffers.append(buffer)
    return tensors, buffers


def _build(state: State, steps: list[int], placed: _Placed, *, in_place: bool, order: str) -> list[GraphInstance]:
    found = intervals(state, steps, placed.parents if in_place else {})
    by_buffer: dict[int, list[Interval]] = {}
    for one in found:
        if one.owner not in placed.places:
            why = f": ggml stops with {state.abort}" if state.abort else ""
            raise InputError(f"this run has no plan to compare with, {state.names[one.owner]!r} has no address{why}")
        by_buffer.setdefault(placed.places[one.owner][0], []).append(one)
    nodes = tuple(state.alloc_nodes[step][0] for step in steps)
    made = []
    for buffer, shelf in enumerate(state.buffers):
        if shelf.same_as < 0:
            inside = by_buffer.get(buffer, [])
            instance, members = _instance(state, buffer, inside, placed)
            made.append(GraphInstance(instance, members, tuple(inside), nodes, state, buffer, in_place, order))
    return made


def _instance(
    state: State, buffer: int, inside: list[Interval], placed: _Placed
) -> tuple[GraphBuffers, tuple[tuple[int, ...], ...]]:
    buft = state.buffers[buffer].buft
    chains: dict[int, list[Interval]] = {}
    views: dict[int, list[int]] = {}
    for one in inside:
        if one.because is Because.VIEW:
            views.setdefault(one.owner, []).append(one.tensor)
        else:
            chains.setdefault(one.owner, []).append(one)
    lower, upper, size, gaps = [], [], [], {}
    for number, chain in enumerate(chains.values()):
        chain.sort(key=lambda one: (one.tensor != one.owner, one.birth))
        needs = [_rounded(state, one.tensor, buffer) for one in chain]
        lower.append(min(one.birth for one in chain))
        upper.append(max(one.death for one in chain))
        size.append(max(needs))
        if windows := _windows(chain, needs):
            gaps[number] = windows
    members = tuple((*(one.tensor for one in chain), *views.get(owner, ())) for owner, chain in chains.items())
    plan = None
    if not placed.refuses:
        places = [placed.places[owner] for owner in chains]
        chunks = np.array([place[1] for place in places], dtype=np.int64)
        plan = Plan(np.array([place[2] for place in places], dtype=np.int64), chunks if chunks.any() else None)
    bare = Instance.of(
        lower,
        upper,
        size,
        ids=_unique(state, chains),
        alignment=buft.align,
        gaps=gaps,
        max_chunk=buft.max_size or 0,
        name=_device(state, buffer),
    )
    columns = {one.name: getattr(bare, one.name) for one in fields(bare)}
    return GraphBuffers(**columns, engine_plan=plan, engine_refuses=placed.refuses), members


def _windows(chain: list[Interval], needs: list[int]) -> tuple[Gap, ...]:
    """The steps in which the tensors of a chain that are alive need less than its largest one."""
    largest = max(needs)
    if min(needs) == largest:
        return ()
    borders = sorted({step for one in chain for step in (one.birth, one.death)})
    gaps: list[Gap] = []
    for start, end in pairwise(borders):
        alive = (need for one, need in zip(chain, needs, strict=True) if one.birth <= start < one.death)
        needed = max(alive, default=0)
        if gaps and (gaps[-1].upper, gaps[-1].high) == (start, needed):
            gaps[-1] = gaps[-1]._replace(upper=end)
        elif needed < largest:
            gaps.append(Gap(start, end, 0, needed))
    return tuple(gaps)


def _rounded(state: State, tensor: int, buffer: int) -> int:
    """Bytes the tensor takes in the buffer, up to the alignment (ggml_gallocr rounds every size)."""
    buft = state.buffers[buffer].buft
    return -(-buft.alloc_size(tensor, state.tensors, state.src[tensor]) // buft.align) * buft.align


def _unique(state: State, owners: Iterable[int]) -> list[str]:
    """The tensors' names, all with #id where one occurs twice."""
    owners = list(owners)
    names = [state.names[tensor] for tensor in owners]
    count = Counter(names)
    made = [f"{name}#{tensor}" if count[name] > 1 else name for name, tensor in zip(names, owners, strict=True)]
    if len(set(made)) < len(made):
        made = [f"{name}#{tensor}" for name, tensor in zip(names, owners, strict=True)]
    return made


def _device(state: State, buffer: int) -> str:
    """The device or devices of a buffer, as `stats` names them."""
    pairs = zip(state.backends, state.buffers, strict=True)
    return " + ".join(
        backend.name for number, (backend, shelf) in enumerate(pairs) if buffer in (number, shelf.same_as)
    )
