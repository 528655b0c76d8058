"""What a kernel's check lets through, it computes: whatever shapes, types and op_params a file may hold."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from galloscope.core.backends.kernel import Call, Read
from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.dtypes import DTYPES, contiguous, nbytes
from galloscope.core.errors import InputError
from galloscope.core.op import Op
from galloscope.core.ops import float_word
from galloscope.core.tensor import Tensor
from galloscope.tests.core.backends.kernels.calls import CALLS
from galloscope.tests.core.backends.kernels.plain import NUMPY, Array, call_of

INTEGERS: dict[str, Any] = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
TYPES = ("f32", "f16", "bf16", "i32", "i64", "i8", "f64", "q8_0")
WORDS = (
    st.sampled_from((0, 1, 2, 3, 4, 8, 16, 24, 40, 512, 768, 1 << 20))
    | st.integers(-(1 << 31), (1 << 31) - 1)
    | st.sampled_from((-1.0, 0.0, 0.5, 1e9, 1e38, -1e-38, float("inf"), float("nan"))).map(float_word)
)


@cache
def calls(op: Op) -> list[Call]:
    return [call_of(example.node) for example in CALLS[op]()]


@st.composite
def changed(draw: st.DrawFn, tensor: Tensor) -> Tensor:
    """A tensor with another dimension or another type."""
    ne, dtype = list(tensor.ne), tensor.dtype
    if draw(st.booleans()):
        ne[draw(st.integers(0, 3))] = draw(st.integers(1, 6) | st.sampled_from((0, 32)))
    else:
        dtype = DTYPES[draw(st.sampled_from(TYPES))]
    if ne[0] % dtype.block:
        dtype = DTYPES["f32"]
    n0, n1, n2, n3 = ne
    shape = (n0, n1, n2, n3)
    nb = contiguous(dtype, shape)
    return msgspec.structs.replace(tensor, ne=shape, nb=nb, dtype=dtype, nbytes=nbytes(dtype, shape, nb))


@st.composite
def spoilt(draw: st.DrawFn) -> Call:
    """A valid call with something changed: the node, a source, a word of op_params, or a source gone."""
    op = draw(st.sampled_from(sorted(CALLS)))
    call = draw(st.sampled_from(calls(op)))
    node, sources = call.node, list(call.src)
    for _ in range(draw(st.integers(1, 3))):
        what = draw(st.sampled_from(("params", "node", "source", "absent", "both")))
        slot = draw(st.integers(0, max(0, len(sources) - 1)))
        one = sources[slot] if sources else None
        if what == "params":
            words = [*node.op_params, *[0] * (16 - len(node.op_params))]
            words[draw(st.integers(0, 15))] = draw(WORDS)
            node = msgspec.structs.replace(node, op_params=tuple(words))
        elif what == "node":
            node = draw(changed(node))
        elif what == "both" and one is not None:
            same = draw(changed(one))
            sources[slot] = same
            if node.ne == one.ne:
                node = msgspec.structs.replace(node, ne=same.ne, nb=same.nb, dtype=same.dtype, nbytes=same.nbytes)
        elif sources:
            sources[slot] = None if one is None or what == "absent" else draw(changed(one))
    return Call(node, tuple(sources))


def contents(tensor: Tensor, read: Read, data: st.DataObject) -> Array | None:
    if read is Read.NOT:
        return None
    shape = tensor.ne[::-1]
    if read is Read.BLOCKS:
        return np.zeros((*shape[:3], shape[3] // tensor.dtype.block, tensor.dtype.size), np.uint8)
    if tensor.dtype.name in INTEGERS:
        return np.full(shape, data.draw(st.sampled_from((0, 0, 1, 99, -1))), INTEGERS[tensor.dtype.name])
    return np.full(shape, data.draw(st.sampled_from((0.5, 0.0, -1e30, np.inf, np.nan))), np.float32)


@given(spoilt(), st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_what_passes_the_check_is_computed(call: Call, data: st.DataObject) -> None:
    kernel, node = KERNELS[call.node.op], call.node
    wrong = kernel.check(call)
    if wrong:
        event("refused")
        assert wrong[0].islower() or wrong[0].isdigit() or wrong[0] in "[-"
        assert not wrong.endswith(".")
        return
    event("computed")
    if 0 in node.ne:
        return  # the executor skips it
    reads = kernel.reads(call)
    assert len(reads) == len(call.src)
    sources = [None if one is None else contents(one, read, data) for one, read in zip(call.src, reads, strict=True)]
    try:
        with np.errstate(all="ignore"):
            result = kernel.compute(NUMPY, call, sources)
    except InputError:
        event("an id is out of range")
        return
    shape = node.ne[::-1]
    if kernel.rows_from >= 0:
        first = call.source(0)
        shape = first.ne[::-1]
    if result.ndim == 5:
        assert result.shape == (*shape[:3], shape[3] // node.dtype.block, node.dtype.size)
        assert result.dtype == np.uint8
    else:
        assert result.shape == shape
        assert result.dtype == INTEGERS.get(node.dtype.name, np.float32)
