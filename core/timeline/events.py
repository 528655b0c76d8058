"""What the devices of a run are told, in order: from its log, or as its compute loop would go when it only reserves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from ..compute_events import AsyncTransfer, CopyAsync, EventRecord, EventSync, EventWait, Launch, Sync, Transfer
from ..errors import GgmlAbort, InputError
from ..events import Begin, Stage
from ..execute.loop import board_of
from ..graph import Mode
from ..log import Run
from ..scheduler.compute import ComputeLoop
from ..state import State
from .cost import HOST

_TELLING = frozenset({Sync, EventSync, EventWait, EventRecord, Transfer, AsyncTransfer, CopyAsync, Launch})


class Told(NamedTuple):
    """One event of the compute loop.

    Attributes:
        tick: its index in the log, -1 for an event that was made up.
        split: the split it belongs to.
        event: what is told, None before anything is.
        source: the tensor that the event's tensor is a copy of, -1 for none.
    """

    tick: int
    split: int
    event: Any
    source: int = -1


def told_of(run: Run, state: State) -> tuple[list[Told], bool]:
    """The events of one run, and whether they had to be made up because it was only reserved.

    Raises:
        InputError: there is nothing to compute: ggml stops in this run, or the graph has no nodes.
    """
    if state.abort is not None:
        raise InputError(f"nothing runs in this graph: ggml stops ({state.abort})")
    if not state.nodes:
        raise InputError("nothing runs in this graph: it has no nodes")
    events = run.events
    begin = next((tick for tick in range(len(events) - 1, -1, -1) if _begins_compute(events[tick])), len(events))
    found = [(tick, events[tick]) for tick in range(begin, len(events)) if type(events[tick]) in _TELLING]
    if found:
        return _in_splits(found, state), False
    return _in_splits([(-1, event) for event in _made_up(run, state)], state), True


def _begins_compute(event: Any) -> bool:
    return type(event) is Begin and event.stage is Stage.COMPUTE


def _made_up(run: Run, state: State) -> list[Any]:
    """As ComputeLoop goes over the graph; without a scheduler one backend computes all nodes."""
    if run.problem.config.mode is not Mode.SCHED or not state.splits:
        return [Launch(len(state.backends) - 1, len(state.nodes), state.nodes[0], state.nodes[-1])]
    board = board_of(state)
    homes = {tensor: state.backends[owner].buft for tensor, owner in (*state.alloc_leafs, *state.alloc_nodes)}
    made: list[Any] = []
    try:
        ComputeLoop(replace(board, homes=homes), run.problem.config.copy_callback, made.append).run()
    except GgmlAbort as error:
        raise InputError(f"this graph cannot run: ggml would stop ({error})") from None
    return [event for event in made if type(event) in _TELLING]


def _in_splits(found: list[tuple[int, Any]], state: State) -> list[Told]:
    """With the split of each event: that of the next launch, and of the last one for the record behind it."""
    copies = {copy.tensor: copy.src for copy in state.copies if copy.tensor != copy.src}
    row_of = {node: row for row, node in enumerate(state.nodes)}
    split_of = {split.start: k for k, split in enumerate(state.splits) if split.end > split.start}
    told: list[Told] = []
    split = max(len(state.splits) - 1, 0)
    for tick, event in reversed(found):
        if isinstance(event, Launch):
            split = split_of.get(row_of[event.first], 0)
        own = split
        if isinstance(event, EventRecord):  # right behind the launch of its split, which comes next in this order
            own = -1
        told.append(Told(tick, own, event, copies.get(getattr(event, "tensor", -1), -1)))
    told.reverse()
    for i, one in enumerate(told):
        if one.split < 0:
            told[i] = one._replace(split=told[i - 1].split if i else 0)
    return told


def batch_of(told: list[Told], state: State, n_copies: int, batch: int) -> list[Told]:
    """The events of the same graph `batch` runs later, when the scheduler has turned to another copy.

    ggml_backend_sched_alloc_graph takes the copies in rotation, so event numbers and split inputs change with it. An
    input leaf of the graph stands for itself in every copy.
    """
    copy_no = (state.cur_copy + batch) % n_copies
    if copy_no == state.cur_copy:
        return told
    numbered = {(copy.src, copy.backend, copy.copy_no): copy.tensor for copy in state.copies}
    other = {
        copy.tensor: numbered[copy.src, copy.backend, copy_no]
        for copy in state.copies
        if copy.copy_no == state.cur_copy and copy.tensor != copy.src
    }
    return [one._replace(event=_turned(one.event, copy_no, other)) for one in told]


def _turned(event: Any, copy_no: int, other: dict[int, int]) -> Any:
    if isinstance(event, (EventSync, EventWait, EventRecord)):
        return msgspec.structs.replace(event, copy_no=copy_no)
    if isinstance(event, (Transfer, AsyncTransfer, CopyAsync)) and event.tensor in other:
        return msgspec.structs.replace(event, tensor=other[event.tensor])
    return event


def places_of(state: State) -> list[int]:
    """By tensor id: the backend whose memory holds its bytes, or HOST."""
    owner = {buft: b for b, buft in reversed(list(enumerate(backend.buft for backend in state.backends)))}
    ids = list(state.backend_ids)
    for tensor, backend in (*state.alloc_leafs, *state.alloc_nodes):
        ids[tensor] = backend
    found: list[int] = []
    for tensor, one in enumerate(state.tensors):
        base = one.view_src if one.view_src >= 0 else tensor
        buft = state.tensors[base].buft
        if buft < 0 and ids[base] >= 0:
            buft = state.backends[ids[base]].buft
        if buft < 0 or state.bufts[buft].host:
            found.append(HOST)
        else:
            found.append(ids[base] if state.tensors[base].buft < 0 else owner.get(buft, HOST))
    return found
