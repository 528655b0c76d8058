"""Tensors with contents, in every layout: what the cases of `CASES` are made of."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from galloscope.core.dtypes import DTYPES, DType, contiguous, nbytes
from galloscope.core.op import Op
from galloscope.core.tensor import Tensor
from galloscope.tests.core.backends.compared import FILL, Data
from galloscope.tests.core.backends.ggml_oracle import Oracle

Shape4 = tuple[int, int, int, int]
Values = npt.NDArray[Any]

KINDS = {
    "f32": np.float32, "f16": np.float16, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64,
}  # fmt: skip


SLOW = frozenset({"iq2_xxs", "iq2_xs", "iq2_s", "iq1_s", "iq1_m"})
"""Types whose quantiser searches for a second or more per thousand elements."""


class Layout(Enum):
    """How a tensor lies in memory: the order of its dimensions, and blocks of gap behind each row.

    Attributes:
        CONTIGUOUS: as ggml_new_tensor makes it.
        PADDED: gaps between rows, as a view of the first columns of a wider tensor.
        SPREAD: gaps between matrices, rows follow one another.
        PERMUTED: dimensions 1 and 2 exchanged (ggml_permute 0 2 1 3), the layout of attention heads.
        TRANSPOSED: dimensions 0 and 1 exchanged (ggml_transpose); not for types with blocks.
    """

    CONTIGUOUS = "contiguous"
    PADDED = "padded"
    SPREAD = "spread"
    PERMUTED = "permuted"
    TRANSPOSED = "transposed"


C, P, S, X, T = Layout
"""Short names for tables."""
ROWS = (C, P, S, X)
"""Layouts in which the elements of a row follow one another."""
ALL = (C, P, S, X, T)


class Given(NamedTuple):
    """A source: what ggml and we are told about it, and its bytes."""

    tensor: Tensor
    data: Data


class Case(NamedTuple):
    """A node, its sources, and what lies at its place before (0xA5 when None)."""

    node: Tensor
    src: tuple[Given | None, ...]
    before: Data | None = None
    tolerance: float | None = None


Cases = Iterator[Case]


def shape4(ne: Sequence[int]) -> Shape4:
    n0, n1, n2, n3 = (*ne, 1, 1, 1)[:4]
    return n0, n1, n2, n3


def strides(dtype: str, ne: Shape4, layout: Layout) -> Shape4:
    """nb of a tensor of this shape in this layout."""
    kind = DTYPES[dtype]
    row = kind.size * (ne[0] // kind.block)
    if layout is C:
        return contiguous(kind, ne)
    if layout is P:
        nb1 = row + 3 * kind.size
        return kind.size, nb1, nb1 * ne[1], nb1 * ne[1] * ne[2]
    if layout is S:
        nb2 = row * ne[1] + 2 * kind.size
        nb3 = nb2 * ne[2] + 4 * kind.size
        return kind.size, row, nb2, nb3
    if layout is X:
        return kind.size, row * ne[2], row, row * ne[1] * ne[2]
    assert kind.block == 1, "a block cannot be transposed"
    return kind.size * ne[1], kind.size, kind.size * ne[0] * ne[1], kind.size * ne[0] * ne[1] * ne[2]


def node(op: Op, dtype: str, ne: Sequence[int], params: Sequence[int] = (), layout: Layout = C) -> Tensor:
    """A node of this shape."""
    shape = shape4(ne)
    nb = strides(dtype, shape, layout)
    words = tuple(params)
    while words and not words[-1]:
        words = words[:-1]
    kind = DTYPES[dtype]
    return Tensor(f"a {op.value}", op, kind, shape, nb, (), nbytes(kind, shape, nb), op_params=words)


class Maker:
    """Makes sources with random contents, always the same for one seed."""

    def __init__(self, oracle: Oracle, seed: int = 0) -> None:
        self.oracle = oracle
        self.random = np.random.default_rng(seed)

    def normal(self, *ne: int) -> Values:
        """Normal values, shape ne reversed; about one in twenty is large."""
        shape = shape4(ne)[::-1]
        values = self.random.standard_normal(shape)
        return np.where(self.random.random(shape) < 0.05, 8 * values, values).astype(np.float32)

    def uniform(self, low: float, high: float, *ne: int) -> Values:
        return self.random.uniform(low, high, shape4(ne)[::-1]).astype(np.float32)

    def integers(self, low: int, high: int, *ne: int) -> Values:
        """From low to high - 1."""
        return self.random.integers(low, high, shape4(ne)[::-1])

    def leaf(self, dtype: str, ne: Sequence[int], layout: Layout = C, values: Values | None = None) -> Given:
        """A source with these values (shape ne reversed), or normal ones; gaps hold 0xA5."""
        kind, shape = DTYPES[dtype], shape4(ne)
        if values is None:
            values = self.integers(-50, 50, *shape) if dtype.startswith("i") and dtype in KINDS else self.normal(*shape)
        nb = strides(dtype, shape, layout)
        tensor = Tensor("a source", Op.NONE, kind, shape, nb, (), nbytes(kind, shape, nb))
        data = np.full(tensor.nbytes, FILL, np.uint8)
        blocks = (*shape[:0:-1], shape[0] // kind.block, kind.size)
        view = np.lib.stride_tricks.as_strided(data, blocks, (nb[3], nb[2], nb[1], nb[0], 1))
        view[...] = self.encoded(dtype, values.reshape(shape[::-1])).reshape(blocks)
        return Given(tensor, data)

    def encoded(self, dtype: str, values: Values) -> Data:
        """Contiguous bytes of the values."""
        if dtype in KINDS:
            return np.ascontiguousarray(values.astype(KINDS[dtype])).view(np.uint8)
        if dtype == "bf16":
            return self.oracle.from_float(DTYPES[dtype], values.astype(np.float32))
        if dtype in SLOW:
            return self._blocks(DTYPES[dtype], values.size)
        return self.oracle.quantize(DTYPES[dtype], values.astype(np.float32))

    def _blocks(self, dtype: DType, elements: int) -> Data:
        """Random blocks: any bits are valid but those of the factor, a float16 at the beginning of the block.

        That of iq1_m lies in four pieces at its end; two of them make it about 0.07.
        """
        blocks = self.random.integers(0, 256, (elements // dtype.block, dtype.size), np.uint8)
        if dtype.name == "iq1_m":
            blocks[:, 53], blocks[:, 55] = blocks[:, 53] & 0x0F | 0xC0, blocks[:, 55] & 0x0F | 0x20
        else:
            blocks[:, :2] = self.random.uniform(0.01, 0.1, (len(blocks), 1)).astype(np.float16).view(np.uint8)
        return blocks


MakeCases = Callable[[Maker], Cases]
