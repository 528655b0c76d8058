"""What a loaded model and its context take in each buffer type, from llama.cpp's own tables."""

from __future__ import annotations

import ctypes as C
import struct

from . import layouts as abi
from .log import Log
from .messages import RawMemory
from .refused import Refused


def memory(library: C.CDLL, context: int, allocated: list[tuple[str, int]], log: Log) -> list[RawMemory]:
    """Bytes per buffer type as llama_get_memory_breakdown has them, and the output buffer.

    Args:
        library: the loaded llama.cpp.
        context: a llama_context.
        allocated: (buffer type, bytes) of each buffer that was asked for.
        log: with the line about the output buffer.

    Raises:
        Refused: something is not laid out as expected.
    """
    recurrent = _recurrent(library, context)
    rows: dict[str, RawMemory] = {}
    for buft, (model, held, _) in read_map(library, abi.MEMORY_BREAKDOWN, context, 3).items():
        name = library.ggml_backend_buft_name(buft).decode()
        rows[name] = RawMemory(name, model, held, recurrent.get(buft, (0,))[0], 0)
    name, size = _output(allocated, log)
    rows.setdefault(name, RawMemory(name, 0, 0, 0, 0)).output = size
    return list(rows.values())


def weights(library: C.CDLL, model: int) -> list[tuple[str, str]]:
    """Name and buffer type of every weight, also of those that no graph uses.

    Raises:
        Refused: the table is not laid out as expected.
    """
    first, last = (C.c_uint64 * 2).from_address(getattr(library, abi.TENSOR_MAP)(model))
    found = []
    for entry in range(first, last, 16):  # the name, and the tensor
        tensor = _pointer(entry + 8)
        name = C.string_at(tensor + abi.NAME_AT)
        if name != C.string_at(_pointer(entry)):
            raise Refused("llama.cpp's table of weights is not laid out as expected")
        buft = library.ggml_backend_buffer_get_type(_pointer(tensor + abi.BUFFER_AT))
        found.append((name.decode("utf-8", "replace"), library.ggml_backend_buft_name(buft).decode()))
    return found


def virtual(this: int, slot: int) -> int:
    """The address of a virtual function."""
    return _pointer(_pointer(this) + 8 * slot)


def _output(allocated: list[tuple[str, int]], log: Log) -> tuple[str, int]:
    """Buffer type and bytes of the output buffer: of what was asked for, that which the log names."""
    name, said = log.output_buffer()
    for buft, size in allocated:
        if buft == name and f"{size / (1 << 20):.2f}" == said:
            return name, size
    if float(said):
        raise Refused(f"llama.cpp's log has an output buffer of {said} MiB in {name}, but asked for none")
    return name, 0


def _recurrent(library: C.CDLL, context: int) -> dict[int, tuple[int, ...]]:
    """Bytes of the recurrent part of the context's memory, per buffer type."""
    this = library.llama_get_memory(context)
    if not this:
        return {}
    kind = class_name(this)
    if kind in abi.RECURRENT_PART:
        this = getattr(library, abi.RECURRENT_PART[kind])(this)
    elif kind != abi.RECURRENT_CLASS:
        return {}
    return read_map(library, abi.RECURRENT_BREAKDOWN, this, 1)


def read_map(library: C.CDLL, symbol: str, this: int, n_values: int) -> dict[int, tuple[int, ...]]:
    """A std::map of pointers to `n_values` size_t that a function returns in hidden memory."""
    head = (C.c_uint64 * 6)()  # comparison, colour, parent, leftmost, rightmost, number of nodes
    getattr(library, symbol)(C.addressof(head), this)
    layout = struct.Struct(f"<{5 + n_values}Q")  # colour, parent, left, right, key, values
    found: dict[int, tuple[int, ...]] = {}
    todo = [head[2]]
    while todo:
        node = todo.pop()
        if node:
            _, _, left, right, key, *values = layout.unpack(C.string_at(node, layout.size))
            found[key] = tuple(values)
            todo += [left, right]
    if len(found) != head[5]:
        raise Refused(f"llama.cpp's table of memory has {head[5]} entries, {len(found)} were read")
    return found


def _pointer(address: int) -> int:
    return abi.PTR.from_address(address).value or 0


def class_name(this: int) -> str:
    """The mangled class name of an object with virtual functions, from its type_info."""
    info = _pointer(_pointer(this) - 8)
    return C.string_at(_pointer(info + 8)).decode()
