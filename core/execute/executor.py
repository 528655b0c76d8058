"""Planned graphs, run: every tensor exactly at its address, splits and copies in the scheduler's order.

The order is that of `scheduler/compute.py`; this gives it hands. Devices are simulated: all of them compute on the one
backend, one after another, each in the memory of its own buffers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backends.backend import Backend
from ..errors import GgmlAbort, InputError
from ..events import Event
from ..graph import Mode
from ..log import Run
from ..scheduler.board import SplitLike
from ..scheduler.compute import ComputeLoop
from ..state import State
from .arena import Addresses, Arena, checked
from .feed import Feed
from .guard import Guard
from .hooks import Hooks
from .layout import Layout, layout_of
from .loop import board_of
from .poison import NAN, Poison
from .program import Program
from .result import Execution, NodeRun
from .untouched import Untouched


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run is watched.

    Attributes:
        poison: free and never written bytes of the arenas hold NaN, or garbage in integers.
        guard: the owner map is asked before every node, and after it whether anything else has changed.
        stats: sum up the values of every result.
    """

    poison: bool = False
    guard: bool = False
    stats: bool = True


DEFAULTS = Settings()
NOBODY = Hooks()


class Executor:
    """Runs the graphs of a session, one after another, on buffers and caches that stay."""

    def __init__(self, backend: Backend, settings: Settings = DEFAULTS) -> None:
        """With no memory yet."""
        self.backend, self.settings = backend, settings
        self.arena = Arena(backend)
        self._program: tuple[Run, Layout, Program] | None = None

    def run(self, run: Run, state: State, feed: Feed, hooks: Hooks = NOBODY, layout: Layout | None = None) -> Execution:
        """Compute one graph.

        Args:
            run: the graph and its log.
            state: what the log says; pass the same object again to run the same graph once more.
            feed: weights and caches, asked once for each name, and inputs, asked in every run.
            hooks: who looks on.
            layout: other addresses than the run's own.

        Raises:
            InputError: the graph cannot run, or not here; one sentence.
            Conflict: with `guard`, a tensor's bytes are not its own.
        """
        layout = layout or layout_of(state)
        changed = self.arena.enter(layout, NAN if self.settings.poison else None)
        program = self._ready(run, state, layout, feed, anew=changed)
        work = _Work(self, run, state, layout, program, feed, hooks)
        with np.errstate(all="ignore"):
            return work.run()

    def _ready(self, run: Run, state: State, layout: Layout, feed: Feed, *, anew: bool) -> Program:
        """The program of the run; kept while the same run is repeated on the same buffers."""
        kept = self._program
        if kept is not None and not anew and kept[0] is run and kept[1].at == layout.at:
            return kept[2]
        program = Program(state, Addresses(self.arena, state, layout, feed), self.backend)
        self._program = (run, layout, program)
        return program

    def values(self, tensor: int) -> npt.NDArray[Any]:
        """A copy of a tensor's values as they are now, by its id in the last run: shape ne reversed."""
        program = self._last()
        return self.backend.values(program.state.tensors[tensor], program.span(tensor))

    def elements(self, tensor: int) -> npt.NDArray[np.uint8]:
        """The bytes of its elements."""
        program = self._last()
        return self.backend.elements(program.state.tensors[tensor], program.span(tensor))

    def _last(self) -> Program:
        if self._program is None:
            raise InputError("nothing has run yet")
        return self._program[2]


class _Work:
    """One run; the hands of the compute loop."""

    def __init__(
        self, executor: Executor, run: Run, state: State, layout: Layout, program: Program, feed: Feed, hooks: Hooks
    ) -> None:
        self.backend, self.arena, self.settings = executor.backend, executor.arena, executor.settings
        self.problem_run, self.state, self.layout = run, state, layout
        self.program, self.feed, self.hooks = program, feed, hooks
        self.guard = Guard(run, state, layout) if self.settings.guard else None
        self.untouched: Untouched | None = None
        self.poison = Poison(state, layout, self.arena, self._spoilt) if self.settings.poison else None
        self.execution = Execution(state)
        self.n_splits = 0
        self.began = 0.0

    def run(self) -> Execution:
        state = self.state
        for tensor in self.program.filled:
            self._fill(tensor)
            if self.guard:
                self.guard.fill(tensor)
        if self.guard:
            self.untouched = Untouched(self.problem_run, state, self.layout, self.arena)
        self.began = time.perf_counter()
        config = self.problem_run.problem.config
        try:
            if config.mode is Mode.GALLOC:
                self._nodes(0, len(state.nodes), -1)
            else:
                ComputeLoop(board_of(state), config.copy_callback, self._record, self).run()
        except GgmlAbort as error:
            raise InputError(f"ggml would stop here: {error}") from None
        self.execution.seconds = time.perf_counter() - self.began
        if self.guard:
            self.guard.finish()
        if self.untouched and state.nodes:
            self.untouched.finish(state.nodes[-1])
        return self.execution

    def _record(self, event: Event) -> None:
        self.execution.events.append(event)

    def _fill(self, tensor: int) -> None:
        one = self.state.tensors[tensor]
        span = self.program.span(tensor)
        data = checked(one, self.feed.leaf(one))
        if data is None:
            span.memory[span.start : span.start + one.nbytes] = 0
        else:
            self.backend.write(span.memory, span.start, data)

    # hands of the loop

    def copy(self, source: int, copy: int) -> None:
        """A whole tensor, as far as its bytes reach."""
        self._before_copy(source, copy)
        if self.hooks.copy is None or not self.hooks.copy(source, copy):
            a, b = self.program.span(source), self.program.span(copy)
            self.backend.copy(a.memory, a.start, b.memory, b.start, self.state.tensors[source].nbytes)
        self._after_copy(source, copy)

    def copy_part(self, source: int, copy: int, offset: int, size: int) -> None:
        """Some experts of a weight; without arithmetic the ids name none, and all are copied."""
        self._before_copy(source, copy)
        a, b = self.program.span(source), self.program.span(copy)
        if not self.backend.arithmetic:
            offset, size = 0, self.state.tensors[source].nbytes
        self.backend.copy(a.memory, a.start + offset, b.memory, b.start + offset, size)
        self._after_copy(source, copy)

    def _before_copy(self, source: int, copy: int) -> None:
        step = self.program.steps.get(copy, 0)
        if self.guard:
            self.guard.before(copy, step, (source,))
        if self.poison:  # its source is needed for the last time by the dependency node one step before
            self.poison.before(step - 1)

    def _after_copy(self, source: int, copy: int) -> None:
        if self.guard:
            self.guard.copy(source, copy)
        if self.untouched:
            self.untouched.check(copy, self.program.steps.get(copy, 0), self.program.span(copy))
        if self.poison:  # a copy may lie where its source did
            self.poison.after(copy, self.program.steps.get(copy, 0))

    def ids(self, tensor: int) -> list[int]:
        """The int32 words of a tensor's memory."""
        span, size = self.program.span(tensor), self.state.tensors[tensor].nbytes
        words = self.backend.read(span.memory, span.start, size // 4 * 4).view(np.int32)
        return words.tolist() if self.backend.arithmetic else []

    def split(self, split: SplitLike) -> None:
        """The nodes of a split, in order."""
        self._nodes(split.start, split.end, split.backend)
        self.n_splits += 1

    def _nodes(self, start: int, end: int, backend: int) -> None:
        state, program, ask = self.state, self.program, self.hooks.eval
        for node in state.nodes[start:end]:
            wanted = ask is not None and ask(node, True)
            step = program.steps[node]
            if program.is_computed(node):
                self._compute(node, step, state.backend_ids[node] if backend < 0 else backend)
            elif program.is_parameter(node):
                self._parameter(node, step)
            elif self.guard and node in state.computed:  # a view or an empty result: its sources still count as read
                self.guard.before(node, step, program.needed(node), writes=False)
            if ask is not None and wanted and not ask(node, False):
                break

    def _parameter(self, node: int, step: int) -> None:
        """A parameter without op gets its memory at its own turn."""
        if self.poison:
            self.poison.before(step)
        self._fill(node)
        if self.guard:
            self.guard.write(node)
        if self.untouched:
            self.untouched.check(node, step, self.program.span(node))

    def _compute(self, node: int, step: int, backend: int) -> None:
        program = self.program
        if self.guard:
            self.guard.before(node, step, program.needed(node))
        if self.poison:
            self.poison.before(step)
        bound = time.perf_counter()
        compute = program.bind(node)
        start = time.perf_counter()
        self.execution.preparing += start - bound
        compute()
        seconds = time.perf_counter() - start
        if self.guard:
            self.guard.write(node)
        if self.untouched:
            self.untouched.check(node, step, program.span(node))
        values = self.settings.stats and self.backend.summary(self.state.tensors[node], program.span(node))
        done = NodeRun(node, self.n_splits, backend, start - self.began, seconds, *(values or ()))
        self.execution.nodes.append(done)
        if self.hooks.node is not None:
            self.hooks.node(node)
        if self.poison:
            self.poison.after(node, step)

    def _spoilt(self, key: tuple[int, int], start: int, end: int) -> None:
        if self.untouched:
            self.untouched.accept(key, start, end)
