"""FLASH_ATTN_EXT against attention written out in loops."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.backends.kernels import attention
from galloscope.core.backends.kernels.attention import alibi_slopes
from galloscope.core.backends.rounding import rounded
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import (
    EXACT,
    NUMPY,
    Array,
    computed,
    data,
    everywhere,
    half,
    leaf,
    node,
    off,
    wrong,
)


class Case(NamedTuple):
    """A node and its sources: queries, keys, values, mask, sinks."""

    lazy: Lazy
    sources: list[Array]


def case(
    n: int = 3, cells: int = 7, heads: int = 4, kv_heads: int = 2, v_heads: int = 2, streams: int = 1,
    kv: str = "f32", mask: tuple[int, int] | None = (1, 1), bias: float = 0.0, cap: float = 0.0, sinks: bool = False,
) -> Case:  # fmt: skip
    q = leaf(32, n, heads, streams)
    k, v = leaf(32, cells, kv_heads, streams, dtype=kv), leaf(64, cells, v_heads, streams, dtype=kv)
    seen = None if mask is None else leaf(cells, n, *mask, dtype="f16")
    lazy = ops.flash_attn_ext(q, k, v, seen, 0.3, bias, cap)
    keys, values = data(k, 2), data(v, 3)
    if kv == "f16":
        keys, values = half(keys), half(values)
    sources: list[Array] = [data(q, 1), keys, values]
    hidden = np.zeros((1, 1, n, cells)) if seen is None else np.random.default_rng(4).random(seen.ne[::-1])
    if seen is not None:
        sources.append(half(np.where(hidden > 0.7, -np.inf, -hidden).astype(np.float32)))
    if sinks:
        lazy = lazy if seen is not None else lazy.become(Op.FLASH_ATTN_EXT, q, k, v, None, params=lazy.op_params)
        ops.flash_attn_ext_add_sinks(lazy, leaf(heads))
        sources.append(data(leaf(heads), 5))
    return Case(lazy, sources)


def attended(one: Case, bias: float = 0.0, cap: float = 0.0, query: Array | None = None) -> Array:
    """Softmax over the cells, head by head and query by query, in double."""
    q, k, v = one.sources[:3]
    q = q if query is None else query
    has_mask = one.lazy.src[3] is not None
    mask = one.sources[3] if has_mask else np.zeros((1, 1, q.shape[2], k.shape[2]))
    sinks = one.sources[-1] if len(one.lazy.src) > 4 else None
    streams, heads, n, _ = q.shape
    slopes = alibi_slopes(heads, bias)
    result = np.zeros((streams, n, heads, v.shape[3]))
    for s, h, i in everywhere((streams, heads, n)):
        ratio_k, ratio_v = heads // k.shape[1], heads // v.shape[1]
        scores = []
        for c in range(k.shape[2]):
            score = 0.3 * float(np.dot(q[s, h, i].astype(np.float64), k[s, h // ratio_k, c].astype(np.float64)))
            score = cap * math.tanh(score / cap) if cap else score
            scores.append(score + slopes[h] * float(mask[s % mask.shape[0], h % mask.shape[1], i, c]))
        sink = [] if sinks is None else [float(sinks[0, 0, 0, h])]
        most = max([*scores, *sink])
        if most == -math.inf:
            continue
        total = sum(math.exp(score - most) for score in [*scores, *sink])
        for c, score in enumerate(scores):
            result[s, i, h] += math.exp(score - most) / total * v[s, h // ratio_v, c].astype(np.float64)
    return result


VARIANTS = [
    {},
    {"n": 1, "cells": 12},
    {"n": 66, "cells": 5},
    {"streams": 2, "mask": (1, 2)},
    {"streams": 2, "mask": (2, 1)},
    {"heads": 4, "mask": (4, 1)},
    {"v_heads": 4},
    {"v_heads": 1, "kv_heads": 4},
    {"mask": None},
    {"mask": None, "sinks": True},
    {"sinks": True},
    {"bias": 8.0},
    {"heads": 6, "bias": 8.0, "sinks": True, "cap": 2.0},
    {"cap": 2.0},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_plain_attention(variant: dict[str, object]) -> None:
    one = case(**variant)  # type: ignore[arg-type]
    wanted = attended(one, float(variant.get("bias", 0.0)), float(variant.get("cap", 0.0)))  # type: ignore[arg-type]
    for maths in (NUMPY, EXACT):  # with keys and values of float32 nothing is rounded
        assert off(computed(one.lazy, *padded(one), maths=maths), wanted) < 2e-6


def padded(one: Case) -> list[Array | None]:
    """Sources by slot: None where there is no mask."""
    if one.lazy.src[3] is None:
        return [*one.sources[:3], None, *one.sources[3:]]
    return list(one.sources)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_parts_of_the_queries_make_the_whole(variant: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    one = case(**variant)  # type: ignore[arg-type]
    whole = computed(one.lazy, *padded(one))
    monkeypatch.setattr(attention, "SCORES", 1)
    assert off(computed(one.lazy, *padded(one)), whole) < 1e-6


def in_half(one: Case) -> Array:
    """Cell by cell as ggml_compute_forward_flash_attn_ext_f16_one_chunk: queries and sums in float16."""
    q, k, v, mask = one.sources[:4]
    q = half(q)
    _, heads, n, _ = q.shape
    result = np.zeros((1, n, heads, v.shape[3]), np.float32)
    f32 = np.float32
    for h, i in everywhere((heads, n)):
        most, total, sums = f32(-np.inf), f32(0), np.zeros(v.shape[3], f32)
        kv = h // (heads // k.shape[1])
        for c in range(k.shape[2]):
            if mask[0, 0, i, c] == -np.inf:
                continue
            score = f32(np.dot(q[0, h, i], k[0, kv, c])) * f32(0.3) + mask[0, 0, i, c]
            kept, added = f32(1), f32(1)
            if score > most:
                kept, most = np.exp(most - score), score
                sums = half(sums * kept)
            else:
                added = np.exp(score - most)
            sums = half(sums + v[0, kv, c] * added)
            total = total * kept + added
        result[0, i, h] = sums / total if total else 0.0
    return result


@pytest.mark.parametrize("n", [1, 3, 40])
def test_sums_of_float16_values_are_kept_in_float16(n: int) -> None:
    one = case(n, 30, kv="f16")
    made = computed(one.lazy, *one.sources)
    steps, plain = off(made, in_half(one)), off(made, attended(one))
    assert steps < 6e-4 < 2 * plain  # one unit in the last place now and then, where the order of a sum differs
    assert off(computed(one.lazy, *one.sources, maths=EXACT), attended(one)) < 2e-6


def test_each_rounding_of_a_sum_is_ggmls() -> None:
    """Queries and keys of few bits: no order of a sum changes a score, so no float16 may differ."""
    one = case(5, 40, kv="f16")
    for slot in (0, 1):
        one.sources[slot] = np.round(one.sources[slot] * 2) / 2
    assert off(computed(one.lazy, *one.sources), in_half(one)) < 1e-6


def test_many_queries_are_not_rounded() -> None:
    one = case(64, 9, kv="f16")
    assert off(computed(one.lazy, *one.sources), attended(one)) < 2e-6


def test_queries_are_rounded_as_the_keys_ask() -> None:
    one = case(3, kv="q8_0")
    made = computed(one.lazy, *one.sources)
    assert off(made, attended(one, query=rounded(NUMPY, one.sources[0], "q8_0"))) < 2e-6
    assert off(made, attended(one)) > 1e-5


@pytest.mark.parametrize("kv", ["f16", "f32", "q8_0"])
@pytest.mark.parametrize("streams", [1, 2])
def test_what_no_query_sees_may_hold_anything(kv: str, streams: int) -> None:
    one = case(3, 7, kv=kv, streams=streams, mask=(1, streams))
    q, k, v, mask = one.sources
    for s in range(streams):
        mask[s, :, :, 2 + s] = -np.inf
    clean = computed(one.lazy, q, k, v, mask)
    for s in range(streams):
        k[s, :, 2 + s], v[s, :, 2 + s] = np.nan, np.inf
    assert np.array_equal(computed(one.lazy, q, k, v, mask), clean)
    assert np.isfinite(clean).all()


@pytest.mark.parametrize("kv", ["f16", "f32"])
@pytest.mark.parametrize("sinks", [False, True])
def test_a_query_that_sees_nothing_is_zero(kv: str, sinks: bool) -> None:
    one = case(3, 7, kv=kv, sinks=sinks)
    one.sources[3][0, 0, 1, :] = -np.inf
    made = computed(one.lazy, *one.sources)
    assert not made[0, 1].any()
    assert np.isfinite(made).all()
    one.sources[3][...] = -np.inf
    assert not computed(one.lazy, *one.sources).any()


@given(st.integers(1, 5), st.integers(1, 9), st.floats(-4, 4, width=16))
def test_a_mask_that_is_the_same_for_all_cells_changes_nothing(n: int, cells: int, shift: float) -> None:
    one = case(n, cells)
    q, k, v, mask = one.sources
    mask = np.zeros_like(mask)
    assert off(computed(one.lazy, q, k, v, mask + np.float32(shift)), computed(one.lazy, q, k, v, mask)) < 1e-5


def test_slopes_of_heads() -> None:
    assert alibi_slopes(3, 0.0) == [1.0, 1.0, 1.0]
    assert alibi_slopes(8, 8.0) == [2.0 ** -(h + 1) for h in range(8)]
    # six heads: four of the next lower power of two, then every other one of twice as many
    assert alibi_slopes(6, 8.0) == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]


def attend(q: Lazy, k: Lazy, v: Lazy, mask: Lazy | None = None, *more: Lazy, ne: tuple[int, ...] = (8, 4, 3)) -> Lazy:
    return node(Op.FLASH_ATTN_EXT, ne, q, k, v, mask, *more, params=(0.3, 0.0, 0.0))


Q, K = leaf(8, 3, 4), leaf(8, 7, 2)


@pytest.mark.parametrize(
    ("lazy", "why"),
    [
        (attend(Q, leaf(6, 7, 2), K), "rows of source 0 (8) and source 1 (6) differ"),
        (attend(Q, leaf(8, 7, 3), K), "sources 1 [8, 7, 3] and 2 [8, 7, 2] do not repeat over the heads of [8, 3, 4]"),
        (attend(Q, K, leaf(8, 7, 3)), "sources 1 [8, 7, 2] and 2 [8, 7, 3] do not repeat"),
        (attend(Q, K, leaf(8, 7, 2, 2)), "sources 1 [8, 7, 2] and 2 [8, 7, 2, 2] do not repeat"),
        (attend(Q, K, leaf(8, 6, 2)), "source 1 has 7 cells and source 2 has 6"),
        (attend(Q, K, K, leaf(6, 3, dtype="f16")), "the mask [6, 3] does not cover 3 queries and 7 cells"),
        (attend(Q, K, K, leaf(7, 2, dtype="f16")), "the mask [7, 2] does not cover 3 queries and 7 cells"),
        (attend(Q, K, K, leaf(7, 3, 3, dtype="f16")), "the mask [7, 3, 3] does not cover"),
        (attend(Q, K, K, leaf(7, 3, dtype="i32")), "source 3 is of type i32, not f16"),
        (attend(Q, K, K, None, leaf(3)), "source 4 is [3], not [4]"),
        (attend(Q, K, K, ne=(8, 3, 4)), "the result is [8, 3, 4], not [8, 4, 3]"),
        (attend(Q, K.become(Op.NONE), leaf(32, 7, 2, dtype="q8_1"), ne=(32, 4, 3)), "source 2 is of type q8_1"),
        (node(Op.FLASH_ATTN_EXT, (8, 4, 3), Q, K, K, None, params=(0.3, 8.0)), "a bias needs a mask"),
        (node(Op.FLASH_ATTN_EXT, (8, 4, 3), Q, K), "source 2 is missing"),
    ],
)
def test_what_does_not_fit(lazy: Lazy, why: str) -> None:
    assert wrong(lazy).startswith(why)
