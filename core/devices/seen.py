"""An op as a device sees it: what its `supports_op`, `offload_op` and allocation sizes can look at.

Made from the engine's tensors (`seen_in`), from a ggml_tensor in memory (fill the fields), or from plain values
(`see`). The predicates are ggml's own (ggml.c), under their own names.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec

from ..dtypes import DTYPES, DType, Shape, contiguous, nbytes
from ..op import Op
from ..tensor import Tensor


class MissingSource(LookupError):
    """An op without a source that ggml's constructor of the op asks for."""


class Seen(msgspec.Struct, frozen=True):
    """One op and its sources; a source is seen with its own op, but without its sources.

    Attributes:
        op: what computes it.
        dtype: element type.
        ne: elements per dimension, fastest first.
        nb: stride in bytes per dimension.
        op_params: int32 words, trailing zeros left out: read them with `param` and `param_f32`.
        src: the sources by slot, None for an empty one; slots after the last source may be missing: see `source`.
        flags: bits of `core.tensor.Flag`.
        owner: identity of the storage (the view root); equal for two tensors that share it.
        offset: bytes from the start of that storage.
        buft: name of the buffer type it already lies in itself (tensor->buffer), "" when it has no buffer yet.
        maker: key of the profile that this buffer type belongs to, "" when it is no device's own.
        host: the CPU can read that buffer.
        name: for who asks; no rule looks at it.
        is_view: it has no storage of its own (view_src is set).
    """

    op: Op
    dtype: DType
    ne: Shape
    nb: Shape
    op_params: tuple[int, ...] = ()
    src: tuple[Seen | None, ...] = ()
    flags: int = 0
    owner: int = 0
    offset: int = 0
    buft: str = ""
    maker: str = ""
    host: bool = False
    name: str = ""
    is_view: bool = False

    def source(self, slot: int) -> Seen | None:
        """src[slot], None when the slot is empty."""
        return self.src[slot] if slot < len(self.src) else None

    def need(self, slot: int) -> Seen:
        """src[slot] of an op that cannot be without it.

        Raises:
            MissingSource: the slot is empty, which only a file made by hand can ask for.
        """
        found = self.source(slot)
        if found is None:
            raise MissingSource(f"{self.op}: its source {slot} is missing")
        return found

    def param(self, word: int) -> int:
        """ggml_get_op_params_i32."""
        return self.op_params[word] if word < len(self.op_params) else 0

    def param_f32(self, word: int) -> float:
        """ggml_get_op_params_f32."""
        return float(struct.unpack("<f", struct.pack("<I", self.param(word) & 0xFFFFFFFF))[0])

    @property
    def type(self) -> str:
        """ggml_type_name."""
        return self.dtype.name

    @property
    def nbytes(self) -> int:
        """ggml_nbytes."""
        return nbytes(self.dtype, self.ne, self.nb)

    @property
    def n_elements(self) -> int:
        """ggml_nelements."""
        return self.ne[0] * self.ne[1] * self.ne[2] * self.ne[3]

    @property
    def n_rows(self) -> int:
        """ggml_nrows."""
        return self.ne[1] * self.ne[2] * self.ne[3]

    @property
    def n_dims(self) -> int:
        """ggml_n_dims: dimensions up to the last that is larger than 1."""
        return next((i + 1 for i in (3, 2, 1) if self.ne[i] > 1), 1)

    def _contiguous(self, after: int, below: int) -> bool:
        """ggml_is_contiguous_m_n: dimensions after `after` and below `below` follow each other without a gap."""
        if self.ne[0] != self.dtype.block and self.nb[0] != self.dtype.size:
            return False
        expected = self.dtype.size * (self.ne[0] // self.dtype.block)
        for i in range(1, below):
            if i > after:
                if self.ne[i] != 1 and self.nb[i] != expected:
                    return False
                expected *= self.ne[i]
            else:
                expected = self.ne[i] * self.nb[i]
        return True

    def is_contiguous(self) -> bool:
        """ggml_is_contiguous."""
        return self._contiguous(0, 4)

    def is_contiguous_1(self) -> bool:
        """ggml_is_contiguous_1: dimension 1 may have gaps."""
        return self._contiguous(1, 4)

    def is_contiguous_2(self) -> bool:
        """ggml_is_contiguous_2: dimensions 1 and 2 may have gaps."""
        return self._contiguous(2, 4)

    def is_contiguous_to_3(self) -> bool:
        """ggml_is_contiguous_to_3: only dimension 3 may have gaps."""
        return self._contiguous(0, 3)

    def is_contiguous_rows(self) -> bool:
        """ggml_is_contiguous_rows: the elements of a row follow each other."""
        return self.ne[0] == self.dtype.block or self.nb[0] == self.dtype.size

    def is_contiguous_channels(self) -> bool:
        """ggml_is_contiguous_channels: dimension 2 is the fastest in memory."""
        return self.nb[0] > self.nb[2] and self.nb[1] > self.nb[0] and self.nb[2] == self.dtype.size

    def is_contiguously_allocated(self) -> bool:
        """ggml_is_contiguously_allocated: no gaps, in whatever order of dimensions."""
        return self.nbytes == self.n_elements * self.dtype.size // self.dtype.block

    def is_transposed(self) -> bool:
        """ggml_is_transposed."""
        return self.nb[0] > self.nb[1]

    def is_permuted(self) -> bool:
        """ggml_is_permuted."""
        return self.nb[0] > self.nb[1] or self.nb[1] > self.nb[2] or self.nb[2] > self.nb[3]

    def is_empty(self) -> bool:
        """ggml_is_empty."""
        return 0 in self.ne

    def same_shape(self, other: Seen) -> bool:
        """ggml_are_same_shape."""
        return self.ne == other.ne

    def can_repeat(self, onto: Seen) -> bool:
        """ggml_can_repeat: `onto` is a whole number of repetitions of this in each dimension."""
        if self.is_empty():
            return onto.is_empty()
        return all(whole % part == 0 for part, whole in zip(self.ne, onto.ne, strict=True))


def see(
    op: Op,
    dtype: str,
    ne: Sequence[int],
    *src: Seen | None,
    nb: Sequence[int] | None = None,
    params: Sequence[int | float] = (),
    owner: int = 0,
    view: int | None = None,
    buft: str = "",
    maker: str = "",
    host: bool = False,
) -> Seen:
    """An op from plain values.

    Args:
        op: what computes it.
        dtype: name of the element type.
        ne: up to four dimensions.
        src: the sources by slot.
        nb: strides in bytes; left out, they are contiguous.
        params: int32 words; a float becomes its word.
        owner: identity of the storage.
        view: for a view, its offset in that storage in bytes.
        buft: buffer type it lies in.
        maker: profile of that buffer type.
        host: the CPU can read it there.

    >>> see(Op.NONE, "q4_0", (64, 2)).nb
    (18, 36, 72, 72)
    """
    kind = DTYPES[dtype]
    n0, n1, n2, n3 = (*ne, 1, 1, 1)[:4]
    shape = (n0, n1, n2, n3)
    if nb is None:
        strides = contiguous(kind, shape)
    else:
        b0, b1, b2, b3 = nb
        strides = (b0, b1, b2, b3)
    words = [int(struct.unpack("<i", struct.pack("<f", p))[0]) if isinstance(p, float) else p for p in params]
    return Seen(
        op,
        kind,
        shape,
        strides,
        tuple(words),
        src,
        owner=owner,
        offset=view or 0,
        is_view=view is not None,
        buft=buft,
        maker=maker,
        host=host,
    )


Lies = tuple[str, str, bool]
"""What `Seen` tells about a buffer type: its name, its maker and whether it is a host one."""


def seen_in(tensors: Sequence[Tensor], tensor: int, src: Sequence[int], bufts: Sequence[Lies]) -> Seen:
    """The op `tensor` of a graph as a device sees it, without its name.

    Args:
        tensors: of the graph, by id.
        tensor: the id.
        src: its sources as they are now (the scheduler may have put copies in their place), -1 for an empty slot.
        bufts: each buffer type by index; empty when nobody asks where the sources lie.
    """
    return _one(tensors, tensor, bufts, tuple(_one(tensors, s, bufts, ()) if s >= 0 else None for s in src))


def signature(tensors: Sequence[Tensor], tensor: int) -> tuple[object, ...]:
    """All that `seen_in` shows of an op, as one key: equal for the same op in different layers.

    Storages are numbered in the order in which the sources name them, for only their equality counts.
    """
    one = tensors[tensor]
    owners: dict[int, int] = {}
    key: list[object] = [one.op, one.dtype.id, one.ne, one.nb, one.op_params, one.flags]
    key += (one.buft, owners.setdefault(one.view_src if one.view_src >= 0 else tensor, 0), one.view_offs)
    for number in one.src:
        if number < 0:
            key.append(None)
            continue
        source = tensors[number]
        view = source.view_src
        key += (source.op, source.dtype.id, source.ne, source.nb, source.op_params, source.flags, source.buft, view < 0)
        key += (owners.setdefault(view if view >= 0 else number, len(owners)), source.view_offs)
    return tuple(key)


def _one(tensors: Sequence[Tensor], tensor: int, bufts: Sequence[Lies], src: tuple[Seen | None, ...]) -> Seen:
    one = tensors[tensor]
    buft, maker, host = bufts[one.buft] if bufts and one.buft >= 0 else ("", "", False)
    return Seen(
        one.op,
        one.dtype,
        one.ne,
        one.nb,
        one.op_params,
        src,
        one.flags,
        owner=one.view_src if one.view_src >= 0 else tensor,
        offset=one.view_offs,
        is_view=one.view_src >= 0,
        buft=buft,
        maker=maker,
        host=host,
    )
