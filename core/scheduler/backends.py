"""Questions the passes ask about backends, answered once and remembered; every no is recorded with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from ..columns import Columns, Record
from ..devices.declared import supports_everything, why_not_offloaded, why_unsupported
from ..events import Decline, Refuse
from ..graph import Backend, BufferType
from .profiled import Profiled


class Backends:
    """The backends of a scheduler in priority order, seen from one run."""

    def __init__(
        self, backends: Sequence[Backend], bufts: Sequence[BufferType], columns: Columns, record: Record
    ) -> None:
        """Nothing is asked yet."""
        self.backends = backends
        self.bufts = bufts
        self.columns = columns
        self.record = record
        self.count = len(backends)
        self.last = self.count - 1
        self.default_buft = [backend.buft for backend in backends]
        self.reads = [bytearray(i in b.supports_buft for i in range(len(bufts))) for b in backends]
        self.declared = [not supports_everything(backend) for backend in backends]
        self.profiled = [Profiled(b, bufts, columns.tensors) if b.profile else None for b in backends]
        self.everything = [not (a or b) for a, b in zip(self.declared, self.profiled, strict=True)]
        self.no_refusals = all(self.everything)
        self.first_reader = [
            next((b for b, reads in enumerate(self.reads) if reads[buft]), -1) for buft in range(len(bufts))
        ]
        self.known: list[dict[int, bool]] = [{} for _ in backends]

    def supports(self, backend: int, tensor: int) -> bool:
        """ggml_backend_supports_op."""
        if self.everything[backend]:
            return True
        answer = self.known[backend].get(tensor)
        if answer is None:
            reason = self._why_unsupported(backend, tensor)
            answer = self.known[backend][tensor] = not reason
            if reason:
                self.record(Refuse(tensor, backend, reason))
        return answer

    def _why_unsupported(self, backend: int, tensor: int) -> str:
        if self.declared[backend]:
            tensors = self.columns.tensors
            sources = [tensors[s] for s in tensors[tensor].src if s >= 0]
            reason = why_unsupported(self.backends[backend], tensors[tensor], sources)
            if reason:
                return reason
        profiled = self.profiled[backend]
        return profiled.why_unsupported(tensor) if profiled else ""

    def wants(self, backend: int, tensor: int) -> bool:
        """ggml_backend_offload_op."""
        reason = why_not_offloaded(self.backends[backend], self.columns.tensors[tensor])
        profiled = self.profiled[backend]
        if not reason and profiled:
            reason = profiled.why_not_offloaded(tensor)
        if reason:
            self.record(Decline(tensor, backend, reason))
        return not reason

    def of_buffer(self, tensor: int, op: int) -> int:
        """First backend that reads the buffer `tensor` lies in and runs `op`; -1 for none (backend_from_buffer)."""
        buft = self.columns.base_buft(tensor)
        if buft < 0:
            return -1
        if self.no_refusals:
            return self.first_reader[buft]
        for backend in range(self.count):
            if self.reads[backend][buft] and self.supports(backend, op):
                return backend
        return -1
