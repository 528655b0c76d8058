"""Cases of ops that change what lies where: parts, masks, padding, resizing, pooling; and of ops that make numbers."""

from collections.abc import Sequence

from galloscope.core.op import Op
from galloscope.tests.core.backends.cases.elementwise import floats, one
from galloscope.tests.core.backends.cases.given import ROWS, C, Case, Cases, MakeCases, Maker, P, S, X, node

PICTURE = (9, 7, 3, 2)


def part(op: Op) -> MakeCases:
    """A part of source 0, in a new tensor and in place."""

    def make(m: Maker) -> Cases:
        for layout in ROWS:
            a, b = m.leaf("f32", (8, 6, 4, 2)), m.leaf("f32", (5, 3, 2, 2), layout)
            words = (*a.tensor.nb[1:], 4 * (2 + 8 * 1 + 8 * 6 * 1))
            yield Case(node(op, "f32", (8, 6, 4, 2), words), (a, b))
            yield Case(node(op, "f32", (8, 6, 4, 2), (*words, 1)), (a, b), a.data)

    return make


def diag(m: Maker) -> Cases:
    for layout in (C, P, S):
        yield Case(node(Op.DIAG, "f32", (9, 9, 3, 2)), (m.leaf("f32", (9, 1, 3, 2), layout),))


def tri(m: Maker) -> Cases:
    for which in range(4):
        yield Case(node(Op.TRI, "f32", (9, 9, 3, 2), (which,)), (m.leaf("f32", (9, 9, 3, 2)),))


def pad(m: Maker) -> Cases:
    for before, behind in (((0, 0, 0, 0), (3, 1, 0, 2)), ((2, 1, 1, 0), (0, 4, 2, 1))):
        for circular in (0, 1):
            for layout in ROWS:
                ne = [n + low + high for n, low, high in zip(PICTURE, before, behind, strict=True)]
                words = [word for pair in zip(before, behind, strict=True) for word in pair]
                yield Case(node(Op.PAD, "f32", ne, (*words, circular)), (m.leaf("f32", PICTURE, layout),))


def pad_reflect(m: Maker) -> Cases:
    for before, behind in ((3, 2), (0, 8)):
        for layout in ROWS:
            ne = (9 + before + behind, 7, 3, 2)
            yield Case(node(Op.PAD_REFLECT_1D, "f32", ne, (before, behind)), (m.leaf("f32", PICTURE, layout),))


def arange(_: Maker) -> Cases:
    yield Case(node(Op.ARANGE, "f32", (40,), floats(-3.0, 37.0, 1.0)), ())
    yield Case(node(Op.ARANGE, "f32", (7,), floats(0.1, 2.2, 0.3)), ())


def timestep_embedding(m: Maker) -> Cases:
    steps = m.leaf("f32", (6,), values=m.uniform(0, 1000, 6))
    for size in (32, 33):
        yield Case(node(Op.TIMESTEP_EMBEDDING, "f32", (size, 6), (size, 10000)), (steps,))


CORNERS, ANTIALIAS = 1 << 8, 1 << 9


def upscale(m: Maker) -> Cases:
    for mode in (0, 1, 2, 1 | CORNERS, 2 | CORNERS, 1 | ANTIALIAS):
        for ne in ((18, 14, 3, 2), (5, 20, 6, 2), (4, 3, 3, 2)):
            for layout in (C, X):
                yield Case(node(Op.UPSCALE, "f32", ne, (mode,)), (m.leaf("f32", PICTURE, layout),))


def pool_1d(m: Maker) -> Cases:
    for kind in (0, 1):
        for size, step, around in ((3, 2, 0), (3, 1, 1), (2, 2, 1)):
            width = (20 + 2 * around - size) // step + 1
            for layout in (C, P):
                given = m.leaf("f32", (20, 7, 3, 2), layout)
                yield Case(node(Op.POOL_1D, "f32", (width, 7, 3, 2), (kind, size, step, around)), (given,))


def pool_2d(m: Maker) -> Cases:
    for kind in (0, 1):
        for sizes, steps, pads in (((3, 2), (2, 1), (0, 0)), ((3, 3), (1, 2), (1, 1))):
            ne = [(n + 2 * p - k) // s + 1 for n, k, s, p in zip((9, 7), sizes, steps, pads, strict=True)]
            words = (kind, *sizes, *steps, *pads)
            for layout in (C, P):
                yield Case(node(Op.POOL_2D, "f32", (*ne, 3, 2), words), (m.leaf("f32", PICTURE, layout),))


def _sizes(ne: Sequence[int], kernel: Sequence[int], words: Sequence[int]) -> list[int]:
    """Width and height after a convolution with strides, paddings and dilations."""
    return [(ne[i] + 2 * words[2 + i] - words[4 + i] * (kernel[i] - 1) - 1) // words[i] + 1 for i in range(2)]


WINDOWS = ((1, 1, 0, 0, 1, 1), (2, 1, 1, 2, 1, 2))
"""s0 s1 p0 p1 d0 d1."""


def im2col(m: Maker) -> Cases:
    for words in WINDOWS:
        for dtype in ("f32", "f16"):
            kernel, image = m.leaf("f16", (3, 2, 3, 4)), m.leaf("f32", PICTURE, S if dtype == "f32" else C)
            width, height = _sizes(PICTURE, (3, 2), words)
            yield Case(node(Op.IM2COL, dtype, (18, width, height, 2), (*words, 1)), (kernel, image))
        row, (width, _) = m.leaf("f32", (9, 3, 2)), _sizes(PICTURE, (3, 1), words)
        yield Case(node(Op.IM2COL, "f32", (9, width, 2), (*words, 0)), (m.leaf("f16", (3, 3, 4)), row))


def conv_2d(m: Maker) -> Cases:
    for words in WINDOWS:
        for dtype, layout in (("f32", C), ("f16", C), ("f32", P), ("f16", X)):
            width, height = _sizes(PICTURE, (3, 2), words)
            given = m.leaf(dtype, (3, 2, 3, 4)), m.leaf("f32", PICTURE, layout)
            yield Case(node(Op.CONV_2D, "f32", (width, height, 4, 2), words), given)


def conv_2d_dw(m: Maker) -> Cases:
    for words in WINDOWS:
        width, height = _sizes(PICTURE, (3, 2), words)
        given = m.leaf("f32", (3, 2, 1, 3)), m.leaf("f32", PICTURE)
        yield Case(node(Op.CONV_2D_DW, "f32", (width, height, 3, 2), words), given)


def conv_transpose_1d(m: Maker) -> Cases:
    for dtype in ("f32", "f16"):
        for stride in (1, 3):
            length = (11 - 1) * stride + 4
            for layout in (C, P, X):
                given = m.leaf(dtype, (4, 5, 6), layout), m.leaf("f32", (11, 6), layout)
                yield Case(node(Op.CONV_TRANSPOSE_1D, "f32", (length, 5), (stride, 0, 1)), given)


CASES: dict[Op, MakeCases] = {
    Op.SET: part(Op.SET),
    Op.ACC: part(Op.ACC),
    Op.DIAG: diag,
    Op.DIAG_MASK_INF: one(Op.DIAG_MASK_INF, (), (20,), layouts=(C,)),
    Op.DIAG_MASK_ZERO: one(Op.DIAG_MASK_ZERO, (), (20,), layouts=(C,)),
    Op.TRI: tri,
    Op.PAD: pad,
    Op.PAD_REFLECT_1D: pad_reflect,
    Op.ROLL: one(Op.ROLL, (3, 0, 0, 0), (-5, 2, 1, 1)),
    Op.ARANGE: arange,
    Op.TIMESTEP_EMBEDDING: timestep_embedding,
    Op.UPSCALE: upscale,
    Op.POOL_1D: pool_1d,
    Op.POOL_2D: pool_2d,
    Op.IM2COL: im2col,
    Op.CONV_2D: conv_2d,
    Op.CONV_2D_DW: conv_2d_dw,
    Op.CONV_TRANSPOSE_1D: conv_transpose_1d,
}
