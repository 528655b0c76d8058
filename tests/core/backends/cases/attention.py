"""Cases of matrix products, softmax, rope and flash attention."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from galloscope.core.op import Op
from galloscope.tests.core.backends.cases.elementwise import floats
from galloscope.tests.core.backends.cases.given import (
    C,
    Case,
    Cases,
    Given,
    Layout,
    MakeCases,
    Maker,
    P,
    S,
    T,
    Values,
    X,
    node,
)
from galloscope.tests.core.backends.cases.moved import QUANTISED

FLOATS = ("f32", "f16", "bf16")


def mul_mat(m: Maker) -> Cases:
    def case(dtype: str, k: int, layout: Layout, n: int, other: str = "f32", second: Layout = C) -> Case:
        a, b = m.leaf(dtype, (k, 9, 2, 1), layout), m.leaf(other, (k, n, 4, 3), second)
        return Case(node(Op.MUL_MAT, "f32", (9, n, 4, 3)), (a, b))

    for dtype in (*FLOATS, *QUANTISED):
        for n in (1, 5):
            for layout in (C, P) if n == 1 else (C, S, X):
                yield case(dtype, 256, layout, n)
    for k, n, second in product((1, 31, 33, 64), (1, 3), (C, P, X)):
        for dtype in FLOATS:
            yield case(dtype, k, C, n, second=second)
    for dtype, other in (("f16", "f16"), ("bf16", "bf16"), ("f32", "bf16"), ("f32", "f16")):
        yield case(dtype, 64, C, 4, other)
    yield Case(node(Op.MUL_MAT, "f32", (64, 5), (0, 1)), (_hadamard(m), m.leaf("f32", (64, 5))))


def _hadamard(m: Maker) -> Given:
    made = np.ones((1, 1))
    while len(made) < 64:
        made = np.block([[made, made], [made, -made]])
    return m.leaf("f32", (64, 64), values=(made / 8).reshape(1, 1, 64, 64))


def mul_mat_id(m: Maker) -> Cases:
    for dtype in (*FLOATS, *QUANTISED):
        for per_token, tokens, layout in ((1, 1, C), (1, 7, C), (3, 7, P), (3, 1, S)):
            ids = np.stack([m.random.permutation(6)[:3] for _ in range(tokens)])
            b = m.leaf("f32", (256, per_token, tokens), layout)
            experts = m.leaf(dtype, (256, 9, 6), C if layout is P else layout)
            given = experts, b, m.leaf("i32", (3, tokens), C if tokens == 1 else P, ids[None, None])
            yield Case(node(Op.MUL_MAT_ID, "f32", (9, 3, tokens)), given)


def out_prod(m: Maker) -> Cases:
    for dtype in ("f32", "q4_0", "q8_0", "q6_K"):
        for layout in (C, S):
            a, b = m.leaf(dtype, (256, 7, 2, 3), layout), m.leaf("f32", (5, 7, 2, 3), layout)
            yield Case(node(Op.OUT_PROD, "f32", (256, 5, 2, 3)), (a, b))
    a, b = m.leaf("f32", (32, 7, 2, 1)), m.leaf("f32", (5, 7, 4, 3), T)
    yield Case(node(Op.OUT_PROD, "f32", (32, 5, 4, 3)), (a, b))


def mask(m: Maker, dtype: str, ne: Sequence[int], width: int) -> Given:
    """A causal mask with some rows that see all; every row sees at least the first cell."""
    values = m.normal(*ne)
    cells, rows = np.arange(ne[0]), np.arange(ne[1])
    hidden = cells[None, :] > rows[:, None] + width
    return m.leaf(dtype, ne, values=np.where(hidden, -np.inf, values))


def soft_max(m: Maker) -> Cases:
    ne = (67, 5, 6, 2)
    for layout in (C, P, S, X):
        yield Case(node(Op.SOFT_MAX, "f32", ne, floats(0.3, 0.0)), (m.leaf("f32", ne, layout),))
    for dtype, shape, bias in product(("f32", "f16"), ((67, 5, 1, 1), (67, 8, 3, 1), (67, 5, 6, 2)), (0.0, 8.0)):
        given = m.leaf("f32", ne), mask(m, dtype, shape, 40)
        yield Case(node(Op.SOFT_MAX, "f32", ne, floats(0.125, bias)), given)
        yield Case(node(Op.SOFT_MAX, "f32", ne, floats(0.125, bias)), (*given, m.leaf("f32", (6,))))


def cross_entropy_loss(m: Maker) -> Cases:
    for ne, layout in (((67, 5), C), ((1000, 3, 2), C), ((67, 5, 3), P)):
        wanted = m.uniform(0.0, 1.0, *ne)
        wanted = wanted / wanted.sum(axis=3, keepdims=True)
        given = m.leaf("f32", ne, layout), m.leaf("f32", ne, layout, wanted)
        yield Case(node(Op.CROSS_ENTROPY_LOSS, "f32", (1,)), given)


NORMAL, NEOX, MROPE, VISION, IMROPE = 0, 2, 8, 24, 40


def rope(op: Op) -> MakeCases:
    def make(m: Maker) -> Cases:
        for mode, dtype, layout in product((NORMAL, NEOX, MROPE, VISION, IMROPE), ("f32", "f16"), (C, P, X)):
            for scaling in ((10000.0, 1.0, 0.0, 1.0, 32.0, 1.0), (1e6, 0.25, 1.0, 1.2, 32.0, 1.0)):
                yield _rope(m, op, mode, dtype, layout, scaling, n_dims=32 if mode == VISION else 48)
        for mode in (NORMAL, NEOX):
            plain = (10000.0, 1.0, 0.0, 1.0, 32.0, 1.0)
            yield _rope(m, op, mode, "f32", C, plain, n_dims=64, factors=m.uniform(0.5, 9, 32))
            yield _rope(m, op, mode, "f32", C, plain, n_dims=16, far=True)

    return make


def _rope(
    m: Maker, op: Op, mode: int, dtype: str, layout: Layout, scaling: Sequence[float], *, n_dims: int,
    factors: Values | None = None, far: bool = False,
) -> Case:  # fmt: skip
    ne, count = (64, 3, 7), 28 if mode & MROPE else 7
    positions = m.leaf("i32", (count,), values=m.integers(0, 100_000 if far else 300, count))
    given = m.leaf(dtype, ne, layout), positions, *(() if factors is None else (m.leaf("f32", (32,), values=factors),))
    sections = (8, 6, 10, 8) if mode & MROPE else (0, 0, 0, 0)
    words = (0, n_dims, mode, 0, 256, *floats(*scaling), *sections)
    return Case(node(op, dtype, ne, words), given)


def flash_attn_ext(m: Maker) -> Cases:
    def case(
        kv: str, n: int, cells: int = 96, *, layout: Layout = X, bias: float = 0.0, cap: float = 0.0,
        heads: int = 4, groups: int = 2, streams: int = 1, masked: bool = True, sinks: bool = False, width: int = 64,
    ) -> Case:  # fmt: skip
        q = m.leaf("f32", (64, n, heads, streams), layout)
        k = m.leaf(kv, (64, cells, heads // groups, streams), layout)
        v = m.leaf(kv, (width, cells, heads // groups, streams), layout)
        seen = mask(m, "f16", (cells, n, 1, streams), cells - n) if masked or sinks else None
        given = (q, k, v, seen, *((m.leaf("f32", (heads,)),) if sinks else ()))
        return Case(node(Op.FLASH_ATTN_EXT, "f32", (width, heads, n, streams), floats(0.125, bias, cap)), given)

    for kv in ("f16", "f32", "bf16", "q8_0", "q4_0", "q5_1", "iq4_nl"):
        for n in (1, 5, 70):
            yield case(kv, n)
    for n in (1, 5, 70):
        yield case("f16", n, layout=C, groups=1)
        yield case("f16", n, layout=P, streams=2)
        yield case("f16", n, bias=8.0)
        yield case("f16", n, cap=20.0)
        yield case("f16", n, sinks=True)
        yield case("f16", n, masked=False)
        yield case("f16", n, width=32)
        yield case("f32", n, layout=C, heads=6, groups=3, bias=4.0, sinks=True)
    yield case("f16", 1, cells=700)


CASES: dict[Op, MakeCases] = {
    Op.MUL_MAT: mul_mat,
    Op.MUL_MAT_ID: mul_mat_id,
    Op.OUT_PROD: out_prod,
    Op.SOFT_MAX: soft_max,
    Op.CROSS_ENTROPY_LOSS: cross_entropy_loss,
    Op.ROPE: rope(Op.ROPE),
    Op.ROPE_BACK: rope(Op.ROPE_BACK),
    Op.FLASH_ATTN_EXT: flash_attn_ext,
}
