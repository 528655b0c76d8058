"""Is the plan right? Obvious, slow, and independent of the allocator that made it."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush

from ..state import State
from .liveness import live_steps


class Verdict(Enum):
    """What can be wrong with a place."""

    OVERLAP = "overlap"
    OUTSIDE = "outside"
    MISALIGNED = "misaligned"


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong.

    Attributes:
        verdict: the kind.
        tensor: the tensor at fault; for an overlap the one born later.
        other: the tensor it destroys, -1 unless an overlap.
        step: the first step at which both must be intact, -1 unless an overlap.
    """

    verdict: Verdict
    tensor: int
    other: int = -1
    step: int = -1


@dataclass(frozen=True, slots=True)
class _Box:
    tensor: int
    start: int
    end: int
    first: int
    last: int


def check(state: State) -> list[Violation]:
    """All violations of a run's placement, overlaps in order of the step where they strike.

    Two tensors that are needed together must not share bytes. The one excuse is a re-use decision of the plan in
    force: a child may write over its parent at its own step, the parent's last.
    """
    found: list[Violation] = []
    lanes: dict[tuple[int, int], list[_Box]] = {}
    live = live_steps(state)
    for tensor, (buffer, chunk, offset, size) in _places(state).items():
        shelf = state.buffers[buffer]
        if offset % shelf.buft.align:
            found.append(Violation(Verdict.MISALIGNED, tensor))
        if offset + size > (shelf.chunks[chunk] if chunk < len(shelf.chunks) else 0):
            found.append(Violation(Verdict.OUTSIDE, tensor))
        if size and tensor in live:
            lanes.setdefault((buffer, chunk), []).append(_Box(tensor, offset, offset + size, *live[tensor]))
    parents = _planned_parents(state)
    overlaps = [hit for boxes in lanes.values() for hit in _overlaps(boxes, parents)]
    return found + sorted(overlaps, key=lambda hit: (hit.step, hit.tensor, hit.other))


def _places(state: State) -> dict[int, tuple[int, int, int, int]]:
    """Where everything lies: as alloc_graph placed it, or as planned when only a reservation was asked."""
    if state.places:
        return {t: (p.buffer, p.chunk, p.offset, p.size) for t, p in state.places.items()}
    return {
        t: (life.buffer, life.chunk, life.offset, _needs(state, t, life.buffer)) for t, life in state.lifetimes.items()
    }


def _needs(state: State, tensor: int, buffer: int) -> int:
    """Unrounded bytes of the tensor in that buffer."""
    return state.buffers[buffer].buft.alloc_size(tensor, state.tensors, state.src[tensor])


def _planned_parents(state: State) -> dict[int, int]:
    """Child -> parent by the re-use decisions of the plan in force, which name positions, not tensors."""
    parents = {}
    for step, slot in state.plan_reuse.items():
        if step < state.n_steps:
            node = state.alloc_nodes[step][0]
            if slot < len(state.src[node]):
                parents[node] = state.src[node][slot]
    return parents


def _overlaps(boxes: list[_Box], parents: dict[int, int]) -> list[Violation]:
    """Sweep over the steps; each newborn is compared with those still needed that start within reach of it."""
    found = []
    reach = max(box.end - box.start for box in boxes)
    needed: list[tuple[int, int]] = []  # (start, index), sorted
    leaving: list[tuple[int, int]] = []  # (last step, index), a heap
    boxes = sorted(boxes, key=lambda one: (one.first, one.tensor))
    for number, box in enumerate(boxes):
        while leaving and leaving[0][0] < box.first:
            gone = heappop(leaving)[1]
            del needed[bisect_left(needed, (boxes[gone].start, gone))]
        near = range(bisect_left(needed, (box.start - reach, -1)), bisect_left(needed, (box.end, -1)))
        for old in (boxes[needed[k][1]] for k in near):
            if old.end <= box.start:
                continue
            taken_over = parents.get(box.tensor) == old.tensor and old.last == box.first
            given_over = parents.get(old.tensor) == box.tensor and box.last == old.first
            if not taken_over and not given_over:
                found.append(Violation(Verdict.OVERLAP, box.tensor, old.tensor, box.first))
        insort(needed, (box.start, number))
        heappush(leaving, (box.last, number))
    return found
