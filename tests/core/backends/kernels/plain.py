"""References written as plain loops over ne, and small data for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from galloscope.core.backends.kernel import Call
from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.backends.maths import Maths
from galloscope.core.dtypes import DTYPES
from galloscope.core.op import Op
from galloscope.core.ops import Context, Lazy, float_word, new_tensor

Array = npt.NDArray[Any]
Index = tuple[int, ...]


def half(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


NUMPY = Maths(np, half)
EXACT = Maths(np, half, exact=True)


def leaf(*ne: int, dtype: str = "f32") -> Lazy:
    return new_tensor(DTYPES[dtype], *ne)


def node(
    op: Op, ne: tuple[int, ...], *src: Lazy | None, params: tuple[int | float, ...] = (), dtype: str = "f32"
) -> Lazy:
    """A node that no constructor makes; numbers with a point go to op_params as floats."""
    words = tuple(float_word(p) if isinstance(p, float) else p for p in params)
    return new_tensor(DTYPES[dtype], *ne).become(op, *src, params=words)


def call_of(lazy: Lazy) -> Call:
    context = Context()
    context.expand(lazy)
    graph, ids = context.finish([f"t{i}" for i in range(len(context.members()))])
    sources = tuple(None if one is None else graph.tensors[ids[one]] for one in lazy.src)
    return Call(graph.tensors[ids[lazy]], sources)


def wrong(lazy: Lazy) -> str:
    """What the kernel has against a node."""
    return KERNELS[lazy.op].check(call_of(lazy))


def computed(lazy: Lazy, *sources: Array | None, maths: Maths = NUMPY) -> Array:
    """The kernel's result; no source may change and the shape must be the node's."""
    call, kernel = call_of(lazy), KERNELS[lazy.op]
    assert kernel.check(call) == ""
    before = [None if one is None else one.copy() for one in sources]
    with np.errstate(all="ignore"):
        result = kernel.compute(maths, call, list(sources))
    for old, new in zip(before, sources, strict=True):
        assert old is None or new is None or np.array_equal(old, new, equal_nan=True), "a kernel wrote to a source"
    if kernel.rows_from < 0:
        assert result.shape[:3] == call.node.ne[:0:-1]
    return np.asarray(result)


def data(lazy: Lazy, seed: int = 0, scale: float = 1.0) -> Array:
    """Normally distributed float32 for a tensor, shape ne reversed."""
    return (np.random.default_rng(seed).standard_normal(lazy.ne[::-1]) * scale).astype(np.float32)


def whole(lazy: Lazy, low: int, high: int, seed: int = 0, dtype: Any = np.int32) -> Array:
    """Integers from low to high - 1."""
    return np.random.default_rng(seed).integers(low, high, lazy.ne[::-1]).astype(dtype)


def everywhere(shape: Index) -> Iterator[Index]:
    return itertools.product(*map(range, shape))


def table(shape: Index, function: Callable[[Index], float]) -> Array:
    """function(i3, i2, i1, i0) of each element, in double."""
    result = np.empty(shape, np.float64)
    for index in everywhere(shape):
        result[index] = function(index)
    return result


def wrapped(index: Index, shape: Index) -> Index:
    """Where a source that repeats has what belongs to an index."""
    return tuple(i % n for i, n in zip(index, shape, strict=True))


def off(mine: Array, wanted: Array) -> float:
    """The largest difference, relative to the largest value; NaNs and infinities must be the same."""
    assert mine.shape == wanted.shape
    same = (mine == wanted) | (np.isnan(mine) & np.isnan(wanted))
    if same.all():
        return 0.0
    assert np.isfinite(mine[~same]).all()
    assert np.isfinite(wanted[~same]).all()
    finite = np.abs(wanted[np.isfinite(wanted)])
    return float(np.max(np.abs(mine - wanted)[~same]) / (np.max(finite) or 1.0))
