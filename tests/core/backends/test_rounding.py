"""What a factor of a product keeps, against the real from_float and against loops."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from galloscope.core.backends.half import half
from galloscope.core.backends.maths import Maths
from galloscope.core.backends.quants import dequantize
from galloscope.core.backends.rounding import block_minima, lost_sums, rounded
from galloscope.core.dtypes import DTYPES
from galloscope.tests.core.backends.ggml_oracle import Oracle
from galloscope.tests.core.native.support import needs_wheel

Floats = npt.NDArray[np.float32]
NUMPY = Maths(np, half)
TYPES = ("f32", "f16", "bf16", "q8_0", "q8_1", "q8_K")


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as one:
        yield one


def kept(oracle: Oracle, values: Floats, name: str) -> Floats:
    """from_float of ggml, then what the bytes mean."""
    dtype = DTYPES[name]
    data = oracle.from_float(dtype, values)
    if dtype.quantized:
        return dequantize(data.reshape(len(values), -1, dtype.size), dtype)
    return values if name == "f32" else oracle.to_float(dtype, data)


@needs_wheel
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("power", [-30, -6, 0, 3])
def test_as_ggml_keeps_it(oracle: Oracle, name: str, power: int) -> None:
    rng = np.random.default_rng(power + 40)
    values = (rng.standard_normal((40, 512)) * 10.0**power).astype(np.float32)
    values[3] = np.round(values[3] / 10.0**power * 8) / 8  # ties
    values[4] = 0.0
    values[5, 1:] = 0.0
    values[6] = -np.abs(values[6])
    values[7, 9] = -values[7].max()  # two extreme values of opposite sign
    assert np.array_equal(rounded(NUMPY, values, name), kept(oracle, values, name))


@given(hnp.arrays(np.float32, (2, 32), elements=st.floats(allow_nan=False, allow_infinity=False, width=32)))
@example(np.full((2, 32), 3.4028234663852886e38, np.float32))
@example(np.full((2, 32), 1e-45, np.float32))
@example(np.full((2, 32), -(2.0**-126), np.float32))
def test_bf16_is_the_upper_half_of_float32(values: Floats) -> None:
    mine = rounded(NUMPY, values, "bf16")
    for value, made in zip(values.reshape(-1), mine.reshape(-1), strict=True):
        bits = int(value.view(np.uint32))
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        wanted = np.array(bits, np.uint32).view(np.float32)
        assert made == wanted


def test_bf16_keeps_what_is_no_number() -> None:
    values = np.array([[np.inf, -np.inf, np.nan, 0.0, -0.0] + [1.0] * 27], np.float32)
    made = rounded(NUMPY, values, "bf16")
    assert np.array_equal(made, values, equal_nan=True)


@given(hnp.arrays(np.float32, 32, elements=st.floats(-(2.0**100), 2.0**100, width=32)))
@example(np.zeros(32, np.float32))
@example(np.full(32, 2.0**-149, np.float32))
@example(np.linspace(-1e-38, 1e-38, 32, dtype=np.float32))
def test_q8_0_by_a_loop(values: Floats) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        made = rounded(NUMPY, values, "q8_0")
        largest = max(abs(value) for value in values)
        scale = np.float32(np.float16(largest / np.float32(127)))
        factor = np.float32(127) / largest if largest > 127 / 3.4028234663852886e38 else np.float32(0)
        wanted = [np.rint(value * factor) * scale for value in values]
    assert np.array_equal(made, np.array(wanted, np.float32), equal_nan=True)


@given(hnp.arrays(np.float32, 256, elements=st.floats(-1e6, 1e6, width=32)))
def test_q8_k_by_a_loop(values: Floats) -> None:
    made = rounded(NUMPY, values, "q8_K")
    extreme = np.float32(0)
    for value in values:
        if abs(value) > abs(extreme):
            extreme = value
    if abs(extreme) < 1e-35:
        assert not made.any() or np.abs(made).max() <= abs(extreme) * 1.01
        return
    scale = np.float32(-127) / extreme
    wanted = [np.float32(min(127, int(np.rint(scale * value)))) * (np.float32(1) / scale) for value in values]
    assert np.array_equal(made, np.array(wanted, np.float32))


@needs_wheel
def test_the_sums_that_q8_1_keeps(oracle: Oracle) -> None:
    values = np.random.default_rng(8).standard_normal((6, 96)).astype(np.float32) * 40
    values[2, :32] = 0.0
    data = oracle.from_float(DTYPES["q8_1"], values).reshape(6, 3, 36)
    sums = np.ascontiguousarray(data[..., 2:4]).view(np.float16).astype(np.float32)[..., 0]
    kept = rounded(NUMPY, values, "q8_1").reshape(6, 3, 32).sum(axis=2)
    lost = lost_sums(NUMPY, values)
    assert np.abs(kept + lost - sums).max() < 1e-4 * np.abs(sums).max()
    assert np.abs(kept - sums).max() > 1e-3 * np.abs(sums).min()
    assert not lost[2, 0]


def test_the_smallest_of_each_block() -> None:
    values = np.random.default_rng(8).standard_normal((2, 3, 64)).astype(np.float32)
    wanted = [[[min(row[:32]), min(row[32:])] for row in matrix] for matrix in values]
    assert np.array_equal(block_minima(NUMPY, values), np.array(wanted, np.float32))


@pytest.mark.parametrize("name", TYPES)
def test_rows_without_elements(name: str) -> None:
    assert rounded(NUMPY, np.empty((2, 0), np.float32), name).shape == (2, 0)


@pytest.mark.parametrize("name", ["q8_0", "q8_1", "q8_K"])
def test_blocks_do_not_know_of_each_other(name: str) -> None:
    block = DTYPES[name].block
    values = np.random.default_rng(2).standard_normal((3, 2 * block)).astype(np.float32)
    values[:, block:] *= 1000
    made = rounded(NUMPY, values, name)
    assert np.array_equal(made[:, :block], rounded(NUMPY, values[:, :block], name))
    assert np.abs(made - values)[:, :block].max() < 0.05
    assert not math.isclose(float(np.abs(made - values).max()), 0.0)
