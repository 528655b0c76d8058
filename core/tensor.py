"""A tensor as the planner sees it: shape, strides, sources and where its bytes already are. Never its data."""

from __future__ import annotations

import re
from enum import IntFlag

import msgspec

from .dtypes import DType, Shape
from .op import Op

MAX_DIMS = 4
MAX_SRC = 10
MAX_NAME = 64
MAX_OP_PARAMS = 64
"""GGML_MAX_DIMS, GGML_MAX_SRC (slots), GGML_MAX_NAME (bytes with the final zero), GGML_MAX_OP_PARAMS (bytes)."""


_LAYER = re.compile(r"-(\d{1,4})(?=$|[ ~#])|^blk\.(\d{1,4})\.|^(?:.*#)?cache_[a-z]+_l(\d{1,4})(?!\d)")


class Flag(IntFlag):
    """enum ggml_tensor_flag."""

    INPUT = 1
    OUTPUT = 2
    PARAM = 4
    LOSS = 8


class Tensor(msgspec.Struct, frozen=True):
    """One lazy tensor; it never changes. Its id is its index in the list that holds it.

    Attributes:
        name: unique in its graph; empty until the build names it (`node_%d`, `leaf_%d`).
        op: what computes it; NONE for a leaf.
        dtype: element type.
        ne: elements per dimension, fastest first.
        nb: stride in bytes per dimension.
        src: ids of the sources, -1 for an empty slot.
        view_src: id of the tensor that owns the bytes, never a view itself; -1 for no view.
        view_offs: bytes from the start of view_src.
        flags: bits of `Flag`.
        op_params: int32 words, trailing zeros left out.
        nbytes: bytes from the first to the last element.
        buft: index of the buffer type of the buffer it lies in before planning; -1 when the plan places it.
        is_weight: that buffer has usage WEIGHTS.
        pin: backend index set with ggml_backend_sched_set_tensor_backend, -1 for none.
        buffer_id: the buffer chosen for it in mode galloc.
        data: int32 contents, only for expert ids; None when not given.
        given_layer: transformer layer as the file says; see `layer`.
        label: the name to show when it differs from the unique one.
    """

    name: str
    op: Op
    dtype: DType
    ne: Shape
    nb: Shape
    src: tuple[int, ...]
    nbytes: int
    view_src: int = -1
    view_offs: int = 0
    flags: int = 0
    op_params: tuple[int, ...] = ()
    buft: int = -1
    is_weight: bool = False
    pin: int = -1
    buffer_id: int = 0
    data: tuple[int, ...] | None = None
    given_layer: int = -1
    label: str = ""

    @property
    def layer(self) -> int:
        """Transformer layer: as given, else from a name like `ffn_up-3`, `blk.3.` or `cache_k_l3`; -1 for none."""
        if self.given_layer >= 0:
            return self.given_layer
        found = _LAYER.search(self.name)
        return int(next(filter(None, found.groups()))) if found else -1

    @property
    def n_rows(self) -> int:
        """ggml_nrows."""
        return self.ne[1] * self.ne[2] * self.ne[3]

    def same_layout(self, other: Tensor) -> bool:
        """ggml_are_same_layout: equal type, dimensions and strides."""
        return self.ne == other.ne and self.nb == other.nb and self.dtype.id == other.dtype.id
