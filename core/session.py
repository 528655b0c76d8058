"""From a problem to its runs: build, schedule, allocate, follow the compute loop. Everything ends in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .allocator.gallocr import Gallocr
from .columns import Columns, Record, prepare
from .errors import GgmlAbort
from .events import Abort, AllocGraph, Begin, Done, Stage
from .graph import Mode, Problem, Request
from .log import Run
from .scheduler.scheduler import Scheduler
from .scheduler.split import Splitter


@dataclass(slots=True)
class Session:
    """All runs of a problem, in order; a run that aborts is the last one, as the real process would be gone."""

    problem: Problem
    runs: list[Run]


def trace(problem: Problem) -> Session:
    """Decide what real ggml decides, for every run of the problem.

    Where real ggml would abort, the run's log ends with its text; nothing is raised.
    """
    planner = planner_for(problem)
    runs: list[Run] = []
    for request in problem.requests:
        runs.append(decide(planner, problem, request, runs[-1] if runs else None))
        if runs[-1].abort is not None:
            break
    return Session(problem, runs)


def decide(planner: Planner, problem: Problem, request: Request, previous: Run | None) -> Run:
    """One more run on the same scheduler and allocator; where real ggml would abort, its log ends with the text."""
    run = Run(problem, request, previous=previous)
    record = run.events.append
    try:
        record(Begin(Stage.BUILD))
        columns = prepare(request.graph, problem.config.order, record)
        record(Done(planner.run(columns, request, record)))
    except GgmlAbort as error:
        record(Abort(str(error)))
    return run


class Planner(Protocol):
    """What plans the runs of a problem, one after another."""

    gallocr: Gallocr

    @property
    def splitter(self) -> Splitter | None:
        """The last split, None where there is no scheduler."""

    def run(self, columns: Columns, request: Request, record: Record) -> bool:
        """Plan one graph; what alloc_graph or reserve returned."""


def planner_for(problem: Problem) -> Planner:
    """The scheduler, or the bare allocator, with nothing planned yet."""
    return _Sched(problem) if problem.config.mode is Mode.SCHED else _Galloc(problem)


class _Sched:
    """Mode sched: one scheduler for all runs."""

    def __init__(self, problem: Problem) -> None:
        self.scheduler = Scheduler(problem)
        self.gallocr = self.scheduler.gallocr

    @property
    def splitter(self) -> Splitter | None:
        return self.scheduler.splitter

    def run(self, columns: Columns, request: Request, record: Record) -> bool:
        if request.reserve:
            return self.scheduler.reserve(columns, record)
        return self.scheduler.alloc_and_compute(columns, record)


class _Galloc:
    """Mode galloc: one allocator for all runs, buffers chosen by `buffer_id`."""

    splitter = None

    def __init__(self, problem: Problem) -> None:
        self.gallocr = Gallocr(problem.bufts, [backend.buft for backend in problem.backends])

    def run(self, columns: Columns, request: Request, record: Record) -> bool:
        gallocr = self.gallocr
        several = len(gallocr.bufts) > 1
        nodes, leafs = tuple(columns.nodes), tuple(columns.leafs)
        buffer_ids = [tensor.buffer_id if several else 0 for tensor in columns.tensors]
        graph = AllocGraph(
            nodes, tuple(buffer_ids[n] for n in nodes), leafs, tuple(buffer_ids[leaf] for leaf in leafs), 0
        )
        record(Begin(Stage.ALLOCATE))
        record(graph)
        if request.reserve or (several and request.reserve is None):
            gallocr.reserve(columns, nodes, leafs, graph.node_buffers, graph.leaf_buffers, record)
        reason = gallocr.needs_realloc(columns, nodes, leafs)
        if reason is not None:
            record(reason)
            if several:
                return False
            gallocr.reserve(columns, nodes, leafs, graph.node_buffers, graph.leaf_buffers, record)
        gallocr.place(columns, nodes, leafs, record)
        return True
