"""Cases of ops that move bytes, convert them, or look rows up and order them."""

from collections.abc import Sequence

import numpy as np

from galloscope.core.op import Op
from galloscope.tests.core.backends.cases.given import (
    ALL,
    ROWS,
    C,
    Case,
    Cases,
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

QUANTISED = (
    "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq2_xxs", "iq2_xs", "iq2_s",
    "iq3_xxs", "iq3_s", "iq1_s", "iq1_m", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0", "mxfp4", "nvfp4", "q1_0", "q2_0",
)  # fmt: skip
"""Every type that holds weights."""
WRITTEN = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "mxfp4")
"""Types that caches and copies are written in."""
NE, BLOCKS = (64, 5, 3, 2), (256, 5, 3, 2)
FLOATS = ("f32", "f16", "bf16")


def copy(op: Op) -> MakeCases:
    """The same type in every layout; for CPY also every conversion of ggml_compute_forward_dup."""

    def case(m: Maker, dtype: str, layout: Layout, result: str, made: Layout = C, ne: Sequence[int] = NE) -> Case:
        given = m.leaf(dtype, ne, layout, m.normal(*ne) * 3)
        target = (m.leaf(result, ne, made),) if op is Op.CPY else ()
        return Case(node(op, result, ne, layout=made), (given, *target))

    def make(m: Maker) -> Cases:
        for dtype in ("f32", "f16", "bf16", "i32"):
            for layout in ALL:
                yield case(m, dtype, layout, dtype)
        for dtype in ("i64", "i16", "q4_0", "q8_0", "q4_K"):
            yield case(m, dtype, C, dtype, ne=BLOCKS)
        for dtype in ("q4_0", "q8_0"):
            yield case(m, dtype, P, dtype, ne=BLOCKS)
        if op is Op.CPY:
            yield from conversions(m)

    def conversions(m: Maker) -> Cases:
        for dtype in FLOATS:
            for result in FLOATS:
                for layout in ALL:
                    yield case(m, dtype, layout, result)
                    yield case(m, dtype, C, result, layout)
            for result in WRITTEN:
                yield case(m, dtype, C, result)
                yield case(m, dtype, P, result)
        yield case(m, "f32", X, "i32")
        yield case(m, "i32", X, "f32")
        for dtype in QUANTISED:
            yield case(m, dtype, C, "f32", ne=BLOCKS)
        # another shape with as many elements
        yield Case(node(op, "f16", (32, 10, 6, 1)), (m.leaf("f32", NE, X), m.leaf("f16", (32, 10, 6, 1))))
        yield Case(node(op, "f32", (960,)), (m.leaf("f32", (64, 15), T), m.leaf("f32", (960,))))

    return make


def repeat(m: Maker) -> Cases:
    for dtype in ("f32", "f16", "bf16", "i16", "i32"):
        for small in ((64, 5, 3, 1), (32, 1, 3, 1), (1, 5, 1, 2), (1, 1, 1, 1)):
            for layout in ROWS:
                yield Case(node(Op.REPEAT, dtype, (64, 5, 3, 2)), (m.leaf(dtype, small, layout),))


def repeat_back(m: Maker) -> Cases:
    for small in ((64, 5, 3, 1), (32, 1, 3, 1), (1, 5, 1, 2), (1, 1, 1, 1)):
        for layout in ROWS:
            yield Case(node(Op.REPEAT_BACK, "f32", small), (m.leaf("f32", (64, 5, 3, 2), layout),))


def concat(m: Maker) -> Cases:
    for dtype in ("f32", "f16", "bf16", "i32", "i64"):
        for dim in range(4):
            for first, second in ((C, C), (X, C), (C, P), (T, X)) if dtype != "i64" else ((C, C), (X, P)):
                other = [n if i != dim else 2 for i, n in enumerate((6, 5, 3, 2))]
                whole = [n if i != dim else n + 2 for i, n in enumerate((6, 5, 3, 2))]
                sources = m.leaf(dtype, (6, 5, 3, 2), first), m.leaf(dtype, other, second)
                yield Case(node(Op.CONCAT, dtype, whole, (dim,)), sources)
    sources = m.leaf("q8_0", (64, 5, 3)), m.leaf("q8_0", (64, 4, 3))
    yield Case(node(Op.CONCAT, "q8_0", (64, 9, 3), (1,)), sources)


def get_rows(m: Maker) -> Cases:
    ids = m.leaf("i32", (7, 3, 2), values=m.integers(0, 5, 7, 3, 2))
    for dtype in ("f32", "f16", "bf16", "i32", *QUANTISED):
        for layout in (C, P, S):
            ne = (256, 5, 3, 2)
            result = "i32" if dtype == "i32" else "f32"
            yield Case(node(Op.GET_ROWS, result, (256, 7, 3, 2)), (m.leaf(dtype, ne, layout), ids))
    padded = m.leaf("i32", (7, 3, 2), X, m.integers(0, 5, 7, 3, 2))
    yield Case(node(Op.GET_ROWS, "f32", (33, 7, 3, 2)), (m.leaf("f32", (33, 5, 3, 2)), padded))


def set_rows(m: Maker) -> Cases:
    for dtype in ("f32", "f16", "bf16", *WRITTEN, "tq1_0", "tq2_0", "q1_0", "q2_0"):
        for rows, kind in (("f32", "i64"), ("f32", "i32"), ("f16", "i64")):
            for layout in (C, P, S) if rows == "f32" else (C,):
                if rows == "f16" and dtype != "f16":
                    continue
                ne = (256, 9, 4, 2)
                before = m.leaf(dtype, ne, layout)
                made = m.leaf(rows, (256, 5, 4, 2), layout)
                ids = np.stack([m.random.permutation(9)[:5] for _ in range(2)]).reshape(1, 1, 2, 5)
                given = m.leaf(kind, (5, 2, 1), values=ids)
                target = node(Op.SET_ROWS, dtype, ne, layout=layout)
                yield Case(target, (made, given, before), before.data)


def argsort(m: Maker) -> Cases:
    for order in (0, 1):
        for layout in (C, P):
            given = m.leaf("f32", (67, 5, 3, 2), layout, _distinct(m))
            yield Case(node(Op.ARGSORT, "i32", (67, 5, 3, 2), (order,)), (given,))


def top_k(m: Maker) -> Cases:
    for k in (1, 2, 9):
        for layout in (C, P):
            given = m.leaf("f32", (67, 5, 3, 2), layout, _distinct(m))
            yield Case(node(Op.TOP_K, "i32", (k, 5, 3, 2)), (given,))


def _distinct(m: Maker) -> Values:
    """Rows without equal values: ggml leaves open which of them comes first."""
    rows: Values = np.stack([m.random.permutation(67) for _ in range(30)]).reshape(2, 3, 5, 67) - 33.5
    return rows


CASES: dict[Op, MakeCases] = {
    Op.CPY: copy(Op.CPY),
    Op.CONT: copy(Op.CONT),
    Op.DUP: copy(Op.DUP),
    Op.REPEAT: repeat,
    Op.REPEAT_BACK: repeat_back,
    Op.CONCAT: concat,
    Op.GET_ROWS: get_rows,
    Op.SET_ROWS: set_rows,
    Op.ARGSORT: argsort,
    Op.TOP_K: top_k,
}
