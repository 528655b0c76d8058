"""What a kernel is, and what it sees of the node that it computes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ..tensor import Tensor
from .maths import Array, Maths


class Read(Enum):
    """How a source comes to the math.

    Attributes:
        VALUES: float types and quantised ones as float32, integers as they are; shape ne reversed.
        BLOCKS: the bytes: uint8, shape (ne3, ne2, ne1, blocks per row, bytes per block).
        NOT: None; only its shape is of interest.
    """

    VALUES = "values"
    BLOCKS = "blocks"
    NOT = "not"


class Call(NamedTuple):
    """One node: its result and its sources, as tensors. Shapes and strides in ggml order, fastest dimension first.

    Attributes:
        node: the tensor that is computed.
        src: its sources by slot as the plan has them (scheduler copies included), None for an empty slot.
    """

    node: Tensor
    src: tuple[Tensor | None, ...]

    def i32(self, word: int) -> int:
        """ggml_get_op_params_i32."""
        params = self.node.op_params
        return params[word] if word < len(params) else 0

    def f32(self, word: int) -> float:
        """ggml_get_op_params_f32."""
        value: float = struct.unpack("<f", struct.pack("<i", self.i32(word)))[0]
        return value

    def source(self, slot: int) -> Tensor:
        """The source in a slot that `Kernel.check` has found filled."""
        found = self.src[slot]
        assert found is not None
        return found


Compute = Callable[[Maths, Call, Sequence[Array]], Array]
"""Sources as `Kernel.reads` asks for them (None for an empty slot), contiguous, shape (ne3, ne2, ne1, ne0); returns the
result in the same order: float32 or integers, or bytes as `Read.BLOCKS`. Never writes to a source."""


def read_values(call: Call) -> tuple[Read, ...]:
    """All sources as values."""
    return (Read.VALUES,) * len(call.src)


@dataclass(frozen=True, slots=True)
class Kernel:
    """How one op is computed.

    Attributes:
        compute: the math.
        check: why these arguments cannot be computed, as what follows "node 'x' (OP): "; empty when they can. Called
            before anything is read: shapes that do not fit end here, as a GGML_ASSERT of ggml does.
        reads: how each source is read.
        rows_from: the slot whose integers name the rows (dimension 1) of the result that are written, -1 for the
            whole result. The array then has the shape of source 0.
    """

    compute: Compute
    check: Callable[[Call], str]
    reads: Callable[[Call], Sequence[Read]] = read_values
    rows_from: int = -1
