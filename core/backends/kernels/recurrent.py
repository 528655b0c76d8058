"""State space models: SSM_CONV and SSM_SCAN (ggml-cpu/ops.cpp), Mamba 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...ops.layout import n_elements
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import absent, check_rows, not_float, other_type, result_differs
from .wanted import first, wrong_source


def _ssm_conv(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """A window of d_conv tokens slides over each channel."""
    xp = maths.xp
    states, weights = sources
    tokens = call.node.ne[1]
    total = xp.zeros((*states.shape[:3], tokens), dtype=xp.float32)
    for i in range(weights.shape[3]):
        total = total + states[..., i : i + tokens] * weights[:, :, :, i : i + 1]
    return xp.matrix_transpose(total)


def _check_ssm_conv(call: Call) -> str:
    return not_float(call, 0, 1) or first(_wrong_ssm_conv(call))


def _wrong_ssm_conv(call: Call) -> Iterator[str]:
    sx, c = call.source(0).ne, call.source(1).ne
    if sx[3] != 1 or c[2:] != (1, 1):
        yield "source 0 has three dimensions and source 1 has two"
    if sx[1] != c[1]:
        yield f"source 0 has {sx[1]} channels and source 1 has {c[1]}"
    if sx[0] < c[0] - 1:
        yield f"a window of {c[0]} does not fit in {sx[0]} columns"
    yield result_differs(call, (sx[1], sx[0] - c[0] + 1, sx[2], 1), "the window")


def softplus(maths: Maths, x: Array) -> Array:
    """ggml_compute_softplus_f32."""
    xp = maths.xp
    return xp.where(x > 20.0, x, xp.log(1.0 + xp.exp(xp.where(x > 20.0, xp.zeros_like(x), x))))


def _ssm_scan(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    """Token by token; the result is all outputs, then the state after the last token and up to K - 1 earlier ones."""
    xp = maths.xp
    states, x, dt, decay, b, c, ids = sources
    n_seqs, n_tokens, n_head, dim = x.shape
    n_group, d_state = b.shape[2:]
    each = n_head // n_group
    check_rows(maths, ids, states.shape[0], "source 0 (its states)")
    grouped = (n_seqs, n_group, each)
    state = xp.reshape(xp.take(states, xp.reshape(ids, (n_seqs,)), axis=0), (*grouped, dim, d_state))
    step = softplus(maths, xp.reshape(dt, (n_seqs, n_tokens, n_head)))
    width = decay.shape[3]
    decay = xp.reshape(decay, (1, n_group, each, 1, width))
    kept = [xp.zeros_like(state)] * call.i32(0)
    outputs = []
    for t in range(n_tokens):
        length = xp.reshape(step[:, t, :], (*grouped, 1, 1))
        scaled = xp.reshape(x[:, t, :, :], (*grouped, dim, 1)) * length
        state = state * xp.exp(length * decay) + b[:, t, :, None, None, :] * scaled
        outputs.append(xp.matmul(state, c[:, t, :, None, :, None]))
        if n_tokens - 1 - t < len(kept):
            kept[n_tokens - 1 - t] = state
    return joined(maths, call, outputs, kept)


def joined(maths: Maths, call: Call, outputs: list[Array], states: list[Array]) -> Array:
    """Outputs of the tokens, sequence by sequence, then the states, as one row after the other."""
    xp = maths.xp
    flat = [xp.reshape(state, (-1,)) for state in states]
    if outputs:
        flat.insert(0, xp.reshape(xp.stack(outputs, axis=1), (-1,)))
    return xp.reshape(xp.concat(flat), call.node.ne[::-1])


def _check_ssm_scan(call: Call) -> str:
    return not_float(call, 0, 1, 2, 3, 4, 5) or absent(call, 6) or first(_wrong_ssm_scan(call))


def _wrong_ssm_scan(call: Call) -> Iterator[str]:
    d_state, dim, n_head, _ = call.source(0).ne
    x, decay, b = call.source(1).ne, call.source(3).ne, call.source(4).ne
    n_tokens, n_seqs = x[2:]
    if 0 in (*call.source(0).ne, *x, b[1]):
        yield "there is nothing to scan in an empty source"
    yield other_type(call, 6, "i32")
    yield wrong_source(call, 1, (dim, n_head, n_tokens, n_seqs))
    yield wrong_source(call, 2, (n_head, n_tokens, n_seqs, 1))
    yield wrong_source(call, 3, (1 if decay[0] == 1 else d_state, n_head, 1, 1))
    yield wrong_source(call, 4, (d_state, b[1], n_tokens, n_seqs))
    yield wrong_source(call, 5, b)
    if n_head % b[1]:
        yield f"{n_head} heads are not shared out over {b[1]} groups"
    if call.source(6).ne != (n_seqs, 1, 1, 1):
        yield f"source 6 does not name a state for each of {n_seqs} sequences"
    kept = call.i32(0)
    if kept < 1 or (kept > 1 and decay[0] != 1):
        yield f"{kept} states cannot be kept"
    total = n_elements(x) + kept * n_elements((d_state, dim, n_head, n_seqs))
    yield result_differs(call, (total, 1, 1, 1), "the scan")


SSM_CONV = Kernel(_ssm_conv, _check_ssm_conv)
SSM_SCAN = Kernel(_ssm_scan, _check_ssm_scan)
