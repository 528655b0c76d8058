"""Complete search: a plan under a capacity, the proof that there is none, or step by step the smallest plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .bound import fixed_top, lower_bound, peak_bytes
from .instance import Instance
from .placing import place_in_order
from .planner import Budget, Constraint, NoPlan, Plan, Planner, Refused
from .portfolio import Portfolio
from .question import Part, Question

FIRST_LOOK = 400
"""Nodes per buffer that the first round of a minimisation spends on a capacity; each round four times as many."""

BOXES_FIRST = 60
"""Nodes per buffer spent on boxes of buffers that fit together exactly, before the buffers themselves."""

LARGEST = 20_000
"""Buffers; a run keeps a few cells per buffer and section."""


class _Answer:
    """The search for a part under one capacity: its boxes for a while, then its buffers, to be continued any time.

    A plan of the boxes is a plan; that they have none proves nothing.
    """

    def __init__(self, question: Question, part: Part, capacity: int, seed: int) -> None:
        self.part = part
        self.offsets: np.ndarray | None = None
        self.plain = Portfolio(question.shape(part, capacity), seed)
        self.boxes = Portfolio(question.boxes(part.boxed, capacity), seed) if part.boxed else None

    @property
    def impossible(self) -> bool:
        """There is no plan."""
        return self.plain.attempt.impossible

    @property
    def nodes(self) -> int:
        """Visited so far."""
        return self.plain.attempt.nodes + (self.boxes.attempt.nodes if self.boxes else 0)

    def go_on(self, nodes: int, budget: Budget) -> None:
        """Search on for about so many nodes."""
        if self.impossible or self.offsets is not None:
            return
        before = self.nodes
        if self.boxes is not None and self.part.boxed is not None:
            left = BOXES_FIRST * len(self.part.index) - self.boxes.attempt.nodes
            found = self.boxes.go_on(min(left, nodes), budget).offsets
            self.offsets = None if found is None else self.part.boxed.spread(found)
        if self.offsets is None:
            self.offsets = self.plain.go_on(nodes - (self.nodes - before), budget).offsets


class _Capacity:
    """The search for a plan under one capacity, to be continued any time."""

    def __init__(self, question: Question, capacity: int, seed: int) -> None:
        self.question = question
        self.answers = [_Answer(question, part, capacity, seed + k) for k, part in enumerate(question.parts)]

    @property
    def impossible(self) -> bool:
        """A part was proved to have no plan."""
        return any(one.impossible for one in self.answers)

    @property
    def found(self) -> bool:
        """Every part has a plan."""
        return all(one.offsets is not None for one in self.answers)

    @property
    def nodes(self) -> int:
        """Visited in all parts."""
        return sum(one.nodes for one in self.answers)

    def go_on(self, nodes: int, budget: Budget) -> None:
        """Search each part with so many nodes, up to the first that stays open or has no plan."""
        for one in self.answers:
            one.go_on(nodes, budget)
            if one.offsets is None:
                return

    def offsets(self) -> np.ndarray:
        """Bytes of every buffer of the instance."""
        question = self.question
        offsets: np.ndarray = np.maximum(question.instance.fixed, 0)
        for one in self.answers:
            assert one.offsets is not None, "asked for before all parts are found"
            offsets[question.used[one.part.index]] = one.offsets * question.unit
        return offsets


def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan | NoPlan:
    """A plan within the capacity, or with None as small as the time allows.

    Raises:
        Refused: the plan would need several chunks, or is too large to search.
        Stopped: cancelled.
    """
    question = Question(instance)
    proved = max(lower_bound(instance), fixed_top(instance))
    search = _Search(question, budget)
    made = search.under(capacity, proved) if capacity is not None else search.smallest(proved)
    if instance.max_chunk:  # several chunks may need less than one: each begins aligned
        made = replace(made, proved_bound=0)
    if isinstance(made, Plan) and instance.max_chunk and peak_bytes(instance, made) > instance.max_chunk:
        raise Refused(f"plans one chunk only, and none of {instance.max_chunk} bytes at most was found")
    return made


class _Search:
    def __init__(self, question: Question, budget: Budget) -> None:
        self.question = question
        self.budget = budget
        self.spent = 0
        self.tried: dict[int, _Capacity] = {}

    def under(self, capacity: int, proved: int) -> Plan | NoPlan:
        """Search at one capacity until it is decided or the budget ends."""
        if capacity < proved:
            return NoPlan(proved)
        one = self._at(capacity)
        self._go_on(one, None)
        if one.found:
            return self._plan(one)
        if one.impossible:
            return NoPlan(self.question.above(capacity), self.spent)
        return NoPlan(0, self.spent, self._ended(f"no plan within {capacity} bytes was found"))

    def smallest(self, low: int) -> Plan:
        """First at the bound, then between the bound and the best, in rounds of growing effort."""
        question = self.question
        instance = question.instance
        best = self._greedy()
        high = peak_bytes(instance, best)
        nodes = FIRST_LOOK * max(1, len(question.used))
        while low < high and self._may_go_on():
            self.budget.say(f"search: best {high} bytes, at least {low}")
            target, undecided = low, low - question.grain
            while self._may_go_on():
                one = self._at(target)
                self._go_on(one, nodes)
                if one.found:
                    best = self._plan(one)
                    high = peak_bytes(instance, best)
                    self.tried = {c: kept for c, kept in self.tried.items() if c < high}
                elif one.impossible:
                    low = question.above(target)
                    self.tried.pop(target)
                else:
                    undecided = target  # for this round
                under = max(undecided, low - question.grain)
                if under >= high - question.grain:
                    break
                target = max(low, (under + high) // 2)
            nodes *= 4
        return replace(best, proved_bound=low, nodes=self.spent)

    def _greedy(self) -> Plan:
        """The smaller of two placements in a fixed order."""
        instance = self.question.instance
        one_chunk = replace(instance, max_chunk=0)
        plans = []
        for key in (instance.size, instance.size * 1.0 * (instance.upper - instance.lower)):
            order = np.argsort(-key, kind="stable")
            plans.append(Plan(place_in_order(one_chunk, order, True), order=order))
        return min(plans, key=lambda plan: peak_bytes(instance, plan))

    def _at(self, capacity: int) -> _Capacity:
        if capacity not in self.tried:
            self.tried[capacity] = _Capacity(self.question, capacity, self.budget.seed)
        return self.tried[capacity]

    def _go_on(self, one: _Capacity, nodes: int | None) -> None:
        before = one.nodes
        limit = self.budget.node_limit
        while not one.found and not one.impossible and self._may_go_on():
            share = 1 << 40 if nodes is None else nodes
            one.go_on(share if limit is None else min(share, limit - self.spent), self.budget)
            self.spent += one.nodes - before
            before = one.nodes
            if nodes is not None:
                return

    def _may_go_on(self) -> bool:
        limit = self.budget.node_limit
        return self.budget.left() > 0 and (limit is None or self.spent < limit)

    def _ended(self, text: str) -> str:
        limit = self.budget.node_limit
        why = "node" if limit is not None and self.spent >= limit else "time"
        return f"{text} before the {why} limit"

    def _plan(self, one: _Capacity) -> Plan:
        offsets = one.offsets()
        order = np.lexsort((self.question.instance.lower, offsets))
        return Plan(offsets, order=order, nodes=self.spent)


PLANNER = Planner(
    title="Complete search",
    summary="Fills the skyline's valleys, undoing what cannot be completed; restarts in ever new orders.",
    source="Moffitt, MiniMalloc, ASPLOS 2023; Prosser 1993; Luby et al. 1993; Burke, Kendall and Whitwell 2004",
    run=run,
    honours=frozenset({Constraint.ALIGNMENT, Constraint.FIXED, Constraint.HINT, Constraint.CAPACITY}),
    exact=True,
    largest=LARGEST,
)
