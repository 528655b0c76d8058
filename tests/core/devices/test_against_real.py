"""Against the real ggml of the wheel: the predicates about strides, and what its CPU device says it supports."""

import ctypes as C
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.benchmarks import ggml_abi as abi
from galloscope.core.devices.cpu import CPU, DOT_TYPES
from galloscope.core.devices.seen import Seen, see
from galloscope.core.dtypes import DTYPES, contiguous
from galloscope.core.op import Op

pytestmark = pytest.mark.skipif(not abi.available(), reason="the xllamacpp wheel is not installed")

PREDICATES = {
    "ggml_is_contiguous": Seen.is_contiguous,
    "ggml_is_contiguous_1": Seen.is_contiguous_1,
    "ggml_is_contiguous_2": Seen.is_contiguous_2,
    "ggml_is_contiguous_rows": Seen.is_contiguous_rows,
    "ggml_is_contiguous_channels": Seen.is_contiguous_channels,
    "ggml_is_contiguously_allocated": Seen.is_contiguously_allocated,
    "ggml_is_permuted": Seen.is_permuted,
    "ggml_is_transposed": Seen.is_transposed,
    "ggml_is_empty": Seen.is_empty,
}
RULED = [op for op in CPU.rules if op is not Op.NONE]


class Real:
    """The library, and tensors in memory of ours that it can look at."""

    def __init__(self) -> None:
        """Load it and find its CPU device."""
        self.library = library = abi.load()
        for name in PREDICATES:
            getattr(library, name).restype = C.c_bool
            getattr(library, name).argtypes = (C.c_void_p,)
        library.ggml_backend_cpu_reg.restype = C.c_void_p
        library.ggml_backend_reg_dev_get.restype = C.c_void_p
        library.ggml_backend_reg_dev_get.argtypes = (C.c_void_p, C.c_size_t)
        library.ggml_backend_dev_supports_op.restype = C.c_bool
        library.ggml_backend_dev_supports_op.argtypes = (C.c_void_p, C.c_void_p)
        library.ggml_n_dims.argtypes = (C.c_void_p,)
        self.cpu = library.ggml_backend_reg_dev_get(library.ggml_backend_cpu_reg(), 0)
        self.kept: list[abi.Tensor] = []

    def tensor(self, seen: Seen) -> int:
        """The address of a ggml_tensor like it."""
        made = abi.Tensor(type=seen.dtype.id, op=list(Op).index(seen.op), flags=seen.flags)
        made.ne[:] = seen.ne
        made.nb[:] = seen.nb
        made.op_params[: len(seen.op_params)] = seen.op_params
        for slot, source in enumerate(seen.src):
            made.src[slot] = None if source is None else self.tensor(source)
        self.kept.append(made)
        return C.addressof(made)


@pytest.fixture(scope="module")
def real() -> Real:
    return Real()


@st.composite
def tensors(draw: st.DrawFn, types: Sequence[str] = tuple(DTYPES), smallest: int = 0) -> Seen:
    """A tensor with packed, stretched or permuted strides."""
    dtype = DTYPES[draw(st.sampled_from(types))]
    counts = draw(st.tuples(*[st.integers(smallest, 3)] * 4))
    ne = (counts[0] * dtype.block, *counts[1:])
    nb = list(contiguous(dtype, ne))
    if draw(st.booleans()):
        at = draw(st.integers(0, 3))
        nb[at:] = [2 * step for step in nb[at:]]
    order = draw(st.permutations(range(4))) if draw(st.booleans()) else range(4)
    return see(Op.NONE, dtype.name, [ne[i] for i in order], nb=[nb[i] for i in order])


@given(tensors())
def test_predicates(real: Real, seen: Seen) -> None:
    address = real.tensor(seen)
    for name, ours in PREDICATES.items():
        if name == "ggml_is_contiguously_allocated" and seen.ne[0] % seen.dtype.block:
            continue  # ggml_nbytes of such a tensor is no whole number of blocks
        assert ours(seen) == getattr(real.library, name)(address), name
    assert seen.n_dims == real.library.ggml_n_dims(address)
    real.kept.clear()


@given(st.sampled_from(RULED), st.data())
def test_cpu_device(real: Real, op: Op, data: st.DataObject) -> None:
    usual = ("f32", "f16", "bf16", "q4_0", "q8_0", "iq2_s")
    src = [data.draw(tensors(usual, 1)) for _ in range(5)]
    result = data.draw(tensors(usual, 1))
    params = data.draw(st.lists(st.sampled_from((0, 1, 2)), max_size=4))
    seen = see(op, result.type, result.ne, *src, nb=result.nb, params=params)
    wanted = real.library.ggml_backend_dev_supports_op(real.cpu, real.tensor(seen))
    assert (CPU.supports(seen) == "") == wanted
    real.kept.clear()


@pytest.mark.parametrize("a", sorted({*DOT_TYPES, "f32"}))
def test_what_rows_are_multiplied_with(real: Real, a: str) -> None:
    for b in ("f32", "f16", "bf16", "q8_0", "q8_1", "q8_K", "q4_0"):
        seen = see(Op.MUL_MAT, "f32", (8, 8), see(Op.NONE, a, (256, 8)), see(Op.NONE, b, (256, 8)))
        wanted = real.library.ggml_backend_dev_supports_op(real.cpu, real.tensor(seen))
        assert (CPU.supports(seen) == "") == wanted, b
    real.kept.clear()
