"""What a static planner is asked: buffers with half-open lifetimes in one address space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..errors import InputError

LARGEST = 1 << 60
"""Bytes that all sizes (with their alignments) may add up to, and the largest step: sums stay within 64 bits."""


class Gap(NamedTuple):
    """Steps [lower, upper) in which a buffer needs only bytes [low, high) of itself; none of them when both are 0."""

    lower: int
    upper: int
    low: int = 0
    high: int = 0


@dataclass(frozen=True, eq=False)
class Instance:
    """Buffers of one address space, as int64 columns of equal length.

    Attributes:
        ids: their names, unique.
        lower: first step.
        upper: the step after the last one; equal to `lower` for a buffer that is never alive.
        size: bytes, 0 or more.
        alignment: bytes its offset must be a multiple of, 1 or more.
        fixed: the offset it must have, -1 for free.
        hint: the offset it would like to have, -1 for none.
        gaps: by index, sorted and apart from each other, inside the lifetime.
        max_chunk: bytes of the largest single chunk, 0 for one chunk of any size.
        name: of the device or file, for sentences.
    """

    ids: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    size: np.ndarray
    alignment: np.ndarray
    fixed: np.ndarray
    hint: np.ndarray
    gaps: Mapping[int, tuple[Gap, ...]] = field(default_factory=dict)
    max_chunk: int = 0
    name: str = ""

    @classmethod
    def of(
        cls,
        lower: Sequence[int] | np.ndarray,
        upper: Sequence[int] | np.ndarray,
        size: Sequence[int] | np.ndarray,
        *,
        ids: Sequence[str] | None = None,
        alignment: Sequence[int] | np.ndarray | int = 1,
        fixed: Sequence[int] | np.ndarray | int = -1,
        hint: Sequence[int] | np.ndarray | int = -1,
        gaps: Mapping[int, tuple[Gap, ...]] | None = None,
        max_chunk: int = 0,
        name: str = "",
    ) -> Instance:
        """Columns from sequences, or from one number for all; checked.

        Raises:
            InputError: a number that no planner could work with.
        """
        count = len(size)

        def column(values: Sequence[int] | np.ndarray | int) -> np.ndarray:
            if isinstance(values, int):
                return np.full(count, values, dtype=np.int64)
            try:
                return np.array(values, dtype=np.int64)
            except OverflowError:
                raise InputError(f"{name or 'buffers'}: a number does not fit into 64 bits") from None

        made = cls(
            tuple(ids) if ids is not None else tuple(map(str, range(count))),
            column(lower),
            column(upper),
            column(size),
            column(alignment),
            column(fixed),
            column(hint),
            dict(gaps or {}),
            max_chunk,
            name,
        )
        made._check()
        return made

    def __len__(self) -> int:
        """Buffers."""
        return len(self.ids)

    def where(self, index: int) -> str:
        """The place of a buffer in a sentence."""
        return f"{self.name}: buffer {self.ids[index]!r}" if self.name else f"buffer {self.ids[index]!r}"

    def _check(self) -> None:
        for bad, text in (
            (self.size < 0, "a size below zero"),
            (self.alignment < 1, "an alignment below one"),
            (self.upper < self.lower, "an end before its start"),
            (self.fixed < -1, "an offset below zero"),
            ((self.fixed >= 0) & (self.fixed % np.maximum(self.alignment, 1) != 0), "a fixed offset off its alignment"),
            ((self.lower < -LARGEST) | (self.upper > LARGEST), "a step beyond 2^60"),
        ):
            if bad.any():
                raise InputError(f"{self.where(int(bad.argmax()))} has {text}")
        reach = sum(self.size.tolist()) + sum(self.alignment.tolist()) + max(self.fixed.tolist(), default=0)
        if reach > LARGEST:
            raise InputError(f"{self.name or 'buffers'}: sizes and alignments add up to more than 2^60 bytes")
        if self.max_chunk < 0:
            raise InputError(f"{self.name or 'buffers'}: a maximum chunk size below zero")
        for index, gaps in self.gaps.items():
            self._check_gaps(index, gaps)

    def _check_gaps(self, index: int, gaps: tuple[Gap, ...]) -> None:
        at = int(self.lower[index])
        for gap in gaps:
            if gap.lower < at or gap.upper <= gap.lower or gap.upper > self.upper[index]:
                raise InputError(
                    f"{self.where(index)} has a gap {gap.lower}-{gap.upper} that is not inside its lifetime"
                )
            if not 0 <= gap.low <= gap.high <= self.size[index]:
                raise InputError(f"{self.where(index)} has a gap whose bytes {gap.low}:{gap.high} are not inside it")
            at = gap.upper
