"""Squeaky wheel optimisation: it gets better, keeps what is asked, and stops when it should."""

import numpy as np
import pytest
from hypothesis import given, settings

from galloscope.core.planners.bound import lower_bound, peak_bytes
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.placing import HONOURS
from galloscope.core.planners.planner import Budget, Plan, Refused, Stopped
from galloscope.core.planners.squeaky_wheel import run
from galloscope.core.planners.validate import validate
from galloscope.tests.core.planners.instances import instances


def some(count: int, seed: int, **more: object) -> Instance:
    luck = np.random.default_rng(seed)
    lower = luck.integers(0, count, count)
    return Instance.of(lower, lower + luck.integers(1, count // 2, count), luck.integers(1, 1000, count), **more)  # type: ignore[arg-type]


@settings(max_examples=80, deadline=None)
@given(instance=instances(HONOURS))
def test_it_keeps_what_is_asked(instance: Instance) -> None:
    try:
        plan = run(instance, None, Budget(time_limit=30, node_limit=20))
    except Refused:  # fixed buffers that collide
        return
    judgement = validate(instance, plan)
    assert judgement.good, judgement.sentence


@pytest.mark.parametrize("more", [{}, {"hint": 0}], ids=["skyline", "holes"])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_never_make_it_worse_and_in_the_end_better(seed: int, more: dict[str, int]) -> None:
    instance = some(60, seed, **more)
    peaks = [
        peak_bytes(instance, run(instance, None, Budget(time_limit=None, node_limit=rounds))) for rounds in (1, 20, 400)
    ]
    assert peaks == sorted(peaks, reverse=True)
    assert peaks[-1] < peaks[0] or peaks[0] == lower_bound(instance)


def test_it_ends_at_the_bound_and_at_the_capacity() -> None:
    stacked = Instance.of([0] * 5, [9] * 5, [1, 2, 3, 4, 5])
    assert run(stacked, None, Budget()).nodes == 1
    instance = some(60, 1)
    first = peak_bytes(instance, run(instance, None, Budget(node_limit=1)))
    assert run(instance, first, Budget()).nodes == 1


def test_a_seed_decides() -> None:
    instance = some(60, 2)

    def offsets(seed: int) -> list[int]:
        plan: Plan = run(instance, None, Budget(time_limit=None, node_limit=300, seed=seed))
        return [int(one) for one in plan.offsets]

    assert offsets(4) == offsets(4)
    assert any(offsets(4) != offsets(seed) for seed in (5, 6, 7))


def test_limits() -> None:
    instance = Instance.of([0, 2, 0], [9, 4, 9], [8, 8, 4], gaps={0: (Gap(2, 4),)}, fixed=[-1, -1, 8])
    assert validate(instance, run(instance, None, Budget(time_limit=0.0))).good
    assert validate(some(80, 1), run(some(80, 1), None, Budget(time_limit=0.0))).good
    with pytest.raises(Stopped):
        run(some(60, 0), None, Budget(cancelled=lambda: True))
