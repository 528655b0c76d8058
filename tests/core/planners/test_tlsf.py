"""Two-level segregated fit: classes, scenarios worked by hand, and an allocator written the slow way."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core.planners.instance import Instance
from galloscope.core.planners.kernels.segregated import LISTS, class_of, lowest_bit, rounded
from galloscope.core.planners.planner import Budget, Constraint, Plan
from galloscope.core.planners.tlsf import PLANNER
from galloscope.tests.core.planners.instances import instances


def offsets(instance: Instance) -> list[int]:
    found = PLANNER.run(instance, None, Budget())
    assert isinstance(found, Plan)
    return list(map(int, found.offsets))


def test_classes() -> None:
    assert [class_of(size) for size in (1, 31, 32, 63, 64, 65, 66, 127, 128)] == [1, 31, 32, 63, 64, 64, 65, 95, 96]
    assert [rounded(size) for size in (1, 63, 64, 65, 127, 128, 129, 1001)] == [1, 63, 64, 66, 128, 128, 132, 1008]


@given(st.integers(1, 1 << 60), st.integers(1, 1 << 60))
def test_any_block_of_the_class_asked_for_suffices(size: int, other: int) -> None:
    assert size <= rounded(size) <= size + size // 32 + 1
    assert class_of(rounded(size)) < LISTS
    if class_of(other) >= class_of(rounded(size)):
        assert other >= size
    if other >= size:
        assert class_of(other) >= class_of(size)


@given(st.integers(0, (1 << 60) - 1), st.integers(0, 60))
def test_the_lowest_bit(bits: int, begin: int) -> None:
    wanted = [at for at in range(begin, 60) if bits >> at & 1]
    assert lowest_bit(bits, begin) == (wanted[0] if wanted else -1)


def test_a_freed_block_is_taken_again() -> None:
    assert offsets(Instance.of([0, 0, 2, 2], [2, 4, 4, 3], [40, 40, 40, 8])) == [0, 40, 0, 80]


def test_what_is_left_of_a_block_is_free() -> None:
    assert offsets(Instance.of([0, 0, 2, 2], [2, 4, 4, 3], [40, 40, 30, 8])) == [0, 40, 0, 30]


def test_freed_neighbours_become_one() -> None:
    """The first and second die one after the other; the fourth needs both together."""
    assert offsets(Instance.of([0, 0, 0, 3], [2, 3, 9, 4], [20, 20, 8, 40])) == [0, 20, 40, 0]


def test_a_block_of_the_exact_size_is_passed_over_when_its_class_holds_smaller_ones() -> None:
    """1001 bytes are looked for among blocks of 1008 and more: the price of constant time."""
    assert offsets(Instance.of([0, 0, 2], [2, 4, 3], [1001, 8, 1001])) == [0, 1001, 1009]
    assert offsets(Instance.of([0, 0, 2], [2, 4, 3], [1008, 8, 1008])) == [0, 1008, 0]


def test_the_block_freed_first_goes_first() -> None:
    """Two holes of 40, the upper one freed first."""
    assert offsets(Instance.of([0, 0, 0, 0, 3, 3], [3, 9, 2, 9, 4, 4], [40, 8, 40, 8, 40, 40])) == [
        0,
        40,
        48,
        88,
        48,
        0,
    ]


def test_alignment() -> None:
    """All are aligned to 4, so sizes are rounded up to it; the last skips 8 bytes, which stay free for the next."""
    lower, upper = [0, 0, 0, 0], [1, 1, 1, 1]
    assert offsets(Instance.of(lower, upper, [3, 5, 16, 8], alignment=[4, 4, 16, 4])) == [0, 4, 16, 32]
    assert offsets(Instance.of(lower, upper, [3, 5, 16, 4], alignment=[4, 4, 16, 4])) == [0, 4, 16, 12]


def test_sizes_and_alignments_at_their_limit() -> None:
    big = 1 << 59
    assert offsets(Instance.of([0, 0], [1, 1], [big - 1, 1], alignment=[1, big])) == [0, big]
    most = [3 * big // 2 + big // 256, big // 2 - big // 256 - 2]
    assert offsets(Instance.of([0, 0], [1, 1], most)) == [0, most[0]]


@settings(deadline=None)
@given(instances(frozenset({Constraint.ALIGNMENT}), most=20))
def test_against_an_allocator_written_the_slow_way(instance: Instance) -> None:
    """Free blocks in one list, oldest first; of those in the lowest class that suffices the oldest."""
    real = np.flatnonzero((instance.size > 0) & (instance.upper > instance.lower))
    unit = int(np.gcd.reduce(instance.alignment[real])) if len(real) else 1
    free = [(0, (1 << 62) // unit)]
    found = [0] * len(instance)
    held = {}
    events = [(int(instance.upper[k]), 0, int(k)) for k in real] + [(int(instance.lower[k]), 1, int(k)) for k in real]
    for _, born, k in sorted(events):
        size, alignment = -(-int(instance.size[k]) // unit), int(instance.alignment[k]) // unit
        if born:
            least = class_of(rounded(size + alignment - 1))
            fitting = [block for block in free if class_of(block[1] - block[0]) >= least]
            start, end = min(fitting, key=lambda block: class_of(block[1] - block[0]))
            free.remove((start, end))
            at = -(-start // alignment) * alignment
            free += [block for block in ((start, at), (at + size, end)) if block[0] < block[1]]
            found[k], held[k] = at * unit, (at, at + size)
        else:
            start, end = held.pop(k)
            for block in [block for block in free if block[1] == start or block[0] == end]:
                free.remove(block)
                start, end = min(start, block[0]), max(end, block[1])
            free.append((start, end))
    assert offsets(instance) == found
