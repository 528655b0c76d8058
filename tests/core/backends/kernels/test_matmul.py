"""MUL_MAT, MUL_MAT_ID and OUT_PROD against sums in plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.backends.rounding import lost_sums, rounded
from galloscope.core.errors import InputError
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import (
    EXACT,
    NUMPY,
    Array,
    computed,
    data,
    leaf,
    node,
    off,
    table,
    whole,
    wrong,
)


def product(weights: Array, rows: Array) -> Array:
    """Element by element, in double; weights repeat over the first two axes of rows."""
    n3, n2, n, k = rows.shape
    r3, r2 = n3 // weights.shape[0], n2 // weights.shape[1]

    def element(index: tuple[int, ...]) -> float:
        i3, i2, i1, i0 = index
        return sum(float(weights[i3 // r3, i2 // r2, i0, j]) * float(rows[i3, i2, i1, j]) for j in range(k))

    return table((n3, n2, n, weights.shape[2]), element)


@given(
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.tuples(st.integers(1, 2), st.integers(1, 3)),
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 5)),
)
def test_each_matrix_meets_the_heads_that_share_it(
    own: tuple[int, int], repeat: tuple[int, int], size: tuple[int, int, int]
) -> None:
    m, n, k = size
    a = leaf(k, m, *own)
    b = leaf(k, n, own[0] * repeat[0], own[1] * repeat[1])
    weights, rows = data(a, 1), data(b, 2)
    assert off(computed(ops.mul_mat(a, b), weights, rows), product(weights, rows)) < 1e-6


@pytest.mark.parametrize(
    ("dtype", "vec_dot"), [("f32", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("q8_0", "q8_0"), ("q6_K", "q8_K")]
)
def test_rows_are_rounded_as_the_weights_ask(dtype: str, vec_dot: str) -> None:
    a, b = leaf(256, 3, dtype=dtype), leaf(256, 2)
    weights, rows = data(a, 1), data(b, 2)
    lazy = ops.mul_mat(a, b)
    kept = rounded(NUMPY, rows, vec_dot)
    assert off(computed(lazy, weights, rows), product(weights, kept)) < 1e-6
    assert off(computed(lazy, weights, rows, maths=EXACT), product(weights, rows)) < 1e-6
    assert (off(product(weights, kept), product(weights, rows)) > 1e-5) is (dtype != "f32")


@pytest.mark.parametrize("per_token", [0, 1])
def test_the_minimum_of_a_block_meets_the_sum_that_q8_1_keeps(per_token: int) -> None:
    rng = np.random.default_rng(5)
    integers = rng.integers(0, 16, (1, 1, 3, 64))
    integers[..., ::32] = 0
    scale, low = 0.25, -1.75
    weights = (scale * integers + low).astype(np.float32)
    a, b = leaf(64, 3, dtype="q4_1"), leaf(64, 2)
    rows = data(b, 2)
    kept = rounded(NUMPY, rows, "q8_1")
    sums = kept.reshape(2, 2, 32).sum(axis=2) + lost_sums(NUMPY, rows).reshape(2, 2)
    wanted = product((scale * integers).astype(np.float32), kept) + low * sums.sum(axis=1)[None, None, :, None]
    if per_token:
        ids = np.zeros((1, 1, 2, 1), np.int32)
        lazy = ops.mul_mat_id(leaf(64, 3, 1, dtype="q4_1"), leaf(64, 1, 2), leaf(1, 2, dtype="i32"))
        made = computed(lazy, weights, rows.reshape(1, 2, 1, 64), ids).reshape(1, 1, 2, 3)
    else:
        made = computed(ops.mul_mat(a, b), weights, rows)
    assert off(made, wanted) < 1e-6
    assert off(product(weights, kept), wanted) > 1e-5


def test_rows_of_another_type_are_not_rounded_again() -> None:
    a, b = leaf(32, 3, dtype="q8_0"), leaf(32, 2, dtype="f16")
    weights, rows = data(a, 1), data(b, 2)
    assert off(computed(ops.mul_mat(a, b), weights, rows), product(weights, rows)) < 1e-6


def test_a_hadamard_matrix_rounds_nothing() -> None:
    a, b = leaf(4, 4, dtype="f16"), leaf(4, 2)
    lazy = ops.mul_mat(a, b)
    ops.mul_mat_set_hint(lazy, 1)
    signs = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]
    weights = (np.array(signs, np.float32) / 2).reshape(1, 1, 4, 4)
    rows = data(b, 2)
    assert off(computed(lazy, weights, rows), product(weights, rows)) < 1e-7


def by_expert(experts: Array, rows: Array, ids: Array) -> Array:
    """Token by token and slot by slot."""
    _, n_tokens, per_token, k = rows.shape
    used = ids.shape[3]

    def element(index: tuple[int, ...]) -> float:
        _, t, u, i0 = index
        expert, row = experts[0, ids[0, 0, t, u], i0], rows[0, t, u % per_token]
        return sum(float(expert[j]) * float(row[j]) for j in range(k))

    return table((1, n_tokens, used, experts.shape[2]), element)


def routed(per_token: int, used: int, tokens: int, experts: int, dtype: str = "f32") -> tuple[Lazy, list[Array]]:
    a, b, ids = leaf(32, 3, experts, dtype=dtype), leaf(32, per_token, tokens), leaf(used, tokens, dtype="i32")
    return ops.mul_mat_id(a, b, ids), [data(a, 1), data(b, 2), whole(ids, 0, experts, 3)]


@given(st.booleans(), st.integers(1, 3), st.integers(1, 5), st.integers(1, 6))
def test_each_token_meets_its_experts(shared: bool, used: int, tokens: int, experts: int) -> None:
    lazy, sources = routed(1 if shared else used, used, tokens, experts)
    assert off(computed(lazy, *sources), by_expert(sources[0], sources[1], sources[2])) < 1e-6


def test_rows_for_experts_are_rounded() -> None:
    lazy, (experts, rows, ids) = routed(2, 2, 5, 4, "q4_0")
    wanted = by_expert(experts, rounded(NUMPY, rows, "q8_0"), ids)
    assert off(computed(lazy, experts, rows, ids), wanted) < 1e-6


@pytest.mark.parametrize("bad", [4, -1, 99])
def test_an_expert_that_is_not_there(bad: int) -> None:
    lazy, (experts, rows, ids) = routed(1, 2, 3, 4)
    ids[0, 0, 1, 1] = bad
    with pytest.raises(InputError, match=f"^expert id {bad} is outside of the 4 experts of source 0$"):
        computed(lazy, experts, rows, ids)


def test_sums_over_columns() -> None:
    a, b = leaf(4, 3, 1, 2), leaf(5, 3, 2, 2)
    left, right = data(a, 1), data(b, 2)

    def element(index: tuple[int, ...]) -> float:
        i3, i2, i1, i0 = index
        return sum(float(left[i3, 0, j, i0]) * float(right[i3, i2, j, i1]) for j in range(3))

    made = computed(ops.out_prod(a, b), left, right)
    assert off(made, table((2, 2, 5, 4), element)) < 1e-6


@pytest.mark.parametrize(
    ("lazy", "why"),
    [
        (node(Op.MUL_MAT, (3, 2), leaf(64, 3), leaf(32, 2)), "rows of source 0 (64) and source 1 (32) differ"),
        (node(Op.MUL_MAT, (3, 2, 3), leaf(8, 3, 2), leaf(8, 2, 3)), "source 0 [8, 3, 2] does not repeat over"),
        (node(Op.MUL_MAT, (3, 2, 2), leaf(8, 3, 0), leaf(8, 2, 2)), "source 0 [8, 3, 0] does not repeat over"),
        (node(Op.MUL_MAT, (3, 2), leaf(32, 3, dtype="q8_1"), leaf(32, 2)), "source 0 is of type q8_1, which cannot"),
        (node(Op.MUL_MAT, (3, 2), leaf(8, 3, dtype="i32"), leaf(8, 2)), "source 0 is of type i32, where a float"),
        (node(Op.MUL_MAT, (2, 3), leaf(8, 3), leaf(8, 2)), "the result is [2, 3], not [3, 2]"),
        (node(Op.MUL_MAT, (3, 2), leaf(8, 3), None), "source 1 is missing"),
        (node(Op.MUL_MAT, (3, 8), ops.transpose(leaf(3, 8)), leaf(8, 8)), "source 0 is transposed"),
        (node(Op.OUT_PROD, (3, 2), leaf(3, 4), leaf(2, 5)), "columns of source 0 (4) and source 1 (5) differ"),
        (node(Op.OUT_PROD, (3, 2), leaf(3, 4), leaf(2, 4), dtype="i32"), "the result is of type i32, where a float"),
        (
            node(Op.MUL_MAT_ID, (3, 2, 4), leaf(8, 3, 5), leaf(8, 3, 4), leaf(2, 4, dtype="i32")),
            "the 3 rows of a token in source 1 do not repeat over its 2 ids",
        ),
        (
            node(Op.MUL_MAT_ID, (3, 2, 4), leaf(8, 3, 5), leaf(8, 1, 4), leaf(2, 3, dtype="i32")),
            "source 2 has ids for 3 tokens and source 1 has 4",
        ),
        (node(Op.MUL_MAT_ID, (3, 2, 4), leaf(8, 3, 5), leaf(8, 1, 4)), "source 2 is missing"),
        (node(Op.MUL_MAT_ID, (3, 2, 4), leaf(8, 3, 5), leaf(8, 1, 4), leaf(2, 4)), "source 2 is of type f32, not i32"),
    ],
)  # fmt: skip
def test_what_does_not_fit(lazy: Lazy, why: str) -> None:
    assert wrong(lazy).startswith(why)
