"""Sets of sequences as small numbers, so that an array can hold one for each cell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt


class SeqSets:
    """Every set of sequences that was asked for, by number; 0 is the empty one."""

    def __init__(self) -> None:
        """Only the empty set is known."""
        self._members: list[tuple[int, ...]] = [()]
        self._numbers: dict[tuple[int, ...], int] = {(): 0}
        self._with: dict[int, npt.NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        """How many sets are known."""
        return len(self._members)

    def number(self, seqs: tuple[int, ...]) -> int:
        """The number of a set, given in any order."""
        found = self._numbers.get(seqs)
        if found is None:
            members = tuple(sorted(set(seqs)))
            found = self._numbers.get(members)
            if found is None:
                found = len(self._members)
                self._members.append(members)
                self._numbers[members] = found
                self._with.clear()
            self._numbers[seqs] = found
        return found

    def members(self, number: int) -> tuple[int, ...]:
        """The sequences of a set, sorted."""
        return self._members[number]

    def without(self, number: int, seq: int) -> int:
        """The set that is left when a sequence leaves."""
        return self.number(tuple(one for one in self._members[number] if one != seq))

    def joined(self, number: int, seq: int) -> int:
        """The set with one more sequence."""
        return self.number((*self._members[number], seq))

    def single(self) -> Iterator[tuple[int, int]]:
        """(number, sequence) of the sets with one sequence."""
        return ((number, members[0]) for number, members in enumerate(self._members) if len(members) == 1)

    def with_member(self, seq: int) -> npt.NDArray[np.bool_]:
        """By number of a set: a sequence is in it."""
        found = self._with.get(seq)
        if found is None:
            found = np.array([seq in members for members in self._members], np.bool_)
            self._with[seq] = found
        return found
