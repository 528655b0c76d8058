"""Every kernel keeps to the array API standard: the same functions run on array_api_strict, with the same result."""

from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.backends.maths import Maths
from galloscope.core.op import Op
from galloscope.tests.core.backends.kernels.calls import CALLS
from galloscope.tests.core.backends.kernels.plain import NUMPY, call_of, half, off


def _half(values: Any) -> Any:
    return strict.asarray(half(np.asarray(values)))


STRICT = Maths(strict, _half)


def test_every_op_has_an_example() -> None:
    assert set(CALLS) == set(KERNELS)


@pytest.mark.parametrize("op", sorted(KERNELS), ids=str)
def test_only_the_standard_is_used(op: Op) -> None:
    kernel = KERNELS[op]
    for example in CALLS[op]():
        call = call_of(example.node)
        assert kernel.check(call) == ""
        sources = [None if one is None else strict.asarray(one) for one in example.sources]
        with np.errstate(all="ignore"):
            plain = kernel.compute(NUMPY, call, example.sources)
            with strict.ArrayAPIStrictFlags(boolean_indexing=False, data_dependent_shapes=False):
                result = kernel.compute(STRICT, call, sources)
        made = np.asarray(result)
        assert made.dtype == plain.dtype
        assert made.dtype in (np.float32, np.int32, np.int64, np.uint8)
        assert off(made.astype(np.float64), plain.astype(np.float64)) < 1e-6
