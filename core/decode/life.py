"""The fold of a session's log: steps, micro-batches and reservations, with what each cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..models.shape import GraphShape
from . import events as ev
from .events import Check, Reserve, Why
from .log import LifeLog
from .memory.memory import Seen
from .run_facts import FactsBook, RunFacts, plain_name
from .ubatch import Ubatch

Slot = tuple[int, int, int]
"""Where a tensor lies: backend, chunk, offset in bytes."""


@dataclass(slots=True)
class PlanSeen:
    """One graph of a reservation.

    Attributes:
        kind: which one.
        n_tokens: as passed to graph_reserve; so are n_seqs and n_outputs.
        shape: what it was built for, rounded.
        run: its number in the log.
        ok: the buffers could be made.
        facts: of its run.
    """

    kind: Reserve
    n_tokens: int
    n_seqs: int
    n_outputs: int
    shape: GraphShape
    run: int
    ok: bool
    facts: RunFacts


@dataclass(slots=True)
class Reservation:
    """One sched_reserve (or the single plan after a memory update).

    Attributes:
        why: what asked for it.
        n_copies: of the scheduler, in the end.
        plans: in order.
        dropped: the run whose buffers could not be made with pipeline copies, -1 for none.
        step: index of the step in which it happened, -1 for the making of the context.
    """

    why: str
    n_copies: int
    plans: list[PlanSeen] = field(default_factory=list)
    dropped: int = -1
    step: int = -1


@dataclass(slots=True)
class UbatchSeen:
    """One micro-batch.

    Attributes:
        number: among all of the session, from 0.
        step: index in `Life.steps`.
        ubatch: what it is.
        seen: of the memory.
        shape: what its graph is made for.
        checks: conditions of re-use that were asked, in order; empty when `can_reuse` was not called.
        asked: can_reuse was called.
        reused: the active graph was used again.
        why: why not, None when it was.
        n_reused: re-uses until now.
        run: number of the run in force.
        facts: of that run; for a re-used one those of when it was built.
        status: 0 computed, 2 aborted, -2 not allocated.
        n_copies: of the scheduler.
        cur_copy: copy in use.
        next_copy: of the next rebuild.
        replanned: "" the plan in force was kept, else why not: `ids_changed` or `needs_realloc`.
        moved: some buffer was made anew, so addresses of the device changed.
        address_set: number of the set of addresses in force: equal numbers mean that no tensor moved.
        address_since: number of the micro-batch since which these addresses have held.
        graph_since: number of the micro-batch since which addresses and shapes have both been the same: a graph that a
            device captured then is valid as it is.
        first_moved: the first tensor that has another address than before: (name, before, now), each (backend, chunk,
            offset); None where none moved within its buffer.
        nodes_built: nodes that were built for it, 0 when re-used.
        bytes_made: bytes of buffers that were made anew.
    """

    number: int
    step: int
    ubatch: Ubatch
    seen: Seen
    shape: GraphShape
    n_copies: int = 1
    checks: list[Check] = field(default_factory=list)
    asked: bool = False
    reused: bool = False
    why: Why | None = None
    n_reused: int = 0
    run: int = -1
    facts: RunFacts | None = None
    status: int = 0
    cur_copy: int = 0
    next_copy: int = 0
    replanned: str = ""
    moved: bool = False
    address_set: int = -1
    address_since: int = -1
    graph_since: int = -1
    first_moved: tuple[str, Slot, Slot] | None = None
    nodes_built: int = 0
    bytes_made: int = 0

    @property
    def failed(self) -> Check | None:
        """The first condition that did not hold, None when all did."""
        return next((check for check in self.checks if not check.holds), None)


@dataclass(slots=True)
class StepSeen:
    """One call, repeats counted one by one.

    Attributes:
        step: index in the script.
        turn: which repeat, from 0.
        ret: what it returned; None for calls without a result.
        refused: why llama_decode did not begin, "" when it did.
        not_removed: why llama_memory_seq_rm returned false, "" where it did not.
        ubatches: (first, behind the last) of `Life.ubatches`.
        reservations: indices in `Life.reservations` of those made in it.
        shift_runs: runs of the K-shift graphs, one for each cache.
        copies: streams that were copied.
        synchronized: why the scheduler was waited for, in order.
    """

    step: int
    turn: int
    ret: int | bool | None = None
    refused: str = ""
    not_removed: str = ""
    ubatches: tuple[int, int] = (0, 0)
    reservations: list[int] = field(default_factory=list)
    shift_runs: tuple[int, ...] = ()
    copies: tuple[tuple[int, int], ...] = ()
    synchronized: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Life:
    """A whole session.

    Attributes:
        conditions: of pipeline parallelism, as (text, holds), in the order in which llama.cpp asks them.
        reservations: every one.
        steps: every call.
        ubatches: every micro-batch.
        abort: where the process would end, "" where it would not.
    """

    conditions: list[tuple[str, bool]] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    steps: list[StepSeen] = field(default_factory=list)
    ubatches: list[UbatchSeen] = field(default_factory=list)
    abort: str = ""


def fold(log: LifeLog) -> Life:
    """The life that the log tells."""
    folder = _Fold(log)
    for event in log.events:
        HANDLERS[type(event)](folder, event)
    folder.life.abort = log.abort
    return folder.life


class _Fold:
    """Feeds events into a life, one handler per kind."""

    def __init__(self, log: LifeLog) -> None:
        self.life = Life()
        self.book = FactsBook(log.runs)
        self.runs = log.runs
        self.log = log
        self.sets: dict[object, int] = {}
        self.n_copies = 1
        self.generation = -1
        self.copy = self.next_copy = 0

    @property
    def step(self) -> StepSeen | None:
        return self.life.steps[-1] if self.life.steps else None

    def begin(self, event: ev.StepBegin) -> None:
        count = len(self.life.ubatches)
        self.life.steps.append(StepSeen(event.step, event.turn, ubatches=(count, count)))

    def end(self, event: ev.StepEnd) -> None:
        seen = self.life.steps[-1]
        seen.ret = event.ret
        removal = self.log.script.steps[seen.step].seq_rm
        if removal is not None and event.ret is False:
            seen.not_removed = _not_removed(removal[0], self.log.setup.n_rs_seq)

    def refused(self, event: ev.Refused) -> None:
        self.life.steps[-1].refused = event.reason

    def condition(self, event: ev.Condition) -> None:
        self.life.conditions.append((event.text, event.holds))

    def reserve(self, event: ev.SchedReserve) -> None:
        self._reservation(event.why, event.n_copies)
        self.copy = self.next_copy = 0

    def _reservation(self, why: str, n_copies: int) -> Reservation:
        life = self.life
        made = Reservation(why, n_copies, step=len(life.steps) - 1)
        self.n_copies = n_copies
        if life.steps:
            life.steps[-1].reservations.append(len(life.reservations))
        life.reservations.append(made)
        return made

    def planned(self, event: ev.PlanReserved) -> None:
        facts = self.book.facts(event.run)
        self.life.reservations[-1].plans.append(
            PlanSeen(event.kind, event.n_tokens, event.n_seqs, event.n_outputs, event.shape, event.run, event.ok, facts)
        )
        self.generation = facts.generation
        self.next_copy = 0

    def dropped(self, event: ev.PipelineDropped) -> None:
        reservation = self.life.reservations[-1]
        reservation.dropped, reservation.n_copies = event.run, 1
        self.n_copies = 1

    def memory(self, event: ev.MemoryUpdate) -> None:
        step = self.life.steps[-1]
        step.copies, step.shift_runs = event.copies, event.runs
        self._reservation("positions were changed" if event.runs else "streams were copied", self.n_copies)

    def synchronize(self, event: ev.Synchronize) -> None:
        if self.step is not None:
            self.step.synchronized.append(event.why)

    def ubatch(self, event: ev.UbatchBegin) -> None:
        ubatches = self.life.ubatches
        before = ubatches[-1] if ubatches else None
        ubatches.append(
            UbatchSeen(
                len(ubatches),
                len(self.life.steps) - 1,
                event.ubatch,
                event.seen,
                event.shape,
                n_copies=self.n_copies,
                n_reused=before.n_reused if before else 0,
            )
        )
        step = self.life.steps[-1]
        step.ubatches = step.ubatches[0], len(ubatches)

    def check(self, event: ev.Check) -> None:
        ubatch = self.life.ubatches[-1]
        ubatch.asked = True
        ubatch.checks.append(event)

    def reused(self, event: ev.Reused) -> None:
        ubatch, before = self.life.ubatches[-1], self.life.ubatches[-2]
        ubatch.reused, ubatch.n_reused = True, event.n_reused
        ubatch.run, ubatch.facts = before.run, before.facts
        ubatch.cur_copy, ubatch.next_copy = before.cur_copy, before.next_copy
        ubatch.address_set, ubatch.address_since = before.address_set, before.address_since
        ubatch.graph_since = before.graph_since

    def rebuilt(self, event: ev.Rebuilt) -> None:
        ubatches = self.life.ubatches
        ubatch, facts = ubatches[-1], self.book.facts(event.run)
        ubatch.why, ubatch.run, ubatch.facts = event.why, event.run, facts
        ubatch.cur_copy, ubatch.next_copy = event.copy, event.next_copy
        ubatch.nodes_built = facts.n_nodes
        if facts.reserved:
            ubatch.replanned = "ids_changed" if facts.ids_changed else "needs_realloc"
        ubatch.moved = facts.generation != self.generation
        if ubatch.moved:
            ubatch.bytes_made = sum(size for _, size in facts.buffers_made)
        self.generation = facts.generation
        key = facts.generation, facts.places
        ubatch.address_set = self.sets.setdefault(key, len(self.sets))
        before = ubatches[-2] if len(ubatches) > 1 else None
        if before is not None and before.address_set == ubatch.address_set:
            ubatch.address_since = before.address_since
        else:
            ubatch.address_since = ubatch.number
            ubatch.first_moved = self._first_moved(before, ubatch)
        stays = before is not None and before.shape == ubatch.shape and ubatch.address_since < ubatch.number
        ubatch.graph_since = before.graph_since if before is not None and stays else ubatch.number

    def _first_moved(self, before: UbatchSeen | None, now: UbatchSeen) -> tuple[str, Slot, Slot] | None:
        """Tensors are the same when they are called the same; copies of the scheduler are left out."""
        if before is None or before.facts is None or now.facts is None:
            return None
        old = self.runs[before.run].run.request.graph.tensors
        was = {old[one].name: at for one, at in _own(before.facts, len(old))}
        tensors = self.runs[now.run].run.request.graph.tensors
        for one, place in _own(now.facts, len(tensors)):
            name = tensors[one].name
            if was.get(name, place) != place:
                return plain_name(name), was[name], place
        return None

    def finished(self, event: ev.UbatchEnd) -> None:
        self.life.ubatches[-1].status = event.status


def _not_removed(seq: int, n_rs_seq: int) -> str:
    """Only recurrent states refuse: they hold no single positions."""
    if seq < 0:
        return "recurrent states are removed of one sequence at a time"
    return "a recurrent state cannot be rolled back" + (f" twice, nor over more than {n_rs_seq}" if n_rs_seq else "")


def _own(facts: RunFacts, n_graph: int) -> Iterator[tuple[int, Slot]]:
    """Placed tensors of the graph itself, and where."""
    return ((one, at) for one, at in zip(facts.placed, facts.places, strict=True) if one < n_graph)


HANDLERS: dict[type, Callable[[Any, Any], None]] = {
    ev.StepBegin: _Fold.begin,
    ev.StepEnd: _Fold.end,
    ev.Refused: _Fold.refused,
    ev.Condition: _Fold.condition,
    ev.SchedReserve: _Fold.reserve,
    ev.PlanReserved: _Fold.planned,
    ev.PipelineDropped: _Fold.dropped,
    ev.MemoryUpdate: _Fold.memory,
    ev.Synchronize: _Fold.synchronize,
    ev.UbatchBegin: _Fold.ubatch,
    ev.Check: _Fold.check,
    ev.Reused: _Fold.reused,
    ev.Rebuilt: _Fold.rebuilt,
    ev.UbatchEnd: _Fold.finished,
}
"""The handler of every kind of event; a test compares them with the union."""
