"""A tensor under construction (ggml_new_tensor_impl) and the error of a constructor that refuses its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import DType, Shape, contiguous, nbytes
from ..errors import InputError
from ..op import Op
from ..tensor import MAX_NAME
from .layout import n_elements, row_size, shape_text

MOST_ELEMENTS = 1 << 63


class OpError(InputError):
    """A constructor refuses its arguments where ggml's own would assert; one sentence with op and shapes."""


class Lazy:
    """One tensor under construction: the fields of `core.tensor.Tensor` with objects where that has ids.

    Attributes:
        name: as ggml keeps it, at most 63 bytes; empty until something names it. Not unique.
        op: what computes it.
        dtype: element type.
        ne: elements per dimension.
        nb: stride in bytes per dimension.
        src: sources, None for an empty slot.
        view_src: owner of the bytes, never a view itself.
        view_offs: bytes from the start of view_src.
        flags: bits of `core.tensor.Flag`.
        op_params: int32 words.
    """

    __slots__ = ("dtype", "flags", "name", "nb", "ne", "op", "op_params", "src", "view_offs", "view_src")

    def __init__(self, dtype: DType, ne: Shape, nb: Shape, view_src: Lazy | None = None, view_offs: int = 0) -> None:
        """A nameless tensor without op; see `new_tensor`."""
        self.dtype, self.ne, self.nb = dtype, ne, nb
        self.view_src, self.view_offs = view_src, view_offs
        self.name = ""
        self.op = Op.NONE
        self.src: tuple[Lazy | None, ...] = ()
        self.flags = 0
        self.op_params: tuple[int, ...] = ()

    def set_name(self, name: str) -> Lazy:
        """ggml_set_name: cut at 63 bytes."""
        self.name = name if len(name) < MAX_NAME // 4 else _cut(name)
        return self

    def become(self, op: Op, *src: Lazy | None, params: Sequence[int] = ()) -> Lazy:
        """Set what computes this tensor."""
        self.op, self.src, self.op_params = op, src, tuple(params)
        return self

    def set_param(self, index: int, word: int) -> None:
        """ggml_set_op_params_i32."""
        words = list(self.op_params) + [0] * (index + 1 - len(self.op_params))
        words[index] = word
        self.op_params = tuple(words)

    def describe(self) -> str:
        """Name, type and shape, for a sentence."""
        return f"{self.name or 'an unnamed tensor'} ({self.dtype.name} {shape_text(self.ne)})"


def _cut(name: str) -> str:
    encoded = name.encode()
    return name if len(encoded) < MAX_NAME else encoded[: MAX_NAME - 1].decode(errors="ignore")


def check(holds: bool, op: str, why: str, *tensors: Lazy | None) -> None:
    """Raise OpError when a condition of a constructor does not hold; `why` says what it asks for."""
    if not holds:
        given = " and ".join(tensor.describe() for tensor in tensors if tensor is not None)
        raise OpError(f"{op}: {why}" + (f", given {given}" if given else ""))


def padded_shape(ne: Sequence[int]) -> Shape:
    """One to four dimensions as four."""
    if not 1 <= len(ne) <= 4:
        raise OpError(f"a tensor has 1 to 4 dimensions, not {len(ne)}")
    n0, n1, n2, n3 = (*ne, 1, 1, 1)[:4]
    return n0, n1, n2, n3


def new_tensor(dtype: DType, *ne: int) -> Lazy:
    """ggml_new_tensor_1d ... _4d: contiguous, without op."""
    shape = padded_shape(ne)
    _check_shape(dtype, shape)
    return Lazy(dtype, shape, contiguous(dtype, shape))


def view_of(a: Lazy, ne: Shape, offset: int = 0, dtype: DType | None = None) -> Lazy:
    """ggml_new_tensor_impl with a view_src: contiguous strides for `ne` (dim. 2 and 3 may be changed by the caller)."""
    dtype = dtype or a.dtype
    _check_shape(dtype, ne)
    base, start = a, offset
    if a.view_src is not None:
        base, start = a.view_src, a.view_offs + offset
    size = row_size(dtype, ne[0]) * ne[1] * ne[2] * ne[3]
    if size and size + start > nbytes(base.dtype, base.ne, base.nb):
        raise OpError(f"a view of {shape_text(ne)} at byte {start} does not fit in {base.describe()}")
    return Lazy(dtype, ne, contiguous(dtype, ne), base, start)


def view_tensor(a: Lazy) -> Lazy:
    """ggml_view_tensor: the same bytes, shape and strides."""
    result = view_of(a, a.ne)
    result.nb = a.nb
    return result.set_name(f"{a.name} (view)")


def dup_tensor(a: Lazy, inplace: bool = False) -> Lazy:
    """ggml_dup_tensor: same type and shape, contiguous; or a view of `a` for the in-place constructors."""
    return view_tensor(a) if inplace else Lazy(a.dtype, a.ne, contiguous(a.dtype, a.ne))


def _check_shape(dtype: DType, ne: Shape) -> None:
    """ggml_row_size asserts whole blocks; the number of elements must fit in int64."""
    if min(ne) < 0 or n_elements(ne) >= MOST_ELEMENTS:
        raise OpError(f"a shape of {shape_text(ne)} is not possible: no negative size, fewer than 2^63 elements")
    if ne[0] % dtype.block:
        raise OpError(f"a row of {ne[0]} elements is not whole blocks of {dtype.block} as type {dtype.name} needs")
