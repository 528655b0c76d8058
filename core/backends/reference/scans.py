"""SSM_SCAN and GATED_DELTA_NET (ops.cpp): states that go from token to token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernel import Call, Kernel
from ..kernels import linear_attention, recurrent
from ..kernels.arguments import check_rows
from ..maths import Array, Maths
from . import libm
from .dots import dot
from .fused import Floats, chain, fused
from .lanes import reduced

_ONE = np.float32(1)


def _softplus(x: Floats) -> Floats:
    """ggml_compute_softplus_f32."""
    return np.where(x > 20, x, libm.call("logf", _ONE + libm.expf(np.minimum(x, np.float32(20)))))


def _in_registers(state: Floats, columns: Floats) -> Floats:
    """States times columns, summed along the last axis in 4 registers; whole 32s."""
    at = (slice(start, start + 32) for start in range(0, state.shape[-1], 32))
    products = (np.swapaxes(np.multiply(state[..., i], columns[..., i], dtype=np.float64), -1, -2) for i in at)
    return reduced(chain(products, (*state.shape[:-2], 32, state.shape[-2])))


def _one_by_one(state: Floats, columns: Floats) -> Floats:
    """States times columns, summed along the last axis one after the other."""
    products = (np.multiply(state[..., i], columns[..., i], dtype=np.float64) for i in range(state.shape[-1]))
    return chain(products, state.shape[:-1])


def _ssm_scan(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """As the usual kernel; Mamba-2, which has one decay for a head, is followed where its states are whole 32s."""
    states, x, dt, decay, b, c, ids = sources
    n_seqs, n_tokens, n_head, _ = x.shape
    n_group, d_state = b.shape[2:]
    each, width = n_head // n_group, decay.shape[3]
    if width == 1 and d_state % 32:
        return recurrent.SSM_SCAN.compute(maths, call, sources)
    check_rows(maths, ids, states.shape[0], "source 0 (its states)")
    state = states[ids.reshape(n_seqs)]
    step = _softplus(dt.reshape(n_seqs, n_tokens, n_head))
    b, c = (np.repeat(one, each, axis=2)[:, :, :, None, :] for one in (b, c))
    decay = decay.reshape(1, n_head, 1, width)
    kept = [np.zeros_like(state)] * call.i32(0)
    outputs = []
    for t in range(n_tokens):
        length = step[:, t, :, None, None]
        scaled = x[:, t, :, :, None] * length
        state = fused(state, libm.expf(length * decay), b[:, t] * scaled)
        columns = np.broadcast_to(c[:, t], state.shape)
        outputs.append(_in_registers(state, columns) if width == 1 else _one_by_one(state, columns))
        if n_tokens - 1 - t < len(kept):
            kept[n_tokens - 1 - t] = state
    made: Array = recurrent.joined(maths, call, outputs, kept)
    return made


def _gated_delta_net(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    q, k, v, gate, beta, state = sources
    n_seqs, n_tokens, heads, size = v.shape
    q, k = (linear_attention.over_heads(maths, one, n_seqs, heads) for one in (q, k))
    scale = _ONE / np.sqrt(np.float32(size))
    kept = [np.zeros_like(state)] * call.i32(0)
    kept[0] = state
    outputs = []
    for t in range(n_tokens):
        state = state * libm.expf(gate[:, t, :, None, :])
        delta = (v[:, t] - _times(state, k[:, t])) * beta[:, t]
        state = fused(delta[..., None], k[:, t, :, None, :], state)
        outputs.append(_times(state, q[:, t]) * scale)
        if n_tokens - 1 - t < len(kept):
            kept[n_tokens - 1 - t] = state
    made: Array = recurrent.joined(maths, call, outputs, kept)
    return made


def _times(state: Floats, rows: Floats) -> Floats:
    """ggml_vec_dot_f32 of each row of a state (sequences, heads, j, i) with a row (sequences, heads, i)."""
    made = np.empty(state.shape[:3], np.float32)
    for at in np.ndindex(*state.shape[:2]):
        made[at] = dot(state[at], rows[at][None], wide=False)[0]
    return made


SSM_SCAN = Kernel(_ssm_scan, recurrent.SSM_SCAN.check)
GATED_DELTA_NET = Kernel(_gated_delta_net, linear_attention.GATED_DELTA_NET.check)
