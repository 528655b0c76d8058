"""State space models (ggml.c)."""

from __future__ import annotations

from ..dtypes import DTYPES
from ..op import Op
from .layout import is_contiguous, n_elements
from .lazy import Lazy, check, new_tensor

_F32, _I32 = DTYPES["f32"], DTYPES["i32"]


def ssm_conv(states: Lazy, weight: Lazy) -> Lazy:
    """ggml_ssm_conv: states [d_conv - 1 + tokens, d_inner, sequences] by weight [d_conv, d_inner]."""
    d_conv, d_inner = weight.ne[0], weight.ne[1]
    n_tokens = states.ne[0] - d_conv + 1
    check(states.ne[3] == 1 and weight.ne[2:] == (1, 1), "SSM_CONV", "three dimensions by two", states, weight)
    check(states.ne[1] == d_inner and n_tokens >= 0, "SSM_CONV", "one row of weights per channel", states, weight)
    return new_tensor(_F32, d_inner, n_tokens, states.ne[2]).become(Op.SSM_CONV, states, weight)


def ssm_scan(s: Lazy, x: Lazy, dt: Lazy, a: Lazy, b: Lazy, c: Lazy, ids: Lazy, n_kept: int = 1) -> Lazy:
    """ggml_ssm_scan: the results of all tokens, then the last `n_kept` states of each sequence, in a row.

    Args:
        s: states [d_state, head size, heads, states that are kept in memory].
        x: input [head size, heads, tokens, sequences].
        dt: time steps [heads, tokens, sequences].
        a: decay, [d_state, heads] or one per head.
        b: into the state, [d_state, groups, tokens, sequences].
        c: out of the state, like b.
        ids: which state each sequence begins with.
        n_kept: states that are given back.
    """
    op = "SSM_SCAN"
    d_state, head, n_head = s.ne[:3]
    n_tokens, n_seqs = x.ne[2], x.ne[3]
    check(all(is_contiguous(one) for one in (s, dt, a)), op, "states, steps and decay must be contiguous", s, dt, a)
    check(x.ne[:2] == (head, n_head), op, "the input has the heads of the states", s, x)
    check(dt.ne == (n_head, n_tokens, n_seqs, 1), op, "one step for each head and token", x, dt)
    check(a.ne[1] == n_head and a.ne[0] in (1, d_state), op, "one decay per head, or per element", s, a)
    check(b.ne == c.ne and b.ne[0] == d_state and b.ne[2:] == (n_tokens, n_seqs), op, "B and C fit the tokens", b, c)
    check(n_head % b.ne[1] == 0, op, "whole groups of heads", b, s)
    check(ids.ne == (n_seqs, 1, 1, 1) and ids.dtype is _I32, op, "one state (i32) for each sequence", ids)
    size = n_elements(x.ne) + n_kept * d_state * head * n_head * n_seqs
    return new_tensor(_F32, size).become(Op.SSM_SCAN, s, x, dt, a, b, c, ids, params=(n_kept,))
