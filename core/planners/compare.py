"""Several planners side by side on one or more address spaces, with sums and what each saves against ggml."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError
from .bound import Live, live_bytes
from .ggml import freed_in_time
from .instance import Instance
from .known import PLANNERS
from .planner import Budget
from .solve import Outcome, find_planner, left_out, solve

GGML = "ggml"
ALL_PLANNERS = "all"


@dataclass(frozen=True, eq=False)
class Row:
    """A planner on all address spaces.

    Attributes:
        planner: its name.
        outcomes: one per instance.
        saving: bytes below ggml's peak, negative above it; None when one of the two has no plan.
    """

    planner: str
    outcomes: tuple[Outcome, ...]
    saving: int | None = None

    @property
    def solved(self) -> bool:
        """Every instance is."""
        return all(one.solved for one in self.outcomes)

    @property
    def peak(self) -> int | None:
        """Bytes of all, None when one has no plan."""
        return added([one.peak for one in self.outcomes])

    @property
    def bound(self) -> int:
        """Live bytes at the peaks of all."""
        return sum(one.bound for one in self.outcomes)

    @property
    def proved_bound(self) -> int:
        """Bytes proved necessary for all."""
        return sum(one.proved_bound for one in self.outcomes)

    @property
    def ratio(self) -> float | None:
        """Peak to bound."""
        if self.peak is None:
            return None
        return self.peak / self.bound if self.bound else 1.0

    @property
    def waste(self) -> int | None:
        """Bytes above the bound, None when one has no plan."""
        return added([one.waste for one in self.outcomes])

    @property
    def optimal(self) -> bool:
        """Every plan is proved to be the smallest."""
        return all(one.optimal for one in self.outcomes)

    @property
    def seconds(self) -> float:
        """The planner's own time."""
        return sum(one.seconds for one in self.outcomes)

    @property
    def refused(self) -> str:
        """The first refusal, "" for none."""
        return next((one.refused for one in self.outcomes if one.refused), "")

    @property
    def note(self) -> str:
        """The first note, "" for none."""
        return next((one.note for one in self.outcomes if one.note), "")

    def numbers(self) -> dict[str, Any]:
        """As JSON: of one instance its outcome, of several the sums, then each under `buffers`."""
        if len(self.outcomes) == 1:
            found = self.outcomes[0].numbers()
        else:
            found = {
                "planner": self.planner,
                "solved": self.solved,
                "peak": self.peak,
                "bound": self.bound,
                "ratio": self.ratio,
                "optimal": self.optimal,
                "proved_bound": self.proved_bound,
                "seconds": self.seconds,
                "capacity": self.outcomes[0].capacity if self.outcomes else None,
                "waste": self.waste,
                "refused": self.refused,
                "nodes": sum(one.nodes for one in self.outcomes),
                "note": self.note,
                "offsets": self._offsets(),
                "buffers": [{"buffer": one.instance.name, **one.numbers()} for one in self.outcomes],
            }
        if self.saving is not None:
            found["saving"] = self.saving
        return found

    def _offsets(self) -> dict[str, int]:
        """Of all instances; an id that occurs in two gets its instance's name in front."""
        seen: set[str] = set()
        twice: set[str] = set()
        for one in self.outcomes:
            twice |= seen.intersection(one.instance.ids)
            seen.update(one.instance.ids)
        found = {}
        for one in self.outcomes:
            if one.plan is not None:
                for name, offset in zip(one.instance.ids, one.plan.offsets.tolist(), strict=True):
                    found[f"{one.instance.name}/{name}" if name in twice else name] = offset
        return found


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found.

    Attributes:
        instances: the address spaces.
        live: their live-bytes curves.
        rows: the planners, in the order in which they were named.
        ggml: ggml's own row, also when it was not asked for; None when it was to be left out.
        capacity: bytes that each instance had to fit into, None for as few as possible.
        freed_in_time: bytes that ggml's own rules would need if each tensor were given back after its last use; None
            where ggml was not asked about a graph.
    """

    instances: tuple[Instance, ...]
    live: tuple[Live, ...]
    rows: tuple[Row, ...]
    ggml: Row | None
    capacity: int | None
    freed_in_time: int | None = None

    @property
    def best(self) -> Row | None:
        """The solved row with the smallest peak, the fastest of equals; None when none is solved."""
        solved = [row for row in self.rows if row.solved and row.peak is not None]
        return min(solved, key=lambda row: (row.peak or 0, row.seconds), default=None)

    def numbers(self) -> dict[str, Any]:
        """As JSON: one planner is an object, several are a list under `planners`."""
        rows = [row.numbers() for row in self.rows]
        found: dict[str, Any] = rows[0] if len(rows) == 1 else {"planners": rows}
        if self.freed_in_time is not None:
            found["ggml_freed_in_time"] = self.freed_in_time
        return found


def compare(
    instances: Sequence[Instance],
    names: Sequence[str],
    capacity: int | None = None,
    budget: Budget | None = None,
    *,
    against_ggml: bool = True,
    done: Callable[[str, int], None] | None = None,
) -> Comparison:
    """Ask each planner for each instance.

    Args:
        instances: address spaces, planned one by one.
        names: planners, or the one word `all`, which leaves out those that such a size is too much for.
        capacity: bytes for each instance.
        budget: for each planner on each instance anew.
        against_ggml: ask ggml too, to compare with.
        done: called with a planner's name and its number when its turn begins.

    Raises:
        InputError: there is no such planner, or none is named.
        Stopped: the user cancelled.
    """
    every = list(names) == [ALL_PLANNERS]
    chosen = list(PLANNERS) if every else list(dict.fromkeys(names))
    if not chosen:
        raise InputError(f"no planner is named; known: {', '.join(PLANNERS)}")
    for name in chosen:
        find_planner(name)
    found: dict[str, tuple[Outcome, ...]] = {}
    for number, name in enumerate(chosen):
        if done is not None:
            done(name, number)
        found[name] = tuple(
            (left_out(one, name, capacity) if every else None) or solve(one, name, capacity, budget)
            for one in instances
        )
    if against_ggml and GGML not in found:
        found[GGML] = tuple(solve(one, GGML, capacity, budget) for one in instances)
    found = _with_all_proofs(found)
    base = added([one.peak for one in found[GGML]]) if GGML in found else None
    rows = {name: Row(name, outcomes, _saving(base, outcomes)) for name, outcomes in found.items()}
    return Comparison(
        tuple(instances),
        tuple(map(live_bytes, instances)),
        tuple(rows[name] for name in chosen),
        rows.get(GGML),
        capacity,
        added([freed_in_time(one) for one in instances]) if instances and base is not None else None,
    )


def _with_all_proofs(found: dict[str, tuple[Outcome, ...]]) -> dict[str, tuple[Outcome, ...]]:
    """What one planner proved about an instance holds for the plans of all."""
    proved = [max(one.proved_bound for one in outcomes) for outcomes in zip(*found.values(), strict=True)]
    return {
        name: tuple(
            replace(one, proved_bound=bound, optimal=one.peak == bound)
            for one, bound in zip(outcomes, proved, strict=True)
        )
        for name, outcomes in found.items()
    }


def _saving(base: int | None, outcomes: Sequence[Outcome]) -> int | None:
    peak = added([one.peak for one in outcomes])
    return None if base is None or peak is None else base - peak


def added(values: Sequence[int | None]) -> int | None:
    """The sum, None when one is missing."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
