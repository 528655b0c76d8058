"""Whose bytes are these? An owner map over the arenas, 32 bytes a cell, asked before and after every node.

Changed results are no detector: bytes that nobody reads again, or that are copied out before they are written over,
hide a conflict. Ownership does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ..log import Run
from ..op import IN_PLACE_OPS, Op
from ..state import State
from ..tensor import Flag
from .conflict import Conflict, conflict
from .layout import Address, Layout

GRAIN = 32
"""Bytes of a cell; less where a buffer is aligned to less."""

NOBODY = -1


class Guard:
    """The owner map of one run."""

    def __init__(self, run: Run, state: State, layout: Layout) -> None:
        """Nothing is written yet."""
        self.run, self.state, self.layout = run, state, layout
        grain = self.grain = min(GRAIN, *(shelf.buft.align for shelf in state.buffers))
        self.owners = {key: np.full(-(-size // grain), NOBODY, np.int64) for key, size in layout.chunks.items()}
        self.claimed: set[int] = set()
        self.version: Counter[int] = Counter()
        self.copied: dict[int, tuple[int, int]] = {}

    def fill(self, tensor: int) -> None:
        """The user writes an input before the run.

        Raises:
            Conflict: another input lies there.
        """
        cells = self._cells(tensor)
        if cells is not None:
            taken = cells[cells != NOBODY]
            if taken.size and int(taken[0]) != tensor:
                raise self._conflict(
                    int(taken[0]), tensor, tensor, 0, "{other} is filled where the input {tensor} lies"
                )
            self.write(tensor)

    def before(self, node: int, step: int, sources: Iterable[int], *, writes: bool = True) -> None:
        """A node is about to read its sources and to write its result.

        Args:
            node: the node, or the copy.
            step: its step.
            sources: tensors whose bytes it needs.
            writes: it has a result of its own. A view has none, and an empty result is none: what they stand for may
                still be unwritten, but must not be taken.

        Raises:
            Conflict: a source's bytes are not its own, or the result lies on a source where it must not.
        """
        for source in sources:
            if self._skipped(source):
                continue
            self._intact(source, node, step, written=writes)
            self._fresh(source, node, step)
        if writes:
            self._result_apart(node, step)

    def _skipped(self, source: int) -> bool:
        """A node without the COMPUTE flag: the scheduler copies it for others that are skipped as well."""
        return self.state.tensors[source].op is not Op.NONE and source not in self.state.computed

    def _intact(self, source: int, node: int, step: int, *, written: bool) -> None:
        owner = self._owner(source)
        cells = self._cells(owner)
        if cells is None:
            return
        wrong = cells[cells != owner]
        if not written:
            wrong = wrong[wrong != NOBODY]
        if wrong.size:
            thief = int(wrong[0])
            what = (
                "{node} at {at} reads {tensor}, which nobody has written yet"
                if thief == NOBODY
                else "{node} at {at} reads {tensor}, whose bytes {other} has taken"
            )
            raise self._conflict(owner, thief, node, step, what)

    def _fresh(self, source: int, node: int, step: int) -> None:
        """A copy must hold what its source holds: nobody wrote to that since the copy was made."""
        origin, version = self.copied.get(source, (NOBODY, 0))
        if origin != NOBODY and self.version[self._owner(origin)] != version:
            what = "{node} at {at} reads {other}, a copy of {tensor} that was made before a node wrote to it in place"
            raise self._conflict(origin, source, node, step, what)

    def copy(self, source: int, copy: int) -> None:
        """The copy is written, with what its source holds now."""
        self.copied[copy] = (source, self.version[self._owner(source)])
        self.write(copy)

    def _result_apart(self, node: int, step: int) -> None:
        """The in-place rule: on a source only at the same start, in the same layout, by an op that may do so."""
        state, at = self.state, self.layout.at
        mine = at.get(self._owner(node))
        if mine is None:
            return
        for source in state.src[node]:
            owner = self._owner(source) if source >= 0 else -1
            theirs = at.get(owner) if owner != self._owner(node) else None
            if theirs is None or not _overlap(mine, theirs):
                continue
            same = mine.offset == theirs.offset and state.tensors[node].same_layout(state.tensors[source])
            if not (same and source == owner and state.tensors[node].op in IN_PLACE_OPS):
                raise self._conflict(owner, node, node, step, "{node} at {at} writes over {tensor} while it reads it")

    def write(self, tensor: int) -> None:
        """The tensor is written: its bytes are its own. A view's are its base's; the first time all of them are."""
        owner = self._owner(tensor)
        self.version[owner] += 1
        if owner != tensor and owner in self.claimed:
            view = self.state.tensors[tensor]
            cells = self._cells(owner, view.view_offs, view.nbytes)
        else:
            cells = self._cells(owner)
        if cells is not None:
            cells[:] = owner
            self.claimed.add(owner)

    def finish(self) -> None:
        """The run is over: outputs must still be whole.

        Raises:
            Conflict: one is not.
        """
        for tensor in sorted(self.claimed):
            if self.state.flags[tensor] & Flag.OUTPUT:
                cells = self._cells(tensor)
                if cells is None:
                    continue
                wrong = cells[cells != tensor]
                if wrong.size:
                    raise self._conflict(
                        tensor, int(wrong[0]), NOBODY, -1, "the bytes of the output {tensor} have been taken by {other}"
                    )

    def _owner(self, tensor: int) -> int:
        base = self.state.tensors[tensor].view_src
        return base if base >= 0 else tensor

    def _cells(self, owner: int, start: int = 0, size: int | None = None) -> npt.NDArray[np.int64] | None:
        """The cells of a tensor, or of some of its bytes; None where it has none in an arena."""
        place = self.layout.at.get(owner)
        if place is None or not place.size:
            return None
        begin = place.offset + start
        end = begin + (place.size if size is None else size)
        return self.owners[place.buffer, place.chunk][begin // self.grain : -(-end // self.grain)]

    def _conflict(self, tensor: int, other: int, node: int, step: int, what: str) -> Conflict:
        return conflict(self.run, self.state, tensor, other, node, step, what)


def _overlap(one: Address, other: Address) -> bool:
    return (
        (one.buffer, one.chunk) == (other.buffer, other.chunk)
        and one.offset < other.offset + other.size
        and other.offset < one.offset + one.size
    )
