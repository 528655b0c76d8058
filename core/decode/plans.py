"""One scheduler through a whole session: every graph that is split, planned or placed becomes a run.

Most of a long session repeats itself. What a scheduler does with a graph depends on little: which backends it gave out
last, the plan in force and the buffers. So its state is remembered under a small key, and a graph that comes in a state
it came in before has the run that it had then.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

import msgspec

from ..allocator.reserve import Slot
from ..columns import Columns, Record, prepare
from ..errors import GgmlAbort
from ..events import Abort, Begin, BufferAlloc, BufferFail, Done, Reserve, Stage
from ..graph import Problem
from ..log import Run
from ..models.shape import GraphShape
from ..scheduler.scheduler import Scheduler
from .graphs import GraphSource
from .log import RunOf


class Act(str, Enum):
    """What is done with a graph."""

    PROBE = "split only"
    RESERVE = "reserve"
    ALLOC = "alloc"


class Planned(NamedTuple):
    """What came of a graph: the number of its run, and whether its buffers could be made."""

    run: int
    ok: bool


class _Key(NamedTuple):
    """Everything that the next act depends on, beside the graph and the copies."""

    ids: tuple[tuple[int, ...], ...]
    first_backend: int
    plan: int
    buffers: int


class _State(NamedTuple):
    """A scheduler at rest. `number` is that of its key; `planner` the run whose plan and buffers are in force."""

    number: int
    key: _Key
    planner: int
    node_slots: list[tuple[Slot | None, list[Slot | None]]]
    leaf_slots: list[Slot | None]
    real: tuple[list[int] | None, ...]
    slots: int


class Plans:
    """A ggml_backend_sched in a session.

    Attributes:
        problem: config, buffer types and backends; `config.n_copies` counts.
        cur_copy: the copy that is in use.
        next_copy: the copy that the next placed graph will use.
    """

    def __init__(self, problem: Problem, alloc_limits: dict[str, int], runs: list[RunOf], source: GraphSource) -> None:
        """A new scheduler.

        Args:
            problem: what it is made of; requests are not looked at.
            alloc_limits: by name of a buffer type, the bytes of its largest buffer that can be made.
            runs: every run is added here.
            source: what makes the graphs.
        """
        self.problem = problem
        self.cur_copy = self.next_copy = 0
        self._allocated = False
        self._runs, self._source = runs, source
        self._scheduler = Scheduler(problem, alloc_limits)
        self._keys: dict[_Key, int] = {}
        self._plans: dict[tuple[GraphShape, int, int], int] = {}
        self._planners: dict[tuple[int, int], int] = {}
        self._known: dict[tuple[Act, GraphShape, int, int, int], tuple[Planned, _State, int, int]] = {}
        self._state = self._rest(-1, -1)
        self._loaded = True

    @property
    def n_copies(self) -> int:
        """Copies of each input: 4 with pipeline parallelism, else 1."""
        return self.problem.config.n_copies

    def synchronize(self) -> None:
        """ggml_backend_sched_synchronize: while no graph is placed, the next copy is 0 again."""
        if not self._allocated:
            self.next_copy = 0

    def act(self, act: Act, shape: GraphShape) -> Planned:
        """Reset the scheduler and give it the graph of a shape.

        Where real ggml would abort, the log of the run ends with its text.

        Raises:
            InputError: there is no such graph.
        """
        self._allocated = False
        key = (act, shape, self._state.number, self.cur_copy, self.next_copy)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._perform(act, shape)
        else:
            self._loaded = self._loaded and found[1] is self._state
        planned, self._state, self.cur_copy, self.next_copy = found
        self._allocated = act is Act.ALLOC and planned.ok
        return planned

    def _perform(self, act: Act, shape: GraphShape) -> tuple[Planned, _State, int, int]:
        scheduler, made = self._scheduler, self._source.graph(shape)
        self._load()
        scheduler.cur_copy, scheduler.next_copy = self.cur_copy, self.next_copy
        before, first_backend = self._state, scheduler.first_backend
        graph = msgspec.structs.replace(made.problem.requests[0], reserve=act is not Act.ALLOC)
        problem = msgspec.structs.replace(made.problem, config=self.problem.config, requests=(graph,))
        previous = self._runs[before.planner].run if before.planner >= 0 else None
        run = Run(problem, graph, previous=previous)
        number = len(self._runs)
        self._runs.append(RunOf(run, made))
        ok = self._run(self._call(act), run)
        planned = any(type(event) is Reserve for event in run.events)
        changed = any(type(event) in (BufferAlloc, BufferFail) for event in run.events)
        plan, buffers = before.key.plan, before.key.buffers
        if planned:
            plan = self._plans.setdefault((shape, scheduler.cur_copy, first_backend), len(self._plans))
        if changed:
            buffers = number
        if planned and not changed and buffers >= 0:
            # Only the buffers of the runs before it matter to a run that plans: a short way back to them.
            run.previous = self._runs[buffers].run
        planner = self._planners.setdefault((plan, buffers), number) if planned else before.planner
        state = self._rest(plan, buffers, planner)
        self._state, self._loaded = state, True
        return Planned(number, ok), state, scheduler.cur_copy, scheduler.next_copy

    def _call(self, act: Act) -> Callable[[Columns, Record], bool]:
        scheduler = self._scheduler

        def split(columns: Columns, record: Record) -> bool:
            scheduler.split_only(columns, record)
            return True

        if act is Act.PROBE:
            return split
        return scheduler.reserve if act is Act.RESERVE else scheduler.alloc_and_compute

    @staticmethod
    def _run(call: Callable[[Columns, Record], bool], run: Run) -> bool:
        record = run.events.append
        try:
            record(Begin(Stage.BUILD))
            ok = call(prepare(run.request.graph, run.problem.config.order, record), record)
            record(Done(ok))
        except GgmlAbort as error:
            record(Abort(str(error)))
            return False
        return ok

    def _rest(self, plan: int, buffers: int, planner: int = -1) -> _State:
        """The scheduler as it is now."""
        one, gallocr = self._scheduler, self._scheduler.gallocr
        ids = tuple(map(tuple, (one.node_ids, one.leaf_ids, one.prev_node_ids, one.prev_leaf_ids)))
        key = _Key(ids, one.first_backend, plan, buffers)
        number = self._keys.setdefault(key, len(self._keys))
        return _State(number, key, planner, gallocr.node_slots, gallocr.leaf_slots, tuple(gallocr.real), gallocr.slots)

    def _load(self) -> None:
        """Bring the scheduler into the state in which it would be if every remembered act had been performed."""
        if self._loaded:
            return
        one, gallocr, state = self._scheduler, self._scheduler.gallocr, self._state
        one.node_ids, one.leaf_ids, one.prev_node_ids, one.prev_leaf_ids = map(list, state.key.ids)
        one.first_backend = state.key.first_backend
        gallocr.node_slots, gallocr.leaf_slots = state.node_slots, state.leaf_slots
        gallocr.real, gallocr.slots = list(state.real), state.slots
        self._loaded = True
