"""What the compute loop reads: one graph after it was split and placed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..graph import Backend, BufferType
from ..tensor import Tensor


class SplitLike(Protocol):
    """Nodes [start, end) that run on one backend, and the tensors copied there before they run."""

    backend: int
    start: int
    end: int
    inputs: list[int]


@dataclass(frozen=True, slots=True)
class Board:
    """Lists are by tensor id unless said otherwise.

    Attributes:
        tensors: the graph's, then those that the scheduler made.
        nodes: ids in the order of execution.
        src: ids of the sources, scheduler copies included.
        flags: bits of `Flag`.
        backend_ids: of each tensor.
        backends: by backend id.
        bufts: by buffer type index.
        splits: in order.
        copies: (source, backend) -> its copies by copy number.
        n_copies: 4 in a pipeline, else 1.
        cur_copy: the copy of this run.
        homes: buffer type index of each tensor that the plan placed.
    """

    tensors: Sequence[Tensor]
    nodes: Sequence[int]
    src: Sequence[Sequence[int]]
    flags: Sequence[int]
    backend_ids: Sequence[int]
    backends: Sequence[Backend]
    bufts: Sequence[BufferType]
    splits: Sequence[SplitLike]
    copies: Mapping[tuple[int, int], Sequence[int]]
    n_copies: int
    cur_copy: int
    homes: Mapping[int, int]


class Hands(Protocol):
    """What does the work that the loop decides; a trace has none."""

    def copy(self, source: int, copy: int) -> None:
        """All bytes of a tensor into its copy."""

    def copy_part(self, source: int, copy: int, offset: int, size: int) -> None:
        """Some of them, to the same place."""

    def ids(self, tensor: int) -> list[int]:
        """The int32 contents of a tensor now."""

    def split(self, split: SplitLike) -> None:
        """Run the nodes of a split."""
