"""Cases of ops that treat each element by itself, and of norms and sums of rows."""

from collections.abc import Sequence

from galloscope.core.op import GLU_OPS, UNARY_OPS, Op
from galloscope.core.ops import float_word
from galloscope.tests.core.backends.cases.given import (
    ALL,
    ROWS,
    C,
    Case,
    Cases,
    Given,
    Layout,
    MakeCases,
    Maker,
    P,
    X,
    node,
)

FLOATS = ("f32", "f16", "bf16")


def floats(*values: float) -> tuple[int, ...]:
    return tuple(map(float_word, values))


def binary(op: Op) -> MakeCases:
    """Two sources of which the second repeats, in the types that ggml_compute_forward_* of binary-ops.cpp combines."""

    def make(m: Maker) -> Cases:
        ne = (66, 5, 3, 2)
        for small in ((66, 5, 3, 2), (66, 1, 3, 1), (66, 1, 1, 1), (1, 1, 1, 1), (1, 5, 1, 2), (22, 5, 1, 1)):
            second = m.leaf("f32", small, values=m.uniform(0.5, 3, *small))
            yield Case(node(op, "f32", ne), (m.leaf("f32", ne), second))
        for layout in ROWS:
            yield Case(node(op, "f32", ne), (m.leaf("f32", ne, layout), m.leaf("f32", ne)))
            yield Case(node(op, "f32", ne, layout=layout), (m.leaf("f32", ne), m.leaf("f32", ne)))
        for layout in ALL:
            yield Case(node(op, "f32", ne), (m.leaf("f32", ne), m.leaf("f32", (66, 5, 1, 2), layout)))
        for first, other, result in (
            *((dtype, dtype, dtype) for dtype in FLOATS),
            *((half, "f32", result) for half in ("f16", "bf16") for result in (half, "f32")),
        ):
            for layout in (C, X):
                row = m.leaf(other, (66, 1, 3, 2), layout, m.uniform(0.5, 3, 66, 1, 3, 2))
                yield Case(node(op, result, ne), (m.leaf(first, ne, layout), row))

    return make


def add(m: Maker) -> Cases:
    yield from binary(Op.ADD)(m)
    for dtype in ("q4_0", "q8_0", "q5_1"):
        for layout in (C, P):
            ne = (64, 3, 2, 1)
            yield Case(node(Op.ADD, dtype, ne), (m.leaf(dtype, ne, layout), m.leaf("f32", ne)))


def add1(m: Maker) -> Cases:
    ne = (34, 4, 2, 1)
    for first, second, result in (
        ("f32", "f32", "f32"), ("f16", "f32", "f16"), ("f16", "f16", "f16"), ("bf16", "f32", "bf16"),
    ):  # fmt: skip
        for layout in ROWS:
            yield Case(node(Op.ADD1, result, ne), (m.leaf(first, ne, layout), m.leaf(second, (1,))))


def add_id(m: Maker) -> Cases:
    for layout in (C, P):
        ids = m.leaf("i32", (3, 5), values=m.integers(0, 6, 3, 5))
        yield Case(node(Op.ADD_ID, "f32", (34, 3, 5)), (m.leaf("f32", (34, 3, 5), layout), m.leaf("f32", (34, 6)), ids))


def one(
    op: Op,
    *params: Sequence[int],
    types: Sequence[str] = ("f32",),
    low: float | None = None,
    layouts: Sequence[Layout] = ROWS,
) -> MakeCases:
    """One source and a result of its shape, with each of these parameters; `layouts` are those ggml-cpu can read."""

    def source(m: Maker, dtype: str, layout: Layout) -> Given:
        ne = (67, 5, 3, 2)
        return m.leaf(dtype, ne, layout, None if low is None else m.uniform(low, 9, *ne))

    def make(m: Maker) -> Cases:
        for words in params or ((),):
            for dtype in types:
                for layout in layouts:
                    yield Case(node(op, dtype, (67, 5, 3, 2), words), (source(m, dtype, layout),))
            if P in layouts:
                yield Case(node(op, "f32", (67, 5, 3, 2), words, P), (source(m, "f32", C),))

    return make


def unary(m: Maker) -> Cases:
    for number, name in enumerate(UNARY_OPS):
        ne, values = (67, 5, 3, 1), m.normal(67, 5, 3, 1)
        words = (number, *floats(0.7, 0.2, 0.5, 1e-6)) if name == "XIELU" else (number,)
        for dtype in FLOATS:
            for layout in ROWS if name != "XIELU" else (C, P):
                yield Case(node(Op.UNARY, dtype, ne, words), (m.leaf(dtype, ne, layout, values),))


def glu(m: Maker) -> Cases:
    for number, name in enumerate(GLU_OPS):
        limits = floats(1.702, 2.0) if name in ("SWIGLU_OAI", "SWIGLU_CLAMP") else ()
        for dtype in ("f32", "f16") if not limits else ("f32",):
            for layout in (C, P):
                for swapped in (0, 1):
                    words = (number, swapped, *limits)
                    yield Case(node(Op.GLU, dtype, (33, 5, 2), words), (m.leaf(dtype, (66, 5, 2), layout),))
                both = m.leaf(dtype, (66, 5, 2), layout), m.leaf(dtype, (66, 5, 2), layout)
                yield Case(node(Op.GLU, dtype, (66, 5, 2), (number, 0, *limits)), both)


def pair(op: Op, *params: Sequence[int], layouts: Sequence[Layout] = ROWS) -> MakeCases:
    """Two sources of one shape: the way back through something."""

    def make(m: Maker) -> Cases:
        for words in params or ((),):
            for layout in layouts:
                ne = (67, 5, 3, 2)
                second = m.leaf("f32", ne, layout, m.uniform(0.01, 1, *ne))
                yield Case(node(op, "f32", ne, words), (m.leaf("f32", ne, layout), second))

    return make


def rows_to_one(op: Op) -> MakeCases:
    """One number for each row."""

    def make(m: Maker) -> Cases:
        for layout in ROWS:
            yield Case(node(op, "f32", (1, 5, 3, 2)), (m.leaf("f32", (301, 5, 3, 2), layout),))

    return make


def total(m: Maker) -> Cases:
    for dtype in FLOATS:
        for layout in ROWS:
            yield Case(node(Op.SUM, dtype, (1,)), (m.leaf(dtype, (67, 5, 3, 2), layout),))


def argmax(m: Maker) -> Cases:
    for layout in (C, P):
        yield Case(node(Op.ARGMAX, "i32", (9,)), (m.leaf("f32", (67, 9), layout),))


def count_equal(m: Maker) -> Cases:
    """Matrices only: with more dimensions ggml_compute_forward_count_equal_i32 takes wrong rows."""
    for layout in (C, P):
        few, other = m.integers(0, 3, 67, 25), m.leaf("i32", (67, 25), values=m.integers(0, 3, 67, 25))
        yield Case(node(Op.COUNT_EQUAL, "i64", (1,)), (m.leaf("i32", (67, 25), layout, few), other))


def fill(m: Maker) -> Cases:
    for dtype in ("f32", "f16"):
        for layout in (C, X):
            given = m.leaf(dtype, (67, 5, 3, 2), layout)
            yield Case(node(Op.FILL, dtype, (67, 5, 3, 2), floats(-3.25)), (given,))


CASES: dict[Op, MakeCases] = {
    Op.ADD: add,
    Op.SUB: binary(Op.SUB),
    Op.MUL: binary(Op.MUL),
    Op.DIV: binary(Op.DIV),
    Op.ADD1: add1,
    Op.ADD_ID: add_id,
    Op.SQR: one(Op.SQR, types=FLOATS),
    Op.SQRT: one(Op.SQRT, types=FLOATS, low=0.0),
    Op.LOG: one(Op.LOG, types=FLOATS, low=0.01),
    Op.SIN: one(Op.SIN, types=FLOATS),
    Op.COS: one(Op.COS, types=FLOATS),
    Op.SCALE: one(Op.SCALE, floats(0.37, 0.0), floats(-2.6, 1.3), layouts=(C,)),  # ggml-cpu asserts it
    Op.CLAMP: one(Op.CLAMP, floats(-0.5, 1.25), types=("f32", "f16")),
    # ggml_compute_forward_leaky_relu and _silu_back go from row to row by nb[1] alone
    Op.LEAKY_RELU: one(Op.LEAKY_RELU, floats(0.1), types=("f32", "f16"), layouts=(C, P)),
    Op.FILL: fill,
    Op.NORM: one(Op.NORM, floats(1e-5), floats(0.0)),
    Op.RMS_NORM: one(Op.RMS_NORM, floats(1e-6), floats(1e-2)),
    Op.L2_NORM: one(Op.L2_NORM, floats(1e-6), floats(20.0)),
    Op.GROUP_NORM: one(Op.GROUP_NORM, (3, *floats(1e-6)), (2, *floats(1e-6))),
    Op.RMS_NORM_BACK: pair(Op.RMS_NORM_BACK, floats(1e-5)),
    Op.SILU_BACK: pair(Op.SILU_BACK, layouts=(C, P)),
    Op.SOFT_MAX_BACK: pair(Op.SOFT_MAX_BACK, floats(0.5, 0.0), layouts=(C,)),
    Op.UNARY: unary,
    Op.GLU: glu,
    Op.SUM: total,
    Op.SUM_ROWS: rows_to_one(Op.SUM_ROWS),
    Op.MEAN: rows_to_one(Op.MEAN),
    Op.CUMSUM: one(Op.CUMSUM),
    Op.ARGMAX: argmax,
    Op.COUNT_EQUAL: count_equal,
}
