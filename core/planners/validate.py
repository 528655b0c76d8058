"""The independent checker of plans. It shares no code with the planners, nor with `bound`.

Two buffers are fine when they have no common step, or when one lies below the other at all their common steps. (With
gaps a buffer may need different bytes at different steps; one that is below another at some steps and above it at
others is refused even where no byte is shared, as MiniMalloc's validator does: `Buffer::effective_size`.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from .instance import Instance
from .jit import blank, column
from .kernels.pairs import clash_of_gapped, clash_of_plain
from .planner import Plan


class Verdict(str, Enum):
    """What is wrong with a plan."""

    GOOD = "good"
    WRONG_LENGTH = "wrong length"
    BELOW_ZERO = "below zero"
    MISALIGNED = "misaligned"
    MOVED_FIXED = "moved fixed"
    OUT_OF_CHUNK = "out of chunk"
    OVER_CAPACITY = "over capacity"
    OVERLAP = "overlap"


@dataclass(frozen=True)
class Judgement:
    """The verdict, the buffers it is about (two for an overlap, one or none otherwise), and a sentence."""

    verdict: Verdict
    buffers: tuple[int, ...] = ()
    sentence: str = "the plan is valid"

    @property
    def good(self) -> bool:
        """Nothing is wrong."""
        return self.verdict is Verdict.GOOD


def validate(instance: Instance, plan: Plan, capacity: int | None = None) -> Judgement:
    """Check a plan; the first thing that is wrong is told. O(n log n) without gaps.

    Args:
        instance: what was asked.
        plan: what a planner answered.
        capacity: bytes that all chunks together may take, None for any.
    """
    count = len(instance.size)
    chunks = np.zeros(count, dtype=np.int64) if plan.chunks is None else plan.chunks
    if plan.offsets.shape != (count,) or chunks.shape != (count,):
        return Judgement(
            Verdict.WRONG_LENGTH, (), f"the plan has {len(plan.offsets)} offsets for {count} buffers, or odd chunks"
        )
    return _each(instance, plan.offsets, chunks) or _whole(instance, plan.offsets, chunks, capacity)


def _each(instance: Instance, offsets: np.ndarray, chunks: np.ndarray) -> Judgement | None:
    """What a buffer can do wrong on its own."""
    below = (offsets < 0) | (chunks < 0)
    if below.any():
        k = int(below.argmax())
        return Judgement(Verdict.BELOW_ZERO, (k,), f"{instance.where(k)} is placed below zero, at {offsets[k]}")
    astray = offsets % instance.alignment != 0
    if astray.any():
        k = int(astray.argmax())
        text = f"{instance.where(k)} is placed at {offsets[k]}, no multiple of {instance.alignment[k]}"
        return Judgement(Verdict.MISALIGNED, (k,), text)
    for k in np.flatnonzero(instance.fixed >= 0).tolist():  # chunks lie one after the other: an offset names both
        if int(chunks[k]) * instance.max_chunk + int(offsets[k]) != instance.fixed[k] or (
            chunks[k] and not instance.max_chunk
        ):
            text = f"{instance.where(k)} must lie at {instance.fixed[k]} but is placed at {offsets[k]}"
            return Judgement(Verdict.MOVED_FIXED, (k,), text + (f" of chunk {chunks[k]}" if chunks[k] else ""))
    return None


def _whole(instance: Instance, offsets: np.ndarray, chunks: np.ndarray, capacity: int | None) -> Judgement:
    """What buffers can do wrong together; those without bytes or steps cannot."""
    real = np.flatnonzero((instance.size > 0) & (instance.lower < instance.upper))
    ends = offsets + instance.size
    if instance.max_chunk:
        # A chunk that was opened for a larger buffer holds that one, and later others, as in ggml.
        known, which = np.unique(chunks[real], return_inverse=True)
        room = np.full(len(known), instance.max_chunk, dtype=np.int64)
        np.maximum.at(room, which, instance.size[real])
        out = np.flatnonzero(ends[real] > room[which])
        if len(out):
            k = int(real[out[0]])
            text = f"{instance.where(k)} ends at {ends[k]} of chunk {chunks[k]}, which holds {room[which[out[0]]]}"
            return Judgement(Verdict.OUT_OF_CHUNK, (k,), text)
    if capacity is not None and len(real):
        highest: dict[int, int] = {}
        for chunk, end in zip(chunks[real].tolist(), ends[real].tolist(), strict=True):
            if end > highest.get(chunk, 0):
                highest[chunk] = end
        if sum(highest.values()) > capacity:
            k = int(real[ends[real].argmax()])
            text = f"the plan needs {sum(highest.values())} bytes, more than the capacity of {capacity}"
            return Judgement(Verdict.OVER_CAPACITY, (k,), text)
    pair = _clash(instance, real, offsets, chunks)
    if pair is None:
        return Judgement(Verdict.GOOD)
    i, j = sorted(pair)
    step = max(int(instance.lower[i]), int(instance.lower[j]))
    text = (
        f"{instance.where(i)} at [{offsets[i]}, {ends[i]}) and {instance.ids[j]!r} at [{offsets[j]}, {ends[j]}) "
        f"are both alive from step {step} and share bytes"
        if i not in instance.gaps and j not in instance.gaps
        else f"{instance.where(i)} at {offsets[i]} and {instance.ids[j]!r} at {offsets[j]} share bytes or change sides"
    )
    return Judgement(Verdict.OVERLAP, (i, j), text)


def _clash(instance: Instance, real: np.ndarray, offsets: np.ndarray, chunks: np.ndarray) -> tuple[int, int] | None:
    gapped = np.array([bool(instance.gaps.get(k)) for k in real.tolist()], dtype=bool) if instance.gaps else None
    plain = real if gapped is None else real[~gapped]
    found = _clash_of_plain(instance, plain, offsets, chunks)
    if found is None and gapped is not None and gapped.any():
        found = _clash_of_gapped(instance, real, gapped, offsets, chunks)
    return found


def _clash_of_plain(
    instance: Instance, some: np.ndarray, offsets: np.ndarray, chunks: np.ndarray
) -> tuple[int, int] | None:
    """Sweep over the steps: at its birth a buffer is compared with its neighbours by address."""
    count = len(some)
    some = some[np.lexsort((offsets[some], chunks[some]))]
    events = np.argsort(
        np.concatenate((instance.upper[some], instance.lower[some])), kind="stable"
    )  # equal steps: ends, which stand first, before starts
    width = 1
    while width < count:
        width *= 2
    start, end = offsets[some], offsets[some] + instance.size[some]
    pair = blank(2, -1)
    clash_of_plain(column(events), column(start), column(end), column(chunks[some]), blank(2 * width), pair)
    return None if pair[0] < 0 else (int(some[pair[0]]), int(some[pair[1]]))


def _clash_of_gapped(
    instance: Instance, real: np.ndarray, gapped: np.ndarray, offsets: np.ndarray, chunks: np.ndarray
) -> tuple[int, int] | None:
    """The pairs with a gapped buffer: where they touch in steps and address, by their parts."""
    first, parts = [0], []
    for k in real.tolist():
        at, low, high = int(instance.lower[k]), int(offsets[k]), int(offsets[k] + instance.size[k])
        for gap in instance.gaps.get(k, ()):
            parts += [(at, gap.lower, low, high), (gap.lower, gap.upper, low + gap.low, low + gap.high)]
            at = gap.upper
        parts.append((at, int(instance.upper[k]), low, high))
        parts[first[-1] :] = [part for part in parts[first[-1] :] if part[0] < part[1] and part[2] < part[3]]
        first.append(len(parts))
    flat = np.array(parts, dtype=np.int64).reshape(-1, 4)
    events = np.argsort(np.concatenate((instance.upper[real], instance.lower[real])), kind="stable")
    pair = blank(2, -1)
    clash_of_gapped(
        column(events),
        column(offsets[real]),
        column(offsets[real] + instance.size[real]),
        column(chunks[real]),
        column(gapped.astype(np.int64)),
        column(np.array(first, dtype=np.int64)),
        column(flat[:, 0]),
        column(flat[:, 1]),
        column(flat[:, 2]),
        column(flat[:, 3]),
        blank(len(real)),
        blank(len(real)),
        blank(len(real)),
        pair,
    )
    return None if pair[0] < 0 else (int(real[pair[0]]), int(real[pair[1]]))
