"""What the caller and the child process of a played session say to each other."""

from __future__ import annotations

from typing import Union

import msgspec

from ..decode.script import Script
from ..decode.ubatch import Ubatch
from ..models.shape import GraphShape
from .messages import RawBuft, RawGraph, Refusal, Stage


class AskPlay(msgspec.Struct):
    """The only question.

    Attributes:
        library: path of the shared object.
        model: path of the model as the child sees it.
        script: the session.
        graphs: hand out the graph of each shape.
    """

    library: str
    model: str
    script: Script
    graphs: bool


class Facts(msgspec.Struct, frozen=True):
    """What can be seen of a graph once it was split and, but for a probe, planned.

    Attributes:
        n_nodes: of the graph as built.
        n_leafs: likewise.
        sched_nodes: of the allocation graph: copies and dependencies counted.
        sched_leafs: likewise.
        splits: (backend, first node, behind the last, inputs).
        compute_sizes: bytes of the compute buffer of each backend.
        inputs: (name, type, ne0, ne1, ne2, ne3) of the INPUT leafs.
        input_classes: of the input objects, in order; those of a shift are not known.
        graph_size: nodes that it has room for.
        used_bytes: of the result's pool; 0 where it is not known.
        galloc_hash_size: slots of the allocator's hash table.
    """

    n_nodes: int
    n_leafs: int
    sched_nodes: int
    sched_leafs: int
    splits: tuple[tuple[int, int, int, int], ...]
    compute_sizes: tuple[int, ...]
    inputs: tuple[tuple[str, str, int, int, int, int], ...]
    input_classes: tuple[str, ...]
    graph_size: int
    used_bytes: int
    galloc_hash_size: int


class PlayedPlan(msgspec.Struct):
    """One call of graph_reserve.

    Attributes:
        n_tokens: as passed; so are n_seqs and n_outputs.
        split_only: a probe.
        ok: it gave a graph: the buffers could be made.
        shape: what the graph was built for.
        facts: index in `Played.facts`.
        n_copies: of the scheduler.
        cur_copy: of the scheduler, afterwards.
        next_copy: of the scheduler, afterwards.
        trace: what happened: `reset`, `synchronize`, `split`, `reserve_n`.
    """

    n_tokens: int
    n_seqs: int
    n_outputs: int
    split_only: bool
    ok: bool
    shape: GraphShape
    facts: int
    n_copies: int
    cur_copy: int
    next_copy: int
    trace: list[str]


class PlayedUbatch(msgspec.Struct):
    """One call of process_ubatch.

    Attributes:
        ubatch: what it got.
        shape: what its graph is made for.
        can_reuse: what llm_graph_result::can_reuse said, None where it was not asked.
        reused: no graph was built.
        n_reused: re-uses until now, this one included.
        ok: it gave a result.
        status: enum ggml_status: 0 computed, 1 aborted, -2 not allocated.
        result: number of the result object, by first sight since the last graph_reserve.
        facts: index in `Played.facts`.
        n_copies: of the scheduler.
        cur_copy: likewise.
        next_copy: likewise.
        buffers_made: (buffer type, bytes) of each compute buffer that was made anew.
        trace: what happened: `reset`, `synchronize`, `can_reuse`, `split`, `reserve_n`, `alloc_graph`; `replanned`
            behind that: the allocator planned by itself.
        ids_changed: (node or leaf, position, old backend, new backend): the first that makes the scheduler plan anew.
    """

    ubatch: Ubatch
    shape: GraphShape
    can_reuse: bool | None
    reused: bool
    n_reused: int
    ok: bool
    status: int
    result: int
    facts: int
    n_copies: int
    cur_copy: int
    next_copy: int
    buffers_made: list[tuple[str, int]]
    trace: list[str]
    ids_changed: tuple[str, int, int, int] | None


class PlayedStep(msgspec.Struct):
    """One call; repeats one by one.

    Attributes:
        step: index in the script.
        turn: which repeat, from 0.
        ret: what it returned, None for calls without a result.
        n_reused: of llama_perf_context, afterwards.
        trace: what happened outside graph_reserve and process_ubatch, and these two words themselves.
        reserves: graphs that were reserved.
        shifts: facts of each K-shift graph.
        ubatches: micro-batches.
    """

    step: int
    turn: int
    ret: int | None
    n_reused: int
    trace: list[str]
    reserves: list[PlayedPlan]
    shifts: list[int]
    ubatches: list[PlayedUbatch]


class Played(msgspec.Struct, tag=True):
    """A session, as the real llama.cpp took it.

    Attributes:
        start: the making of the context, as a step of its own (step -1).
        steps: every call.
        facts: what plans and micro-batches name by index; equal ones share one.
        shapes: the shape of each of `graphs`.
        graphs: each graph that was built, once for each shape; empty unless they were asked for.
        classes: input classes of each of `graphs`.
        n_ctx: as llama.cpp rounded it.
        n_ctx_seq: cells of one sequence.
        n_batch: as llama.cpp limited it.
        n_ubatch: likewise.
        flash_off: flash attention was asked for or left to llama.cpp, and it said no.
        sched_hash_size: slots of the scheduler's hash table when the context was made.
        sched_context_buffer: bytes of the scheduler's pool.
        backends: (name, name of its buffer type in the scheduler), in priority order.
        bufts: all buffer types that occur.
        weights: (name, buffer type) of every weight.
        op_offload: of the scheduler.
        log: (level, line) of llama.cpp's log.
    """

    start: PlayedStep
    steps: list[PlayedStep]
    facts: list[Facts]
    shapes: list[GraphShape]
    graphs: list[RawGraph]
    classes: list[tuple[str, ...]]
    n_ctx: int
    n_ctx_seq: int
    n_batch: int
    n_ubatch: int
    flash_off: bool
    sched_hash_size: int
    sched_context_buffer: int
    backends: list[tuple[str, str]]
    bufts: list[RawBuft]
    weights: list[tuple[str, str]]
    op_offload: bool
    log: list[tuple[int, str]]


PlayMessage = Union[Played, Stage, Refusal]  # noqa: UP007 (msgspec evaluates it, on Python 3.10 too)
