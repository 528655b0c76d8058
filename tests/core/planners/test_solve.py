"""Asking a planner: refusals in sentences, plans never taken on trust, proofs only where they hold."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from galloscope.core.errors import InputError
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import ALL, Budget, Constraint, NoPlan, Plan, Planner, Refused, Stopped
from galloscope.core.planners.solve import judged, left_out, solve
from galloscope.core.planners.validate import Verdict

TWO = Instance.of([0, 1], [3, 4], [8, 8], ids=["a", "b"])


def plan(*offsets: int, **more: int) -> Plan:
    return Plan(np.array(offsets, dtype=np.int64), **more)  # type: ignore[arg-type]


Adds = Callable[..., None]


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Adds:
    """Registers a planner `odd` that gives a certain answer to TWO, and none to what it is warmed up with."""

    def adds(
        answer: Plan | NoPlan | Exception, honours: frozenset[Constraint] = ALL, largest: int | None = None
    ) -> None:
        def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan | NoPlan:
            if len(instance) > 2:
                raise Refused("is a test")
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setitem(PLANNERS, "odd", Planner("odd", "odd", "odd", run, honours, largest=largest))

    return adds


def test_a_plan_at_the_bound_is_optimal(add: Adds) -> None:
    add(plan(0, 8))
    found = solve(TWO, "odd")
    assert (found.solved, found.peak, found.bound, found.ratio, found.waste) == (True, 16, 16, 1.0, 0)
    assert (found.optimal, found.proved_bound, found.verdict, found.refused) == (True, 16, Verdict.GOOD, "")
    assert found.seconds >= 0


def test_a_plan_above_it_is_not(add: Adds) -> None:
    add(plan(0, 16))
    found = solve(TWO, "odd")
    assert (found.solved, found.peak, found.ratio, found.waste, found.optimal) == (True, 24, 1.5, 8, False)


def test_a_proof_makes_it_optimal_above_the_bound(add: Adds) -> None:
    add(plan(0, 16, proved_bound=24))
    found = solve(TWO, "odd")
    assert (found.optimal, found.proved_bound, found.bound) == (True, 24, 16)


def test_a_fixed_offset_is_a_proof() -> None:
    fixed = Instance.of([0], [1], [8], fixed=32)
    found = judged(fixed, "odd", plan(32))
    assert (found.peak, found.bound, found.proved_bound, found.optimal) == (40, 8, 40, True)


def test_a_wrong_plan_is_never_passed_on(add: Adds) -> None:
    add(plan(0, 4))
    found = solve(TWO, "odd")
    assert (found.solved, found.plan, found.peak, found.optimal) == (False, None, None, False)
    assert found.verdict is Verdict.OVERLAP
    assert found.note.startswith("the plan of odd is wrong: buffer 'a' at [0, 8) and 'b' at [4, 12)")
    assert found.numbers()["offsets"] == {}


def test_a_wrong_proof_is_not_believed(add: Adds) -> None:
    add(plan(0, 8, proved_bound=17))
    found = solve(TWO, "odd")
    assert not found.solved
    assert found.proved_bound == 16
    assert found.note == "the proof is wrong, a bug in odd: it holds 17 bytes for necessary, its own plan needs 16"


def test_capacity_is_compared_with_the_peak(add: Adds) -> None:
    add(plan(0, 16))
    assert solve(TWO, "odd", 24).solved
    found = solve(TWO, "odd", 23)
    assert (found.solved, found.peak, found.capacity) == (False, 24, 23)
    assert found.note == "its plan needs 24 bytes, more than the capacity of 23"
    assert solve(TWO, "odd", 15).note == "no plan fits into 15 bytes: 16 are necessary"


def test_no_plan(add: Adds) -> None:
    add(NoPlan())
    assert solve(TWO, "odd", 20).note == "no plan within 20 bytes was found"
    assert solve(TWO, "odd", 9).note == "no plan fits into 9 bytes: 16 are necessary"
    assert solve(TWO, "odd").note == "no plan was found within the limits"
    assert not solve(TWO, "odd").solved


def test_no_plan_with_a_proof(add: Adds) -> None:
    add(NoPlan(proved_bound=21, nodes=7))
    found = solve(TWO, "odd", 20)
    assert (found.solved, found.proved_bound, found.nodes) == (False, 21, 7)
    assert found.note == "no plan fits into 20 bytes: 21 are necessary"


def test_a_refusal_becomes_a_sentence(add: Adds) -> None:
    add(Refused("has no use for twos"))
    assert solve(TWO, "odd").refused == "odd has no use for twos"


def test_cancelling_goes_through(add: Adds) -> None:
    add(Stopped("cancelled"))
    with pytest.raises(Stopped):
        solve(TWO, "odd")


ASKS = [
    ({"alignment": [1, 16]}, "odd cannot keep alignment (buffer 'b' is aligned to 16)"),
    ({"fixed": [-1, 4096]}, "odd cannot keep fixed offsets (buffer 'b' must lie at 4096)"),
    ({"hint": [64, -1]}, "odd cannot keep hints (buffer 'a' would like to lie at 64)"),
    ({"gaps": {1: (Gap(2, 3),)}}, "odd cannot keep gaps (buffer 'b' has one at steps 2-3)"),
]


@pytest.mark.parametrize(("asks", "sentence"), ASKS)
def test_what_a_planner_cannot_keep_it_refuses(add: Adds, asks: dict[str, object], sentence: str) -> None:
    add(plan(0, 8), frozenset())
    asking = Instance.of([0, 1], [3, 4], [8, 8], ids=["a", "b"], **asks)  # type: ignore[arg-type]
    found = solve(asking, "odd")
    assert (found.refused, found.solved, found.plan) == (sentence, False, None)


def test_a_planner_without_chunks_may_plan_what_fits_into_one(add: Adds) -> None:
    add(plan(0, 8), frozenset())
    assert solve(Instance.of([0, 1], [3, 4], [8, 8], max_chunk=16), "odd").solved
    found = solve(Instance.of([0, 1], [3, 4], [8, 8], max_chunk=15), "odd")
    assert found.refused == "odd cannot split its plan into chunks of at most 15 bytes"


def test_a_buffer_larger_than_a_chunk_is_refused(add: Adds) -> None:
    add(plan(0))
    found = solve(Instance.of([0], [1], [20], max_chunk=16), "odd")
    assert found.refused == "odd cannot place buffer '0': 20 bytes are more than the largest chunk, 16"


def test_left_out_when_too_many(add: Adds) -> None:
    add(plan(0, 8), largest=1)
    found = left_out(TWO, "odd")
    assert found is not None
    assert found.refused == "odd is left out: 2 buffers, it is meant for up to 1; name it to try"
    add(plan(0, 8), largest=2)
    assert left_out(TWO, "odd") is None


def test_unknown_planner_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no planner is named 'naiv' \(did you mean 'naive'\?\)"):
        solve(TWO, "naiv")


def test_numbers_are_plain_data(add: Adds) -> None:
    add(Plan(np.array([0, 0]), np.array([0, 1]), pools=np.array([0, 1])))
    chunked = Instance.of([0, 1], [3, 4], [8, 8], ids=["a", "b"], max_chunk=8)
    numbers = json.loads(json.dumps(solve(chunked, "odd").numbers()))
    assert numbers["offsets"] == {"a": 0, "b": 0}
    assert numbers["chunks"] == {"a": 0, "b": 1}
    assert numbers["pools"] == {"a": 0, "b": 1}
    assert {"planner", "solved", "peak", "bound", "ratio", "optimal", "proved_bound", "seconds"} <= set(numbers)


def test_nothing_to_plan_has_ratio_one(add: Adds) -> None:
    add(plan())
    found = solve(Instance.of([], [], []), "odd")
    assert (found.solved, found.peak, found.bound, found.ratio, found.optimal) == (True, 0, 0, 1.0, True)
