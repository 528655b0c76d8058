"""The placing loops against a reference that tries every address, and scenarios worked by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.placing import Placer, as_plan, place_in_order
from galloscope.core.planners.planner import Refused
from galloscope.tests.core.planners.instances import windows

HIGHEST = 150
Pairs = list[tuple[tuple[int, int], tuple[int, int]]]


@st.composite
def small(draw: st.DrawFn, gaps: bool) -> tuple[Instance, list[int], bool]:
    """An instance with sizes of a few bytes and any constraint, an order, and whether the tightest hole is asked."""
    count = draw(st.integers(0, 12))
    lower = [draw(st.integers(-2, 8)) for _ in range(count)]
    upper = [begin + draw(st.integers(0, 6)) for begin in lower]
    size = [draw(st.integers(0, 9)) for _ in range(count)]
    found = {}
    for k in range(count):
        if gaps and upper[k] - lower[k] >= 2 and draw(st.booleans()):
            low = draw(st.integers(0, size[k]))
            begin = draw(st.integers(lower[k], upper[k] - 1))
            found[k] = (Gap(begin, draw(st.integers(begin + 1, upper[k])), low, draw(st.integers(low, size[k]))),)
    chunk = draw(st.sampled_from((0, 0, 9, 14)))
    alignment = [1 if chunk else draw(st.sampled_from((1, 1, 2, 3, 8))) for _ in range(count)]
    hint = [draw(st.sampled_from((-1, -1, 0, 6, 24))) for _ in range(count)]
    instance = Instance.of(lower, upper, size, alignment=alignment, hint=hint, gaps=found, max_chunk=chunk)
    return instance, draw(st.permutations(range(count))), draw(st.booleans())


def reference(instance: Instance, order: list[int], best_fit: bool) -> list[int]:
    """Every address tried, every step compared."""
    offsets = [0] * len(instance)
    placed: list[int] = []
    tops: dict[int, int] = {}
    chunk = instance.max_chunk or 1 << 40
    for k in order:
        size, alignment = int(instance.size[k]), int(instance.alignment[k])
        if not size or instance.lower[k] == instance.upper[k]:
            continue

        both = _together(instance, k, placed)

        def apart(at: int, both: dict[int, Pairs] = both) -> bool:
            return all(
                all(at + mine[1] <= offsets[other] + its[0] for mine, its in pairs)
                or all(offsets[other] + its[1] <= at + mine[0] for mine, its in pairs)
                for other, pairs in both.items()
            )

        def lies(at: int, size: int = size, alignment: int = alignment) -> bool:
            return at % chunk % alignment == 0 and at % chunk + size <= chunk

        def rise(at: int, size: int = size) -> int:
            return max(0, at % chunk + size - tops.get(at // chunk, 0))

        fine = [apart(at) for at in range(HIGHEST)]
        choices = []
        begin = 0
        while begin < HIGHEST:
            end = begin
            while end < HIGHEST and fine[end]:
                end += 1
            good = next((at for at in range(begin, end) if lies(at)), None)
            if good is not None:
                last = end == HIGHEST
                room = min(end - 1, (good // chunk + 1) * chunk - size) - good
                choices.append((last if best_fit else 0, room if best_fit else 0, good))
            begin = end + 1
        at = min(choices)[2]
        hint = int(instance.hint[k])
        if hint >= 0 and lies(hint) and fine[hint] and rise(hint) <= rise(at):
            at = hint
        tops[at // chunk] = max(tops.get(at // chunk, 0), at % chunk + size)
        offsets[k] = at
        placed.append(k)
    return offsets


def _together(instance: Instance, k: int, placed: list[int]) -> dict[int, Pairs]:
    mine = {step: (low, high) for step, low, high in windows(instance, k)}
    found = {}
    for other in placed:
        found[other] = [(mine[step], (low, high)) for step, low, high in windows(instance, other) if step in mine]
    return found


@settings(max_examples=100, deadline=None)
@given(small(gaps=False))
def test_without_gaps_every_address_is_the_rule(case: tuple[Instance, list[int], bool]) -> None:
    instance, order, best_fit = case
    assert place_in_order(instance, order, best_fit).tolist() == reference(instance, order, best_fit)


@settings(max_examples=100, deadline=None)
@given(small(gaps=True))
def test_with_gaps_every_address_is_the_rule(case: tuple[Instance, list[int], bool]) -> None:
    instance, order, best_fit = case
    assert place_in_order(instance, order, best_fit).tolist() == reference(instance, order, best_fit)


@pytest.mark.parametrize("best_fit", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_both_loops_agree_on_many_buffers(seed: int, best_fit: bool) -> None:
    """A gap that needs all bytes is no gap, but takes the other loop."""
    luck = np.random.default_rng(seed)
    count = 400
    lower = luck.integers(0, 300, count)
    upper = lower + 1 + luck.integers(0, 2 ** luck.integers(0, 9, count))
    size, alignment = luck.integers(1, 5000, count), 2 ** luck.integers(0, 5, count)
    plain = Instance.of(lower, upper, size, alignment=alignment)
    whole = (Gap(int(lower[0]), int(upper[0]), 0, int(size[0])),)
    order = luck.permutation(count)
    first = place_in_order(plain, order, best_fit)
    second = place_in_order(Instance.of(lower, upper, size, alignment=alignment, gaps={0: whole}), order, best_fit)
    assert first.tolist() == second.tolist()
    together = (lower[:, None] < upper) & (lower < upper[:, None])
    touching = (first[:, None] < first + size) & (first < (first + size)[:, None])
    assert (together & touching).sum() == count, "only with itself"


def test_a_placer_places_again() -> None:
    instance = Instance.of([0, 0, 1], [2, 1, 3], [4, 8, 2])
    placer = Placer(instance)
    assert placer.place([0, 1, 2]).tolist() == [0, 4, 4]
    assert placer.place([2, 1, 0]).tolist() == [8, 0, 0]
    assert placer.place([0, 1, 2]).tolist() == [0, 4, 4]


def test_the_tightest_hole_or_the_lowest() -> None:
    """Two walls with holes of 10 and 4 below and between them."""
    instance = Instance.of([0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 3, 1], fixed=[10, 16, -1, -1])
    assert place_in_order(instance, [0, 1, 2, 3]).tolist() == [10, 16, 12, 15]
    assert place_in_order(instance, [0, 1, 2, 3], best_fit=False).tolist() == [10, 16, 0, 3]


def test_fixed_buffers_come_first_whatever_the_order() -> None:
    instance = Instance.of([0, 0], [1, 1], [8, 8], fixed=[-1, 4])
    assert place_in_order(instance, [0, 1]).tolist() == [12, 4]


def test_fixed_buffers_on_the_same_bytes() -> None:
    instance = Instance.of([0, 5, 2], [3, 6, 4], [8, 8, 8], ids=["a", "b", "c"], fixed=[0, 0, 7])
    with pytest.raises(Refused, match=r"^cannot place buffer 'c': it is fixed onto bytes of 'a'$"):
        place_in_order(instance, [0, 1, 2])


def test_a_hint_is_taken_when_it_raises_nothing() -> None:
    """Free at its turn and below the peak: yes. Above what the rule would reach: no. Taken: no. Misaligned: no."""
    lower, upper = [0, 0, 1, 1], [1, 1, 2, 2]
    instance = Instance.of(lower, upper, [8, 8, 4, 4], hint=[-1, -1, 12, 12])
    assert place_in_order(instance, [0, 1, 2, 3]).tolist() == [0, 8, 12, 0]
    assert place_in_order(Instance.of(lower, upper, [8, 8, 4, 4], hint=[1, -1, -1, 13]), range(4))[[0, 3]].tolist() == [
        0,
        4,
    ]
    aligned = Instance.of(lower, upper, [8, 8, 4, 4], hint=[-1, -1, 6, -1], alignment=4)
    assert place_in_order(aligned, range(4))[2] == 0


def test_no_buffer_lies_across_a_border_of_chunks() -> None:
    instance = Instance.of([0] * 4, [1] * 4, [30, 30, 30, 4], max_chunk=64)
    addresses = place_in_order(instance, range(4))
    assert addresses.tolist() == [0, 30, 64, 60]
    plan = as_plan(instance, addresses, range(4))
    assert plan.chunks is not None
    assert plan.chunks.tolist() == [0, 0, 1, 0]
    assert plan.offsets.tolist() == [0, 30, 0, 60]


def test_what_chunks_cannot_hold() -> None:
    with pytest.raises(Refused, match=r"^cannot place buffer '1': 65 bytes are more than the largest chunk, 64$"):
        place_in_order(Instance.of([0, 0], [1, 1], [1, 65], max_chunk=64), [0, 1])
    with pytest.raises(
        Refused, match=r"^cannot place buffer '0': it must lie at 60, which does not suit chunks of 64 byt"
    ):
        place_in_order(Instance.of([0], [1], [8], fixed=60, max_chunk=64), [0])


def test_a_buffer_may_use_the_bytes_of_a_gap() -> None:
    """The first needs nothing in steps 2-4 and its upper half in 6-8."""
    gaps = {0: (Gap(2, 4), Gap(6, 8, 4, 8))}
    instance = Instance.of([0, 2, 6, 6], [9, 4, 8, 9], [8, 8, 4, 4], gaps=gaps)
    assert place_in_order(instance, range(4)).tolist() == [0, 0, 0, 8]


def test_there_may_be_more_holes_than_room_was_made_for() -> None:
    """Every second of a tall stack dies at once: as many holes as buffers, at every step."""
    count = 2000
    lower = np.arange(count)
    upper = np.where(lower % 2 == 0, 2 * count, count + 1)
    instance = Instance.of(lower, upper, np.full(count, 3), alignment=4)
    assert place_in_order(instance, lower).tolist() == (4 * lower).tolist()
