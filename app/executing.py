"""Running a graph from a problem to its numbers: what the page and `galloscope run` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..core.errors import InputError, printable
from ..core.execute.conflict import Conflict
from ..core.execute.feed import Feed
from ..core.execute.feeds.gguf import GgufFeed
from ..core.execute.feeds.npy import NpyFeed, check_names
from ..core.execute.feeds.random import RandomFeed
from ..core.execute.hooks import Hooks
from ..core.execute.result import Execution
from ..core.execute.runnable import runnable
from ..core.gguf.data import GgufData
from ..core.gguf.read import read_header
from ..core.graph import Problem, Request
from ..core.log import Run
from ..core.op import Op
from ..core.replay import replay_all
from ..core.session import Session, trace
from ..core.state import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..core.execute.compare import Compared
    from ..core.execute.layout import Layout
    from .figures.run_result import Executed

USUAL_SEED = 1


@dataclass(frozen=True, slots=True)
class Filling:
    """What tensors hold that the graph does not compute.

    Attributes:
        seed: of the random numbers.
        weights: a GGUF; None for random weights.
        files: `.npy` files by name of the tensor.
    """

    seed: int = USUAL_SEED
    weights: Path | None = None
    files: Mapping[str, Path] | None = None

    @property
    def text(self) -> str:
        """In a few words, for wherever values are shown."""
        given = f", {len(self.files)} from files" if self.files else ""
        if self.weights is None:
            return f"random weights, seed {self.seed}{given}"
        return f"weights of {printable(self.weights.name)}, random inputs, seed {self.seed}{given}"


@dataclass(frozen=True, slots=True)
class How:
    """Who computes and what is watched.

    Attributes:
        backend: key of `core.backends.backend.BACKENDS`.
        exact: plain float32 where ggml rounds.
        poison: bytes that hold nothing are NaN.
        guard: the owner of every byte is checked.
        compare: every node is compared with a run without shared memory.
        planner: whose addresses; ggml's own when empty.
    """

    backend: str = "numpy"
    exact: bool = False
    poison: bool = False
    guard: bool = False
    compare: bool = False
    planner: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """A session whose runs can be executed, those up to `last` in order."""

    session: Session
    last: int

    @property
    def request(self) -> Request:
        """The graph of the last one."""
        return self.session.runs[self.last].request


def prepare(problem: Problem, number: int, batches: int = 1) -> Ready:
    """Trace a problem so that one of its runs can be executed.

    Args:
        problem: as read from a file or made of a model.
        number: which of its runs.
        batches: how often the last one runs.

    Raises:
        InputError: ggml stops before it, or it only reserves and is not the last.
    """
    asked = problem.requests
    made = runnable(problem, batches)
    at_end = number == len(asked) - 1
    last = len(made.requests) - 1 if at_end else number
    if not at_end and asked[number].reserve:
        raise InputError(f"run {number} of this file only reserves memory: the runs after it compute")
    session = trace(made)
    for k, run in enumerate(session.runs[: last + 1]):
        if run.abort is not None:
            raise InputError(f"the graph cannot run: real ggml stops in run {min(k, number)} ({run.abort})")
    return Ready(session, last)


def executed_runs(ready: Ready) -> list[tuple[Run, State]]:
    """The runs to execute, with what was decided about each; reservations are none."""
    runs = ready.session.runs[: ready.last + 1]
    return [
        (run, state)
        for run, state in zip(runs, replay_all(runs), strict=True)
        if state.places or not run.request.reserve
    ]


def feed_of(filling: Filling, run: Run, state: State, data: GgufData | None) -> Feed:
    """What fills one run: files first, those that are for it, then the model, then random numbers."""
    graph = run.request.graph
    feed: Feed = RandomFeed(graph, filling.seed, run.problem.config.order)
    if data is not None:
        feed = GgufFeed(data, feed)
    if filling.files:
        names = _fillable(run, state)
        feed = NpyFeed({name: path for name, path in filling.files.items() if name in names}, names, feed)
    return feed


def _fillable(run: Run, state: State) -> set[str]:
    """Names of what a file can fill."""
    tensors = run.request.graph.tensors
    return {state.names[i] for i, one in enumerate(tensors) if one.op is Op.NONE and one.view_src < 0}


def weights_of(filling: Filling) -> GgufData | None:
    """The model file, opened.

    Raises:
        InputError: it cannot be used.
    """
    return None if filling.weights is None else GgufData(read_header(filling.weights))


@dataclass(frozen=True, slots=True)
class Kept:
    """Values of a tensor as they were when its node had run."""

    tensor: int
    values: npt.NDArray[Any]


def execute(
    ready: Ready,
    filling: Filling,
    how: How,
    *,
    keep: Callable[[State], Sequence[int]] = lambda state: (),
    progress: Callable[[int, int], None] = lambda at, of: None,
) -> tuple[Executed, list[Kept]]:
    """Run everything up to the run that was asked for.

    Args:
        ready: the session.
        filling: weights and inputs.
        how: the backend and the checks.
        keep: tensors of the last run whose values are wanted.
        progress: told before each node which one it is, from 1, and of how many; may raise to stop.

    Raises:
        InputError: the backend cannot run here, a file does not fit, or an op cannot be computed.
    """
    from ..core.backends.backend import make_backend
    from ..core.execute.compare import Comparison
    from ..core.execute.executor import Executor, Settings
    from .figures.run_result import Executed

    settings = Settings(how.poison, how.guard)
    both = Comparison(lambda: make_backend(how.backend, exact=how.exact), settings) if how.compare else None
    executor = both.executor if both else Executor(make_backend(how.backend, exact=how.exact), settings)
    data = weights_of(filling)
    runs = executed_runs(ready)
    check_names(filling.files or {}, [name for run, state in runs for name in _fillable(run, state)])
    count = sum(len(state.nodes) for _, state in runs)
    done, kept = 0, []
    execution, conflict, differing = Execution(runs[-1][1]), None, None
    for k, (run, state) in enumerate(runs):
        wanted = set(keep(state)) if k == len(runs) - 1 else set()

        def begins(_: int, ask: bool) -> bool:
            nonlocal done
            if ask:
                done += 1
                progress(done, count)
            return True

        def after(node: int, wanted: set[int] = wanted) -> None:
            if node in wanted:
                kept.append(Kept(node, executor.values(node)))

        def both_done(node: int, after: Callable[[int], None] = after) -> None:
            begins(node, True)
            after(node)

        feed = feed_of(filling, run, state, data)
        layout = layout_by(how.planner, state) if how.planner else None
        try:
            if both:
                compared = both.run(run, state, feed, layout, both_done)
                execution, differing = compared.execution, differing_of(compared, state)
                if differing:  # what comes after it may be equal again, as a stale copy of the same input is
                    break
            else:
                execution = executor.run(run, state, feed, Hooks(eval=begins, node=after), layout)
        except Conflict as found:
            execution, conflict = Execution(state), found
            break
    made = Executed(execution, how.backend, filling.text, how.exact, how.poison, how.guard, conflict, differing, k + 1)
    return made, kept


def differing_of(compared: Compared, state: State) -> list[int]:
    """Tensor ids of what is not equal: nodes in order, then caches."""
    caches = [state.names.index(name) for name in compared.caches]
    return [*(one.node for one in compared.differences), *caches]


def layout_by(planner: str, state: State) -> Layout:
    """The addresses that a planner chooses for the buffers of a run.

    Raises:
        InputError: there is no such planner, or it has no plan.
    """
    from ..core.execute.layout import layout_of, moved
    from ..core.planners.from_graph import instances
    from ..core.planners.solve import solve

    planned = []
    for one in instances(state):
        outcome = solve(one.instance, planner)
        if outcome.plan is None:
            raise InputError(f"--planner {planner}: {outcome.refused or outcome.note or 'it has no plan'}")
        planned.append((one, outcome.plan))
    return moved(layout_of(state), planned)
