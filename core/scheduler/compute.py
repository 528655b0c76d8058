"""The order of copies, waits and launches when the splits run (ggml_backend_sched_compute_splits, ggml 0.26).

This is the schedule of what the devices are told; whoever gives it hands has it done as well. A backend that does not
queue has nothing to wait for, so its synchronizations are not recorded.
"""

from __future__ import annotations

from ..columns import Record
from ..errors import GgmlAbort
from ..events import (
    AsyncTransfer,
    CallCopy,
    CopyAsync,
    CopyCalled,
    EventRecord,
    EventSync,
    EventWait,
    Launch,
    Sync,
    Transfer,
)
from ..graph import CopyCallback
from ..op import Op
from ..tensor import Flag
from .board import Board, Hands, SplitLike


class ComputeLoop:
    """One graph_compute over the splits of a run."""

    def __init__(self, board: Board, callback: CopyCallback, record: Record, hands: Hands | None = None) -> None:
        """`callback`: what answers when a host weight is copied; `hands`: what does the work, None to decide only."""
        self.board = board
        self.tensors = board.tensors
        self.record = record
        self.hands = hands
        self.backends = board.backends
        self.callback = callback
        self.cur_copy = board.cur_copy
        self.has_event = [board.n_copies > 1 and backend.has_events for backend in self.backends]
        self.origin = {
            copy: source for (source, _), copies in board.copies.items() for copy in copies if copy != source
        }
        self.last_ids: tuple[int, int] | None = None
        self.used: list[int] = []

    def run(self) -> None:
        """Follow the loop.

        Raises:
            GgmlAbort: an expert id is out of range.
        """
        previous = -1
        for split in self.board.splits:
            if not split.inputs and previous >= 0 and previous != split.backend:
                self._wait(previous)
            host_weights = []
            for source in split.inputs:
                if self._is_host_weight(source):
                    host_weights.append(source)
                else:
                    self._copy_input(split, source, host_weight=False)
            for source in host_weights:
                self._copy_input(split, source, host_weight=True)
            nodes = self.board.nodes
            if split.end > split.start:
                self.record(Launch(split.backend, split.end - split.start, nodes[split.start], nodes[split.end - 1]))
                if self.hands is not None:
                    self.hands.split(split)
            if self.has_event[split.backend]:
                self.record(EventRecord(split.backend, self.cur_copy))
            previous = split.backend

    def _sync(self, backend: int) -> None:
        if self.backends[backend].is_async:
            self.record(Sync(backend))

    def _wait(self, backend: int) -> None:
        """event_synchronize of the backend's event of the current copy where there is one, else synchronize."""
        if self.has_event[backend]:
            self.record(EventSync(backend, self.cur_copy))
        else:
            self._sync(backend)

    def _queue(self, what: str, backend: int, tensor: int, offset: int, size: int) -> None:
        """set_tensor_async / get_tensor_async, which block on a backend that does not queue."""
        if self.backends[backend].is_async:
            self.record(AsyncTransfer(f"{what}_async", backend, tensor, offset, size))
        else:
            self.record(Transfer(what, tensor, offset, size))

    def _base(self, tensor: int) -> int:
        base = self.tensors[tensor].view_src
        return base if base >= 0 else tensor

    def _is_host(self, tensor: int) -> bool:
        """The tensor's real buffer is host memory, wherever its backend id points."""
        base = self._base(tensor)
        buft = self.tensors[base].buft
        if buft < 0:
            buft = self.board.homes.get(base, -1)
        return buft >= 0 and self.board.bufts[buft].host

    def _is_host_weight(self, tensor: int) -> bool:
        """A view counts through the buffer it got from its base."""
        return self.tensors[self._base(tensor)].is_weight and self._is_host(tensor)

    def _copy_input(self, split: SplitLike, source: int, *, host_weight: bool) -> None:
        copy = self.board.copies[source, split.backend][self.cur_copy]
        if self.board.flags[source] & Flag.INPUT:
            self._wait(split.backend)
            self._blocking_copy(source, copy)
            return
        if self.has_event[split.backend]:
            self.record(EventWait(split.backend, split.backend, self.cur_copy))
        else:
            self._sync(split.backend)
        if host_weight and self._ask_callback(split, source, copy):
            return
        owner = self.board.backend_ids[source]
        if self.backends[split.backend].is_async:
            ok = not self._is_host(source) and not self._is_host(copy)
            self.record(CopyAsync(owner, split.backend, source, copy, ok))
            if ok:
                self._move(source, copy)
                return
        self._sync(owner)
        self._wait(split.backend)
        self._blocking_copy(source, copy)

    def _blocking_copy(self, source: int, copy: int) -> None:
        """ggml_backend_tensor_copy: host memory decides the direction; 0 bytes move nothing."""
        size = self.tensors[source].nbytes
        if not size:
            return
        self._move(source, copy)
        if self._is_host(source):
            self.record(Transfer("set", copy, 0, size))
        elif self._is_host(copy):
            self.record(Transfer("get", source, 0, size))
        else:
            self.record(Transfer("get", source, 0, size))
            self.record(Transfer("set", copy, 0, size))

    def _move(self, source: int, copy: int) -> None:
        if self.hands is not None:
            self.hands.copy(source, copy)

    def _ask_callback(self, split: SplitLike, source: int, copy: int) -> bool:
        """The copy callback on a host weight; true when it did the copy itself."""
        callback = self.callback
        if callback is CopyCallback.NONE:
            return False
        nodes = self.board.nodes
        if callback is not CopyCallback.LLAMA:
            self.record(CallCopy(split.backend, source, copy, nodes[split.start], split.end - split.start))
        if callback in (CopyCallback.TRUE, CopyCallback.FALSE):
            done = callback is CopyCallback.TRUE
            if done:
                self._move(source, copy)
        else:
            done = self._copy_used_experts(split, source, copy)
        if callback is not CopyCallback.LLAMA:
            self.record(CopyCalled(done))
        return done

    def _copy_used_experts(self, split: SplitLike, source: int, copy: int) -> bool:
        """llama_context::sched_copy_experts: only the experts that the ids name, one transfer per run of them."""
        tensors = self.tensors
        node = self.board.nodes[split.start]
        src = self.board.src[node]
        if tensors[node].op is not Op.MUL_MAT_ID or not src or src[0] != copy:
            return False
        if len(src) < 3 or src[2] < 0:
            raise GgmlAbort("llama-context.cpp: the ids of MUL_MAT_ID are read, and it has none (null pointer)")
        ids = src[2]
        if not tensors[ids].nbytes:
            return True
        weight = tensors[source]
        n_expert, expert_size = weight.ne[2], weight.nb[2]
        if self.last_ids != (ids, n_expert):
            self._queue("get", split.backend, ids, 0, tensors[ids].nbytes)
            self._sync(split.backend)
            self.used = self._used_experts(ids, n_expert)
            self.last_ids = (ids, n_expert)
        for first, last in _runs(self.used):
            padding = min(expert_size, 512) if last < n_expert - 1 else 0
            size = (last - first + 1) * expert_size + padding
            self._queue("set", split.backend, copy, first * expert_size, size)
            if self.hands is not None:
                self.hands.copy_part(source, copy, first * expert_size, size)
        return True

    def _used_experts(self, ids: int, n_expert: int) -> list[int]:
        """Sorted expert numbers that the ids tensor names: as it stands, or in a trace as the graph file gives them.

        Contents that the file does not give are zeros.
        """
        tensor = self.tensors[ids]
        data, start = self._contents(ids)
        ne0, ne1 = tensor.ne[0], tensor.ne[1]
        step0, step1 = tensor.nb[0] // 4, tensor.nb[1] // 4
        used: set[int] = set()
        for i1 in range(ne1 if step1 else 1):
            row = start + i1 * step1
            if row >= len(data):
                break
            used.update(data[row : row + (ne0 - 1) * step0 + 1 : step0] if step0 else data[row : row + 1])
        if start + (ne1 - 1) * step1 + (ne0 - 1) * step0 >= len(data):
            used.add(0)
        if any(not 0 <= expert < n_expert for expert in used):
            raise GgmlAbort("llama-context.cpp: GGML_ASSERT(id >= 0 && id < n_expert) failed")
        return sorted(used)

    def _contents(self, tensor: int) -> tuple[tuple[int, ...], int]:
        """int32 contents as the graph file gives them, and where the tensor starts in them (words)."""
        if self.hands is not None:
            return tuple(self.hands.ids(tensor)), 0
        one = self.tensors[tensor]
        if one.data is not None:
            return one.data, 0
        origin = self.origin.get(tensor)
        if origin is not None:
            return self._contents(origin)
        if one.view_src >= 0:
            data, start = self._contents(one.view_src)
            return data, start + one.view_offs // 4
        return (), 0


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Consecutive numbers as (first, last).

    >>> _runs([1, 2, 5])
    [(1, 2), (5, 5)]
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
