"""The strip chart as columns: one rectangle per lifetime, steps across, addresses up, one lane per chunk of a buffer.

Rectangles are sorted by lane. An index in `parent` and in the `rect` columns is a rectangle; any other id is a tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import numpy as np

from ...core.check.checker import Verdict, check
from ...core.explain.usage import current_lifetimes
from ...core.op import Op
from ...core.state import Lifetime, State
from ...core.tensor import Flag
from .columns import column
from .holes import Hole, Span, holes


class Kind(IntFlag):
    """What a rectangle is beside a tensor of the model; `assets/strip_data.js` knows the same bits."""

    COPY = 1
    KEPT = 2
    IN_PLACE = 4
    NEVER_FREED = 8
    INPUT = 16


# Plain numbers for the columns: arithmetic on flags is slow.
_COPY, _KEPT, _IN_PLACE, _NEVER_FREED, _INPUT = (kind.value for kind in Kind)
_INPUT_FLAG = int(Flag.INPUT)


@dataclass(frozen=True, slots=True)
class Lane:
    """One chunk of one buffer, sizes in bytes."""

    device: str
    backend: int
    buft: str
    buffer: int
    chunk: int
    n_chunks: int
    size: int
    peak: int
    """The highest byte in use, ever."""
    most: int
    """The most bytes alive at one step, and that step, and who is alive there."""
    step: int
    alive: Sequence[int]


@dataclass(frozen=True, slots=True)
class Reads:
    """Who reads a rectangle, directly or through a view, and at which step."""

    rect: Sequence[int]
    step: Sequence[int]
    reader: Sequence[int]


def strip_data(state: State) -> dict[str, Any]:
    """The `strip` part of a scene."""
    found = lanes(state)
    by_chunk = _by_chunk(state)
    rows = [(i, life) for i, lane in enumerate(found) for life in by_chunk[lane.buffer, lane.chunk]]
    rects = [life for _, life in rows]
    rect_of = {life.tensor: i for i, life in enumerate(rects)}
    copy_of = {copy.tensor: copy for copy in state.copies if copy.tensor != copy.src}
    copies = [copy_of.get(life.tensor) for life in rects]
    reads = _reads(state, rect_of)
    free = [
        (i, hole)
        for i, lane in enumerate(found)
        if state.reserved  # a kept plan has no free blocks of its own, and a stale one may overlap
        for hole in holes([_span(life) for life in by_chunk[lane.buffer, lane.chunk]], lane.size, state.n_steps)
    ]
    steps = [tensor for tensor, _ in state.alloc_nodes]
    position = {tensor: i for i, tensor in enumerate(state.nodes)}
    return {
        "n": len(rects),
        "n_steps": state.n_steps,
        "empty": "" if rects else _empty(state),
        "lanes": [_lane_json(lane) for lane in found],
        "id": column((life.tensor for life in rects), "int32"),
        "lane": column((lane for lane, _ in rows), "int16"),
        "x0": column((life.born for life in rects), "int32"),
        "x1": column((life.dies for life in rects), "int32"),
        "y0": column((life.offset for life in rects), "float64"),
        "size": column((life.size for life in rects), "float64"),
        "parent": column((rect_of.get(life.parent, -1) for life in rects), "int32"),
        "kind": column((_kind(state, life, copied=life.tensor in copy_of) for life in rects), "uint8"),
        "copy_of": column((copy.src if copy else -1 for copy in copies), "int32"),
        "copy_no": column((copy.copy_no if copy else -1 for copy in copies), "int8"),
        "tensor_of_step": column(steps, "int32"),
        "node_of_step": column((position.get(tensor, -1) for tensor in steps), "int32"),
        "step_of_node": column(step_of_node(state), "int32"),
        "reads": {
            "n": len(reads.rect),
            "rect": column(reads.rect, "int32"),
            "step": column(reads.step, "int32"),
            "reader": column(reads.reader, "int32"),
        },
        "views": _views(state, rects, rect_of),
        "holes": _holes_json(free),
        "overlaps": _overlaps(state, rows, rect_of),
    }


def _by_chunk(state: State) -> dict[tuple[int, int], list[Lifetime]]:
    """The lifetimes of each (buffer, chunk), in the order in which they begin."""
    found: dict[tuple[int, int], list[Lifetime]] = {}
    for life in sorted([*current_lifetimes(state).values(), *state.earlier], key=lambda life: (life.born, life.offset)):
        found.setdefault((life.buffer, life.chunk), []).append(life)
    return found


def _empty(state: State) -> str:
    """What to say where there is nothing to draw."""
    if state.abort is not None:
        return f"ggml stops before anything is allocated. {state.abort}"
    if not state.nodes:
        return "The graph has no nodes, so there is nothing to allocate."
    if state.lifetimes or state.places:
        return "Everything the allocator placed has zero bytes."
    return "Nothing is allocated here: every tensor lies in a buffer of its own already, or is a view of one that does."


def lanes(state: State) -> list[Lane]:
    """The chunks of all buffers that hold anything, in the order of the devices."""
    by_chunk = _by_chunk(state)
    found = []
    for b, buffer in enumerate(state.buffers):
        sharing = [i for i, other in enumerate(state.buffers) if i == b or other.same_as == b]
        for c, size in enumerate(buffer.chunks):
            lives = by_chunk.get((b, c), []) if buffer.same_as < 0 else []
            if not lives or not size:
                continue
            most, step = _peak(lives, state.n_steps)
            found.append(
                Lane(
                    device=" + ".join(state.backends[i].name for i in sharing),
                    backend=b,
                    buft=buffer.buft.name,
                    buffer=b,
                    chunk=c,
                    n_chunks=len(buffer.chunks),
                    size=size,
                    peak=max(life.offset + life.size for life in lives),
                    most=most,
                    step=step,
                    alive=[life.tensor for life in lives if life.born <= step < life.dies],
                )
            )
    return found


def step_of_node(state: State) -> list[int]:
    """The step at which the allocator sees each node of the graph; -1 when it never does."""
    steps = {tensor: i for i, (tensor, _) in enumerate(state.alloc_nodes)}
    return [steps.get(tensor, -1) for tensor in state.nodes]


def _peak(lives: Sequence[Lifetime], n_steps: int) -> tuple[int, int]:
    """The most bytes alive at once, and the first step at which they are."""
    change = np.zeros(n_steps + 1, dtype=np.int64)
    np.add.at(change, [life.born for life in lives], [life.size for life in lives])
    np.subtract.at(change, [life.dies for life in lives], [life.size for life in lives])
    alive = np.cumsum(change[:-1]) if n_steps else change
    step = int(np.argmax(alive))
    return int(alive[step]), step


def _kind(state: State, life: Lifetime, *, copied: bool) -> int:
    return (
        (_COPY if copied else 0)
        | (_KEPT if life.kept else 0)
        | (_IN_PLACE if life.parent >= 0 else 0)
        | (_NEVER_FREED if life.dies >= state.n_steps else 0)
        | (_INPUT if state.flags[life.tensor] & _INPUT_FLAG else 0)
    )


def _reads(state: State, rect_of: Mapping[int, int]) -> Reads:
    copied = {(copy.tensor, copy.src) for copy in state.copies}
    rect: list[int] = []
    at: list[int] = []
    reader: list[int] = []
    for step, (node, _) in enumerate(state.alloc_nodes):
        following = state.alloc_nodes[step + 1][0] if step + 1 < len(state.alloc_nodes) else -1
        for src in state.src[node]:
            if src < 0:
                continue
            base = state.tensors[src].view_src
            owner = rect_of.get(base if base >= 0 else src, -1)
            if owner >= 0:
                rect.append(owner)
                at.append(step)
                # The node "x (view)" before a copy only keeps x alive: the copy behind it is what reads.
                reader.append(following if (following, src) in copied else node)
    return Reads(rect, at, reader)


def _views(state: State, rects: Sequence[Lifetime], rect_of: Mapping[int, int]) -> dict[str, Any]:
    """The views over memory of this plan, from the step that makes one to the last step that reads it."""
    last: dict[int, int] = {}
    for step, (node, _) in enumerate(state.alloc_nodes):
        for src in state.src[node]:
            if src >= 0:
                last[src] = step
    rows = []
    for step, (node, _) in enumerate(state.alloc_nodes):
        tensor = state.tensors[node]
        owner = rect_of.get(tensor.view_src, -1) if tensor.view_src >= 0 and tensor.op is not Op.NONE else -1
        if owner >= 0:
            rows.append((node, owner, step, max(step, last.get(node, step)) + 1, tensor.view_offs, tensor.nbytes))
    return {
        "n": len(rows),
        "id": column((row[0] for row in rows), "int32"),
        "rect": column((row[1] for row in rows), "int32"),
        "x0": column((row[2] for row in rows), "int32"),
        "x1": column((row[3] for row in rows), "int32"),
        "y0": column((rects[row[1]].offset + row[4] for row in rows), "float64"),
        "size": column((row[5] for row in rows), "float64"),
    }


def _overlaps(state: State, rows: Sequence[tuple[int, Lifetime]], rect_of: Mapping[int, int]) -> dict[str, Any]:
    """Where two tensors that are needed together share bytes: what the checker found, as rectangles."""
    found = []
    for hit in check(state):
        if hit.verdict is not Verdict.OVERLAP or hit.tensor not in rect_of or hit.other not in rect_of:
            continue
        lane, own = rows[rect_of[hit.tensor]]
        _, other = rows[rect_of[hit.other]]
        start = max(own.offset, other.offset)
        end = min(own.offset + own.size, other.offset + other.size)
        first = max(hit.step, own.born, other.born)
        last = max(first + 1, min(own.dies, other.dies))
        found.append((lane, first, last, start, end - start, hit.tensor, hit.other))
    return {
        "n": len(found),
        "lane": column((row[0] for row in found), "int16"),
        "x0": column((row[1] for row in found), "int32"),
        "x1": column((row[2] for row in found), "int32"),
        "y0": column((row[3] for row in found), "float64"),
        "size": column((row[4] for row in found), "float64"),
        "tensor": column((row[5] for row in found), "int32"),
        "other": column((row[6] for row in found), "int32"),
    }


def _span(life: Lifetime) -> Span:
    return Span(life.born, life.dies, life.offset, life.offset + life.size)


def _holes_json(free: Sequence[tuple[int, Hole]]) -> dict[str, Any]:
    return {
        "n": len(free),
        "lane": column((lane for lane, _ in free), "int16"),
        "x0": column((hole.first for _, hole in free), "int32"),
        "x1": column((hole.last for _, hole in free), "int32"),
        "y0": column((hole.start for _, hole in free), "float64"),
        "size": column((hole.end - hole.start for _, hole in free), "float64"),
    }


def _lane_json(lane: Lane) -> dict[str, Any]:
    return {
        "device": lane.backend,
        "label": lane.device,
        "buft": lane.buft,
        "buffer": lane.buffer,
        "chunk": lane.chunk,
        "chunks": lane.n_chunks,
        "size": lane.size,
        "peak": lane.peak,
        "live": lane.most,
        "peak_step": lane.step,
        "alive": list(lane.alive),
    }
