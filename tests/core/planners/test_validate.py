"""The checker of plans: each thing that can be wrong, and its slow twin on random plans."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.planner import ALL, Constraint, Plan
from galloscope.core.planners.validate import Verdict, validate
from galloscope.tests.core.planners.instances import clashes, instances, plans

TWO = Instance.of([0, 1], [3, 4], [8, 8], ids=["a", "b"], name="two.csv")


def plan(*offsets: int, chunks: tuple[int, ...] | None = None) -> Plan:
    return Plan(np.array(offsets, dtype=np.int64), None if chunks is None else np.array(chunks, dtype=np.int64))


def test_a_good_plan() -> None:
    assert validate(TWO, plan(0, 8)).good
    assert validate(TWO, plan(8, 0), capacity=16).good


WRONG = [
    ("too short", TWO, plan(0), None, Verdict.WRONG_LENGTH, ()),
    ("too few chunks", TWO, plan(0, 8, chunks=(0,)), None, Verdict.WRONG_LENGTH, ()),
    ("below zero", TWO, plan(0, -8), None, Verdict.BELOW_ZERO, (1,)),
    ("no chunk", TWO, plan(0, 8, chunks=(0, -1)), None, Verdict.BELOW_ZERO, (1,)),
    ("misaligned", Instance.of([0], [1], [8], alignment=16), plan(8), None, Verdict.MISALIGNED, (0,)),
    ("moved", Instance.of([0], [1], [8], fixed=16), plan(0), None, Verdict.MOVED_FIXED, (0,)),
    (
        "into another chunk",
        Instance.of([0], [1], [8], fixed=16),
        plan(16, chunks=(1,)),
        None,
        Verdict.MOVED_FIXED,
        (0,),
    ),
    ("over capacity", TWO, plan(0, 8), 15, Verdict.OVER_CAPACITY, (1,)),
    ("chunks over capacity", TWO, plan(0, 0, chunks=(0, 1)), 15, Verdict.OVER_CAPACITY, (0,)),
    ("out of chunk", Instance.of([0, 0], [1, 1], [8, 8], max_chunk=12), plan(0, 8), None, Verdict.OUT_OF_CHUNK, (1,)),
    ("overlap", TWO, plan(0, 7), None, Verdict.OVERLAP, (0, 1)),
    ("same place", TWO, plan(4, 4), None, Verdict.OVERLAP, (0, 1)),
    ("overlap in a chunk", TWO, plan(0, 0, chunks=(1, 1)), None, Verdict.OVERLAP, (0, 1)),
]


@pytest.mark.parametrize(
    ("instance", "bad", "capacity", "verdict", "buffers"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG]
)
def test_a_bad_plan(
    instance: Instance, bad: Plan, capacity: int | None, verdict: Verdict, buffers: tuple[int, ...]
) -> None:
    found = validate(instance, bad, capacity)
    assert (found.verdict, found.buffers, found.good) == (verdict, buffers, False)
    assert all(repr(instance.ids[k]) in found.sentence for k in buffers) or verdict is Verdict.OVER_CAPACITY


def test_the_sentence_names_the_pair_and_a_step() -> None:
    sentence = validate(TWO, plan(0, 7)).sentence
    assert sentence == "two.csv: buffer 'a' at [0, 8) and 'b' at [7, 15) are both alive from step 1 and share bytes"


def test_chunks_are_apart() -> None:
    assert validate(TWO, plan(0, 0, chunks=(0, 1))).good


def test_a_fixed_offset_counts_through_the_chunks() -> None:
    fixed = Instance.of([0], [1], [8], fixed=20, max_chunk=16)
    assert validate(fixed, plan(4, chunks=(1,))).good
    assert validate(fixed, plan(4)).verdict is Verdict.MOVED_FIXED


def test_a_buffer_larger_than_a_chunk_may_have_one_of_its_own() -> None:
    large = Instance.of([0], [1], [20], max_chunk=16)
    assert validate(large, plan(0)).good
    assert validate(large, plan(4)).verdict is Verdict.OUT_OF_CHUNK


def test_no_bytes_or_no_steps_no_clash() -> None:
    idle = Instance.of([0, 1, 0], [4, 1, 4], [8, 8, 0])
    assert validate(idle, plan(0, 0, 4)).good
    assert validate(idle, plan(0, 100, 200), capacity=8).good


def test_a_death_frees_for_the_birth_at_the_same_step() -> None:
    assert validate(Instance.of([0, 3], [3, 5], [8, 8]), plan(0, 0)).good


def test_bytes_that_a_gap_gives_up_may_be_used() -> None:
    gapped = Instance.of([0, 2], [9, 4], [8, 4], gaps={0: (Gap(2, 4, 0, 4),)})
    assert validate(gapped, plan(0, 4)).good
    assert validate(gapped, plan(0, 3)).verdict is Verdict.OVERLAP
    asleep = Instance.of([0, 2], [9, 4], [8, 8], gaps={0: (Gap(2, 4),)})
    assert validate(asleep, plan(0, 0)).good
    late = Instance.of([0, 2], [9, 5], [8, 8], gaps={0: (Gap(2, 4),)})
    assert validate(late, plan(0, 0)).verdict is Verdict.OVERLAP


def test_changing_sides_is_refused_as_minimalloc_refuses_it() -> None:
    sides = Instance.of([0, 0], [2, 2], [10, 20], gaps={1: (Gap(0, 1, 0, 5), Gap(1, 2, 15, 20))})
    assert validate(sides, plan(5, 0)).verdict is Verdict.OVERLAP


def _agree(instance: Instance, drawn: Plan) -> None:
    truth = clashes(instance, drawn)
    found = validate(instance, drawn)
    if found.verdict is Verdict.OVERLAP:
        assert found.buffers in truth
    elif found.verdict is Verdict.GOOD:
        assert not truth


@given(st.data())
def test_plain_plans_equal_the_slow_twin(data: st.DataObject) -> None:
    instance = data.draw(instances())
    drawn = data.draw(plans(instance))
    assert (validate(instance, drawn).verdict is Verdict.OVERLAP) == bool(clashes(instance, drawn))
    _agree(instance, drawn)


@given(st.data())
def test_gapped_plans_equal_the_slow_twin(data: st.DataObject) -> None:
    instance = data.draw(instances(frozenset({Constraint.GAPS})))
    drawn = data.draw(plans(instance))
    assert (validate(instance, drawn).verdict is Verdict.OVERLAP) == bool(clashes(instance, drawn))
    _agree(instance, drawn)


@given(st.data())
def test_every_plan_gets_a_verdict(data: st.DataObject) -> None:
    instance = data.draw(instances(ALL))
    _agree(instance, data.draw(plans(instance)))


def test_one_wrong_byte_among_many_is_found() -> None:
    count = 20_000
    rng = np.random.default_rng(5)
    lower = rng.integers(0, 1000, count)
    size = rng.integers(1, 99, count)
    many = Instance.of(lower, lower + rng.integers(1, 50, count), size)
    offsets = np.cumsum(size) - size
    assert validate(many, Plan(offsets)).good
    alive = np.flatnonzero((many.lower <= 500) & (many.upper > 500))
    i, j = int(alive[3]), int(alive[4])
    offsets[j] = offsets[i] + size[i] - 1
    found = validate(many, Plan(offsets))
    assert found.verdict is Verdict.OVERLAP
    assert i in found.buffers or j in found.buffers


def test_the_plain_loops_find_the_same_pair() -> None:
    code = (
        "import numpy as np\n"
        "from galloscope.core.planners.instance import Gap, Instance\n"
        "from galloscope.core.planners.planner import Plan\n"
        "from galloscope.core.planners.validate import validate\n"
        "rng = np.random.default_rng(1)\n"
        "for case in range(60):\n"
        "    low = rng.integers(0, 30, 12); up = low + rng.integers(1, 9, 12)\n"
        "    gaps = {0: (Gap(int(low[0]), int(low[0]) + 1, 0, 1),)} if case % 2 else {}\n"
        "    one = Instance.of(low, up, rng.integers(1, 9, 12), gaps=gaps)\n"
        "    print(validate(one, Plan(rng.integers(0, 40, 12))).sentence)\n"
    )
    answers = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "GALLOSCOPE_NO_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("", "1")
    ]
    assert answers[0] == answers[1]
    assert "share bytes" in answers[0]
    assert "valid" in answers[0]
