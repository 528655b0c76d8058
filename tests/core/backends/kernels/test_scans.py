"""Ops with a state (SSM, RWKV, gated attention, delta net) and SOLVE_TRI, element by element in loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import Array, computed, data, leaf, node, off, table, whole, wrong


def filled(lazy: Lazy) -> list[Array]:
    sources = []
    for slot, one in enumerate(lazy.src):
        assert one is not None
        sources.append(data(one, slot, 0.5).astype(np.float64).astype(np.float32))
    return sources


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.integers(1, 2))
def test_ssm_conv(window: int, channels: int, tokens: int, seqs: int) -> None:
    lazy = node(
        Op.SSM_CONV, (channels, tokens, seqs), leaf(window - 1 + tokens, channels, seqs), leaf(window, channels)
    )
    sx, c = filled(lazy)

    def element(index: tuple[int, ...]) -> float:
        _, s, t, i = index
        return sum(float(sx[0, s, i, t + j]) * float(c[0, 0, i, j]) for j in range(window))

    assert off(computed(lazy, sx, c), table((1, seqs, tokens, channels), element)) < 1e-6


DIM, STATE, TOKENS = 2, 3, 4


def scan(heads: int, groups: int, seqs: int, kept: int, per_state: bool) -> tuple[Lazy, list[Array]]:
    x, b = leaf(DIM, heads, TOKENS, seqs), leaf(STATE, groups, TOKENS, seqs)
    total = DIM * heads * TOKENS * seqs + kept * STATE * DIM * heads * seqs
    sources = (
        leaf(STATE, DIM, heads, seqs + 1), x, leaf(heads, TOKENS, seqs), leaf(STATE if per_state else 1, heads), b,
        leaf(STATE, groups, TOKENS, seqs), leaf(seqs, dtype="i32"),
    )  # fmt: skip
    lazy = node(Op.SSM_SCAN, (total,), *sources, params=(kept,))
    values: list[Array] = [data(one, slot) for slot, one in enumerate(sources[:6])]
    values[2] *= 12  # some steps beyond 20, where softplus is the identity
    values[3] = -np.abs(values[3])
    return lazy, [*values, whole(sources[6], 0, seqs + 1, 9)]


@pytest.mark.parametrize(
    ("heads", "groups", "seqs", "kept", "per_state"),
    [(4, 1, 1, 1, True), (4, 2, 2, 1, True), (4, 2, 2, 1, False), (3, 3, 2, 3, False), (2, 1, 1, 6, False)],
)
def test_ssm_scan(heads: int, groups: int, seqs: int, kept: int, per_state: bool) -> None:
    lazy, sources = scan(heads, groups, seqs, kept, per_state)
    states, x, dt, decay, b, c, ids = (one.astype(np.float64) for one in sources)
    y = np.zeros((seqs, TOKENS, heads, DIM))
    snapshots = np.zeros((kept, seqs, heads, DIM, STATE))
    for s in range(seqs):
        state = states[int(ids[0, 0, 0, s])].copy()
        for t in range(TOKENS):
            for h in range(heads):
                g, step = h // (heads // groups), float(dt[0, s, t, h])
                step = step if step > 20 else math.log1p(math.exp(step))
                for i in range(DIM):
                    for j in range(STATE):
                        rate = decay[0, 0, h, j if per_state else 0]
                        state[h, i, j] = state[h, i, j] * math.exp(step * rate) + b[s, t, g, j] * x[s, t, h, i] * step
                        y[s, t, h, i] += state[h, i, j] * c[s, t, g, j]
            if TOKENS - 1 - t < kept:
                snapshots[TOKENS - 1 - t, s] = state
    wanted = np.concatenate([y.reshape(-1), snapshots.reshape(-1)])
    assert off(computed(lazy, *sources).reshape(-1), wanted) < 1e-6


def test_a_state_that_is_not_there() -> None:
    lazy, sources = scan(2, 1, 2, 1, False)
    sources[6][0, 0, 0, 1] = 3
    with pytest.raises(InputError, match=r"^row id 3 is outside of the 3 rows of source 0 \(its states\)$"):
        computed(lazy, *sources)


S, H = 4, 3


def per_head(op: Op, slots: int, seqs: int, once: int = -1, params: tuple[float, ...] = ()) -> tuple[Lazy, list[Array]]:
    sources = [leaf(S, H) if slot == once else leaf(S, H, 3 * seqs) for slot in range(slots)]
    lazy = node(op, (S * H, 3 * seqs + S * seqs), *sources, leaf(S * S * H, seqs), params=params)
    return lazy, filled(lazy)


def step_wkv6(state: Array, scale: float, bonus: Array, k: Array, v: Array, r: Array, decay: Array) -> Array:
    output = np.zeros(S)
    for i in range(S):
        for j in range(S):
            added = k[i] * v[j]
            output[j] += r[i] * (added * bonus[i] + state[i, j])
            state[i, j] = state[i, j] * decay[i] + added
    return output


def step_gla(state: Array, scale: float, bonus: Array, k: Array, v: Array, q: Array, gate: Array) -> Array:
    output = np.zeros(S)
    for i in range(S):
        for j in range(S):
            state[i, j] = state[i, j] * gate[i] + k[i] * v[j]
            output[j] += q[i] * scale * state[i, j]
    return output


def step_wkv7(
    state: Array, scale: float, bonus: Array, r: Array, w: Array, k: Array, v: Array, a: Array, b: Array
) -> Array:
    output = np.zeros(S)
    for i in range(S):
        removed = sum(a[j] * state[i, j] for j in range(S))
        for j in range(S):
            state[i, j] = state[i, j] * w[j] + k[j] * v[i] + removed * b[j]
            output[i] += state[i, j] * r[j]
    return output


@pytest.mark.parametrize("seqs", [1, 2])
@pytest.mark.parametrize(
    ("op", "slots", "once", "step"),
    [
        (Op.RWKV_WKV6, 5, 3, step_wkv6),
        (Op.GATED_LINEAR_ATTN, 4, -1, step_gla),
        (Op.RWKV_WKV7, 6, -1, step_wkv7),
    ],
)
def test_a_state_per_head(op: Op, slots: int, once: int, step: object, seqs: int) -> None:
    assert callable(step)
    lazy, sources = per_head(op, slots, seqs, once, (0.3,) if op is Op.GATED_LINEAR_ATTN else ())
    exact = [one.astype(np.float64) for one in sources]
    tokens = [one[0] for slot, one in enumerate(exact[:-1]) if slot != once]
    states = exact[-1].reshape(seqs, H, S, S)
    outputs = np.zeros((3 * seqs, H, S))
    for t in range(3 * seqs):
        for h in range(H):
            bonus = exact[once][0, 0, h] if once >= 0 else np.zeros(S)
            outputs[t, h] = step(states[t // 3, h], 0.3, bonus, *(one[t, h] for one in tokens))
    wanted = np.concatenate([outputs.reshape(-1), states.reshape(-1)])
    assert off(computed(lazy, *sources).reshape(-1), wanted) < 1e-6


@pytest.mark.parametrize(
    ("heads", "q_heads", "seqs", "q_seqs", "tokens", "kept", "gates"),
    [(4, 4, 1, 1, 3, 1, 1), (4, 2, 2, 1, 3, 1, S), (4, 2, 2, 2, 3, 2, 1), (3, 1, 2, 1, 2, 4, S), (5, 2, 4, 2, 2, 1, 1)],
)
def test_gated_delta_net(heads: int, q_heads: int, seqs: int, q_seqs: int, tokens: int, kept: int, gates: int) -> None:
    q, v = leaf(S, q_heads, tokens, q_seqs), leaf(S, heads, tokens, seqs)
    ne = (S * heads, tokens * seqs + kept * S * seqs)
    gate, beta, state = leaf(gates, heads, tokens, seqs), leaf(1, heads, tokens, seqs), leaf(S, S, heads, seqs)
    lazy = node(Op.GATED_DELTA_NET, ne, q, q, v, gate, beta, state, params=(kept,))
    sources: list[Array] = [data(one, slot, 0.5) for slot, one in enumerate((q, q, v, gate, beta, state))]
    qs, ks, vs, gs, bs, states = (one.astype(np.float64) for one in sources)
    outputs, snapshots = np.zeros((seqs, tokens, heads, S)), np.zeros((kept, seqs, heads, S, S))
    for s in range(seqs):
        for h in range(heads):
            now, at = states[s, h].copy(), (s // (seqs // q_seqs), h % q_heads)
            for t in range(tokens):
                query, key = qs[at[0], t, at[1]], ks[at[0], t, at[1]]
                for j in range(S):
                    for i in range(S):
                        now[j, i] *= math.exp(gs[s, t, h, i if gates > 1 else 0])
                    delta = (vs[s, t, h, j] - float(now[j] @ key)) * bs[s, t, h, 0]
                    now[j] += delta * key
                    outputs[s, t, h, j] = float(now[j] @ query) / math.sqrt(S)
                if tokens - 1 - t < kept:
                    snapshots[tokens - 1 - t, s, h] = now
    wanted = np.concatenate([outputs.reshape(-1), snapshots.reshape(-1)])
    assert off(computed(lazy, *sources).reshape(-1), wanted) < 1e-6


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 2), st.integers(1, 2))
def test_solve_tri_gives_back_what_was_multiplied(n: int, columns: int, n2: int, n3: int) -> None:
    lazy = node(Op.SOLVE_TRI, (columns, n, n2, n3), leaf(n, n, n2, n3), leaf(columns, n, n2, n3))
    a, x = filled(lazy)
    lower = np.tril(a) * 0.2 + np.eye(n, dtype=np.float32) * 2
    upper = np.triu(np.full_like(a, np.nan), 1)  # nothing above the diagonal is read
    b = (lower.astype(np.float64) @ x).astype(np.float32)
    assert off(computed(lazy, lower + upper, b), x.astype(np.float64)) < 1e-5


def heads_of(op: Op, slots: int, *, tokens: int = 3, seqs: int = 1, state: int = S * S * H) -> Lazy:
    sources = [leaf(S, H, tokens) for _ in range(slots)]
    return node(op, (S * H, tokens + S * seqs), *sources, leaf(state, seqs))


@pytest.mark.parametrize(
    ("lazy", "why"),
    [
        (node(Op.SSM_CONV, (3, 2), leaf(4, 3), leaf(4, 2)), "source 0 has 3 channels and source 1 has 2"),
        (node(Op.SSM_CONV, (3, 2), leaf(2, 3), leaf(4, 3)), "a window of 4 does not fit in 2 columns"),
        (node(Op.SSM_CONV, (3, 2), leaf(4, 3), leaf(4, 3)), "the result is [3, 2], not [3]"),
        (heads_of(Op.RWKV_WKV7, 6, seqs=2), "3 tokens are not shared out over 2 sequences"),
        (heads_of(Op.RWKV_WKV7, 5), "source 6 is missing"),
        (heads_of(Op.GATED_LINEAR_ATTN, 4, state=S), "source 4 is [4], not [48]"),
        (heads_of(Op.RWKV_WKV6, 5), "source 3 is [4, 3, 3], not [4, 3]"),
        (node(Op.SOLVE_TRI, (2, 4), leaf(4, 3), leaf(2, 4)), "source 0 is [4, 3], not [4, 4]"),
        (scan(4, 3, 1, 1, False)[0], "4 heads are not shared out over 3 groups"),
        (scan(2, 1, 1, 0, False)[0], "0 states cannot be kept"),
        (scan(2, 1, 1, 2, True)[0], "2 states cannot be kept"),
    ],
)
def test_what_does_not_fit(lazy: Lazy, why: str) -> None:
    assert wrong(lazy).startswith(why)
