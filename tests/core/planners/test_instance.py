"""What an instance refuses, and how it says where."""

from typing import Any

import numpy as np
import pytest

from galloscope.core.errors import InputError
from galloscope.core.planners.instance import LARGEST, Gap, Instance

ONE: dict[str, Any] = {"lower": [0], "upper": [4], "size": [8], "ids": ["x"], "name": "one.csv"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"size": [-1]}, "one.csv: buffer 'x' has a size below zero"),
        ({"alignment": 0}, "one.csv: buffer 'x' has an alignment below one"),
        ({"upper": [-1]}, "one.csv: buffer 'x' has an end before its start"),
        ({"fixed": -2}, "one.csv: buffer 'x' has an offset below zero"),
        ({"fixed": 8, "alignment": 16}, "one.csv: buffer 'x' has a fixed offset off its alignment"),
        ({"lower": [-LARGEST - 1]}, "one.csv: buffer 'x' has a step beyond 2^60"),
        ({"size": [LARGEST + 1]}, "one.csv: sizes and alignments add up to more than 2^60 bytes"),
        ({"fixed": LARGEST}, "one.csv: sizes and alignments add up to more than 2^60 bytes"),
        ({"size": [1 << 63]}, "one.csv: a number does not fit into 64 bits"),
        ({"max_chunk": -1}, "one.csv: a maximum chunk size below zero"),
        ({"gaps": {0: (Gap(2, 5),)}}, "one.csv: buffer 'x' has a gap 2-5 that is not inside its lifetime"),
        ({"gaps": {0: (Gap(2, 2),)}}, "one.csv: buffer 'x' has a gap 2-2 that is not inside its lifetime"),
        ({"gaps": {0: (Gap(1, 3), Gap(2, 4))}}, "one.csv: buffer 'x' has a gap 2-4 that is not inside its lifetime"),
        ({"gaps": {0: (Gap(1, 3, 4, 9),)}}, "one.csv: buffer 'x' has a gap whose bytes 4:9 are not inside it"),
    ],
)
def test_refuses_with_the_place(change: dict[str, Any], sentence: str) -> None:
    Instance.of(**ONE)
    with pytest.raises(InputError) as caught:
        Instance.of(**{**ONE, **change})
    assert str(caught.value) == sentence


def test_sums_that_would_wrap_are_caught() -> None:
    with pytest.raises(InputError, match="add up"):
        Instance.of([0] * 5, [1] * 5, [1 << 59] * 5)


def test_columns_and_defaults() -> None:
    made = Instance.of(np.array([0, 1]), [2, 3], [4, 5])
    assert (len(made), made.ids, made.where(1)) == (2, ("0", "1"), "buffer '1'")
    for column, values in ((made.alignment, [1, 1]), (made.fixed, [-1, -1]), (made.hint, [-1, -1])):
        assert column.dtype == np.int64
        assert column.tolist() == values
