"""Passes 5 and 6: cut the graph where the backend changes, copy what cannot be read, build the allocation graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..columns import copy_of, dependency_on
from ..errors import GgmlAbort
from ..events import (
    AllocGraph,
    Cause,
    Copy,
    Dependency,
    GraphInput,
    Pass,
    PassDone,
    PassName,
    Rewrite,
    Split,
    SplitInput,
    SplitReason,
)
from ..op import VIEW_OPS
from ..tensor import MAX_SRC, Flag
from .assign import Assignment
from .board import Board


@dataclass(slots=True)
class SplitRange:
    """Nodes [start, end) of the graph that run on one backend, and the tensors copied there before they run."""

    backend: int
    start: int
    end: int
    inputs: list[int] = field(default_factory=list)


class Splitter:
    """Pass 5, pass 6 and the allocation graph of one run."""

    def __init__(self, assignment: Assignment, n_copies: int, cur_copy: int, stale_backend: int) -> None:
        """`stale_backend`: what splits[0].backend_id held before; it stands when the graph has only view ops."""
        self.assignment = assignment
        self.columns = assignment.columns
        self.record = assignment.record
        self.backends = assignment.backends
        self.n_copies = n_copies
        self.cur_copy = cur_copy
        self.stale_backend = stale_backend
        self.splits: list[SplitRange] = []
        self.copies: dict[tuple[int, int], list[int]] = {}
        self.graph_inputs: list[int] = []

    def run(self) -> AllocGraph:
        """Split and return the graph the allocator will see."""
        self.record(Pass(PassName.SPLIT))
        self._split()
        self.record(PassDone(PassName.SPLIT))
        if self.n_copies > 1:
            self._copy_leafs()
        return self._alloc_graph()

    def board(self, homes: Mapping[int, int]) -> Board:
        """What the compute loop reads; `homes`: buffer type index of each placed tensor."""
        columns = self.columns
        return Board(
            tensors=columns.tensors,
            nodes=columns.nodes,
            src=columns.src,
            flags=columns.flags,
            backend_ids=self.assignment.ids,
            backends=self.backends.backends,
            bufts=self.backends.bufts,
            splits=self.splits,
            copies=self.copies,
            n_copies=self.n_copies,
            cur_copy=self.cur_copy,
            homes=homes,
        )

    def _split(self) -> None:
        columns, ids, op = self.columns, self.assignment.ids, self.columns.op
        nodes = columns.nodes
        first = next((i for i, node in enumerate(nodes) if op[node] not in VIEW_OPS), len(nodes))
        found = first < len(nodes)
        split = SplitRange(ids[nodes[first]] if found else self.stale_backend, 0, len(nodes))
        self.splits.append(split)
        self.record(Split(split.backend, 0, SplitReason.FIRST, nodes[first] if found else -1))
        for i in range(first, len(nodes)):
            node = nodes[i]
            if op[node] in VIEW_OPS:
                continue
            weight = -1
            if ids[node] == split.backend and split.inputs:
                weight = self._foreign_weight(node, split.backend)
            if ids[node] != split.backend or weight >= 0:
                split.end = i
                split = SplitRange(ids[node], i, len(nodes))
                self.splits.append(split)
                reason = SplitReason.WEIGHT if weight >= 0 else SplitReason.BACKEND
                self.record(Split(split.backend, i, reason, weight if weight >= 0 else node))
            backend = split.backend
            for slot, source in enumerate(columns.src[node]):
                if source >= 0 and ids[source] != backend:
                    self._need(split, node, slot, source)

    def _foreign_weight(self, node: int, backend: int) -> int:
        """A weight of the node that the backend cannot read; -1 for none."""
        tensors, assignment = self.columns.tensors, self.assignment
        for source in self.columns.src[node]:
            if source < 0 or not tensors[source].is_weight or assignment.ids[source] == backend:
                continue
            if not assignment.readable(source, backend):
                return source
        return -1

    def _need(self, split: SplitRange, node: int, slot: int, source: int) -> None:
        """Let the node read a copy when its backend cannot read the source."""
        if self.assignment.ids[source] < 0:
            raise GgmlAbort("ggml-backend.cpp: GGML_ASSERT(src_backend_id != -1) failed")
        if self.assignment.readable(source, split.backend):
            return
        copies = self.copies.get((source, split.backend))
        if copies is None:
            copies = [self._copy(source, split.backend, c, Cause.CPY) for c in range(self.n_copies)]
            self.copies[source, split.backend] = copies
            split.inputs.append(source)
            self.record(SplitInput(source))
        self.columns.rewrite(node, slot, copies[self.cur_copy])
        self.record(Rewrite(node, slot, copies[self.cur_copy]))

    def _copy(self, source: int, backend: int, copy_no: int, cause: Cause) -> int:
        columns = self.columns
        name = f"{self.backends.backends[backend].name}#{columns.name[source]}#{copy_no}"
        copy = columns.add(copy_of(columns.tensors[source], name, pipelined=self.n_copies > 1))
        self.record(Copy(copy, source, backend, copy_no, cause))
        return copy

    def _copy_leafs(self) -> None:
        """Pass 6: every input leaf, used or not, exists n_copies times on its own backend."""
        columns = self.columns
        for leaf in columns.leafs:
            if not columns.flags[leaf] & Flag.INPUT:
                continue
            backend = self.assignment.ids[leaf]
            if backend < 0:
                raise GgmlAbort("ggml-backend.cpp: GGML_ASSERT(leaf_backend_id != -1) failed")
            if (leaf, backend) not in self.copies:
                copies = []
                for c in range(self.n_copies):
                    if c == self.cur_copy:
                        copies.append(leaf)
                        self.record(Copy(leaf, leaf, backend, c, Cause.LEAF_CPY))
                    else:
                        copies.append(self._copy(leaf, backend, c, Cause.LEAF_CPY))
                columns.flags[leaf] |= Flag.INPUT | Flag.OUTPUT
                self.copies[leaf, backend] = copies
            self.graph_inputs.append(leaf)
            self.record(GraphInput(leaf))

    def _alloc_graph(self) -> AllocGraph:
        """Per split its inputs (a dependency on the source, then the copy), then its nodes; leafs with all copies."""
        columns, ids = self.columns, self.assignment.ids
        until = self._alloc_deps()
        nodes: list[int] = []
        node_ids: list[int] = []
        unmet = set(until)
        for split in self.splits:
            for source in split.inputs:
                nodes += (self._dependency((source,)), self.copies[source, split.backend][self.cur_copy])
                node_ids += (ids[source], split.backend)
            own = columns.nodes[split.start : split.end]
            if not unmet:
                nodes += own
                node_ids += [ids[node] for node in own]
                continue
            for node in own:
                nodes.append(node)
                node_ids.append(ids[node])
                keep = until.get(node, [])
                unmet.discard(node)
                for k in range(0, len(keep), MAX_SRC):
                    nodes.append(self._dependency(tuple(keep[k : k + MAX_SRC])))
                    node_ids.append(split.backend)
        if unmet:
            raise GgmlAbort("ggml-backend.cpp: GGML_ASSERT(n_dep_nodes_added == n_dep_nodes) failed")
        leafs: list[int] = []
        leaf_ids: list[int] = []
        if self.n_copies > 1:
            wanted = [(leaf, ids[leaf]) for leaf in self.graph_inputs]
            wanted += [(source, split.backend) for split in self.splits for source in split.inputs]
            for source, backend in wanted:
                leafs += self.copies[source, backend]
                leaf_ids += [backend] * self.n_copies
        leafs += columns.leafs
        leaf_ids += [ids[leaf] for leaf in columns.leafs]
        graph = AllocGraph(tuple(nodes), tuple(node_ids), tuple(leafs), tuple(leaf_ids), self.cur_copy)
        self.record(graph)
        return graph

    def _alloc_deps(self) -> dict[int, list[int]]:
        """What the backends' graph_optimize asked to keep, by the node until which it is kept."""
        until: dict[int, list[int]] = {}
        for tensor, node in self.columns.graph.alloc_deps:
            keep = until.setdefault(node, [])
            if tensor not in keep:
                keep.append(tensor)
        return until

    def _dependency(self, sources: tuple[int, ...]) -> int:
        columns = self.columns
        first = sources[0]
        made = dependency_on(first, columns.tensors[first], columns.name[first], sources)
        node = columns.add(made, sources)
        self.record(Dependency(node, sources))
        return node
