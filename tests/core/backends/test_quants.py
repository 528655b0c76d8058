"""Bytes of quantised types to float32 and back, against the real ggml and against loops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from galloscope.core.backends.quants import QUANTIZED, SLICE, VEC_DOT, dequantize, quantize
from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.tests.core.backends.ggml_oracle import Oracle
from galloscope.tests.core.native.support import needs_wheel

BLOCKS = [dtype for dtype in DTYPES.values() if dtype.quantized]
NO_TO_FLOAT = ("q8_1", "q8_K")
"""ggml writes these and multiplies with them, and never reads them back."""


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as one:
        yield one


def values(seed: int, kind: str, *shape: int) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape).astype(np.float32)
    if kind == "ties":  # halves of the steps of many formats
        made = np.round(made * 4)
        made /= 4
    if kind == "scales":
        made *= (10.0 ** rng.uniform(-6, 4, (*shape[:-1], 1))).astype(np.float32)
    if kind == "few":
        made = np.round(made).clip(-1, 1)
    return made


@needs_wheel
@pytest.mark.parametrize("dtype", [one for one in BLOCKS if one.name not in NO_TO_FLOAT], ids=lambda one: one.name)
def test_any_bytes_mean_what_they_mean_in_ggml(oracle: Oracle, dtype: object) -> None:
    assert isinstance(dtype, type(DTYPES["f32"]))
    data = np.random.default_rng(dtype.id).integers(0, 256, (3, 40, dtype.size), np.uint8)
    mine = dequantize(data, dtype)
    real = oracle.to_float(dtype, data.reshape(3, -1))
    assert mine.shape == (3, 40 * dtype.block)
    assert mine.dtype == np.float32
    same = (mine.view(np.uint32) == real.view(np.uint32)) | (np.isnan(mine) & np.isnan(real))
    assert same.all()


@needs_wheel
@pytest.mark.parametrize("kind", ["normal", "ties", "scales", "few"])
@pytest.mark.parametrize("name", QUANTIZED)
def test_values_become_the_bytes_of_ggml(oracle: Oracle, name: str, kind: str) -> None:
    dtype = DTYPES[name]
    given_values = values(1, kind, 50, 4 * dtype.block)
    mine = quantize(given_values, dtype)
    assert mine.shape == (50, 4, dtype.size)
    assert np.array_equal(mine.reshape(50, -1), oracle.from_float(dtype, given_values))


@needs_wheel
@pytest.mark.parametrize("name", QUANTIZED)
def test_zeros_become_zeros(oracle: Oracle, name: str) -> None:
    dtype = DTYPES[name]
    mine = quantize(np.zeros((2, dtype.block), np.float32), dtype)
    assert not dequantize(mine, dtype).any()
    if name != "iq4_nl":  # there ggml leaves the integers of the block before, times a scale of 0
        assert np.array_equal(mine.reshape(2, -1), oracle.from_float(dtype, np.zeros((2, dtype.block), np.float32)))


def test_q8_1_and_q8_k_by_hand() -> None:
    q8_1 = np.zeros((1, 36), np.uint8)
    q8_1[0, :2] = np.array([0.5], np.float16).view(np.uint8)
    q8_1[0, 2:4] = 0xFF  # the sum of the block is not a part of any value
    q8_1[0, 4:] = np.arange(-16, 16, dtype=np.int8).view(np.uint8)
    assert np.array_equal(dequantize(q8_1, DTYPES["q8_1"]), np.arange(-16, 16, dtype=np.float32) / 2)
    q8_k = np.zeros((2, 292), np.uint8)
    q8_k[:, :4] = np.array([[0.25], [-3.0]], np.float32).view(np.uint8)
    q8_k[:, 4:260] = np.arange(-128, 128).astype(np.int8).view(np.uint8)
    wanted = [d * i for d in (0.25, -3.0) for i in range(-128, 128)]
    assert np.array_equal(dequantize(q8_k, DTYPES["q8_K"]), np.array(wanted, np.float32))


@given(
    st.sampled_from(["q8_0", "q5_0", "q5_1", "q4_0", "q4_1"]),
    hnp.arrays(np.float32, (3, 64), elements=st.floats(-100, 100, width=32)),
)
def test_no_value_moves_by_more_than_a_step(name: str, given_values: npt.NDArray[np.float32]) -> None:
    back = dequantize(quantize(given_values, DTYPES[name]), DTYPES[name])
    blocks = given_values.reshape(3, 2, 32)
    levels = {"q8_0": 127, "q5_0": 16, "q5_1": 31, "q4_0": 8, "q4_1": 15}[name]
    spread = np.ptp(blocks, axis=2) if name.endswith("1") else np.abs(blocks).max(axis=2)
    # the end that the format lacks is a whole step away; scale and minimum are rounded to float16
    allowed = spread / levels * 1.01 + 100 * 2.0**-11 + 1e-4
    assert (np.abs(back - given_values).reshape(3, 2, 32) <= allowed[..., None]).all()


@pytest.mark.parametrize("name", ["q8_0", "q4_K", "q1_0"])
def test_slices_join_without_a_seam(name: str) -> None:
    dtype = DTYPES[name]
    count = SLICE // dtype.block
    data = np.random.default_rng(0).integers(0, 60, (2 * count + 3, dtype.size), np.uint8)
    whole = dequantize(data, dtype).reshape(-1, dtype.block)
    for at in (0, count - 1, count, 2 * count, 2 * count + 2):
        assert np.array_equal(whole[at], dequantize(data[at : at + 1], dtype), equal_nan=True)
    if name in QUANTIZED:
        again = quantize(whole[: count + 1].reshape(-1), dtype)
        assert np.array_equal(again[-1], quantize(whole[count], dtype)[0])


def test_nothing_is_nothing() -> None:
    assert dequantize(np.empty((0, 5, 34), np.uint8), DTYPES["q8_0"]).shape == (0, 160)
    assert quantize(np.empty((0, 64), np.float32), DTYPES["q8_0"]).shape == (0, 2, 34)


@pytest.mark.parametrize("name", ["f32", "q4_K", "iq2_xxs", "i32"])
def test_a_type_that_nothing_is_written_as(name: str) -> None:
    with pytest.raises(InputError, match=f"cannot be written as {name}, only as iq4_nl, mxfp4"):
        quantize(np.zeros((1, 256), np.float32), DTYPES[name])


@pytest.mark.parametrize("name", ["f32", "i32", "f64"])
def test_a_type_without_blocks_is_not_dequantised(name: str) -> None:
    with pytest.raises(InputError, match=f"type {name} is not a quantised one"):
        dequantize(np.zeros((1, DTYPES[name].size), np.uint8), DTYPES[name])


def test_every_factor_is_a_float_type_or_has_blocks() -> None:
    assert set(VEC_DOT) <= set(DTYPES)
    assert set(VEC_DOT.values()) == {"f32", "f16", "bf16", "q8_0", "q8_1", "q8_K"}
    assert {dtype.name for dtype in BLOCKS} - set(VEC_DOT) == set(NO_TO_FLOAT)
    for name, vec_dot in VEC_DOT.items():
        assert DTYPES[name].block % DTYPES[vec_dot].block == 0 or DTYPES[vec_dot].block == 1
