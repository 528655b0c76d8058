"""The child process of `ggml_oracle`: real ggml_tensor structs around the given bytes, one op computed, its bytes back.

Questions and answers are msgpack, each behind its length. An assert of ggml ends the process, which is the answer.
"""

import ctypes as C
import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from galloscope.core.native import layouts as abi
from galloscope.core.native.library import find, load
from galloscope.core.native.messages import LENGTH

ROOM = 256 << 20
"""Bytes of the ggml context: the graph and ggml's work buffer."""
ALIGN = 64
"""Bytes to which buffers are aligned, more than any CPU kernel asks for."""
PADDING = 256
"""Bytes behind each buffer that must not change."""
FILL = 0xA5


class Bytes(msgspec.Struct, array_like=True):
    """A tensor: number in enum ggml_type, shape, strides, and its bytes from first to last element."""

    dtype: int
    ne: tuple[int, int, int, int]
    nb: tuple[int, int, int, int]
    data: bytes


class Compute(msgspec.Struct, tag=True):
    """Compute one node; `node.data` is what lies at its place before."""

    op: int
    params: tuple[int, ...]
    node: Bytes
    src: list[Bytes | None]


class Convert(msgspec.Struct, tag=True):
    """Convert rows: `to_float`, `from_float` (ggml_type_traits_cpu) or `quantize` (ggml_quantize_chunk)."""

    how: str
    dtype: int
    row: int
    data: bytes


class Done(msgspec.Struct, tag=True):
    """The bytes that were asked for."""

    data: bytes


class Cannot(msgspec.Struct, tag=True):
    """ggml has no function for that."""

    text: str


Question = Compute | Convert
Answer = Done | Cannot


class InitParams(C.Structure):
    """`ggml_init_params`."""

    _fields_ = [("mem_size", abi.SIZE), ("mem_buffer", abi.PTR), ("no_alloc", abi.BOOL)]


class TypeTraits(C.Structure):
    """`ggml_type_traits`."""

    _fields_ = [
        ("name", abi.TEXT), ("block", abi.I64), ("interleave", abi.I64), ("size", abi.SIZE), ("quantized", abi.BOOL),
        ("to_float", abi.PTR), ("from_float_ref", abi.PTR),
    ]  # fmt: skip


PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "ggml_cpu_init": (None,),
    "ggml_init": (abi.PTR, InitParams),
    "ggml_free": (None, abi.PTR),
    "ggml_new_graph_custom": (abi.PTR, abi.PTR, abi.SIZE, abi.BOOL),
    "ggml_graph_compute_with_ctx": (abi.I32, abi.PTR, abi.PTR, abi.I32),
    "ggml_get_type_traits": (C.POINTER(TypeTraits), abi.I32),
    "ggml_get_type_traits_cpu": (C.POINTER(abi.PTR), abi.I32),
    "ggml_quantize_requires_imatrix": (abi.BOOL, abi.I32),
    "ggml_quantize_chunk": (abi.SIZE, abi.I32, abi.PTR, abi.PTR, abi.I64, abi.I64, abi.I64, abi.PTR),
}


class Memory:
    """Bytes at an aligned address, with a seam behind them that shows when something is written too far."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._buffer = C.create_string_buffer(ALIGN + self.size + PADDING)
        self.address = -(-C.addressof(self._buffer) // ALIGN) * ALIGN
        C.memset(self.address + self.size, FILL, PADDING)
        C.memmove(self.address, data, self.size)

    def read(self) -> bytes:
        if C.string_at(self.address + self.size, PADDING) != bytes([FILL]) * PADDING:
            raise RuntimeError("ggml wrote behind the end of the result")
        return C.string_at(self.address, self.size)


class Real:
    """The library, and answers to questions."""

    def __init__(self) -> None:
        self.library = load(find())
        for name, (result, *arguments) in PROTOTYPES.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        self.library.ggml_cpu_init()

    def answer(self, question: Question) -> Answer:
        return self._compute(question) if isinstance(question, Compute) else self._convert(question)

    def _compute(self, question: Compute) -> Answer:
        memories = [None if one is None else Memory(one.data) for one in question.src]
        sources = [
            None if one is None or memory is None else _tensor(one, memory.address)
            for one, memory in zip(question.src, memories, strict=True)
        ]
        result = Memory(question.node.data)
        addresses = [C.addressof(one) if one is not None else 0 for one in sources]
        node = _tensor(question.node, result.address, question.op, question.params, addresses)
        library = self.library
        context = library.ggml_init(InitParams(ROOM, None, False))
        pointer = library.ggml_new_graph_custom(context, 32, False)
        graph = abi.Graph.from_address(pointer)
        (abi.PTR * 1).from_address(graph.nodes)[0] = C.addressof(node)
        graph.n_nodes = 1
        status = library.ggml_graph_compute_with_ctx(context, pointer, 1)
        library.ggml_free(context)
        return Cannot(f"ggml_graph_compute returns {status}") if status else Done(result.read())

    def _convert(self, question: Convert) -> Answer:
        library, dtype, row = self.library, question.dtype, question.row
        traits = library.ggml_get_type_traits(dtype).contents
        given = Memory(question.data)
        to_float = question.how == "to_float"
        rows = len(question.data) // (row // traits.block * traits.size if to_float else 4 * row)
        made = Memory(bytes(rows * (4 * row if to_float else row // traits.block * traits.size)))
        if question.how == "quantize":
            ones = (C.c_float * row)(*[1.0] * row) if library.ggml_quantize_requires_imatrix(dtype) else None
            library.ggml_quantize_chunk(dtype, given.address, made.address, 0, rows, row, ones)
            return Done(made.read())
        function = traits.to_float if to_float else library.ggml_get_type_traits_cpu(dtype)[0]
        if not function:
            return Cannot(f"ggml has no {question.how} for {traits.name.decode()}")
        kind: Callable[[int], Callable[[int, int, int], None]] = C.CFUNCTYPE(None, abi.PTR, abi.PTR, abi.I64)
        kind(function)(given.address, made.address, rows * row)
        return Done(made.read())


def _tensor(one: Bytes, data: int, op: int = 0, params: tuple[int, ...] = (), src: list[int] | None = None) -> Any:
    """A ggml_tensor in memory of ours."""
    words = (*params, *[0] * 16)[:16]
    pointers = [*(src or []), *[0] * 10][:10]
    packed = abi.TENSOR.pack(
        one.dtype, 0, *one.ne, *one.nb, op, *words, abi.FLAG_COMPUTE, *pointers, 0, 0, data, b"", 0
    )  # fmt: skip
    return C.create_string_buffer(packed, len(packed))


def main() -> None:
    real = Real()
    given, answers = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # what ggml prints is no answer
    while head := given.read(LENGTH.size):
        question = msgspec.msgpack.decode(given.read(LENGTH.unpack(head)[0]), type=Question)
        data = msgspec.msgpack.encode(real.answer(question))
        with os.fdopen(os.dup(answers), "wb") as pipe:
            pipe.write(LENGTH.pack(len(data)) + data)


if __name__ == "__main__":
    main()
