"""Squeaky wheel optimisation: place in order, blame what sticks out above the bound, move it forward, repeat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .bound import fixed_top, lower_bound, peak_bytes
from .boxes import shapes_of
from .instance import Instance
from .placing import HONOURS, Placer, as_plan
from .planner import Budget, Plan, Planner
from .valley_skyline import Skyline

ROUNDS = 3000
"""Placements without a node limit."""

FORWARD = 0.5
"""How far a blamed buffer moves at most; the logarithms of the sizes have a spread of 1."""

PATIENCE = 150
"""Rounds without a better plan after which all blame is forgotten and another order begins."""

NOISE = 0.2
"""Spread of the random part of an order after the first one of its kind."""

POWERS = ((1.0, 1.0), (1.0, 0.0), (1.0, 0.5), (0.5, 1.0))
"""Orders to begin with, in turn: the largest lifetime ** a * bytes ** b first."""

Place = Callable[[np.ndarray], "np.ndarray | None"]
"""From an order to addresses; None when the time was up."""


def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan:
    """Improve an order by what went wrong with it.

    Each round places all buffers in the order of their priority: into the valleys of a skyline, or, where offsets are
    fixed, hinted or limited to chunks or there are gaps, into the lowest hole. Those that end above the bound move
    forward by a random step. Ends at the bound, at the capacity if there is one, after 3,000 rounds (or the node limit:
    a node is a round), or when time is up.

    Raises:
        Refused: a fixed buffer collides, or no chunk can hold a buffer.
        Stopped: the user cancelled.
    """
    place = _skyline(instance, budget) if _plain(instance) else _holes(instance)
    luck = np.random.default_rng(budget.seed)
    enough = max(lower_bound(instance), fixed_top(instance), capacity or 0)
    life, size = np.maximum(instance.upper - instance.lower, 1), np.maximum(instance.size, 1)
    limit = budget.node_limit or ROUNDS
    best, lowest, rounds, waited, begun = None, 0, 0, 0, 0
    priority = _begin(life, size, begun, luck)
    while best is None or (lowest > enough and rounds < limit and budget.left() > 0):
        order = np.argsort(-priority, kind="stable")
        addresses = place(order)
        if addresses is None:
            break
        rounds += 1
        waited += 1
        plan = as_plan(instance, addresses, order, rounds)
        peak = peak_bytes(instance, plan)
        if best is None or peak < lowest:
            best, lowest, waited = plan, peak, 0
            budget.say(f"squeaky wheel: {peak} bytes after {rounds} rounds")
        if waited > PATIENCE:
            begun, waited = begun + 1, 0
            priority = _begin(life, size, begun, luck)
        else:
            blamed = addresses + instance.size > enough
            priority[blamed] += FORWARD * luck.random(int(blamed.sum()))
    assert best is not None, "the first round is never cut short"
    return Plan(best.offsets, best.chunks, best.order, nodes=rounds)


def _begin(life: np.ndarray, size: np.ndarray, begun: int, luck: np.random.Generator) -> np.ndarray:
    """Priorities with a spread of 1."""
    a, b = POWERS[begun % len(POWERS)]
    priority = a * np.log(life) + b * np.log(size)
    spread = float(np.std(priority)) if len(priority) else 0.0
    priority = priority / (spread or 1.0)
    if begun >= len(POWERS):
        priority = priority + luck.normal(0, NOISE, len(priority))
    return np.asarray(priority)


def _plain(instance: Instance) -> bool:
    """Nothing is asked that a skyline cannot give."""
    held = (instance.fixed >= 0).any() or (instance.hint >= 0).any()
    return not (held or any(instance.gaps.values()) or instance.max_chunk)


def _holes(instance: Instance) -> Place:
    placer = Placer(instance)
    return lambda order: placer.place(order, best_fit=False)


def _skyline(instance: Instance, budget: Budget) -> Place:
    used, shapes, unit = shapes_of(instance)
    if not len(used):
        return lambda order: np.zeros(len(order), dtype=np.int64)
    skyline = Skyline(shapes)
    position = np.full(len(instance), -1, dtype=np.int64)
    position[used] = np.arange(len(used))
    done = 0

    def place(order: np.ndarray) -> np.ndarray | None:
        nonlocal done
        some = position[order]
        offsets = skyline.place(some[some >= 0], False, budget, in_any_case=not done)
        if offsets is None:
            return None
        done += 1
        addresses = np.zeros(len(order), dtype=np.int64)
        addresses[used] = offsets * unit
        return addresses

    return place


PLANNER = Planner(
    title="squeaky wheel",
    summary="Places in order, moves forward what ends above the bound, and starts over, thousands of times.",
    source='Joslin and Clements, "Squeaky wheel optimization", JAIR 1999',
    run=run,
    honours=HONOURS,
    largest=20_000,
)
