"""Softmax with mask, ALiBi and sinks, its way back, and cross entropy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.backends.kernels.softmax import slopes
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import Array, computed, data, everywhere, leaf, node, off, wrong


def slope(head: int, heads: int, bias: float) -> float:
    """ALiBi as ggml_compute_forward_soft_max_f32 has it."""
    if bias <= 0.0:
        return 1.0
    power = 2 ** math.floor(math.log2(heads))
    if head < power:
        return float((2.0 ** (-bias / power)) ** (head + 1))
    return float((2.0 ** (-bias / 2.0 / power)) ** (2 * (head - power) + 1))


def reference(x: Array, mask: Array | None, sinks: Array | None, scale: float, bias: float) -> Array:
    result = np.empty(x.shape)
    for i3, i2, i1 in everywhere(x.shape[:3]):
        row = [float(v) * scale for v in x[i3, i2, i1]]
        if mask is not None:
            factor = slope(i2, x.shape[1], bias)
            masked = mask[i3 % mask.shape[0], i2 % mask.shape[1], i1]
            row = [v + factor * float(m) for v, m in zip(row, masked, strict=True)]
        extra = [] if sinks is None else [float(sinks[0, 0, 0, i2])]
        largest = max(row + extra)
        shares = [math.exp(v - largest) for v in row + extra]
        result[i3, i2, i1] = [share / sum(shares) for share in shares[: len(row)]]
    return result


@given(
    st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2)),
    st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(0, 2)),
    st.sampled_from((0.0, 4.0, 8.0)),
    st.booleans(),
    st.sampled_from(("", "f32", "f16")),
    st.integers(0, 99),
)
@settings(deadline=None, max_examples=80)
def test_rows_become_shares(
    sizes: tuple[int, ...], times: tuple[int, ...], bias: float, with_sinks: bool, mask_type: str, seed: int
) -> None:
    n0, n1, n2, n3 = sizes
    a = leaf(n0, n1, n2 * times[0], n3 * times[1])
    mask = leaf(n0, n1 + times[2], n2, n3, dtype=mask_type) if mask_type else None
    lazy = ops.soft_max_ext(a, mask, 0.3, bias if mask_type else 0.0)
    x, m, s = data(a, seed, 3.0), None, None
    if mask is not None:
        m = data(mask, seed + 1).astype(np.float16).astype(np.float32)
        m[:, :, :, 1::2] = -np.inf
    sources = [x, m]
    if with_sinks:
        ops.soft_max_add_sinks(lazy, leaf(a.ne[2]))
        s = data(leaf(a.ne[2]), seed + 2)
        sources.append(s)
    assert off(computed(lazy, *sources), reference(x, m, s, 0.3, bias)) < 1e-6


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12])
def test_slopes_of_alibi(heads: int) -> None:
    for head, found in enumerate(slopes(heads, 8.0)):
        assert found == pytest.approx(slope(head, heads, 8.0), rel=1e-6)
    assert slopes(heads, 0.0) == [1.0] * heads


def test_the_way_back() -> None:
    a = leaf(5, 3)
    gradient, y = data(a, 1), data(a, 2)
    wanted = np.empty(y.shape)
    for i1 in range(3):
        pairs = [(float(g), float(v)) for g, v in zip(gradient[0, 0, i1], y[0, 0, i1], strict=True)]
        dot = sum(g * v for g, v in pairs)
        wanted[0, 0, i1] = [0.5 * (g - dot) * v for g, v in pairs]
    assert off(computed(node(Op.SOFT_MAX_BACK, a.ne, a, a, params=(0.5, 0.0)), gradient, y), wanted) < 1e-6


def test_cross_entropy() -> None:
    a = leaf(5, 3, 2)
    x, wanted = data(a, 1), np.abs(data(a, 2))
    total = 0.0
    for index in everywhere(x.shape[:3]):
        log = math.log(sum(math.exp(v) for v in x[index]))
        total += sum((float(v) - log) * float(w) for v, w in zip(x[index], wanted[index], strict=True))
    result = computed(node(Op.CROSS_ENTROPY_LOSS, (1,), a, a), x, wanted)
    assert result.reshape(-1).tolist() == pytest.approx([-total / 6], rel=1e-6)


def with_sinks(count: int) -> Lazy:
    return node(Op.SOFT_MAX, (4, 2, 3), leaf(4, 2, 3), None, leaf(count), params=(1.0,))


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (node(Op.SOFT_MAX, (4, 3), leaf(4, 3), leaf(4, 2), params=(1.0,)), "the mask [4, 2] does not cover [4, 3]"),
        (node(Op.SOFT_MAX, (4, 3), leaf(4, 3), leaf(5, 3), params=(1.0,)), "the mask [5, 3] does not cover [4, 3]"),
        (node(Op.SOFT_MAX, (4, 1, 3), leaf(4, 1, 3), leaf(4, 1, 2)), "the mask [4, 1, 2] does not cover [4, 1, 3]"),
        (node(Op.SOFT_MAX, (4,), leaf(4), leaf(4, dtype="bf16")), "the mask is of type bf16, not f32 or f16"),
        (node(Op.SOFT_MAX, (4,), leaf(4), params=(1.0, 8.0)), "a bias of 8.0 has no mask to go with"),
        (with_sinks(2), "the sinks are f32 [2], not one float for each of 3 heads"),
        (node(Op.SOFT_MAX_BACK, (4,), leaf(4), leaf(4), params=(1.0, 8.0)), "no way back through a bias of 8.0"),
        (node(Op.CROSS_ENTROPY_LOSS, (1,), leaf(4), leaf(5)), "[4] is not compared with [5]"),
        (node(Op.CROSS_ENTROPY_LOSS, (2,), leaf(4), leaf(4)), "the result is [2], not one number"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)
