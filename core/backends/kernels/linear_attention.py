"""Attention with a state in place of a cache (ggml-cpu/ops.cpp).

RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN and GATED_DELTA_NET. Each head has a square state that every token changes; the
result is the outputs of all tokens, then the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...dtypes import Shape
from ...ops.layout import n_elements
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import not_float, result_differs
from .wanted import first, wrong_source

Step = Callable[[Maths, Array, Sequence[Array]], tuple[Array, Array]]
"""State (sequences, heads, S, S) and what one token brings, (sequences, heads, S) each, to state and output."""


def _scan(maths: Maths, call: Call, tokens: Sequence[Array], state: Array, step: Step) -> Array:
    """Step after step over tokens (1, n, heads, S), a run of n / n_seqs for each sequence."""
    xp = maths.xp
    n_seqs = state.shape[2]
    _, n, heads, size = tokens[0].shape
    state = xp.reshape(state, (n_seqs, heads, size, size))
    given = [xp.reshape(one, (n_seqs, n // n_seqs, heads, size)) for one in tokens]
    outputs = []
    for t in range(n // n_seqs):
        state, output = step(maths, state, [one[:, t, :, :] for one in given])
        outputs.append(output)
    whole = xp.reshape(xp.stack(outputs, axis=1), (-1,))
    return xp.reshape(xp.concat((whole, xp.reshape(state, (-1,)))), call.node.ne[::-1])


def _row_times(maths: Maths, row: Array, state: Array) -> Array:
    """The sum over the first index of a state, each times an element of the row."""
    return maths.xp.matmul(row[:, :, None, :], state)[:, :, 0, :]


def _times_column(maths: Maths, state: Array, column: Array) -> Array:
    """The sum over the second index of a state."""
    return maths.xp.matmul(state, column[..., None])[..., 0]


def _rwkv_wkv6(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    k, v, r, first_bonus, decay, state = sources
    bonus = first_bonus[0, :, :, :, None]  # (1, heads, S, 1)

    def step(maths: Maths, state: Array, token: Sequence[Array]) -> tuple[Array, Array]:
        k, v, r, decay = token
        added = k[..., None] * v[:, :, None, :]
        output = _row_times(maths, r, added * bonus + state)
        return state * decay[..., None] + added, output

    return _scan(maths, call, (k, v, r, decay), state, step)


def _gated_linear_attn(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    scale = call.f32(0)

    def step(maths: Maths, state: Array, token: Sequence[Array]) -> tuple[Array, Array]:
        k, v, q, gate = token
        state = state * gate[..., None] + k[..., None] * v[:, :, None, :]
        return state, _row_times(maths, q * scale, state)

    return _scan(maths, call, sources[:4], sources[4], step)


def _rwkv_wkv7(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    def step(maths: Maths, state: Array, token: Sequence[Array]) -> tuple[Array, Array]:
        r, w, k, v, a, b = token
        removed = _times_column(maths, state, a)
        state = state * w[:, :, None, :] + v[..., None] * k[:, :, None, :] + removed[..., None] * b[:, :, None, :]
        return state, _times_column(maths, state, r)

    return _scan(maths, call, sources[:6], sources[6], step)


def _check(per_token: Sequence[int], once: Sequence[int], state: int) -> Callable[[Call], str]:
    """A check: sources of one row per token and head, sources of one row per head, and the states."""
    slots = sorted((*per_token, *once, state))

    def wrong(call: Call) -> Iterator[str]:
        size, heads, n, _ = call.source(per_token[0]).ne
        for slot in per_token:
            yield wrong_source(call, slot, (size, heads, n, 1))
        for slot in once:
            yield wrong_source(call, slot, (size, heads, 1, 1))
        n_seqs = call.source(state).ne[1]
        if not n_seqs or not n or n % n_seqs:
            yield f"{n} tokens are not shared out over {n_seqs} sequences"
        yield wrong_source(call, state, (size * size * heads, n_seqs, 1, 1))
        yield result_differs(call, (size * heads, n + size * n_seqs, 1, 1), "the attention")

    return lambda call: not_float(call, *slots) or first(wrong(call))


def _gated_delta_net(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """The state is stored transposed: its rows belong to the elements of v. Up to K - 1 earlier states are kept too."""
    xp = maths.xp
    q, k, v, gate, beta, state = sources
    n_seqs, n_tokens, heads, size = v.shape
    q, k = (over_heads(maths, one, n_seqs, heads) for one in (q, k))
    scale = 1.0 / size**0.5
    kept = [xp.zeros_like(state)] * call.i32(0)
    kept[0] = state
    outputs = []
    for t in range(n_tokens):
        state = state * xp.exp(gate[:, t, :, None, :])
        delta = (v[:, t, :, :] - _times_column(maths, state, k[:, t, :, :])) * beta[:, t, :, :]
        state = state + delta[..., None] * k[:, t, :, None, :]
        outputs.append(_times_column(maths, state, q[:, t, :, :]) * scale)
        if n_tokens - 1 - t < len(kept):
            kept[n_tokens - 1 - t] = state
    flat = [xp.reshape(one, (-1,)) for one in kept]
    if outputs:
        flat.insert(0, xp.reshape(xp.stack(outputs, axis=1), (-1,)))
    return xp.reshape(xp.concat(flat), call.node.ne[::-1])


def over_heads(maths: Maths, rows: Array, n_seqs: int, heads: int) -> Array:
    """Rows (sequences, tokens, heads, S) for all heads (repeated in turn) and sequences (each several times)."""
    xp = maths.xp
    have_seqs, _, have, _ = rows.shape
    if have != heads:
        rows = xp.take(rows, xp.arange(heads, dtype=xp.int64) % have, axis=2)
    if have_seqs != n_seqs:
        rows = xp.take(rows, xp.arange(n_seqs, dtype=xp.int64) // (n_seqs // have_seqs), axis=0)
    return rows


def _check_gated_delta_net(call: Call) -> str:
    return not_float(call, 0, 1, 2, 3, 4, 5) or first(_wrong_gated_delta_net(call))


def _wrong_gated_delta_net(call: Call) -> Iterator[str]:
    v = call.source(2).ne
    size, heads, n_tokens, n_seqs = v
    if 0 in (size, heads, n_seqs):
        yield "there is nothing to scan in an empty source"
    for slot in (0, 1):
        ne = call.source(slot).ne
        if not ne[1] or not ne[3] or n_seqs % ne[3]:
            yield f"source {slot} does not repeat over {heads} heads and {n_seqs} sequences"
        yield wrong_source(call, slot, (size, ne[1], n_tokens, ne[3]))
    yield wrong_source(call, 3, (1 if call.source(3).ne[0] == 1 else size, heads, n_tokens, n_seqs))
    yield wrong_source(call, 4, (1, heads, n_tokens, n_seqs))
    yield wrong_source(call, 5, (size, size, heads, n_seqs))
    kept = call.i32(0)
    if kept < 1:
        yield f"{kept} states cannot be kept"
    expected: Shape = (size * heads, n_tokens * n_seqs + kept * size * n_seqs, 1, 1)
    if n_elements(call.node.ne) != n_elements(expected):
        yield result_differs(call, expected, "the scan")


RWKV_WKV6 = Kernel(_rwkv_wkv6, _check((0, 1, 2, 4), (3,), 5))
RWKV_WKV7 = Kernel(_rwkv_wkv7, _check((0, 1, 2, 3, 4, 5), (), 6))
GATED_LINEAR_ATTN = Kernel(_gated_linear_attn, _check((0, 1, 2, 3), (), 4))
GATED_DELTA_NET = Kernel(_gated_delta_net, _check_gated_delta_net)
