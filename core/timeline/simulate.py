"""The timeline of a run: its events walked by clocks, once per micro-batch."""

from __future__ import annotations

from itertools import groupby

from ..errors import InputError
from ..execute.result import Execution
from ..log import Run
from ..state import State
from .clocks import Clocks
from .cost import Cost
from .events import batch_of, places_of, told_of
from .lanes import Kind, Nodes, Span, Timeline, lanes_of
from .micro_batch import is_decode, logits_of
from .node_times import node_times

MOST_BATCHES = 64


def simulate(run: Run, state: State, cost: Cost, batches: int = 1) -> Timeline:
    """The lanes of one run.

    Args:
        run: with its log.
        state: what the log says, `replay(run)`.
        cost: the rates of its backends.
        batches: how many micro-batches the same graph computes one behind the other on the same host and devices, with
            the scheduler's copies in rotation.

    Raises:
        InputError: nothing runs in this graph, or the number of batches is out of range.
    """
    if not 1 <= batches <= MOST_BATCHES:
        raise InputError(f"{batches} micro-batches: from 1 to {MOST_BATCHES} can be simulated")
    told, as_if = told_of(run, state)
    nodes = node_times(state, cost, _computed_by(state))
    clocks = Clocks(state, cost, nodes, places_of(state))
    n_copies = run.problem.config.n_copies
    for batch in range(batches):
        clocks.run(batch_of(told, state, n_copies, batch))
    return Timeline(
        tuple(backend.name for backend in state.backends),
        clocks.lanes, clocks.spans, nodes, batches, n_copies, clocks.total, as_if,
        decode=is_decode(run), logits=logits_of(run, state),
    )  # fmt: skip


def _computed_by(state: State) -> list[int]:
    """The backend of every row."""
    backends = [len(state.backends) - 1] * len(state.nodes)
    for split in state.splits:
        backends[split.start : split.end] = [split.backend] * (split.end - split.start)
    return backends


def measured(execution: Execution) -> Timeline:
    """The lanes of a run that was computed for real, in seconds of the machine that did it; copies were not timed."""
    state = execution.state
    names = tuple(backend.name for backend in state.backends)
    nodes, spans = Nodes(), list[Span]()
    free = 0  # a clock's resolution may let a node begin before the last one ended
    for (split, backend), runs in groupby(execution.nodes, lambda run: (run.split, run.backend)):
        first, origin = len(nodes.tensor), -1
        for run in runs:
            start = max(round(run.start * 1e9), free)
            free = max(round((run.start + run.seconds) * 1e9), start)
            origin = start if origin < 0 else origin
            nodes.tensor.append(run.node)
            nodes.offset.append(start - origin)
            nodes.ns.append(free - start)
            nodes.flops.append(0)
            nodes.nbytes.append(0)
        count, cause = len(nodes.tensor) - first, len(spans) - 1
        spans.append(
            Span(2 * backend, Kind.COMPUTE, origin, free, 0, split, -1, backend, backend,
                 first=first, count=count, cause=cause)
        )  # fmt: skip
    return Timeline(names, lanes_of(len(names)), spans, nodes, total=free, measured=True)
