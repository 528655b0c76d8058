"""SOLVE_TRI (ggml-cpu/ops.cpp)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import not_float, result_differs
from .wanted import first, wrong_source


def _solve_tri(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """X of A X = B for a lower triangular A, row after row."""
    xp = maths.xp
    a, b = sources
    x = xp.empty(b.shape, dtype=xp.float32)
    for i in range(b.shape[2]):
        known = xp.matmul(a[:, :, i : i + 1, :i], x[:, :, :i, :])
        x[:, :, i : i + 1, :] = (b[:, :, i : i + 1, :] - known) / a[:, :, i : i + 1, i : i + 1]
    return x


def _check(call: Call) -> str:
    return not_float(call, 0, 1) or first(_wrong(call))


def _wrong(call: Call) -> Iterator[str]:
    b = call.source(1).ne
    yield wrong_source(call, 0, (b[1], b[1], b[2], b[3]))
    yield result_differs(call, b, "source 1")


SOLVE_TRI = Kernel(_solve_tri, _check)
