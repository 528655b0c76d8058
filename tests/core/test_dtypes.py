"""The type table against the real library, strides and sizes against plain counting."""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.benchmarks import ggml_abi
from galloscope.core.dtypes import DTYPES, contiguous, nbytes


@pytest.mark.skipif(not ggml_abi.available(), reason="the xllamacpp wheel is not installed")
def test_every_type_of_the_library_is_here_and_equal() -> None:
    library = ggml_abi.load()
    for name, result in (("type_name", ctypes.c_char_p), ("type_size", ctypes.c_size_t), ("blck_size", ctypes.c_int64)):
        getattr(library, f"ggml_{name}").restype = result
    library.ggml_is_quantized.restype = ctypes.c_bool
    known = {dtype.id: dtype for dtype in DTYPES.values()}
    for number in range(43):
        if not library.ggml_blck_size(number):
            assert number not in known, "a removed type"
            continue
        dtype = known[number]
        assert dtype.name == library.ggml_type_name(number).decode()
        assert dtype.block == library.ggml_blck_size(number)
        assert dtype.size == library.ggml_type_size(number)
        assert dtype.quantized == library.ggml_is_quantized(number)


@given(
    st.sampled_from(sorted(DTYPES)),
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 4), st.integers(0, 3)),
)
def test_contiguous_bytes_are_blocks_times_size(name: str, counts: tuple[int, int, int, int]) -> None:
    dtype = DTYPES[name]
    ne = (counts[0] * dtype.block, *counts[1:])
    assert nbytes(dtype, ne, contiguous(dtype, ne)) == counts[0] * counts[1] * counts[2] * counts[3] * dtype.size


@given(
    st.tuples(*[st.integers(1, 4)] * 4),
    st.permutations([0, 1, 2, 3]),
)
def test_a_permuted_tensor_spans_to_its_last_element(ne: tuple[int, int, int, int], axes: list[int]) -> None:
    dtype = DTYPES["f16"]
    plain = contiguous(dtype, ne)
    shape = [0, 0, 0, 0]
    strides = [0, 0, 0, 0]
    for i, axis in enumerate(axes):
        shape[axis], strides[axis] = ne[i], plain[i]
    last = sum((shape[i] - 1) * strides[i] for i in range(4)) + dtype.size
    assert (
        nbytes(dtype, (shape[0], shape[1], shape[2], shape[3]), (strides[0], strides[1], strides[2], strides[3]))
        == last
    )
