"""ggml's own allocator: the engine's placement of a graph, or its free blocks run over given lifetimes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..allocator.free_blocks import MAX_CHUNKS, FreeBlocks
from ..errors import GgmlAbort
from .bound import peak_bytes
from .from_graph import GraphBuffers
from .instance import LARGEST, Instance
from .planner import Budget, Constraint, Plan, Planner, Refused

_OTHER = "its free blocks over these lifetimes: the graph's own plan was made without this alignment or chunk size"


def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan:
    """What ggml decides; neither capacity nor budget changes that.

    Raises:
        Refused: ggml has no plan for this: another order of steps than its own, or it would abort.
    """
    if isinstance(instance, GraphBuffers):
        if instance.engine_plan is not None:
            return _limited(instance, instance.engine_plan)
        if instance.engine_refuses:
            raise Refused(instance.engine_refuses)
    try:
        plan = _limited(instance, over_lifetimes(instance, budget))
        return replace(plan, note=_OTHER) if isinstance(instance, GraphBuffers) else plan
    except GgmlAbort as error:
        raise Refused(f"stops: {error}") from None


def _limited(instance: Instance, plan: Plan) -> Plan:
    """The plan, unless it needs ggml's last chunk, to which no limit applies."""
    if plan.chunks is not None and instance.max_chunk:
        last = plan.chunks == MAX_CHUNKS - 1
        top = int((plan.offsets[last] + instance.size[last]).max(initial=0))
        if top > max(instance.max_chunk, int(instance.size[last].max(initial=0))):
            raise Refused(
                f"needs {top} bytes in its last chunk, the {MAX_CHUNKS}th, where it heeds no limit: "
                f"the largest chunk is {instance.max_chunk} bytes"
            )
    return plan


def freed_in_time(instance: Instance) -> int | None:
    """Bytes that ggml's rules need when each tensor of a graph is given back after its last use.

    ggml itself waits for a reader to finish, so what nobody reads is never freed. None for buffers that come from no
    graph, and where ggml could not plan.
    """
    if not isinstance(instance, GraphBuffers) or instance.engine_plan is None:
        return None
    try:
        return peak_bytes(instance, over_lifetimes(instance, Budget(None)))
    except Refused:
        return None


def over_lifetimes(instance: Instance, budget: Budget) -> Plan:
    """Step by step: what is born is allocated, in index order, then what has had its last step is freed.

    ggml_gallocr_alloc_graph_impl for buffers of which the lifetimes are known. A buffer type has one alignment: the
    smallest that is right for all buffers, and every size is rounded up to it.
    """
    align = math.lcm(*np.unique(instance.alignment).tolist())
    blocks = FreeBlocks(min(align, LARGEST), instance.max_chunk or None)
    lower, upper = instance.lower.tolist(), instance.upper.tolist()
    rounded = [-(-size // align) * align for size in instance.size.tolist()]
    if sum(rounded) > LARGEST:
        raise Refused(f"has one alignment for all buffers, {align} bytes, and sizes rounded up to it pass {LARGEST}")
    count = len(instance)
    offsets, chunks = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    born = [number for number in range(count) if lower[number] < upper[number]]
    dying = sorted(born, key=lambda number: upper[number])
    born.sort(key=lambda number: lower[number])
    freed = 0
    for turn, number in enumerate(born):
        if turn % 1024 == 0:
            budget.left()
        while upper[dying[freed]] <= lower[number]:
            gone = dying[freed]
            blocks.give_back(int(chunks[gone]), int(offsets[gone]), rounded[gone])
            freed += 1
        size = rounded[number]
        chunk, block, _, _ = blocks.find(size)
        if chunk < 0:
            chunk, block = blocks.new_chunk(size), 0
        chunks[number], offsets[number] = chunk, blocks.take(chunk, block, size)
    note = f"one alignment for all buffers: {align} bytes" if len(np.unique(instance.alignment)) > 1 else ""
    return Plan(offsets, chunks if chunks.any() else None, np.array(born, dtype=np.int64), note=note)


PLANNER = Planner(
    title="ggml",
    summary="Online, in the order of the graph: the smallest free block that fits, the last one if no other does.",
    source="ggml-alloc.c, ggml_dyn_tallocr_alloc",
    run=run,
    honours=frozenset({Constraint.ALIGNMENT, Constraint.GAPS, Constraint.MAX_CHUNK}),
)
