"""The op that llama.cpp tests a weight with before it chooses a buffer type (weight_buft_supported)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..devices.seen import Seen, see
from ..gguf.header import TensorInfo
from ..op import Op
from .machine import Place

_TOKENS = 512
_SEQUENCES = 3
_WKV = 123


class Facts(msgspec.Struct, frozen=True):
    """The hyperparameters that the test ops need.

    Attributes:
        n_embd: elements of the residual stream.
        n_head: attention heads of layer 0.
        n_embd_head_v: elements of a V head.
        n_expert_used: the most experts per token in any layer.
        ssm_d_state: elements of the state of a state-space layer.
        ssm_d_inner: its inner size.
        ssm_n_group: its groups.
    """

    n_embd: int = 0
    n_head: int = 0
    n_embd_head_v: int = 0
    n_expert_used: int = 0
    ssm_d_state: int = 0
    ssm_d_inner: int = 0
    ssm_n_group: int = 0


def probe(tensor: TensorInfo, op: Op, facts: Facts, place: Place) -> Seen:
    """The op with the weight as a source that lies in a buffer type.

    Args:
        tensor: the weight.
        op: any of those that `weights.op_of` answers, but NONE.
        facts: of the model.
        place: the buffer type.
    """
    maker = place.device.profile.name if place.default else ""
    weight = see(Op.NONE, tensor.dtype.name, tensor.ne, owner=1, buft=place.name, maker=maker, host=place.host)
    return _PROBES[op](weight, facts)


def _f32(*ne: int, owner: int = 2) -> Seen:
    return see(Op.NONE, "f32", ne, owner=owner)


def _i32(*ne: int, owner: int = 3) -> Seen:
    return see(Op.NONE, "i32", ne, owner=owner)


def _get_rows(w: Seen, facts: Facts) -> Seen:
    return see(Op.GET_ROWS, "i32" if w.type == "i32" else "f32", (w.ne[0], _TOKENS), w, _i32(_TOKENS))


def _mul_mat(w: Seen, facts: Facts) -> Seen:
    b = _f32(w.ne[0], _TOKENS, w.ne[2], w.ne[3])
    return see(Op.MUL_MAT, "f32", (w.ne[1], _TOKENS, w.ne[2], w.ne[3]), w, b)


def _mul_mat_id(w: Seen, facts: Facts) -> Seen:
    used = max(facts.n_expert_used, 1)
    return see(Op.MUL_MAT_ID, "f32", (w.ne[1], used, _TOKENS), w, _f32(w.ne[0], used, _TOKENS), _i32(used, _TOKENS))


def _add_id(w: Seen, facts: Facts) -> Seen:
    used = max(facts.n_expert_used, 1)
    a = _f32(w.ne[0], used, _TOKENS)
    return see(Op.ADD_ID, "f32", a.ne, a, w, _i32(used, _TOKENS))


def _onto_same(op: Op) -> Callable[[Seen, Facts], Seen]:
    return lambda w, facts: see(op, "f32", w.ne, _f32(*w.ne), w)


def _div(w: Seen, facts: Facts) -> Seen:
    return see(Op.DIV, "f32", (w.ne[0],), _f32(w.ne[0]), w)


def _rope(w: Seen, facts: Facts) -> Seen:
    a = _f32(facts.n_embd_head_v, facts.n_head, _TOKENS)
    return see(Op.ROPE, "f32", a.ne, a, _i32(_TOKENS), w)


def _scale(w: Seen, facts: Facts) -> Seen:
    return see(Op.SCALE, w.type, w.ne, w, nb=w.nb, params=(1.0,))


def _ssm_conv(w: Seen, facts: Facts) -> Seen:
    x = _f32(w.ne[0] - 1 + _TOKENS, w.ne[1], _SEQUENCES)
    return see(Op.SSM_CONV, "f32", (w.ne[1], _TOKENS, _SEQUENCES), x, w)


def _ssm_scan(w: Seen, facts: Facts) -> Seen:
    d_state = facts.ssm_d_state if w.ne[0] == 1 else w.ne[0]
    n_head = w.ne[1]
    head_dim = facts.ssm_d_inner // n_head
    groups = facts.ssm_n_group or 1
    s = _f32(d_state, head_dim, n_head, _SEQUENCES, owner=2)
    x = _f32(head_dim, n_head, _TOKENS, _SEQUENCES, owner=3)
    dt = _f32(n_head, _TOKENS, _SEQUENCES, owner=4)
    b = _f32(d_state, groups, _TOKENS, _SEQUENCES, owner=5)
    c = _f32(d_state, groups, _TOKENS, _SEQUENCES, owner=6)
    size = head_dim * n_head * _TOKENS * _SEQUENCES + d_state * head_dim * n_head * _SEQUENCES
    return see(Op.SSM_SCAN, "f32", (size,), s, x, dt, w, b, c, _i32(_SEQUENCES, owner=7), params=(1,))


def _rwkv_wkv6(w: Seen, facts: Facts) -> Seen:
    k, v, r, td = (_f32(_WKV, _WKV, _WKV, owner=owner) for owner in (2, 3, 4, 5))
    state = _f32(_WKV, _WKV, _WKV, _WKV, owner=6)
    return see(Op.RWKV_WKV6, "f32", (_WKV * _WKV, _WKV + _WKV * _WKV), k, v, r, w, td, state)


def _im2col(w: Seen, facts: Facts) -> Seen:
    b = _f32(facts.n_embd, w.ne[1])
    return see(Op.IM2COL, "f16", (w.ne[0] * w.ne[1], max(facts.n_embd - w.ne[0] + 1, 1)), w, b, params=(1,))


_PROBES: dict[Op, Callable[[Seen, Facts], Seen]] = {
    Op.GET_ROWS: _get_rows,
    Op.MUL_MAT: _mul_mat,
    Op.MUL_MAT_ID: _mul_mat_id,
    Op.ADD: _onto_same(Op.ADD),
    Op.ADD_ID: _add_id,
    Op.MUL: _onto_same(Op.MUL),
    Op.DIV: _div,
    Op.ROPE: _rope,
    Op.SCALE: _scale,
    Op.SSM_CONV: _ssm_conv,
    Op.SSM_SCAN: _ssm_scan,
    Op.RWKV_WKV6: _rwkv_wkv6,
    Op.IM2COL: _im2col,
}
