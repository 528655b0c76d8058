"""Passes 0 to 4: every tensor gets a backend id and a cause (ggml_backend_sched_split_graph)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..errors import GgmlAbort
from ..events import WEIGHT_CAUSES, Assign, CannotUpgrade, Cause, Pass, PassDone, PassName, Weigh
from ..op import NO_WEIGHT_OPS, VIEW_OPS
from ..tensor import Flag
from .backends import Backends

_INPUT = int(Flag.INPUT)


class Assignment:
    """Backend ids and causes per tensor id while the passes run."""

    def __init__(self, backends: Backends, *, op_offload: bool) -> None:
        """All ids are -1 (unassigned), all causes None."""
        self.backends = backends
        self.op_offload = op_offload
        self.columns = backends.columns
        self.record = backends.record
        count = len(self.columns.tensors)
        self.ids = [-1] * count
        self.causes: list[Cause | None] = [None] * count
        op = self.columns.op
        self.op_nodes = [node for node in self.columns.nodes if op[node] not in VIEW_OPS]

    def run(self, *, pins_lost: bool) -> None:
        """All passes that assign.

        Args:
            pins_lost: the scheduler was reset after the pins were set, so only their cause is left.

        Raises:
            GgmlAbort: where real ggml asserts.
        """
        steps: tuple[tuple[PassName, Callable[[], None]], ...] = (
            (PassName.PINS, lambda: self._pins(pins_lost)),
            (PassName.FACTS, self._facts),
            (PassName.GPU_DOWN, lambda: self._sweep(self.op_nodes, self.backends.last)),
            (PassName.GPU_UP, lambda: self._sweep(self.op_nodes[::-1], self.backends.last)),
            (PassName.REST_DOWN, lambda: self._sweep(self.op_nodes, -2)),
            (PassName.REST_UP, lambda: self._sweep(self.op_nodes[::-1], -2)),
            (PassName.BEST, self._best_or_upgrade),
            (PassName.FOLLOW, self._follow),
        )
        for name, step in steps:
            self.record(Pass(name))
            step()
            self.record(PassDone(name))

    def set(self, tensor: int, backend: int, cause: Cause, by: int = -1) -> None:
        """Write an id with its cause and the tensor it came from."""
        self.ids[tensor] = backend
        self.causes[tensor] = cause
        self.record(Assign(tensor, backend, cause, by))

    def readable(self, tensor: int, backend: int) -> bool:
        """The backend can use the tensor's buffer where it is or will be (ggml_backend_sched_buffer_supported)."""
        columns = self.columns
        base = columns.view_src[tensor]
        buft = columns.buft[base if base >= 0 else tensor]
        if buft < 0:
            owner = self.ids[tensor]
            if owner < 0 and base >= 0:
                owner = self.ids[base]
            if owner < 0:
                return False
            buft = self.backends.default_buft[owner]
        return bool(self.backends.reads[backend][buft])

    def _pins(self, lost: bool) -> None:
        for tensor in range(self.columns.n_graph):
            pin = self.columns.tensors[tensor].pin
            if pin >= 0:
                self.set(tensor, -1 if lost else pin, Cause.USR)

    def _facts(self) -> None:
        """Pass 1: what buffers, input flags and weights dictate; leafs, then nodes."""
        for tensor in (*self.columns.leafs, *self.columns.nodes):
            if self.ids[tensor] < 0:
                self._from_facts(tensor)

    def _from_facts(self, tensor: int) -> None:
        """ggml_backend_sched_backend_id_from_cur."""
        columns, backends = self.columns, self.backends
        buft = columns.base_buft(tensor)
        if buft >= 0:
            found = backends.of_buffer(tensor, tensor)
            if found < 0:
                raise GgmlAbort(
                    f"ggml-backend.cpp: pre-allocated tensor ({columns.name[tensor]}) in a buffer "
                    f"({backends.bufts[buft].name}) that cannot run the operation ({columns.op[tensor]})"
                )
            base = columns.view_src[tensor]
            self.set(tensor, found, Cause.DST, base)
        elif columns.flags[tensor] & _INPUT:
            self.set(tensor, backends.last, Cause.INP)
        elif columns.op[tensor] not in NO_WEIGHT_OPS:
            for slot, source in enumerate(columns.src[tensor]):
                if source >= 0 and columns.tensors[source].is_weight:
                    self._from_weight(tensor, slot, source)
                    return

    def _from_weight(self, tensor: int, slot: int, weight: int) -> None:
        """The first weight decides alone, even when no backend can use it."""
        backends = self.backends
        found = backends.of_buffer(weight, tensor)
        may_move = self.op_offload and found == backends.last
        if may_move and backends.bufts[self.columns.buft[weight]].host:
            for backend in range(found):
                if backends.supports(backend, tensor) and backends.wants(backend, tensor):
                    self.set(tensor, backend, Cause.OFF, weight)
                    return
        self.set(tensor, found, WEIGHT_CAUSES[slot], weight)

    def _sweep(self, order: Iterable[int], stop: int) -> None:
        """Pass 2: an assigned node sets the current backend (`stop` clears it), an unassigned one takes it if it can.

        The GPU sweeps stop at nodes of the last backend, so that the CPU does not spread; the others stop at none.
        """
        ids, supports = self.ids, self.backends.supports
        current = source = -1
        for node in order:
            backend = ids[node]
            if backend >= 0:
                current, source = (-1 if backend == stop else backend), node
            elif current >= 0 and supports(current, node):
                self.set(node, current, Cause.SUP, source)

    def _best_or_upgrade(self) -> None:
        """Pass 3: the rest goes where most sources can be read; others move up within their buffer type."""
        for node in self.op_nodes:
            backend = self.ids[node]
            if backend < 0:
                self._best(node)
            elif backend > 0:
                self._upgrade(node, backend)

    def _best(self, node: int) -> None:
        columns, ids, backends = self.columns, self.ids, self.backends
        most = -1
        for backend in range(backends.count):
            if not backends.supports(backend, node):
                continue
            count = 0
            for source in columns.src[node]:
                if source < 0:
                    continue
                base = columns.view_src[source]
                assigned = ids[source] >= 0 or (base >= 0 and ids[base] >= 0)
                count += assigned and self.readable(source, backend)
            self.record(Weigh(node, backend, count))
            if count > most:
                most = count
                self.set(node, backend, Cause.BEST)

    def _upgrade(self, node: int, backend: int) -> None:
        backends = self.backends
        for higher in range(backend):
            if backends.default_buft[higher] != backends.default_buft[backend] or not backends.supports(higher, node):
                continue
            for source in self.columns.src[node]:
                if source >= 0 and not self.readable(source, higher):
                    self.record(CannotUpgrade(node, higher, source))
                    break
            else:
                self.set(node, higher, Cause.UPG)
                return

    def _follow(self) -> None:
        """Pass 4: views follow their base, sources their user, and whatever is left the first backend that can."""
        ids, view_src, src = self.ids, self.columns.view_src, self.columns.src
        for node in self.columns.nodes:
            base = view_src[node]
            if base >= 0 and ids[node] < 0:
                self.set(node, ids[base], Cause.VSRC, base)
            for source in src[node]:
                if source < 0 or ids[source] >= 0:
                    continue
                base = view_src[source]
                if base >= 0:
                    self.set(source, ids[base], Cause.VSRC, base)
                else:
                    self.set(source, ids[node], Cause.CUR, node)
            backend = 0
            while ids[node] < 0 and backend < self.backends.count:
                if self.backends.supports(backend, node):
                    self.set(node, backend, Cause.SUP)
                backend += 1
            if ids[node] < 0:
                raise GgmlAbort("ggml-backend.cpp: GGML_ASSERT(*cur_backend_id != -1) failed")
