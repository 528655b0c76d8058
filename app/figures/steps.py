"""Which events of the log decided about a step: what the allocator did just before a node ran and just after it."""

from __future__ import annotations

from ...core import events as ev
from ...core.explain.usage import current_lifetimes
from ...core.log import Run
from ...core.state import State

_AFTER = (ev.Free, ev.Keep, ev.ViewDone)


def step_ticks(run: Run, state: State) -> list[tuple[int, int]]:
    """Per step the ticks [first, end) of its events; (-1, -1) where this run decided nothing.

    A step begins with the search for its memory, holds its execution and ends when its sources are released. When a run
    plans more than once, the last plan counts; when it keeps an older plan, a step is where its node gets the address.
    """
    if not any(type(event) is ev.Exec for event in run.events):
        return _placements(run, state)
    ticks = [(-1, -1)] * state.n_steps
    begin = step = 0
    events = run.events
    running = False
    for tick, event in enumerate(events):
        kind = type(event)
        if isinstance(event, ev.Reserve) or (isinstance(event, ev.Phase) and event.name is ev.AllocPhase.NODES):
            begin, step, running = tick + 1, 0, False
        elif kind is ev.Exec:
            if running:
                step, begin = step + 1, tick
            running = True
            if step < len(ticks):
                ticks[step] = (begin, tick + 1)
        elif running and kind in _AFTER:
            if step < len(ticks):
                ticks[step] = (begin, tick + 1)
        elif running:
            running = False
            step += 1
            begin = tick
    return ticks


def _placements(run: Run, state: State) -> list[tuple[int, int]]:
    placed = {event.tensor: tick for tick, event in enumerate(run.events) if isinstance(event, ev.Place)}
    ticks = [placed.get(node, -1) for node, _ in state.alloc_nodes]
    return [(tick, tick + 1) if tick >= 0 else (-1, -1) for tick in ticks]


def live_set(state: State, step: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """Who is alive at a step: per buffer (its id) the tensors with their bytes, largest first, fullest buffer first."""
    found: dict[int, list[tuple[int, int]]] = {}
    for life in current_lifetimes(state).values():
        if life.born <= step < life.dies and life.size:
            found.setdefault(life.buffer, []).append((life.tensor, life.size))
    rows = [(buffer, sorted(alive, key=lambda one: (-one[1], one[0]))) for buffer, alive in found.items()]
    return sorted(rows, key=lambda row: -sum(size for _, size in row[1]))
