"""Cases of ops with a state that every token changes, and of triangular systems."""

import numpy as np

from galloscope.core.op import Op
from galloscope.tests.core.backends.cases.elementwise import floats
from galloscope.tests.core.backends.cases.given import C, Case, Cases, Given, Layout, MakeCases, Maker, P, S, X, node

SIZE, HEADS, TOKENS, SEQS = 32, 3, 4, 2
"""Size of a head, heads, tokens of a sequence, sequences."""


def ssm_conv(m: Maker) -> Cases:
    for layout in (C, S):
        given = m.leaf("f32", (3 + TOKENS, 17, SEQS), layout), m.leaf("f32", (4, 17))
        yield Case(node(Op.SSM_CONV, "f32", (17, TOKENS, SEQS)), given)


def ssm_scan(m: Maker) -> Cases:
    """Mamba 2 (a decay per head) with groups, and Mamba 1 (a decay per element of the state)."""
    for dim, heads, groups, width in ((8, 6, 2, 1), (16, 4, 4, 1), (1, 24, 1, 16)):
        for layout in (C, S):  # ggml-cpu takes the groups of a token as one row
            state, n = 16, dim * heads * TOKENS * SEQS + 16 * dim * heads * SEQS
            given = (
                m.leaf("f32", (state, dim, heads, 5)),
                m.leaf("f32", (dim, heads, TOKENS, SEQS), C),
                m.leaf("f32", (heads, TOKENS, SEQS)),
                m.leaf("f32", (width, heads), values=m.uniform(-2, -0.1, width, heads)),
                m.leaf("f32", (state, groups, TOKENS, SEQS), layout),
                m.leaf("f32", (state, groups, TOKENS, SEQS), layout),
                m.leaf("i32", (SEQS,), values=np.array([3, 1])),
            )
            yield Case(node(Op.SSM_SCAN, "f32", (n,), (1,)), given)


def _row(m: Maker, low: float = -1.0, high: float = 1.0) -> Given:
    ne = SIZE, HEADS, TOKENS * SEQS
    return m.leaf("f32", ne, values=m.uniform(low, high, *ne))


def _states(m: Maker) -> Given:
    return m.leaf("f32", (SIZE * SIZE * HEADS, SEQS))


RESULT = (SIZE * HEADS, TOKENS * SEQS + SIZE * SEQS)


def wkv6(m: Maker) -> Cases:
    given = _row(m), _row(m), _row(m), m.leaf("f32", (SIZE, HEADS)), _row(m, 0.1), _states(m)
    yield Case(node(Op.RWKV_WKV6, "f32", RESULT), given, tolerance=SUMMED)


def wkv7(m: Maker) -> Cases:
    given = _row(m), _row(m, 0.1), _row(m), _row(m), _row(m, -0.2, 0.2), _row(m, -0.2, 0.2), _states(m)
    yield Case(node(Op.RWKV_WKV7, "f32", RESULT), given, tolerance=SUMMED)


def gated_linear_attn(m: Maker) -> Cases:
    given = _row(m), _row(m), _row(m), _row(m, 0.1), _states(m)
    yield Case(node(Op.GATED_LINEAR_ATTN, "f32", RESULT, floats(SIZE**-0.5)), given, tolerance=SUMMED)


def gated_delta_net(m: Maker) -> Cases:
    def row(heads: int, layout: Layout) -> Given:
        ne = SIZE, heads, TOKENS, SEQS
        return m.leaf("f32", ne, layout, m.uniform(-0.3, 0.3, *ne))

    for width, shared, kept, layout in ((1, HEADS, 1, C), (SIZE, HEADS, 1, P), (1, 1, 1, C), (1, HEADS, 3, X)):
        gate = m.leaf("f32", (width, HEADS, TOKENS, SEQS), values=m.uniform(-1, 0, width, HEADS, TOKENS, SEQS))
        beta = m.leaf("f32", (1, HEADS, TOKENS, SEQS), values=m.uniform(0, 1, 1, HEADS, TOKENS, SEQS))
        state = m.leaf("f32", (SIZE, SIZE, HEADS, SEQS))
        given = row(shared, layout), row(shared, layout), row(HEADS, layout), gate, beta, state
        ne = SIZE * HEADS, TOKENS * SEQS + kept * SIZE * SEQS
        yield Case(node(Op.GATED_DELTA_NET, "f32", ne, (kept,)), given, tolerance=SUMMED)


def solve_tri(m: Maker) -> Cases:
    for n, columns in ((1, 3), (9, 5)):
        a = m.uniform(-0.3, 0.3, n, n, 3, 2) + 2 * np.eye(n, dtype=np.float32)
        given = m.leaf("f32", (n, n, 3, 2), values=np.tril(a)), m.leaf("f32", (columns, n, 3, 2))
        yield Case(node(Op.SOLVE_TRI, "f32", (columns, n, 3, 2)), given)


SUMMED = 4e-6
"""Sums of products over a head, token after token; the order of the additions differs."""

CASES: dict[Op, MakeCases] = {
    Op.SSM_CONV: ssm_conv,
    Op.SSM_SCAN: ssm_scan,
    Op.RWKV_WKV6: wkv6,
    Op.RWKV_WKV7: wkv7,
    Op.GATED_LINEAR_ATTN: gated_linear_attn,
    Op.GATED_DELTA_NET: gated_delta_net,
    Op.SOLVE_TRI: solve_tri,
}
