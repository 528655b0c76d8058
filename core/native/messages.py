"""What the caller and the child process say to each other: msgpack of these structs, each behind its length."""

from __future__ import annotations

import struct
from typing import Union

import msgspec

from ..llama.options import GraphMode, Options

LENGTH = struct.Struct("<I")
MAX_MESSAGE = 256 << 20
"""Bytes of the longest message that is read; the answer about a model of 10,000 nodes has 3 MB."""


class Ask(msgspec.Struct):
    """The only question.

    Attributes:
        library: path of the shared object.
        model: path of the model as the child sees it.
        options: checked; `n_ctx` is filled in.
        modes: the graphs to take, in order.
    """

    library: str
    model: str
    options: Options
    modes: list[GraphMode]


class RawTensor(msgspec.Struct, array_like=True, gc=False):
    """A ggml_tensor as llama.cpp gave it to ggml: copies in its sources are undone.

    Attributes:
        name: as it is, not unique.
        op: number in enum ggml_op.
        dtype: number in enum ggml_type.
        ne: elements per dimension.
        nb: strides in bytes.
        op_params: all 16 int32 words.
        flags: bits of enum ggml_tensor_flag.
        src: positions in `RawGraph.tensors`, -1 for an empty slot.
        view_src: position of the owner of the bytes, -1 for none.
        view_offs: bytes.
        buft: name of the buffer type of its buffer, empty for none.
        is_weight: that buffer has usage WEIGHTS.
        offset: bytes from the start of its buffer, -1 when it has no address (yet).
    """

    name: str
    op: int
    dtype: int
    ne: tuple[int, int, int, int]
    nb: tuple[int, int, int, int]
    op_params: tuple[int, ...]
    flags: int
    src: list[int]
    view_src: int
    view_offs: int
    buft: str
    is_weight: bool
    offset: int = -1


class RawPlace(msgspec.Struct, array_like=True, gc=False):
    """Where the plan puts a tensor (`copy_backend` -1) or its copy number `copy` on a backend."""

    tensor: int
    copy_backend: int
    copy: int
    backend: int
    chunk: int
    offset: int


class RawGraph(msgspec.Struct):
    """One graph and what was decided about it; tensors are positions in `tensors`.

    Attributes:
        tensors: leafs, view owners that are in neither list, nodes.
        n_leafs: how many of them are leafs.
        n_nodes: how many, from the end, are nodes.
        n_tokens: as the graph was asked for, after rounding.
        n_outputs: likewise.
        pins: (tensor, backend) set by llama.cpp before the split.
        node_backends: backend of each node after the split.
        splits: (backend, first node, end, inputs that are copied).
        graph_inputs: inputs that have copies because of pipeline parallelism.
        chunks: bytes of each chunk, per backend.
        places: where tensors and copies lie.
        n_copies: of the scheduler.
    """

    tensors: list[RawTensor]
    n_leafs: int
    n_nodes: int
    n_tokens: int
    n_outputs: int
    pins: list[tuple[int, int]]
    node_backends: list[int]
    splits: list[tuple[int, int, int, list[int]]]
    graph_inputs: list[int]
    chunks: list[list[int]]
    places: list[RawPlace]
    n_copies: int


class RawBuft(msgspec.Struct):
    """A buffer type: its name, the device it belongs to, its limits, and the backends that can use it."""

    name: str
    device: str
    host: bool
    align: int
    max_size: int
    users: list[int]


class RawMemory(msgspec.Struct):
    """Bytes in one buffer type: as llama_get_memory_breakdown has them, and of the context's the recurrent part."""

    buft: str
    model: int
    context: int
    recurrent: int
    output: int


class Answer(msgspec.Struct, tag=True):
    """Everything about the model.

    Attributes:
        graphs: in the order of `Ask.modes`.
        backends: (name, name of its buffer type in the scheduler), in priority order.
        bufts: all buffer types that occur.
        memory: per buffer type.
        weights: (name, buffer type) of every weight.
        desc: llama_model_desc.
        offloaded: layers on GPUs, that of the output included.
        n_ctx: as llama.cpp rounded it.
        n_batch: likewise.
        n_ubatch: likewise.
        n_tokens: of the prefill graph, asked for or not.
        n_outputs: likewise.
        flash_off: flash attention was asked for or left to llama.cpp, and it said no.
        op_offload: of the scheduler.
        log: (level, line) of llama.cpp's log.
    """

    graphs: list[RawGraph]
    backends: list[tuple[str, str]]
    bufts: list[RawBuft]
    memory: list[RawMemory]
    weights: list[tuple[str, str]]
    desc: str
    offloaded: int
    n_ctx: int
    n_batch: int
    n_ubatch: int
    n_tokens: int
    n_outputs: int
    flash_off: bool
    op_offload: bool
    log: list[tuple[int, str]]


class Stage(msgspec.Struct, tag=True):
    """What is being done now, for a person."""

    text: str


class Refusal(msgspec.Struct, tag=True):
    """It cannot be done: the sentence."""

    text: str


Message = Union[Answer, Stage, Refusal]  # noqa: UP007 (msgspec evaluates it, on Python 3.10 too)


def encode(message: msgspec.Struct) -> bytes:
    """The message behind its length."""
    data = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(data)) + data
