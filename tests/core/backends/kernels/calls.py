"""A small valid call of every op that can be computed, for tests that run them all. One entry in `CALLS` per op."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from galloscope.core import ops
from galloscope.core.dtypes import DTYPES
from galloscope.core.op import GLU_OPS, UNARY_OPS, Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import Array, data, leaf, node, whole


class Example(NamedTuple):
    """A node and what its sources hold."""

    node: Lazy
    sources: list[Array | None]


def filled(lazy: Lazy) -> Example:
    """Random floats in every source, small positive integers in the integer ones."""
    return Example(lazy, [None if one is None else _contents(one, slot) for slot, one in enumerate(lazy.src)])


def _contents(source: Lazy, seed: int) -> Array:
    name = source.dtype.name
    if name in ("i32", "i64"):
        return whole(source, 0, 2, seed, np.int32 if name == "i32" else np.int64)
    return data(source, seed)


def each(*nodes: Lazy) -> list[Example]:
    return [filled(lazy) for lazy in nodes]


def _binary(make: Callable[[Lazy, Lazy], Lazy]) -> list[Example]:
    a = leaf(6, 4, 2, 2)
    return each(make(a, leaf(6, 4, 2, 2)), make(a, leaf(6, 1, 2)), make(a, leaf(3, 2, 1, 2)), make(a, leaf(1)))


def _one(make: Callable[[Lazy], Lazy]) -> list[Example]:
    return each(make(leaf(5, 3, 2, 2)))


def _plain(op: Op) -> list[Example]:
    return each(node(op, (5, 3, 2), leaf(5, 3, 2)))


def _positive(examples: list[Example]) -> list[Example]:
    return [Example(lazy, [None if x is None else np.abs(x) for x in sources]) for lazy, sources in examples]


def _blocks(lazy: Lazy) -> Example:
    """Bytes for quantised sources, nothing for a second one that is only a place."""
    rng = np.random.default_rng(3)
    given: list[Array | None] = []
    for slot, one in enumerate(lazy.src):
        assert one is not None
        shape = (*one.ne[:0:-1], one.ne[0] // one.dtype.block, one.dtype.size)
        given.append(rng.integers(0, 255, shape).astype(np.uint8) if slot == 0 or lazy.op is Op.CONCAT else None)
    return Example(lazy, given)


def _copies(make: Callable[[Lazy], Lazy]) -> list[Example]:
    return [*_one(make), _blocks(make(leaf(64, 3, dtype="q8_0"))), *each(make(leaf(5, 3, dtype="i32")))]


def _cast(source: str, target: str) -> Example:
    lazy = ops.cast(leaf(32, 3, dtype=source), DTYPES[target])
    return Example(lazy, [_contents(leaf(32, 3, dtype=source), 1), None])


def rope(
    op: Op, mode: int, *, n_dims: int = 8, ne0: int = 8, offset: int = 0, factors: bool = False, ext: float = 0.0
) -> Example:
    x, positions = leaf(ne0, 2, 3, 2), leaf(12 if mode & 8 else 3, dtype="i32")
    sections = (1, 1, 1, 1) if mode & 8 else (0, 0, 0, 0)
    floats = (10000.0, 0.25 if ext else 1.0, ext, 1.0, 32.0, 1.0)
    params = (0, n_dims, mode, 0, 4096, *floats, *sections, offset)
    given = leaf(n_dims) if factors else None
    lazy = node(op, x.ne, x, positions, given, params=params)
    scaled = None if given is None else np.abs(data(given, 5)) + 0.5
    return Example(lazy, [data(x), whole(positions, 0, 50), scaled])


def _ropes(op: Op) -> list[Example]:
    return [
        *(rope(op, mode) for mode in (0, 2, 8, 40)),
        rope(op, 24, n_dims=4),
        rope(op, 0, n_dims=4, offset=2),
        rope(op, 2, n_dims=4, factors=True, ext=1.0),
    ]


def _soft_max(sinks: bool, bias: float, mask: str = "f32") -> Example:
    x, m = leaf(6, 3, 4, 2), leaf(6, 4, 2, 1, dtype=mask)
    lazy = ops.soft_max_ext(x, m, 0.5, bias)
    if sinks:
        ops.soft_max_add_sinks(lazy, leaf(4))
    return filled(lazy)


def _part(op: Op, inplace: int) -> Example:
    a = leaf(6, 4, 2)
    return filled(node(op, a.ne, a, leaf(3, 2), params=(24, 96, 192, 8, inplace)))


def _mul_mat(dtype: str) -> Example:
    return filled(ops.mul_mat(leaf(256, 4, 2, dtype=dtype), leaf(256, 3, 4, 2)))


def _flash(kv: str, n: int, bias: float = 0.0, cap: float = 0.0, sinks: bool = False) -> Example:
    """Five cells; none sees the third, and a query sees only cells up to its own."""
    q, k, v = leaf(32, n, 4, 2), leaf(32, 5, 2, 2, dtype=kv), leaf(32, 5, 2, 2, dtype=kv)
    mask = leaf(5, n, 1, 2, dtype="f16")
    lazy = ops.flash_attn_ext(q, k, v, mask, 0.25, bias, cap)
    if sinks:
        ops.flash_attn_ext_add_sinks(lazy, leaf(4))
    _, sources = filled(lazy)
    hidden = np.arange(5)[None, :] > np.arange(n)[:, None]
    hidden[:, 2] = True
    sources[3] = np.broadcast_to(np.where(hidden, -np.inf, 0.5), (2, 1, n, 5)).astype(np.float32)
    return Example(lazy, sources)


def _scan(states: int, decay: int) -> Example:
    x, b = leaf(3, 4, 5, 2), leaf(6, 2, 5, 2)
    total = 3 * 4 * 5 * 2 + states * 6 * 3 * 4 * 2
    sources = (leaf(6, 3, 4, 3), x, leaf(4, 5, 2), leaf(decay, 4), b, b, leaf(2, dtype="i32"))
    return filled(node(Op.SSM_SCAN, (total,), *sources, params=(states,)))


def _per_head(op: Op, tokens: int, once: int = -1, params: tuple[float, ...] = ()) -> Example:
    """Six tokens of two sequences, three heads of four elements; slot `once` is not per token."""
    sources = [leaf(4, 3) if slot == once else leaf(4, 3, 6) for slot in range(tokens)]
    return filled(node(op, (12, 14), *sources, leaf(48, 2), params=params))


def _delta(heads: int, seqs: int, states: int, gates: int) -> Example:
    q, v = leaf(4, heads, 5, seqs), leaf(4, 4, 5, 2)
    sources = (q, q, v, leaf(gates, 4, 5, 2), leaf(1, 4, 5, 2), leaf(4, 4, 4, 2))
    return filled(node(Op.GATED_DELTA_NET, (16, 10 + states * 8), *sources, params=(states,)))


def _triangle() -> Example:
    lazy = node(Op.SOLVE_TRI, (2, 5, 3), leaf(5, 5, 3), leaf(2, 5, 3))
    _, (a, b) = filled(lazy)
    assert a is not None
    return Example(lazy, [np.tril(0.1 * a) + np.eye(5, dtype=np.float32), b])


def _conv(op: Op, ne: tuple[int, ...], kernel: tuple[int, ...], dtype: str = "f32", flag: int = 0) -> Example:
    """Stride 2 and 1, padding 1 and 2, dilation 1 and 2 over 7 by 5 pixels."""
    return filled(node(op, ne, leaf(*kernel, dtype=dtype), leaf(7, 5, 4, 2), params=(2, 1, 1, 2, 1, 2, flag)))


CALLS: dict[Op, Callable[[], list[Example]]] = {
    Op.ADD: lambda: _binary(ops.add),
    Op.SUB: lambda: _binary(ops.sub),
    Op.MUL: lambda: _binary(ops.mul),
    Op.DIV: lambda: _binary(ops.div),
    Op.ADD1: lambda: each(node(Op.ADD1, (5, 3), leaf(5, 3), leaf(1))),
    Op.ADD_ID: lambda: each(ops.add_id(leaf(5, 3, 2, 2), leaf(5, 4), leaf(3, 2, dtype="i32"))),
    Op.ACC: lambda: [_part(Op.ACC, 0), _part(Op.ACC, 1)],
    Op.SET: lambda: [_part(Op.SET, 0)],
    Op.SQR: lambda: _one(ops.sqr),
    Op.SQRT: lambda: _positive(_one(ops.sqrt)),
    Op.LOG: lambda: _positive(_plain(Op.LOG)),
    Op.SIN: lambda: _plain(Op.SIN),
    Op.COS: lambda: _plain(Op.COS),
    Op.SCALE: lambda: [*_one(lambda a: ops.scale(a, 1.5)), *_one(lambda a: ops.scale_bias(a, 1.5, 0.25))],
    Op.CLAMP: lambda: _one(lambda a: ops.clamp(a, -0.5, 0.75)),
    Op.LEAKY_RELU: lambda: _one(lambda a: ops.leaky_relu(a, 0.1)),
    Op.FILL: lambda: _one(lambda a: ops.fill(a, 2.5)),
    Op.SUM: lambda: each(node(Op.SUM, (1,), leaf(5, 3, 2, 2))),
    Op.SUM_ROWS: lambda: _one(ops.sum_rows),
    Op.CUMSUM: lambda: _one(ops.cumsum),
    Op.MEAN: lambda: _one(ops.mean),
    Op.ARGMAX: lambda: each(node(Op.ARGMAX, (3,), leaf(5, 3), dtype="i32")),
    Op.COUNT_EQUAL: lambda: each(
        node(Op.COUNT_EQUAL, (1,), leaf(5, 3, dtype="i32"), leaf(5, 3, dtype="i32"), dtype="i64")
    ),
    Op.REPEAT: lambda: each(ops.repeat(leaf(3, 1, 2), leaf(6, 4, 2, 3)), ops.repeat(leaf(1, dtype="i32"), leaf(2, 2))),
    Op.REPEAT_BACK: lambda: each(node(Op.REPEAT_BACK, (3, 1, 2), leaf(6, 4, 2, 3))),
    Op.CONCAT: lambda: [
        *each(ops.concat(leaf(3, 2), leaf(4, 2), 0), ops.concat(leaf(3, 2, 1, 2), leaf(3, 2, 1, 4), 3)),
        _blocks(ops.concat(leaf(32, 2, dtype="q8_0"), leaf(64, 2, dtype="q8_0"), 0)),
    ],
    Op.NORM: lambda: _one(lambda a: ops.norm(a, 1e-5)),
    Op.RMS_NORM: lambda: _one(lambda a: ops.rms_norm(a, 1e-5)),
    Op.L2_NORM: lambda: _one(lambda a: ops.l2_norm(a, 1e-5)),
    Op.GROUP_NORM: lambda: each(ops.group_norm(leaf(3, 2, 5, 2), 2, 1e-5)),
    Op.RMS_NORM_BACK: lambda: each(node(Op.RMS_NORM_BACK, (5, 3), leaf(5, 3), leaf(5, 3), params=(1e-5,))),
    Op.CPY: lambda: [
        *each(ops.cpy(leaf(4, 3), leaf(6, 2, dtype="f16"))),
        *(_cast("f32", target) for target in ("i32", "bf16", "q8_0")),
        _cast("i32", "f32"),
        _cast("q8_0", "f32"),
    ],
    Op.CONT: lambda: _copies(ops.cont),
    Op.DUP: lambda: _copies(ops.dup),
    Op.GET_ROWS: lambda: each(
        ops.get_rows(leaf(5, 3), leaf(4, dtype="i32")),
        ops.get_rows(leaf(5, 3, 2, 2), leaf(4, 2, 2, dtype="i32")),
        ops.get_rows(leaf(5, 3, dtype="i32"), leaf(4, dtype="i32")),
    ),
    Op.SET_ROWS: lambda: each(ops.set_rows(leaf(5, 4, 2), leaf(5, 2, 2), leaf(2, dtype="i64"))),
    Op.DIAG: lambda: each(node(Op.DIAG, (4, 4, 2), leaf(4, 1, 2))),
    Op.DIAG_MASK_INF: lambda: each(node(Op.DIAG_MASK_INF, (5, 3, 2), leaf(5, 3, 2), params=(1,))),
    Op.DIAG_MASK_ZERO: lambda: each(node(Op.DIAG_MASK_ZERO, (5, 3, 2), leaf(5, 3, 2), params=(1,))),
    Op.TRI: lambda: each(*(node(Op.TRI, (4, 4, 2), leaf(4, 4, 2), params=(kind,)) for kind in range(4))),
    Op.ROPE: lambda: _ropes(Op.ROPE),
    Op.ROPE_BACK: lambda: _ropes(Op.ROPE_BACK),
    Op.SOFT_MAX: lambda: [
        *_one(ops.soft_max),
        _soft_max(False, 0.0, "f16"),
        _soft_max(False, 8.0),
        _soft_max(True, 0.0),
    ],
    Op.SOFT_MAX_BACK: lambda: each(node(Op.SOFT_MAX_BACK, (5, 3), leaf(5, 3), leaf(5, 3), params=(0.5,))),
    Op.CROSS_ENTROPY_LOSS: lambda: each(node(Op.CROSS_ENTROPY_LOSS, (1,), leaf(5, 3), leaf(5, 3))),
    Op.PAD: lambda: each(
        ops.pad(leaf(4, 3), 1, 0, 2, 0),
        node(Op.PAD, (8, 6), leaf(4, 3), params=(1, 3, 2, 1)),
        node(Op.PAD, (8, 6), leaf(4, 3), params=(1, 3, 2, 1, 0, 0, 0, 0, 1)),
    ),
    Op.PAD_REFLECT_1D: lambda: each(node(Op.PAD_REFLECT_1D, (9, 2), leaf(5, 2), params=(1, 3))),
    Op.ROLL: lambda: each(node(Op.ROLL, (5, 3, 2), leaf(5, 3, 2), params=(2, -1, 1, 0))),
    Op.ARANGE: lambda: each(node(Op.ARANGE, (6,), params=(1.0, 4.0, 0.5))),
    Op.TIMESTEP_EMBEDDING: lambda: each(
        *(node(Op.TIMESTEP_EMBEDDING, (dim, 3), leaf(3), params=(dim, 10000)) for dim in (1, 6, 7))
    ),
    Op.ARGSORT: lambda: each(ops.argsort(leaf(7, 3)), ops.argsort(leaf(7, 3), descending=True)),
    Op.TOP_K: lambda: each(ops.top_k(leaf(7, 3), 1), ops.top_k(leaf(7, 3), 4)),
    Op.UNARY: lambda: each(*(ops.unary(leaf(5, 3, 2, 2), name) for name in UNARY_OPS)),
    Op.SILU_BACK: lambda: each(node(Op.SILU_BACK, (5, 3), leaf(5, 3), leaf(5, 3))),
    Op.GLU: lambda: [
        filled(lazy)
        for name in GLU_OPS
        for lazy in (ops.glu(leaf(6, 3), name, swapped=True), ops.glu_split(leaf(6, 3), leaf(6, 3), name))
    ],
    Op.UPSCALE: lambda: each(
        *(node(Op.UPSCALE, (7, 3, 2), leaf(4, 5, 1), params=(mode,)) for mode in (0, 1, 2, 257, 513))
    ),
    Op.POOL_1D: lambda: each(*(node(Op.POOL_1D, (4, 2), leaf(7, 2), params=(op, 3, 2, 1)) for op in (0, 1))),
    Op.POOL_2D: lambda: each(
        *(node(Op.POOL_2D, (4, 3, 2), leaf(7, 5, 2), params=(op, 3, 2, 2, 2, 1, 0)) for op in (0, 1))
    ),
    Op.MUL_MAT: lambda: [_mul_mat(dtype) for dtype in ("f32", "f16", "bf16", "q8_0", "q4_K", "q5_1")],
    Op.MUL_MAT_ID: lambda: each(
        ops.mul_mat_id(leaf(32, 4, 3), leaf(32, 1, 5), leaf(2, 5, dtype="i32")),
        ops.mul_mat_id(leaf(32, 4, 3, dtype="q4_1"), leaf(32, 2, 5), leaf(2, 5, dtype="i32")),
    ),
    Op.OUT_PROD: lambda: each(ops.out_prod(leaf(4, 3, 1, 2), leaf(5, 3, 2, 2))),
    Op.FLASH_ATTN_EXT: lambda: [
        *(_flash("f16", n, sinks=True) for n in (1, 3, 64)),
        _flash("f32", 3, bias=8.0),
        _flash("q8_0", 3, cap=5.0),
        _flash("q4_1", 3),
    ],
    Op.SSM_CONV: lambda: each(node(Op.SSM_CONV, (4, 5, 2), leaf(8, 4, 2), leaf(4, 4))),
    Op.SSM_SCAN: lambda: [_scan(1, 6), _scan(3, 1)],
    Op.RWKV_WKV6: lambda: [_per_head(Op.RWKV_WKV6, 5, 3)],
    Op.RWKV_WKV7: lambda: [_per_head(Op.RWKV_WKV7, 6)],
    Op.GATED_LINEAR_ATTN: lambda: [_per_head(Op.GATED_LINEAR_ATTN, 4, params=(0.5,))],
    Op.GATED_DELTA_NET: lambda: [_delta(4, 2, 1, 1), _delta(2, 1, 3, 4)],
    Op.SOLVE_TRI: lambda: [_triangle()],
    Op.IM2COL: lambda: [
        _conv(Op.IM2COL, (24, 4, 7, 2), (3, 2, 4, 6), flag=1),
        filled(node(Op.IM2COL, (12, 4, 2), leaf(3, 4, 6), leaf(7, 4, 2), params=(2, 0, 1, 0, 1))),
    ],
    Op.CONV_2D: lambda: [_conv(Op.CONV_2D, (4, 7, 6, 2), (3, 2, 4, 6), dtype) for dtype in ("f32", "f16")],
    Op.CONV_2D_DW: lambda: [_conv(Op.CONV_2D_DW, (4, 7, 4, 2), (3, 2, 1, 4))],
    Op.CONV_TRANSPOSE_1D: lambda: each(
        node(Op.CONV_TRANSPOSE_1D, (15, 4), leaf(3, 4, 5), leaf(7, 5), params=(2, 0, 1))
    ),
}
