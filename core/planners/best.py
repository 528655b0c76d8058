"""The smallest plan of several planners: cheap ones first, then those that use the time that is left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from . import (
    best_fit_by_birth,
    ggml,
    hill_climb,
    offsets_by_breadth,
    offsets_by_conflicts,
    offsets_by_lifetime,
    offsets_by_size,
    search,
    squeaky_wheel,
    tlsf,
    valley_skyline,
)
from .bound import fixed_top, lower_bound, peak_bytes
from .instance import Instance
from .planner import ALL, Budget, Constraint, NoPlan, Plan, Planner, Refused

QUICK: dict[str, Planner] = {
    "valley_skyline": valley_skyline.PLANNER,
    "offsets_by_size": offsets_by_size.PLANNER,
    "offsets_by_lifetime": offsets_by_lifetime.PLANNER,
    "offsets_by_conflicts": offsets_by_conflicts.PLANNER,
    "offsets_by_breadth": offsets_by_breadth.PLANNER,
    "best_fit_by_birth": best_fit_by_birth.PLANNER,
    "tlsf": tlsf.PLANNER,
    "ggml": ggml.PLANNER,
}
"""Asked first, in this order."""

LONG: dict[str, tuple[Planner, float]] = {
    "search": (search.PLANNER, 0.6),
    "squeaky_wheel": (squeaky_wheel.PLANNER, 0.5),
    "hill_climb": (hill_climb.PLANNER, 1.0),
}
"""Asked then, each with a share of the time that is left."""

PARTS = (*QUICK, *LONG)
"""Planners it asks, by name."""

SHARE = 0.2
"""Of the time left: once a quick planner needed more, no other quick one is asked."""


@dataclass
class _Best:
    """What is known so far."""

    instance: Instance
    enough: int
    plan: Plan | None = None
    peak: int = 0
    name: str = ""
    proved: int = 0
    nodes: int = 0
    refusal: str = ""

    @property
    def done(self) -> bool:
        """No planner could do better, or better is not asked for."""
        return self.plan is not None and self.peak <= max(self.enough, self.proved)

    def ask(self, name: str, planner: Planner, capacity: int | None, budget: Budget) -> None:
        """Let a planner try.

        Raises:
            Stopped: cancelled.
        """
        try:
            answer = planner.run(self.instance, capacity, budget)
        except Refused as error:
            self.refusal = self.refusal or f"{name} {error}"
            return
        self.proved = max(self.proved, answer.proved_bound)
        self.nodes += answer.nodes
        if isinstance(answer, NoPlan) or not self._in_chunks(planner, answer):
            return
        peak = peak_bytes(self.instance, answer)
        if self.plan is None or peak < self.peak:
            self.plan, self.peak, self.name = answer, peak, name
            budget.say(f"best: {peak} bytes by {name}")

    def _in_chunks(self, planner: Planner, plan: Plan) -> bool:
        """The plan keeps the largest chunk; one that knows of none may be small enough."""
        limit = self.instance.max_chunk
        return not limit or Constraint.MAX_CHUNK in planner.honours or peak_bytes(self.instance, plan) <= limit


def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan | NoPlan:
    """Ask one planner after the other until a plan is at the bound, proved the smallest, or within the capacity.

    Planners that cannot keep what the instance asks, or are not meant for so many buffers, are left out.

    Raises:
        Refused: no planner can plan this.
        Stopped: cancelled.
    """
    enough = max(lower_bound(instance), fixed_top(instance), capacity or 0)
    best = _Best(instance, enough)
    for name, planner in _able(instance, QUICK):
        begun = time.perf_counter()
        best.ask(name, planner, capacity, budget)
        if best.done:
            break
        if budget.left() * SHARE < time.perf_counter() - begun and best.plan is not None:
            break
    for name, planner in _able(instance, {name: planner for name, (planner, _) in LONG.items()}):
        left = budget.left()
        if best.done or (left <= 0 and best.plan is not None):
            break
        share = None if budget.time_limit is None else left * LONG[name][1]
        best.ask(name, planner, capacity, replace(budget, time_limit=share, started=time.perf_counter()))
    if best.plan is None:
        if best.nodes or best.proved:
            return NoPlan(best.proved, best.nodes)
        raise Refused(f"found no planner for this{': ' * bool(best.refusal)}{best.refusal}")
    if capacity is not None and best.peak > capacity and best.proved > capacity:
        return NoPlan(best.proved, best.nodes)
    note = f"the smallest is the plan of {best.name}" + (f"; {best.plan.note}" if best.plan.note else "")
    return replace(best.plan, proved_bound=best.proved, nodes=best.nodes, note=note)


def _able(instance: Instance, planners: dict[str, Planner]) -> Iterator[tuple[str, Planner]]:
    asked = {
        Constraint.ALIGNMENT: bool((instance.alignment > 1).any()),
        Constraint.FIXED: bool((instance.fixed >= 0).any()),
        Constraint.HINT: bool((instance.hint >= 0).any()),
        Constraint.GAPS: any(instance.gaps.values()),
    }
    for name, planner in planners.items():
        small = planner.largest is None or len(instance) <= planner.largest
        if small and all(constraint in planner.honours for constraint, wanted in asked.items() if wanted):
            yield name, planner


PLANNER = Planner(
    title="best of all",
    summary="Asks the quick planners, then squeaky wheel, search and hill climbing; keeps the smallest plan.",
    source="IREE #7583 and tt-mlir #3378 ask for it",
    run=run,
    honours=ALL,
    exact=True,
)
