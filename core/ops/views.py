"""Other ways to see the same bytes, and copies into another layout or type (ggml.c)."""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import DType, Shape
from ..op import Op
from .layout import can_repeat, is_contiguous, n_elements
from .lazy import Lazy, check, dup_tensor, new_tensor, padded_shape, view_of, view_tensor
from .numbers import size_words


def view(a: Lazy, ne: Sequence[int], nb: Sequence[int] = (), offset: int = 0) -> Lazy:
    """ggml_view_1d ... _4d: `ne` has 1 to 4 dimensions, `nb` the strides (bytes) of dimensions 1 and up."""
    check(len(nb) == len(ne) - 1, "VIEW", "one stride for each dimension above the first")
    shape = padded_shape(ne)
    result = view_of(a, shape, offset)
    if nb:
        nb1, nb2, nb3 = (*nb, 0, 0)[:3]
        if len(nb) == 1:
            nb2 = nb3 = nb1 * shape[1]
        elif len(nb) == 2:
            nb3 = nb2 * shape[2]
        result.nb = result.nb[0], nb1, nb2, nb3
    result.set_name(f"{a.name} (view)")
    return result.become(Op.VIEW, a, params=size_words(offset))


def reshape(a: Lazy, *ne: int) -> Lazy:
    """ggml_reshape_1d ... _4d."""
    shape = padded_shape(ne)
    check(is_contiguous(a), "RESHAPE", "the tensor must be contiguous", a)
    check(n_elements(a.ne) == n_elements(shape), "RESHAPE", f"{list(ne)} has another number of elements", a)
    return view_of(a, shape).set_name(f"{a.name} (reshaped)").become(Op.RESHAPE, a)


def permute(a: Lazy, *axes: int) -> Lazy:
    """ggml_permute: dimension i goes to axes[i]."""
    check(sorted(axes) == [0, 1, 2, 3], "PERMUTE", f"{axes} is no order of the four dimensions", a)
    result = view_tensor(a).set_name(f"{a.name} (permuted)")
    ne, nb = [0] * 4, [0] * 4
    for i, axis in enumerate(axes):
        ne[axis], nb[axis] = a.ne[i], a.nb[i]
    result.ne, result.nb = _four(ne), _four(nb)
    return result.become(Op.PERMUTE, a, params=axes)


def transpose(a: Lazy) -> Lazy:
    """ggml_transpose: the first two dimensions change places."""
    result = view_tensor(a).set_name(f"{a.name} (transposed)")
    result.ne = a.ne[1], a.ne[0], *a.ne[2:]
    result.nb = a.nb[1], a.nb[0], *a.nb[2:]
    return result.become(Op.TRANSPOSE, a)


def _four(values: Sequence[int]) -> Shape:
    v0, v1, v2, v3 = values
    return v0, v1, v2, v3


def cont(a: Lazy) -> Lazy:
    """ggml_cont: a contiguous copy."""
    return dup_tensor(a).set_name(f"{a.name} (cont)").become(Op.CONT, a)


def cont_nd(a: Lazy, *ne: int) -> Lazy:
    """ggml_cont_1d ... _4d: a contiguous copy with another shape."""
    check(n_elements(a.ne) == n_elements(padded_shape(ne)), "CONT", f"{list(ne)} has another number of elements", a)
    return new_tensor(a.dtype, *ne).set_name(f"{a.name} (cont)").become(Op.CONT, a)


def cpy(a: Lazy, b: Lazy) -> Lazy:
    """ggml_cpy: into b; the result is a view of b."""
    check(n_elements(a.ne) == n_elements(b.ne), "CPY", "both must have the same number of elements", a, b)
    name = f"{b.name} (copy of {a.name})" if b.name else f"{a.name} (copy)"
    return view_tensor(b).set_name(name).become(Op.CPY, a, b)


def cast(a: Lazy, dtype: DType) -> Lazy:
    """ggml_cast: a copy of another type; its second source is itself, as ggml has it."""
    result = new_tensor(dtype, *a.ne).set_name(f"{a.name} (copy)")
    return result.become(Op.CPY, a, result)


def repeat(a: Lazy, like: Lazy) -> Lazy:
    """ggml_repeat: as often as fills the shape of `like`."""
    check(can_repeat(a.ne, like.ne), "REPEAT", "the first must repeat to the shape of the second", a, like)
    return new_tensor(a.dtype, *like.ne).become(Op.REPEAT, a)


def repeat_nd(a: Lazy, *ne: int) -> Lazy:
    """ggml_repeat_4d."""
    check(0 in a.ne or can_repeat(a.ne, padded_shape(ne)), "REPEAT", f"must repeat to {list(ne)}", a)
    return new_tensor(a.dtype, *ne).become(Op.REPEAT, a)


def concat(a: Lazy, b: Lazy, dim: int) -> Lazy:
    """ggml_concat."""
    check(0 <= dim < 4, "CONCAT", f"there is no dimension {dim}", a, b)
    check(a.dtype is b.dtype, "CONCAT", "both must have one type", a, b)
    ne = list(a.ne)
    ne[dim] += b.ne[dim]
    others = all(a.ne[d] == b.ne[d] for d in range(4) if d != dim)
    check(others, "CONCAT", f"both must agree in all dimensions but {dim}", a, b)
    return new_tensor(a.dtype, *ne).become(Op.CONCAT, a, b, params=(dim,))


def pad(a: Lazy, *after: int) -> Lazy:
    """ggml_pad: zeros behind each dimension."""
    p0, p1, p2, p3 = after
    ne = [n + p for n, p in zip(a.ne, after, strict=True)]
    return new_tensor(a.dtype, *ne).become(Op.PAD, a, params=(0, p0, 0, p1, 0, p2, 0, p3))
