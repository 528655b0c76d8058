"""Reads a split and planned graph out of the scheduler's and allocator's own structs."""

from __future__ import annotations

import ctypes as C
from typing import Any

from . import layouts as abi
from .asking import OPS, Asking
from .messages import RawGraph, RawPlace, RawTensor
from .split_hook import slots

NONE = 0
"""GGML_OP_NONE."""
assert OPS[NONE] == "NONE"


def dump(
    sched: abi.Sched,
    graph: abi.Graph,
    pins: list[tuple[int, int]],
    shape: tuple[int, int, int],
    asking: Asking,
    *,
    planned: bool = True,
) -> RawGraph:
    """The graph, with everything decided about it; without chunks and places where it was only split."""
    reader = _Reader(sched, graph, asking)
    chunks, places = reader.plan() if planned else ([], [])
    n_tokens, _, n_outputs = shape
    return RawGraph(
        tensors=[reader.tensor(address) for address in reader.order],
        n_leafs=graph.n_leafs,
        n_nodes=graph.n_nodes,
        n_tokens=n_tokens,
        n_outputs=n_outputs,
        pins=[(reader.position[a], b) for a, b in pins if a in reader.position],
        node_backends=[reader.backend_of(address) for address in reader.nodes],
        splits=reader.splits(),
        graph_inputs=[reader.position[a] for a in reader.graph_inputs],
        chunks=chunks,
        places=places,
        n_copies=sched.n_copies,
    )


class _Reader:
    """One graph in memory. The scheduler has put copies into `src`; `owner` leads back from a copy to its tensor."""

    def __init__(self, sched: abi.Sched, graph: abi.Graph, asking: Asking) -> None:
        self.sched, self.asking = sched, asking
        self.slots = slots(sched.hash_set)
        self.backend_ids = (abi.I32 * sched.hash_set.size).from_address(sched.hv_tensor_backend_ids)
        self.nodes = pointers(graph.nodes, graph.n_nodes)
        leafs = pointers(graph.leafs, graph.n_leafs)
        self.graph_inputs = pointers(sched.graph_inputs, sched.n_graph_inputs) if sched.n_copies > 1 else []
        self.raw: dict[int, tuple[Any, ...]] = {}
        listed = {*leafs, *self.nodes}
        bases = dict.fromkeys(v for a in (*leafs, *self.nodes) if (v := self.read(a)[_VIEW_SRC]) and v not in listed)
        self.order = [*leafs, *bases, *self.nodes]
        self.position = {address: at for at, address in enumerate(self.order)}
        self.owner: dict[int, tuple[int, int, int]] = {}
        for split in self._raw_splits():
            for address in pointers(split.inputs, split.n_inputs):
                self._find_copies(address, split.backend)
        for address in self.graph_inputs:
            self._find_copies(address, self.backend_of(address))

    def read(self, address: int) -> tuple[Any, ...]:
        found = self.raw.get(address)
        if found is None:
            found = self.raw[address] = abi.TENSOR.unpack(C.string_at(address, abi.TENSOR.size))
        return found

    def backend_of(self, address: int) -> int:
        return int(self.backend_ids[self.slots[address]])

    def _raw_splits(self) -> list[abi.Split]:
        return list((abi.Split * self.sched.n_splits).from_address(self.sched.splits))

    def _find_copies(self, address: int, backend: int) -> None:
        sched = self.sched
        first = (self.slots[address] * sched.n_backends + backend) * sched.n_copies
        for number in range(sched.n_copies):
            copy = abi.PTR.from_address(sched.hv_tensor_copies + 8 * (first + number)).value
            if copy and copy != address:
                self.owner[copy] = (self.position[address], backend, number)

    def splits(self) -> list[tuple[int, int, int, list[int]]]:
        return [
            (s.backend, s.start, s.end, [self.position[a] for a in pointers(s.inputs, s.n_inputs)])
            for s in self._raw_splits()
        ]

    def tensor(self, address: int) -> RawTensor:
        kind, buffer, *rest = self.read(address)
        ne, nb, op, params, flags = rest[:4], rest[4:8], rest[8], rest[9:25], rest[25]
        src, (view_src, view_offs, data, name, _) = rest[26:36], rest[36:]
        while src and not src[-1]:
            src.pop()
        lies, weights, offset = "", False, -1
        if buffer:
            if data:
                offset = data - self.asking.library.ggml_backend_buffer_get_base(buffer)
            lies = self.asking.lies(abi.PTR.from_address(buffer + abi.BUFFER_BUFT_AT).value or 0).name
            weights = self.asking.library.ggml_backend_buffer_get_usage(buffer) == abi.USAGE_WEIGHTS
        return RawTensor(
            name=name.split(b"\0", 1)[0].decode("utf-8", "replace"),
            op=op,
            dtype=kind,
            ne=tuple(ne),
            nb=tuple(nb),
            op_params=tuple(params),
            flags=flags,
            src=[self._source(s) for s in src],
            view_src=self.position[view_src] if view_src else -1,
            view_offs=view_offs,
            buft=lies,
            is_weight=weights,
            offset=offset,
        )

    def _source(self, address: int) -> int:
        if not address:
            return -1
        at = self.position.get(address)
        return self.owner[address][0] if at is None else at

    # the plan

    def plan(self) -> tuple[list[list[int]], list[RawPlace]]:
        """Chunk sizes per backend, and the places of everything that the allocator placed."""
        galloc, graph = abi.Gallocr.from_address(self.sched.galloc), self.sched.graph
        chunks = []
        for pointer in pointers(galloc.tallocs, galloc.n_buffers):
            tallocr = abi.DynTallocr.from_address(pointer)
            chunks.append([abi.Chunk.from_address(tallocr.chunks[c]).max_size for c in range(tallocr.n_chunks)])
        places: dict[int, RawPlace] = {}
        leafs = (abi.TensorAlloc * graph.n_leafs).from_address(galloc.leaf_allocs) if graph.n_leafs else ()
        nodes = (abi.NodeAlloc * graph.n_nodes).from_address(galloc.node_allocs) if graph.n_nodes else ()
        for address, leaf in zip(pointers(graph.leafs, graph.n_leafs), leafs, strict=True):
            self._place(places, address, leaf)
        for address, node in zip(pointers(graph.nodes, graph.n_nodes), nodes, strict=True):
            self._place(places, address, node.dst)
        return chunks, list(places.values())

    def _place(self, places: dict[int, RawPlace], address: int, plan: abi.TensorAlloc) -> None:
        fields = self.read(address)
        if plan.buffer < 0 or fields[_VIEW_SRC] or fields[_BUFFER]:
            return
        at = self.position.get(address)
        owner = self.owner.get(address) if at is None else (at, -1, -1)
        if owner is not None:  # else a node of the scheduler's own, which holds no bytes
            places.setdefault(address, RawPlace(*owner, plan.buffer, plan.chunk, plan.offset))


_BUFFER, _VIEW_SRC = 1, 38
"""Positions in an unpacked tensor."""


def pointers(address: int | None, n: int) -> list[int]:
    """Addresses in a C array; none where there is no array."""
    return list((abi.SIZE * n).from_address(address)) if address and n else []
