"""Made-up buffer types, devices and backends with which the real allocator and scheduler of ggml can be run.

They follow the backend objects of the graph JSON. Device memory is never touched: buffers get made-up addresses.
"""

import ctypes as C
from collections.abc import Callable
from itertools import count
from typing import Any

from galloscope.benchmarks import ggml_abi as abi
from galloscope.core.native import layouts

Document = dict[str, Any]
N_OPS = 101
N_TYPES = 43
ALWAYS_SUPPORTED = ("NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE")
DEVICE_TYPES = {"cpu": 0, "gpu": 1, "igpu": 2, "accel": 3}
USAGE = {"weight_of": 1, "alloc_in": 0}  # GGML_BACKEND_BUFFER_USAGE_WEIGHTS and _ANY
BATCH_DIMENSION = {"MUL_MAT": 1, "MUL_MAT_ID": 2, "ROPE": 2}  # whose ne the batch rule of ggml-cuda reads
EXTERNAL_BYTES = 1 << 40


def type_of(backend: Document) -> str:
    """The device type of a backend object."""
    return str(backend.get("type") or ("cpu" if str(backend["name"]).startswith("CPU") else "gpu"))


class Machine:
    """The buffer types and backends of one graph document, as live ggml objects."""

    def __init__(self, document: Document) -> None:
        """Build every buffer type and backend; they live as long as this object."""
        self.library = abi.load()
        self.thunks = abi.Thunks()
        self.ops = {self.library.ggml_op_name(i).decode(): i for i in range(N_OPS)}
        self.types = {self.library.ggml_type_name(i).decode(): i for i in range(N_TYPES)}
        self.python_callbacks = False  # whether real ggml calls Python in its hot loops here
        self._keep: list[object] = []
        self._addresses = count(1 << 44, 1 << 42)  # far from what a process maps
        self._external: dict[tuple[str, str], int] = {}
        self.bufts: dict[str, layouts.BufferType] = {}
        self._hosts: list[str] = []
        documents = document.get("backends") or [{"name": "CPU"}]
        for wanted in document.get("bufts", ()):
            self._buffer_type(str(wanted["name"]), wanted, host=False)
        for wanted in sorted(documents, key=lambda d: bool(d.get("buft", d["name"]) != d["name"])):  # namesakes first
            name = str(wanted.get("buft", wanted["name"]))
            if name not in self.bufts:
                self._buffer_type(name, wanted, host=type_of(wanted) in ("cpu", "accel"))
        self.default_bufts = [str(d.get("buft", d["name"])) for d in documents]
        self.backend_names = [str(d["name"]) for d in documents]
        self.backends = [self._backend(d, self.default_bufts[i]) for i, d in enumerate(documents)]

    def buft_pointer(self, name: str) -> int:
        """The address of a buffer type."""
        return C.addressof(self.bufts[name])

    def external_buffer(self, buft: str, kind: str) -> int:
        """A buffer for the weights (``weight_of``) or the caches (``alloc_in``) of a buffer type."""
        if (buft, kind) not in self._external:
            buffer = self._new_buffer(self.buft_pointer(buft), EXTERNAL_BYTES)
            self.library.ggml_backend_buffer_set_usage(buffer, USAGE[kind])
            self._external[buft, kind] = buffer
        return self._external[buft, kind]

    def external_buffers(self) -> set[int]:
        """The buffers made so far by :meth:`external_buffer`."""
        return set(self._external.values())

    def _callback(self, result: Any, arguments: tuple[Any, ...], function: Callable[..., Any]) -> int:
        made = C.CFUNCTYPE(result, *arguments)(function)
        self._keep.append(made)
        return C.cast(made, abi.PTR).value or 0

    def _new_buffer(self, buft: int, size: int) -> int:
        base = next(self._addresses)
        nothing = self.thunks.constant(0)
        interface = layouts.BufferInterface(
            free=nothing, base=self.thunks.constant(base), init_tensor=nothing, memset=nothing, set=nothing, get=nothing
        )
        return int(self.library.ggml_backend_buffer_init(buft, interface, None, size))

    def _buffer_type(self, name: str, wanted: Document, *, host: bool) -> None:
        host = bool(wanted.get("host", host))
        if host:
            self._hosts.append(name)
        thunks = self.thunks
        made = layouts.BufferType(
            name=thunks.text(name),
            alloc=self._callback(abi.PTR, (abi.PTR, abi.SIZE), self._new_buffer),
            alignment=thunks.constant(int(wanted.get("align", 32))),
            is_host=thunks.constant(int(host)),
        )
        if wanted.get("max_size") is not None:
            made.max_size = thunks.constant(int(wanted["max_size"]))
        if wanted.get("pad_quant") or wanted.get("op_extra"):
            made.alloc_size = self._callback(abi.SIZE, (abi.PTR, abi.PTR), self._alloc_size(wanted))
            self.python_callbacks = True
        self.bufts[name] = made

    def _alloc_size(self, wanted: Document) -> Callable[[int, int], int]:
        library, row = self.library, int(wanted.get("pad_quant") or 0)
        extra = {self.ops[op]: int(size) for op, size in wanted.get("op_extra", {}).items()}

        def alloc_size(_buft: int, address: int) -> int:
            tensor = abi.Tensor.from_address(address)
            size = int(library.ggml_nbytes(address)) + extra.get(tensor.op, 0)
            if row and library.ggml_is_quantized(tensor.type) and tensor.ne[0] % row:
                size += int(library.ggml_row_size(tensor.type, row - tensor.ne[0] % row))
            return size

        return alloc_size

    def _backend(self, wanted: Document, own: str) -> layouts.Backend:
        kind, thunks = type_of(wanted), self.thunks
        nothing, name = thunks.constant(0), thunks.text(str(wanted["name"]))
        usable = list(wanted.get("supports_buft", [own]))
        if "supports_buft" not in wanted and kind in ("cpu", "accel"):
            usable += self._hosts
        device = layouts.Device(
            name=name,
            description=name,
            type=thunks.constant(DEVICE_TYPES[kind]),
            buffer_type=thunks.constant(self.buft_pointer(own)),
            supports_op=self._supports_op(wanted),
            supports_buft=thunks.second_is_one_of([self.buft_pointer(buft) for buft in usable]),
        )
        if wanted.get("offload"):
            device.offload_op = self._callback(C.c_bool, (abi.PTR, abi.PTR), self._offload_op(wanted))
            self.python_callbacks = True
        if wanted.get("events", wanted.get("async", kind == "gpu")):
            event = (abi.PTR * 2)(C.addressof(device), None)
            self._keep.append(event)
            device.event_new = thunks.constant(C.addressof(event))
            device.event_free = device.event_synchronize = nothing
        backend = layouts.Backend(
            name=name, free=nothing, synchronize=nothing, graph_compute=nothing, device=C.addressof(device)
        )
        self._keep.append(device)
        return backend

    def _supports_op(self, wanted: Document) -> int:
        refused = set(wanted.get("ops_except", ()))
        chosen = set(wanted["ops"]) if "ops" in wanted else set(self.ops)
        allowed = [False] * N_OPS
        for op in (chosen | set(ALWAYS_SUPPORTED)) - refused:
            allowed[self.ops[op]] = True
        types = {self.types[t] for t in wanted.get("types_except", ())}
        pairs = {(self.ops[op], self.types[t]) for op, t in wanted.get("op_types_except", ())}
        if not types and not pairs:
            return int(self.thunks.op_in_table(allowed))
        empty = {self.ops[op] for op in ALWAYS_SUPPORTED}

        def supports(_device: int, address: int) -> bool:
            tensor = abi.Tensor.from_address(address)
            if not allowed[tensor.op]:
                return False
            if tensor.op in empty:
                return True
            met = {tensor.type, *(abi.Tensor.from_address(src).type for src in tensor.src if src)}
            return not (met & types or any((tensor.op, t) in pairs for t in met))

        self.python_callbacks = True
        return self._callback(C.c_bool, (abi.PTR, abi.PTR), supports)

    def _offload_op(self, wanted: Document) -> Callable[[int, int], bool]:
        listed, least = wanted["offload"], int(wanted.get("offload_min_batch", 0))
        names = {number: op for op, number in self.ops.items()}

        def offload(_device: int, address: int) -> bool:
            tensor = abi.Tensor.from_address(address)
            op = names[tensor.op]
            if op == "GET_ROWS":
                batch = 0
            elif op in BATCH_DIMENSION:
                batch = tensor.ne[BATCH_DIMENSION[op]]
            else:
                batch = int(self.library.ggml_nrows(address))
            return (listed == "*" or op in listed) and batch >= least

        return offload
