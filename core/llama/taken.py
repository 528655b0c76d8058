"""A model opened under some options: the problem per graph mode, the memory, and what llama.cpp itself decided."""

from __future__ import annotations

import msgspec

from ..graph import Problem
from .options import GraphMode, Options


class Decided(msgspec.Struct, frozen=True):
    """What real llama.cpp decided about one graph; tensor names are those of the problem.

    Attributes:
        nodes: names in execution order, before the split.
        leafs: names in order.
        backends: backend index of each node.
        splits: (backend, first node, end, names of the inputs that are copied).
        chunks: bytes of each chunk of the plan, per backend; a backend that shares its buffer type has the same list.
        places: name of a node, leaf or `BACKEND#name#copy` -> (backend, chunk, offset); views and pre-allocated ones
            are left out.
    """

    nodes: list[str]
    leafs: list[str]
    backends: list[int]
    splits: list[tuple[int, int, int, list[str]]]
    chunks: list[list[int]]
    places: dict[str, tuple[int, int, int]]


class GraphTaken(msgspec.Struct, frozen=True):
    """One graph: the problem for the engine, and llama.cpp's own decisions when it was asked."""

    mode: GraphMode
    problem: Problem
    decided: Decided | None = None


class BuftMemory(msgspec.Struct, frozen=True):
    """Bytes in one buffer type, split as llama.cpp prints them."""

    buft: str
    device: str
    host: bool
    weights: int = 0
    kv: int = 0
    recurrent: int = 0
    output: int = 0


class Taken(msgspec.Struct, frozen=True):
    """A model under some options.

    Attributes:
        options: with every default filled in as llama.cpp fills it (n_ctx, flash attention on or off, ...).
        graphs: in the order asked for.
        memory: per buffer type, without the compute buffers (those are the engine's answer).
        source: who built the graphs: `llama.cpp b11549` or `galloscope builder`.
        notes: what the user should know: automatic choices, simplifications, llama.cpp's warnings.
        weights: buffer type of every weight by name.
    """

    options: Options
    graphs: tuple[GraphTaken, ...]
    memory: tuple[BuftMemory, ...]
    source: str
    notes: tuple[str, ...] = ()
    weights: dict[str, str] = {}
