"""The real ggml inside the ``xllamacpp`` wheel: struct layouts, prototypes and callbacks for ctypes.

Everything here belongs to one build (b11549, ggml 0.26.0, x86-64 Linux), so :func:`load` refuses any other. Callbacks
that real ggml calls in its hot loops (``supports_op`` ...) are a few bytes of machine code each, see :class:`Thunks`:
a Python callback there would be what a benchmark measures.
"""

import ctypes as C
import importlib.util
import mmap
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from galloscope.core.native.layouts import (
    BufferInterface,
    Graph,
    HashSet,
)

GGML_VERSION = "0.26.0"
MAX_CHUNKS = 16
I32, I64, SIZE, PTR = C.c_int32, C.c_int64, C.c_size_t, C.c_void_p


class WrongBuild(RuntimeError):
    """The wheel is missing or not the one build whose layouts are written down here."""


class Tensor(C.Structure):
    """``ggml_tensor``, and behind it the 32 bytes of the ``ggml_object`` that a ggml_context puts between two."""

    _fields_ = [
        ("type", I32),
        ("buffer", PTR),
        ("ne", I64 * 4),
        ("nb", SIZE * 4),
        ("op", I32),
        ("op_params", I32 * 16),
        ("flags", I32),
        ("src", PTR * 10),
        ("view_src", PTR),
        ("view_offs", SIZE),
        ("data", PTR),
        ("name", C.c_char * 64),
        ("extra", PTR),
        ("padding", C.c_char * 8),
        ("object", C.c_char * 32),
    ]


class Split(C.Structure):
    """``ggml_backend_sched_split``."""

    _fields_ = [
        ("backend", I32),
        ("start", I32),
        ("end", I32),
        ("inputs", PTR),
        ("n_inputs", I32),
        ("capacity", I32),
        ("graph", Graph),
    ]


class Sched(C.Structure):
    """``ggml_backend_sched``, as far as it is read."""

    _fields_ = [
        ("flags", C.c_bool * 4),
        ("n_backends", I32),
        ("backends", PTR * 16),
        ("bufts", PTR * 16),
        ("galloc", PTR),
        ("hash_set", HashSet),
        ("tensor_backend_ids", PTR),
        ("tensor_copies", PTR),
        ("node_backend_ids", PTR),
        ("leaf_backend_ids", PTR),
        ("prev_node_backend_ids", PTR),
        ("prev_leaf_backend_ids", PTR),
        ("graph", Graph),
        ("splits", PTR),
        ("n_splits", I32),
    ]


class TensorAlloc(C.Structure):
    """``tensor_alloc``: where the plan puts a tensor; buffer -1 for a view or an external tensor."""

    _fields_ = [("buffer", I32), ("_", I32), ("chunk", I32), ("offset", SIZE), ("size", SIZE)]


class InitParams(C.Structure):
    """``ggml_init_params``."""

    _fields_ = [("mem_size", SIZE), ("mem_buffer", PTR), ("no_alloc", C.c_bool)]


class Thunks:
    """Tiny x86-64 functions in executable memory, so that no Python runs where real ggml is being timed."""

    def __init__(self) -> None:
        """Reserve a page of executable memory; raises OSError where the system forbids that."""
        self._memory = mmap.mmap(-1, 1 << 16, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._base = C.addressof(C.c_char.from_buffer(self._memory))
        self._keep: list[object] = []

    def _place(self, code: bytes) -> int:
        start = self._memory.tell()
        self._memory.write(code + b"\xcc" * (-len(code) % 16))
        return self._base + start

    def constant(self, value: int) -> int:
        """A function that ignores its arguments and returns a value: ``mov rax, value; ret``."""
        return self._place(b"\x48\xb8" + (value & (1 << 64) - 1).to_bytes(8, "little") + b"\xc3")

    def text(self, value: str) -> int:
        """A function that returns a string."""
        string = C.create_string_buffer(value.encode())
        self._keep.append(string)
        return self.constant(C.addressof(string))

    def second_is_one_of(self, values: Sequence[int]) -> int:
        """``f(_, x)``: whether x is one of the pointers; ``mov rax, v; cmp rsi, rax; jne +6; mov eax, 1; ret`` each."""
        tests = (
            b"\x48\xb8" + v.to_bytes(8, "little") + b"\x48\x39\xc6\x75\x06\xb8\x01\x00\x00\x00\xc3" for v in values
        )
        return self._place(b"".join(tests) + b"\x31\xc0\xc3")

    def op_in_table(self, allowed: Sequence[bool]) -> int:
        """``f(_, t)``: ``allowed[t->op]``; ``mov eax, [rsi+80]; mov rdx, table; movzx eax, [rdx+rax]; ret``."""
        table = C.create_string_buffer(bytes(allowed))
        self._keep.append(table)
        address = C.addressof(table).to_bytes(8, "little")
        return self._place(b"\x8b\x46\x50\x48\xba" + address + b"\x0f\xb6\x04\x02\xc3")


def available() -> bool:
    """Whether the wheel is installed here."""
    return importlib.util.find_spec("xllamacpp") is not None


@cache
def load() -> C.CDLL:
    """The library with its prototypes set and its layouts checked."""
    spec = importlib.util.find_spec("xllamacpp")
    found = [path for folder in (spec and spec.submodule_search_locations) or () for path in Path(folder).glob("*.so")]
    if not found:
        raise WrongBuild("the real ggml is not here: pip install xllamacpp (Linux x86-64 only)")
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an assert attaches gdb to this process
    library = C.CDLL(str(found[0]))
    _prototypes(library)
    version = library.ggml_version().decode()
    if version != GGML_VERSION or library.ggml_tensor_overhead() != C.sizeof(Tensor):
        raise WrongBuild(f"the struct layouts known here are those of ggml {GGML_VERSION}, xllamacpp has {version}")
    return library


def _prototypes(library: C.CDLL) -> None:
    """Result and argument types of what is called."""
    ids = C.POINTER(I32)
    table: dict[str, tuple[Any, ...]] = {
        "ggml_version": (C.c_char_p,),
        "ggml_tensor_overhead": (SIZE,),
        "ggml_init": (PTR, InitParams),
        "ggml_free": (None, PTR),
        "ggml_type_name": (C.c_char_p, I32),
        "ggml_type_size": (SIZE, I32),
        "ggml_blck_size": (I64, I32),
        "ggml_is_quantized": (C.c_bool, I32),
        "ggml_row_size": (SIZE, I32, I64),
        "ggml_op_name": (C.c_char_p, I32),
        "ggml_nbytes": (SIZE, PTR),
        "ggml_nrows": (I64, PTR),
        "ggml_new_graph_custom": (PTR, PTR, SIZE, C.c_bool),
        "ggml_graph_overhead_custom": (SIZE, SIZE, C.c_bool),
        "ggml_build_forward_expand": (None, PTR, PTR),
        "ggml_build_forward_order": (None, PTR, PTR),
        "ggml_backend_buffer_init": (PTR, PTR, BufferInterface, PTR, SIZE),
        "ggml_backend_buffer_set_usage": (None, PTR, I32),
        "ggml_backend_buft_get_alloc_size": (SIZE, PTR, PTR),
        "ggml_gallocr_new_n": (PTR, C.POINTER(PTR), I32),
        "ggml_gallocr_free": (None, PTR),
        "ggml_gallocr_reserve_n": (C.c_bool, PTR, PTR, ids, ids),
        "ggml_gallocr_alloc_graph": (C.c_bool, PTR, PTR),
        "ggml_gallocr_get_buffer_size": (SIZE, PTR, I32),
        "ggml_backend_sched_new": (PTR, C.POINTER(PTR), C.POINTER(PTR), I32, SIZE, C.c_bool, C.c_bool),
        "ggml_backend_sched_free": (None, PTR),
        "ggml_backend_sched_reset": (None, PTR),
        "ggml_backend_sched_set_tensor_backend": (None, PTR, PTR, PTR),
        "ggml_backend_sched_split_graph": (None, PTR, PTR),
        "ggml_backend_sched_reserve": (C.c_bool, PTR, PTR),
        "ggml_backend_sched_alloc_graph": (C.c_bool, PTR, PTR),
    }
    for name, (result, *arguments) in table.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
