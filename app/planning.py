"""Planning on the server: the buffer sets of an opened file, and what each planner answered, every question once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..core.errors import InputError
from ..core.planners.instance import Instance
from ..core.planners.planner import Budget, Plan
from ..core.state import State
from .figures.planners_scene import Subject, ggml_peak

if TYPE_CHECKING:
    from ..core.planners.solve import Outcome
    from .jobs import Job

Order = Literal["ggml", "kahn", "dfs"]
ORDERS: tuple[Order, ...] = ("ggml", "kahn", "dfs")
USUAL_LIMIT = 2.0
"""Seconds that a planner may take when nobody asks for more."""
MOST_LIMIT = 600.0
SWITCH = {"0": False, "false": False, "1": True, "true": True}
"""How an address and JSON write a switch."""
MOST_DIGITS = 9
"""Of a number in the page's address, as `assets/page_url.js` has it."""
SPENT = 0.8
"""A planner that used more than this share of its time may find more in a longer one."""


@dataclass(frozen=True)
class Question:
    """Which buffer set is meant: its number, with or without in-place chains, the order of the steps."""

    buffer: int = 0
    in_place: bool = True
    order: Order = "ggml"


@dataclass
class _Answers:
    """What is known about one question; `limits` are the seconds that each planner was given."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)


class Planning:
    """The buffer sets of one run, or the one set of a file; safe to use from several threads."""

    def __init__(self, make: Callable[[bool, Order], Sequence[Subject]], *, graph: bool) -> None:
        """`make` answers with the sets, given in-place and order; a set without a graph knows neither."""
        self.graph = graph
        self._make = make
        self._subjects: dict[tuple[bool, Order], Sequence[Subject]] = {}
        self._answers: dict[Question, _Answers] = {}
        self._views: dict[tuple[Question, str], bytes] = {}
        self._lock = threading.RLock()

    @classmethod
    def of_graph(cls, state: State) -> Planning:
        """The buffers that the allocator plans in a run."""

        def make(in_place: bool, order: Order) -> list[Subject]:
            from ..core.planners.from_graph import instances

            return [Subject.of(one.instance, one) for one in instances(state, in_place, order)]

        return cls(make, graph=True)

    @classmethod
    def of_set(cls, instance: Instance) -> Planning:
        """One set from a file."""
        subject = Subject.of(instance)
        return cls(lambda in_place, order: [subject], graph=False)

    def subjects(self, in_place: bool = True, order: Order = "ggml") -> Sequence[Subject]:
        """The sets, in the order of the devices.

        Raises:
            InputError: the run made no plan.
        """
        key = (in_place, order) if self.graph else (True, ORDERS[0])
        with self._lock:
            if key not in self._subjects:
                self._subjects[key] = self._make(*key)
            return self._subjects[key]

    def subject(self, asked: Question) -> Subject:
        """The set of a question.

        Raises:
            InputError: there is no such set.
        """
        found = self.subjects(asked.in_place, asked.order)
        if not 0 <= asked.buffer < len(found):
            raise InputError(f"there is no buffer {asked.buffer}: this run plans {len(found)}")
        return found[asked.buffer]

    def given(self, asked: Question) -> int | None:
        """Bytes that ggml needs in the graph's own order, where another order is asked about; else None."""
        if not self.graph or asked.order == ORDERS[0]:
            return None
        return ggml_peak(self.subject(Question(asked.buffer, asked.in_place)))

    def outcomes(self, asked: Question) -> dict[str, Outcome]:
        """What is known by now, in the order of the table."""
        from ..core.planners.known import PLANNERS

        with self._lock:
            known = self._answers.get(asked, _Answers()).outcomes
            return {name: known[name] for name in PLANNERS if name in known}

    def plan(self, asked: Question, name: str) -> Plan:
        """The plan of a planner that has one.

        Raises:
            InputError: it has none.
        """
        outcome = self.outcomes(asked).get(name)
        if outcome is None or outcome.plan is None:
            raise InputError(f"{name} has no plan of this buffer")
        return outcome.plan

    @staticmethod
    def named(names: object) -> list[str]:
        """Planners that a request names, each once; none where it names none (None or an empty list).

        Raises:
            InputError: it is no list, or one of them is no planner.
        """
        from ..core.planners.solve import find_planner

        if names is None:
            return []
        if not isinstance(names, list):
            raise InputError("names: a list of planners is expected")
        wanted = list(dict.fromkeys(str(name) for name in names))
        for name in wanted:
            find_planner(name)
        return wanted

    def open_names(self, asked: Question, limit: float) -> list[str]:
        """Planners still to be asked: those that were not, and those that would use a longer time."""
        from ..core.planners.known import PLANNERS

        size = len(self.subject(asked).instance)
        with self._lock:
            known = self._answers.get(asked, _Answers())
            return [
                name
                for name, one in PLANNERS.items()
                if (name not in known.outcomes and (one.largest is None or size <= one.largest))
                or self._may_improve(known, name, limit)
            ]

    @staticmethod
    def _may_improve(known: _Answers, name: str, limit: float) -> bool:
        outcome = known.outcomes.get(name)
        if outcome is None or outcome.optimal or outcome.refused:
            return False
        return limit > known.limits[name] and outcome.seconds > SPENT * known.limits[name]

    def run(self, asked: Question, names: Sequence[str], limit: float, job: Job) -> str:
        """Ask planners one after the other; what each answers is known at once.

        Raises:
            Stopped: the work was cancelled.
        """
        from ..core.planners.solve import solve

        instance = self.subject(asked).instance
        for name in names:
            job.say(name)
            budget = Budget(
                time_limit=limit,
                progress=lambda text, name=name: job.say(f"{name}: {text}"),  # type: ignore[misc]
                cancelled=job.is_stopped,
            )
            budget.left()
            outcome = solve(instance, name, budget=budget)
            with self._lock:
                known = self._answers.setdefault(asked, _Answers())
                known.outcomes[name], known.limits[name] = outcome, limit
                for key in (plan_key(name), stages_key(name)):
                    self._views.pop((asked, key), None)
        return ""

    def view(self, asked: Question, what: str, make: Callable[[], bytes]) -> bytes:
        """Something derived from the answers of a question, made once."""
        key = (asked, what)
        with self._lock:
            found = self._views.get(key)
        if found is None:
            found = make()
            with self._lock:
                self._views[key] = found
        return found


def plan_key(name: str) -> str:
    """Under which a planner's picture is kept."""
    return f"plan {name}"


def stages_key(name: str) -> str:
    """Under which the stages of a planner's plan are kept."""
    return f"stages {name}"


def question_of(asked: dict[str, Any]) -> Question:
    """A question as a request writes it.

    Raises:
        InputError: it has a word that is none.
    """
    order = str(asked.get("order") or "ggml")
    buffer = str(asked.get("buffer", "0"))
    in_place = str(asked.get("in_place", "1")).lower()
    if order not in ORDERS:
        raise InputError(f"order {order!r}: known are {', '.join(ORDERS)}")
    if not buffer.isdecimal() or len(buffer) > MOST_DIGITS:
        raise InputError(f"buffer {buffer[:40]!r}: a number is expected")
    if in_place not in SWITCH:
        raise InputError(f"in_place {in_place[:40]!r}: 0 or 1 is expected")
    return Question(int(buffer), SWITCH[in_place], order)


def limit_of(value: object) -> float:
    """A time limit in seconds.

    Raises:
        InputError: it is no number, or out of range.
    """
    try:
        limit = float(str(value))
    except ValueError:
        limit = 0.0
    if not 0.01 <= limit <= MOST_LIMIT:
        raise InputError(
            f"time limit {str(value)[:40]!r}: a number of seconds from 0.01 to {MOST_LIMIT:.0f} is expected"
        )
    return limit
