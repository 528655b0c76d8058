"""What a tensor's shape and strides say: the predicates of ggml.c, under ggml's names.

They take anything with `dtype`, `ne` (elements per dimension) and `nb` (bytes per step of a dimension).
"""

from __future__ import annotations

from typing import Protocol

from ..dtypes import DType, Shape


class Laid(Protocol):
    """Something with a type, a shape and strides."""

    @property
    def dtype(self) -> DType:
        """Element type."""

    @property
    def ne(self) -> Shape:
        """Elements per dimension."""

    @property
    def nb(self) -> Shape:
        """Stride in bytes per dimension."""


def n_elements(ne: Shape) -> int:
    """ggml_nelements."""
    return ne[0] * ne[1] * ne[2] * ne[3]


def row_size(dtype: DType, n: int) -> int:
    """ggml_row_size: bytes of n elements in a row; n must be whole blocks."""
    return dtype.size * n // dtype.block


def is_contiguous(tensor: Laid, from_dim: int = 0) -> bool:
    """ggml_is_contiguous_0, _1, _2: no gaps above the first `from_dim` dimensions."""
    dtype, ne, nb = tensor.dtype, tensor.ne, tensor.nb
    expected = dtype.size
    if ne[0] != dtype.block and nb[0] != expected:
        return False
    expected *= ne[0] // dtype.block
    for i in (1, 2, 3):
        if i > from_dim:
            if ne[i] != 1 and nb[i] != expected:
                return False
            expected *= ne[i]
        else:
            expected = ne[i] * nb[i]
    return True


def is_contiguous_rows(tensor: Laid) -> bool:
    """ggml_is_contiguous_rows."""
    return tensor.ne[0] == tensor.dtype.block or tensor.nb[0] == tensor.dtype.size


def is_padded_1d(tensor: Laid) -> bool:
    """ggml_is_padded_1d: rows may be padded, nothing else."""
    ne, nb = tensor.ne, tensor.nb
    return nb[0] == tensor.dtype.size and nb[2] == nb[1] * ne[1] and nb[3] == nb[2] * ne[2]


def is_transposed(tensor: Laid) -> bool:
    """ggml_is_transposed."""
    return tensor.nb[0] > tensor.nb[1]


def can_repeat(small: Shape, large: Shape) -> bool:
    """ggml_can_repeat: `large` is a whole number of `small` in each dimension."""
    if 0 in small:
        return 0 in large
    return not any(n % s for s, n in zip(small, large, strict=True))


def shape_text(ne: Shape) -> str:
    """A shape as people write it, without trailing ones.

    >>> shape_text((64, 32, 1, 1))
    '[64, 32]'
    """
    n = max((i + 1 for i in range(4) if ne[i] != 1), default=1)
    return "[" + ", ".join(map(str, ne[:n])) + "]"
