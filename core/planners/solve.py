"""One planner on one instance: asked, timed, checked by the independent checker, and compared with the bound."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, nearest
from . import jit
from .best import PARTS
from .bound import fixed_top, lower_bound, peak_bytes
from .instance import Gap, Instance
from .known import PLANNERS
from .planner import Budget, Constraint, NoPlan, Plan, Planner, Refused
from .validate import Verdict, validate

OVERSIZE = frozenset({"ggml", "best"})
"""Planners that place a buffer larger than the largest chunk all the same, as what they follow does."""

PATIENCE = 2.0
"""Seconds of a warm-up, many times what two dozen buffers take."""

_warm: set[str] = set()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a planner made of an instance.

    Attributes:
        planner: its name.
        instance: what was asked.
        solved: a valid plan within the capacity.
        plan: None when there is none that is valid.
        peak: bytes of the plan, None without one.
        bound: the most bytes alive at a step.
        ratio: peak / bound, 1.0 when the bound is 0, None without a plan.
        optimal: the peak is proved to be the smallest possible.
        proved_bound: bytes proved necessary, the bound or more.
        seconds: the planner's own time.
        verdict: the checker's, None when there was nothing to check.
        refused: why the planner did not plan this, "" when it did.
        capacity: bytes it had to fit into, None for none.
        nodes: search nodes.
        note: a sentence on what was given up or went wrong, "" for none.
    """

    planner: str
    instance: Instance
    solved: bool
    plan: Plan | None
    peak: int | None
    bound: int
    ratio: float | None
    optimal: bool
    proved_bound: int
    seconds: float
    verdict: Verdict | None
    refused: str = ""
    capacity: int | None = None
    nodes: int = 0
    note: str = ""

    @property
    def waste(self) -> int | None:
        """Bytes above the bound, None without a plan."""
        return None if self.peak is None else self.peak - self.bound

    def numbers(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        found: dict[str, Any] = {
            "planner": self.planner,
            "solved": self.solved,
            "peak": self.peak,
            "bound": self.bound,
            "ratio": self.ratio,
            "optimal": self.optimal,
            "proved_bound": self.proved_bound,
            "seconds": self.seconds,
            "capacity": self.capacity,
            "waste": self.waste,
            "verdict": self.verdict.value if self.verdict else None,
            "refused": self.refused,
            "nodes": self.nodes,
            "note": self.note,
            "offsets": {},
        }
        if self.plan is not None:
            ids = self.instance.ids
            found["offsets"] = dict(zip(ids, self.plan.offsets.tolist(), strict=True))
            if self.plan.chunks is not None and self.plan.chunks.any():
                found["chunks"] = dict(zip(ids, self.plan.chunks.tolist(), strict=True))
            if self.plan.pools is not None:
                found["pools"] = dict(zip(ids, self.plan.pools.tolist(), strict=True))
        return found


def find_planner(name: str) -> Planner:
    """A planner by name.

    Raises:
        InputError: there is none.
    """
    if name not in PLANNERS:
        raise InputError(f"no planner is named {name!r}{nearest(name, PLANNERS)}; known: {', '.join(PLANNERS)}")
    return PLANNERS[name]


def solve(instance: Instance, name: str, capacity: int | None = None, budget: Budget | None = None) -> Outcome:
    """Ask a planner, then check what it answers; a plan that is not valid is never passed on.

    Args:
        instance: buffers.
        name: of the planner.
        capacity: bytes to fit into, None for as few as possible.
        budget: time, nodes, seed; its clock is started here, after the inner loops are compiled.

    Raises:
        InputError: there is no such planner.
        Stopped: the user cancelled.
    """
    planner, budget = find_planner(name), budget or Budget()
    refused = refusal(instance, name)
    if refused:
        return _without(instance, name, capacity, refused=f"{name} {refused}")
    warm_up(name, budget)
    budget = dataclasses.replace(budget, started=time.perf_counter())
    try:
        plan = planner.run(instance, capacity, budget)
    except Refused as error:
        return _without(instance, name, capacity, refused=f"{name} {error}")
    seconds = time.perf_counter() - budget.started
    if isinstance(plan, NoPlan):
        return _without(instance, name, capacity, seconds=seconds, missing=plan)
    return judged(instance, name, plan, capacity, seconds)


def judged(instance: Instance, name: str, plan: Plan, capacity: int | None = None, seconds: float = 0.0) -> Outcome:
    """The outcome of a plan that is there already: checked, and compared with the bound."""
    judgement = validate(instance, plan)
    if not judgement.good and judgement.verdict is Verdict.OUT_OF_CHUNK and not _splits(name):
        text = f"{name} cannot split its plan into chunks of at most {instance.max_chunk} bytes"
        return _without(instance, name, capacity, seconds=seconds, refused=text, verdict=judgement.verdict)
    if not judgement.good:
        text = f"the plan of {name} is wrong: {judgement.sentence}"
        return _without(instance, name, capacity, seconds=seconds, verdict=judgement.verdict, note=text)
    peak, bound = peak_bytes(instance, plan), lower_bound(instance)
    proved = max(bound, plan.proved_bound, fixed_top(instance))
    if peak < proved:
        text = f"the proof is wrong, a bug in {name}: it holds {proved} bytes for necessary, its own plan needs {peak}"
        return _without(instance, name, capacity, seconds=seconds, verdict=judgement.verdict, note=text)
    fits = capacity is None or peak <= capacity
    return Outcome(
        name,
        instance,
        fits,
        plan,
        peak,
        bound,
        peak / bound if bound else 1.0,
        peak == proved,
        proved,
        seconds,
        judgement.verdict,
        "",
        capacity,
        plan.nodes,
        "; ".join(text for text in ("" if fits else _too_large(capacity or 0, peak, proved), plan.note) if text),
    )


def _splits(name: str) -> bool:
    return name not in PLANNERS or Constraint.MAX_CHUNK in PLANNERS[name].honours


def _too_large(capacity: int, peak: int, proved: int) -> str:
    if proved > capacity:
        return f"no plan fits into {capacity} bytes: {proved} are necessary"
    return f"its plan needs {peak} bytes, more than the capacity of {capacity}"


def _without(
    instance: Instance,
    name: str,
    capacity: int | None,
    *,
    seconds: float = 0.0,
    refused: str = "",
    verdict: Verdict | None = None,
    note: str = "",
    missing: NoPlan | None = None,
) -> Outcome:
    missing = missing or NoPlan()
    bound = lower_bound(instance)
    proved = max(bound, fixed_top(instance), missing.proved_bound)
    note = note or missing.note
    if not refused and not note:
        note = "no plan was found within the limits"
        if capacity is not None and proved > capacity:
            note = f"no plan fits into {capacity} bytes: {proved} are necessary"
        elif capacity is not None:
            note = f"no plan within {capacity} bytes was found"
    nodes = missing.nodes
    return Outcome(
        name, instance, False, None, None, bound, None, False, proved, seconds, verdict, refused, capacity, nodes, note
    )


def left_out(instance: Instance, name: str, capacity: int | None = None) -> Outcome | None:
    """The outcome of a planner that is not asked for so many buffers unless it is named; None when it is."""
    largest = find_planner(name).largest
    if largest is None or len(instance) <= largest:
        return None
    text = f"{name} is left out: {len(instance):,} buffers, it is meant for up to {largest:,}; name it to try"
    return _without(instance, name, capacity, refused=text)


def refusal(instance: Instance, name: str) -> str:
    """Why a planner cannot keep what an instance asks for, without its name; "" when it can.

    Chunks are no reason yet: a plan that fits into one of them needs no splitting.
    """
    clash = _fixed_clash(instance)
    if clash:
        return clash
    honours = find_planner(name).honours
    for constraint, (k, text) in _asked(instance).items():
        if constraint not in honours:
            return f"cannot keep {constraint.value} (buffer {instance.ids[k]!r} {text})"
    real = (instance.size > instance.max_chunk) & (instance.lower < instance.upper)
    if instance.max_chunk and real.any() and name not in OVERSIZE:
        k = int(real.argmax())
        return (
            f"cannot place buffer {instance.ids[k]!r}: {instance.size[k]} bytes are more than the largest chunk, "
            f"{instance.max_chunk}"
        )
    return ""


def _fixed_clash(instance: Instance) -> str:
    """Two buffers that are fixed on the same bytes: nobody can plan them."""
    fixed = np.flatnonzero(instance.fixed >= 0)
    if len(fixed) < 2 or instance.max_chunk:
        return ""
    part = Instance.of(
        instance.lower[fixed],
        instance.upper[fixed],
        instance.size[fixed],
        ids=[instance.ids[k] for k in fixed],
        gaps={at: instance.gaps[k] for at, k in enumerate(fixed.tolist()) if k in instance.gaps},
    )
    judgement = validate(part, Plan(instance.fixed[fixed]))
    return "" if judgement.good else f"cannot plan this, the fixed offsets collide: {judgement.sentence}"


def _asked(instance: Instance) -> Mapping[Constraint, tuple[int, str]]:
    """The constraints of an instance, each with the first buffer that asks for it and how."""
    found: dict[Constraint, tuple[int, str]] = {}
    for constraint, mask, text, column in (
        (Constraint.ALIGNMENT, instance.alignment > 1, "is aligned to", instance.alignment),
        (Constraint.FIXED, instance.fixed >= 0, "must lie at", instance.fixed),
        (Constraint.HINT, instance.hint >= 0, "would like to lie at", instance.hint),
    ):
        if mask.any():
            k = int(mask.argmax())
            found[constraint] = (k, f"{text} {column[k]}")
    for k, gaps in instance.gaps.items():
        if gaps:
            found[Constraint.GAPS] = (k, f"has one at steps {gaps[0].lower}-{gaps[0].upper}")
            break
    return found


def warm_up(name: str, budget: Budget | None = None) -> None:
    """Compile a planner's inner loops on small instances, once per process; of no effect where nothing is compiled.

    Raises:
        Stopped: the user cancelled.
    """
    if name in _warm or not jit.COMPILED:
        return
    for part in PARTS if name == "best" else ():
        warm_up(part, budget)
    planner = find_planner(name)
    quick = Budget(time_limit=PATIENCE, node_limit=1000, cancelled=budget.cancelled if budget else None)
    with jit.first_use(budget.progress if budget else None):
        for instance in (_small(frozenset()), _small(planner.honours)):
            for capacity in (None, lower_bound(instance)):
                for _ in range(3):
                    began = time.perf_counter()
                    _try(planner, instance, capacity, dataclasses.replace(quick, started=began))
                    if time.perf_counter() - began < PATIENCE:
                        break  # else compiling used up the time, and some loops are still to come
    _warm.add(name)


def _try(planner: Planner, instance: Instance, capacity: int | None, budget: Budget) -> None:
    try:
        plan = planner.run(instance, capacity, budget)
    except Refused:  # it says so again when it is asked in earnest
        return
    if isinstance(plan, Plan):
        validate(instance, plan)


def _small(honours: frozenset[Constraint]) -> Instance:
    """Two dozen buffers with some of each constraint a planner honours; enough that no planner is done at once."""
    count = 24
    k = np.arange(count, dtype=np.int64)
    lower = k * 7 % 20
    fixed, hint, alignment = np.full(count, -1), np.full(count, -1), np.ones(count, dtype=np.int64)
    gaps: dict[int, tuple[Gap, ...]] = {}
    size = 8 + k * 13 % 32
    if Constraint.ALIGNMENT in honours:
        alignment[::2] = 4
    if Constraint.FIXED in honours:
        fixed[0] = 16
    if Constraint.HINT in honours:
        hint[3] = 32
    if Constraint.GAPS in honours:
        gaps[5] = (Gap(int(lower[5]) + 1, int(lower[5]) + 2, 0, 4),)
    return Instance.of(
        lower,
        lower + 3 + k * 5 % 9,
        size,
        alignment=alignment,
        fixed=fixed,
        hint=hint,
        gaps=gaps,
        max_chunk=96 if Constraint.MAX_CHUNK in honours else 0,
    )
