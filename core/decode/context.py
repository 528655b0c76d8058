"""A llama_context as far as plans go: it takes the calls of a session, decides, and records."""

from __future__ import annotations

import re

import msgspec

from ..context import Pool, check_graph, check_sched
from ..errors import GgmlAbort, InputError
from ..events import Visit
from ..log import Run
from ..models.shape import GraphShape, Purpose
from ..ops.lazy import OpError
from . import reserve as worst
from .events import (
    Check,
    Condition,
    MemoryUpdate,
    PipelineDropped,
    PlanReserved,
    Rebuilt,
    Reserve,
    Reused,
    SchedReserve,
    Synchronize,
    UbatchBegin,
    UbatchEnd,
    Why,
)
from .graphs import GraphSource
from .log import LifeLog
from .memory.memory import Memory, Seen
from .plans import Act, Planned, Plans
from .process_end import ProcessEnd
from .reuse import PARAMS, Params, check
from .ubatch import Ubatch

ABORTED, ALLOC_FAILED = 2, -2
"""What llama_decode returns when the callback ends a computation, and when a graph has no memory."""
REUSE_DISABLED = "LLAMA_GRAPH_REUSE_DISABLE"
MOST_EVENTS = 12_000_000
"""Decisions about graphs that one session keeps: some 2 GB."""
SHIFTS = {"kv": Purpose.SHIFT, "kv_swa": Purpose.SHIFT_SWA}
"""What shifts the K of each cache."""


class Active:
    """The graph that may be used again: what it was made for, its inputs, and whether it has outputs."""

    def __init__(self, params: Params, input_classes: tuple[str, ...]) -> None:
        """Just built."""
        self.params, self.input_classes = params, input_classes
        self.slot = params.shape.n_outputs > 0


class Context:
    """Settings, scheduler, memory and the active graph.

    Attributes:
        memory: where tokens lie.
        embeddings: results are embeddings.
        causal: attention is causal.
        warmup: it warms up.
        aborting: the abort callback says yes.
        samplers: sequence -> number of its sampler, in the order of ids.
        need_reserve: why sched_reserve has work before the next batch, "" when it has none.
        n_reused: graphs that were used again.
    """

    def __init__(self, log: LifeLog, source: GraphSource, memory: Memory) -> None:
        """Make the context (llama_context's constructor), which reserves.

        Raises:
            ProcessEnd: llama_init_from_model gives no context, or ggml stops.
        """
        self._log, self._record, self._source = log, log.events.append, source
        setup = self._setup = log.setup
        self.memory = memory
        self.embeddings, self.causal = setup.embeddings, setup.causal
        self.warmup = self.aborting = False
        self.samplers: dict[int, int] = {}
        self.n_reused = 0
        self.need_reserve = "the context is made"
        self._n_samplers = self._counted = self._events = 0
        self._active: Active | None = None
        self._disabled = _atoi(log.script.env.get(REUSE_DISABLED, "")) != 0
        self._first = True
        self._problem = setup.problem
        options = setup.options
        self._sizes = worst.Sizes(
            options.n_ctx or 0, options.n_ubatch, options.n_seq_max, setup.n_outputs_max, setup.header.architecture
        )
        for text, holds in setup.conditions:
            self._record(Condition(text, holds))
        self.sched_reserve()

    # reservations

    def sched_reserve(self) -> None:
        """Make scheduler and results anew and plan the worst cases, where something asked for it.

        Raises:
            ProcessEnd: the buffers cannot be made.
        """
        if not self.need_reserve:
            return
        if not self._first:
            self.synchronize("a new reservation begins")
        self._active = None
        self._plans = Plans(self._problem, self._setup.alloc_limits, self._log.runs, self._source)
        self._record(SchedReserve(self.need_reserve, self._plans.n_copies))
        self.need_reserve = ""
        if self._first:
            for asked in worst.probes(self._sizes, self._setup.flash_auto):
                self._reserve(asked)
        self._first = False
        for number, asked in enumerate(worst.plans(self._sizes)):
            if self._reserve(asked):
                continue
            if number or self._plans.n_copies == 1:
                name = "tg" if asked.kind is Reserve.DECODE else "pp"
                raise ProcessEnd(f"failed to allocate compute {name} buffers")
            self._drop_pipeline(asked)

    def _drop_pipeline(self, asked: worst.Asked) -> None:
        self._record(PipelineDropped(len(self._log.runs) - 1))
        config = msgspec.structs.replace(self._problem.config, n_copies=1)
        self._problem = msgspec.structs.replace(self._problem, config=config)
        self._plans = Plans(self._problem, self._setup.alloc_limits, self._log.runs, self._source)
        if not self._reserve(asked):
            raise ProcessEnd("failed to allocate compute pp buffers")

    def _reserve(self, asked: worst.Asked) -> bool:
        """graph_reserve."""
        self._active = None
        shape = worst.reserve_shape(
            asked,
            self.memory.full(),
            tuple(sorted(self.samplers)),
            embeddings=self.embeddings,
            causal=self.causal,
            warmup=self.warmup,
        )
        act = Act.PROBE if asked.kind is Reserve.PROBE else Act.RESERVE
        run, ok = self._act(act, shape)
        self._record(PlanReserved(asked.kind, asked.n_tokens, asked.n_seqs, asked.n_outputs, shape, run, ok))
        self._look_for_end(run)
        return ok

    def memory_update(self) -> None:
        """Do what is pending in the memory; then the worst case is planned once more.

        Raises:
            ProcessEnd: ggml stops.
        """
        update = self.memory.update(self.aborting)
        if not (update.shift or update.copies):
            return
        self._active = None
        runs = []
        if update.copies:
            self.synchronize("streams are copied")
        for cache in update.caches:
            runs.append(self._act(Act.ALLOC, GraphShape(purpose=SHIFTS[cache])).run)
        self._record(MemoryUpdate(update.copies, tuple(runs)))
        for run in runs:
            self._look_for_end(run)
        self._reserve(self._sizes.worst)

    def synchronize(self, why: str) -> None:
        """ggml_backend_sched_synchronize."""
        self._record(Synchronize(why))
        self._plans.synchronize()

    # settings

    def set_sampler(self, seq: int, remove: bool) -> bool:
        """llama_set_sampler, which the graph can always hold here; taking away what is not there changes nothing."""
        if remove:
            if self.samplers.pop(seq, None) is None:
                return True
        else:
            self._n_samplers += 1
            self.samplers[seq] = self._n_samplers
        self.need_reserve = f"the sampler of sequence {seq} was {'taken away' if remove else 'set'}"
        return True

    # micro-batches

    def process_ubatch(self, ubatch: Ubatch, slot: object) -> int:
        """process_ubatch: 0, or what llama_decode returns.

        Raises:
            ProcessEnd: ggml stops.
        """
        seen = self.memory.apply(ubatch, slot)
        shape = self._shape(ubatch, seen)
        self._record(UbatchBegin(ubatch, seen, shape))
        params = Params(ubatch, shape, tuple(sorted(self.samplers.items())))
        why = self._why_not(params)
        status = self._reuse() if why is None else self._rebuild(why, params)
        if not status and self.aborting:
            status = ABORTED
        self._record(UbatchEnd(status))
        return status

    def _why_not(self, params: Params) -> Why | None:
        """Why the active graph is not used again, None when it is."""
        active = self._active
        if self._disabled:
            return Why.DISABLED
        if active is None:
            return Why.NO_ACTIVE
        if active.slot != (params.shape.n_outputs > 0):
            return Why.OTHER_SLOT
        failed: Check | None = None
        for one in check(active.params, params, active.input_classes):
            self._record(one)
            if failed is None and not one.holds:
                failed = one
        if failed is None:
            return None
        return Why.PARAMS if failed.group == PARAMS else Why.INPUT

    def _reuse(self) -> int:
        if self._plans.n_copies > 1:
            self.synchronize("inputs may still be read by the graph before")
        self.n_reused += 1
        self._record(Reused(self.n_reused))
        return 0

    def _rebuild(self, why: Why, params: Params) -> int:
        self._active = None
        run, ok = self._act(Act.ALLOC, params.shape)
        self._record(Rebuilt(why, run, self._plans.cur_copy, self._plans.next_copy))
        self._look_for_end(run)
        if not ok:
            return ALLOC_FAILED
        self._active = Active(params, self._log.runs[run].made.input_classes)
        return 0

    def _shape(self, ubatch: Ubatch, seen: Seen) -> GraphShape:
        rows: dict[int, int] = {}
        if self.samplers:
            outputs = [ids[0] for ids, out in zip(ubatch.seq, ubatch.out, strict=True) if out]
            rows = {seq: row for row, seq in enumerate(outputs)}
        return GraphShape(
            n_tokens=ubatch.n_tokens,
            n_seqs=ubatch.n_seqs,
            n_seq_tokens=ubatch.n_seq_tokens,
            n_seqs_unq=ubatch.n_seqs_unq,
            equal_seqs=ubatch.equal_seqs,
            n_outputs=ubatch.n_outputs,
            token=ubatch.token,
            embd=ubatch.embd,
            embeddings=self.embeddings,
            causal=self.causal,
            warmup=self.warmup,
            samplers=tuple((seq, rows.get(seq, -1)) for seq in sorted(self.samplers)),
            **seen._asdict(),
        )

    def _act(self, act: Act, shape: GraphShape) -> Planned:
        """Build the graph and give it to the scheduler.

        Raises:
            ProcessEnd: an op asserts.
            InputError: there is no such graph, or the log is full.
        """
        try:
            planned = self._plans.act(act, shape)
        except OpError as error:
            raise ProcessEnd(f"ggml stops while the graph is built: {error}") from None
        runs = self._log.runs
        while self._counted < len(runs):
            self._events += len(runs[self._counted].run.events)
            self._counted += 1
        if self._events > MOST_EVENTS:
            raise InputError(
                f"the session builds {len(runs):,} different graphs, whose {self._events:,} decisions are more than "
                "are kept: play fewer steps, or batches of fewer different sizes"
            )
        return planned

    def _look_for_end(self, number: int) -> None:
        """Would ggml have stopped: in the plan, or before it for want of room for the graph's structs?

        Raises:
            ProcessEnd: with its text.
        """
        run, made = self._log.runs[number]
        most = self._setup.max_nodes + worst.SAMPLER_NODES * len(self.samplers)
        if len(run.request.graph.tensors) + made.n_unlisted > most:  # else there is room, without counting
            n_nodes, n_leafs, n_inputs = _counts(run)
            try:
                check_graph(most, n_nodes, n_leafs)
                Pool(most, n_nodes, n_inputs + made.n_unlisted).check()
                check_sched(most, n_nodes, n_leafs)
            except GgmlAbort as error:
                raise ProcessEnd(str(error)) from None
        if run.abort is not None:
            raise ProcessEnd(run.abort)


def _counts(run: Run) -> tuple[int, int, int]:
    """Nodes, leafs, and leafs made with the graph."""
    listed = [event for event in run.events if type(event) is Visit]
    leafs = [event.tensor for event in listed if event.leaf]
    tensors = run.request.graph.tensors
    return len(listed) - len(leafs), len(leafs), sum(tensors[leaf].buft < 0 for leaf in leafs)


def _atoi(text: str) -> int:
    """The number that C's atoi reads: what comes before anything else, 0 where that is no number."""
    found = re.match(r"\s*([+-]?[0-9]+)", text)
    return int(found[1]) if found else 0
