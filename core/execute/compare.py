"""Planned execution against naive execution, node by node and bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..backends.backend import Backend
from ..errors import InputError
from ..log import Run
from ..replay import replay_all
from ..state import State
from .arena import external_key
from .executor import DEFAULTS, Executor, Settings
from .feed import Feed
from .hooks import Hooks
from .layout import Layout, layout_of
from .naive import Naive
from .result import Execution


@dataclass(frozen=True, slots=True)
class Difference:
    """A node whose bytes differ.

    Attributes:
        node: its id.
        byte: the first byte of its elements that differs.
        count: how many bytes do.
    """

    node: int
    byte: int
    count: int


@dataclass(slots=True)
class Compared:
    """One run, planned.

    Attributes:
        execution: what was measured.
        differences: nodes that are not as in naive execution, in order; empty when all are equal.
        nodes: how many were compared.
        caches: names of caches that differ at the end.
    """

    execution: Execution
    differences: list[Difference] = field(default_factory=list)
    nodes: int = 0
    caches: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Everything is, bit for bit."""
        return not self.differences and not self.caches


class Comparison:
    """Runs graph after graph both ways."""

    def __init__(self, make: Callable[[], Backend], settings: Settings = DEFAULTS) -> None:
        """`make` gives each way a backend of its own, so that they share no memory."""
        self.executor = Executor(make(), settings)
        self.naive = Naive(make())

    def run(
        self,
        run: Run,
        state: State,
        feed: Feed,
        layout: Layout | None = None,
        seen: Callable[[int], None] = lambda node: None,
    ) -> Compared:
        """Compute one graph both ways; `seen` is called after each node of the planned one.

        Raises:
            InputError: it cannot be computed.
            Conflict: with `guard`, a tensor's bytes are not its own.
        """
        differences: list[Difference] = []
        steps = self.naive.steps(run, state, feed)

        def look(node: int) -> None:
            """The naive side takes its step too: in lockstep neither has to keep what only the other still needs."""
            reached = next(steps, (-1,))[0]
            if reached != node:
                raise InputError(f"node {state.names[node]!r} runs out of the order of the graph")
            wrong = np.flatnonzero(self.naive.elements(node) != self.executor.elements(node))
            if wrong.size:
                differences.append(Difference(node, int(wrong[0]), int(wrong.size)))
            seen(node)

        execution = self.executor.run(run, state, feed, Hooks(node=look), layout)
        differences += [Difference(node, 0, state.tensors[node].nbytes) for node, _, _ in steps]
        return Compared(execution, differences, len(execution.nodes), self._caches(state))

    def _caches(self, state: State) -> list[str]:
        """Pre-allocated tensors that are no weights, and differ."""
        graph = enumerate(state.tensors[: state.n_graph])
        used = self.executor.arena.externals
        caches = [(t, one) for t, one in graph if one.buft >= 0 and not one.is_weight and external_key(one) in used]
        return [one.name for t, one in caches if not np.array_equal(self.executor.elements(t), self.naive.elements(t))]


def compare(
    runs: Sequence[Run],
    feed: Feed,
    make: Callable[[], Backend],
    settings: Settings = DEFAULTS,
    layout: Callable[[State], Layout] = layout_of,
) -> list[Compared]:
    """Every run of a session that computes something, both ways.

    Args:
        runs: of the session; those that only reserve are passed over.
        feed: weights, caches and inputs.
        make: a new backend.
        settings: of the planned way.
        layout: the addresses for a state; ggml's own unless given.
    """
    comparison = Comparison(make, settings)
    found = []
    for run, state in zip(runs, replay_all(runs), strict=True):
        if not run.request.reserve or state.places:
            found.append(comparison.run(run, state, feed, layout(state)))
    return found
