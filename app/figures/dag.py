"""The graph as a picture: layers that fold, and one drawing per kind of block, shared by all blocks of equal structure.

Python decides what stands inside a block and where; `assets/dag_layout.js` puts the blocks into columns, so that
opening and closing a layer needs no server and works in a standalone report.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.events import Cause
from ...core.op import VIEW_OPS
from ...core.state import State
from .columns import column
from .layout import Effort, Kind, Layer, Shape, crossing_values, cut_layers, cut_sections, layout_block
from .layout import kind as measures
from .layout.blocks import MIN_SECTION, SMALL_GRAPH, SMALL_SECTION
from .layout.notes import differences
from .layout.unlike import Unlike, unlikes

FOLD_ABOVE = 100
"""A graph with more nodes opens folded by layer."""
GHOST_USES = 3
"""A value used in this many layers besides its own is named in its users: as lines it would ruin any layout."""
MOST_TAGS = 3
"""Inputs named in one node; the rest is counted on the last one."""
EFFORTS = ((80, Effort.FULL), (240, Effort.QUICK))
"""So many different kinds are drawn so well, the rest as sketches: this bounds a graph without repetition."""


@dataclass(frozen=True, slots=True)
class Block:
    """One section of a layer, placed as a whole. Ports and tags hold tensor ids."""

    kind: int
    layer: int
    start: int
    end: int
    ports: list[int]
    tags: list[tuple[int, list[int]]]
    """(node, inputs named in it), nodes counted from the block's start."""


@dataclass(frozen=True, slots=True)
class Dag:
    """The blocks of a graph with the drawings they share."""

    nodes: list[int]
    layers: list[Layer]
    blocks: list[Block]
    kinds: list[Kind]
    shapes: list[Shape]
    same: list[int]
    """Per layer a number; layers with equal numbers are equal in ops, shapes, devices and splits."""
    notes: list[str]
    """Per layer what sets it apart from the common one, "" when nothing does."""
    unlike: list[Unlike | None]
    """Per layer how it differs from the one beside it, None when there is none."""
    split_of: list[int]
    """Per node the split it belongs to, 0 without splits."""


def build_dag(state: State) -> Dag:
    """Cut, compare and lay out the graph of one run."""
    tensors, nodes = state.tensors, list(state.nodes)
    flow = _flow(state, nodes)
    split_of = [0] * len(nodes)
    for k, split in enumerate(state.splits):
        split_of[split.start : split.end] = [k] * (split.end - split.start)
    crossing = crossing_values(flow.parents)
    layers = cut_layers([tensors[t].layer for t in nodes], split_of, crossing)
    shared = _shared(flow, layers)
    if shared:  # what is named at its users does not flow through a waist
        crossing = crossing_values([[p for p in row if p not in shared] for row in flow.parents])
    last_use = [-1] * len(nodes)
    for i, row in enumerate(flow.parents):
        for p in row:
            last_use[p] = i
    views = [tensors[t].op in VIEW_OPS for t in nodes]
    kinds: list[Kind] = []
    shapes: dict[Shape, int] = {}
    blocks: list[Block] = []
    least = SMALL_SECTION if len(nodes) <= SMALL_GRAPH else MIN_SECTION
    for k, layer in enumerate(layers):
        for start, end in cut_sections(layer.start, layer.end, crossing, least):
            ports: dict[int, int] = {}
            local, tags = [], []
            for i in range(start, end):
                row = []
                named = flow.inputs[i]
                for p in flow.parents[i]:
                    if p >= start:
                        row.append(p - start)
                    elif p in shared:
                        named = [*named, nodes[p]]
                    else:
                        row.append(-1 - ports.setdefault(p, len(ports)))
                local.append(tuple(row))
                if named:
                    tags.append((i - start, named))
            counts = [0] * (end - start)
            for node, named in tags:
                counts[node] = min(len(named), MOST_TAGS)
            shape = Shape(
                parents=tuple(local),
                views=tuple(views[start:end]),
                tags=tuple(counts),
                cuts=tuple([i - start for i in range(max(1, start), end) if split_of[i] != split_of[i - 1]]),
                ports=len(ports),
                outs=tuple([i - start for i in range(start, end) if last_use[i] >= end and i not in shared]),
            )
            kind = shapes.get(shape, -1)
            if kind < 0:
                kind = shapes[shape] = len(kinds)
                kinds.append(layout_block(shape, next((how for most, how in EFFORTS if kind < most), Effort.SKETCH)))
            blocks.append(Block(kind, k, start, end, [nodes[p] for p in ports], tags))
    same, notes = differences(state, nodes, layers, split_of, _structure(layers, blocks))
    unlike = unlikes(state, nodes, layers, split_of, same, {nodes[p] for p in shared})
    return Dag(nodes, layers, blocks, kinds, list(shapes), same, notes, unlike, split_of)


def dag_data(state: State) -> dict[str, Any]:
    """The `dag` part of the scene: numbers only, names and colours come from the scene's tensors.

    Ids are tensor ids; nodes inside a block count from the block's `start`, which counts along `nodes`.
    """
    dag = build_dag(state)
    src_at, src = [0], []
    for t, tensor in enumerate(state.tensors):
        # Of the graph's own tensors as they were built; what the scheduler added has its sources in the state.
        src += [s for s in (tensor.src if t < state.n_graph else state.src[t]) if s >= 0]
        src_at.append(len(src))
    first_block = [0] * len(dag.layers)
    n_blocks = [0] * len(dag.layers)
    for b, block in enumerate(dag.blocks):
        if not n_blocks[block.layer]:
            first_block[block.layer] = b
        n_blocks[block.layer] += 1
    return {
        "node": [measures.NODE_W, measures.NODE_H],
        "view": [measures.VIEW_W, measures.VIEW_H],
        "tag": measures.TAG_H,
        "strip": measures.STRIP_H,
        "folded": len(dag.nodes) > FOLD_ABOVE,
        "nodes": column(dag.nodes, "int32"),
        "split": column(dag.split_of, "int32"),
        "kinds": [_kind_data(kind, shape) for kind, shape in zip(dag.kinds, dag.shapes, strict=True)],
        "blocks": [
            {"kind": b.kind, "layer": b.layer, "start": b.start, "end": b.end, "ports": b.ports, "tags": b.tags}
            for b in dag.blocks
        ],
        "layers": [
            {
                "number": layer.number,
                "title": layer.title,
                "start": layer.start,
                "end": layer.end,
                "block": first_block[k],
                "blocks": n_blocks[k],
                "same": dag.same[k],
                "note": dag.notes[k],
                "unlike": dag.unlike[k],
            }
            for k, layer in enumerate(dag.layers)
        ],
        "src_at": column(src_at, "int32"),
        "src": column(src, "int32"),
        "view_src": column((tensor.view_src for tensor in state.tensors), "int32"),
        "weights": column((t for t, x in enumerate(state.tensors) if x.is_weight), "int32"),
        "pins": column((t for t, cause in enumerate(state.causes) if cause is Cause.USR), "int32"),
        "copies": column((x for c in state.copies for x in (c.tensor, c.src, c.backend, c.copy_no)), "int32"),
        "rewrites": column((x for rewrite in state.rewrites for x in rewrite), "int32"),
    }


def _kind_data(kind: Kind, shape: Shape) -> dict[str, Any]:
    return {
        "w": kind.width,
        "h": kind.height,
        "axis": kind.axis,
        "x": kind.x,
        "y": kind.y,
        "port": kind.port_x,
        "out": kind.out_x,
        "outs": shape.outs,
        "top": kind.row_top,
        "bottom": kind.row_bottom,
        "lines": [[source, target, row, *xs] for source, target, row, xs in kind.lines],
        "cuts": kind.boundaries,
    }


@dataclass(frozen=True, slots=True)
class _Flow:
    """Per node, in execution order: the nodes that it reads, and the leafs that it reads and that deserve a name."""

    parents: list[list[int]]
    inputs: list[list[int]]


def _flow(state: State, nodes: Sequence[int]) -> _Flow:
    tensors = state.tensors
    place = [-1] * len(tensors)
    for i, t in enumerate(nodes):
        place[t] = i
    # Leafs worth a name: neither a weight nor memory that a device keeps, such as the KV cache.
    worth = [x.buft < 0 and (x.view_src < 0 or tensors[x.view_src].buft < 0) for x in tensors]
    parents, inputs = [], []
    nothing: list[int] = []
    for i, t in enumerate(nodes):
        row: list[int] = []
        named = nothing
        for s in tensors[t].src:
            p = place[s] if s >= 0 else i
            if p < 0:
                if worth[s] and s not in named:
                    named = [*named, s]
            elif p < i and p not in row:
                row.append(p)
        parents.append(row)
        inputs.append(named)
    return _Flow(parents, inputs)


def _shared(flow: _Flow, layers: Sequence[Layer]) -> set[int]:
    """Nodes read in so many other layers that their lines would hide the rest."""
    n = len(flow.parents)
    seen, count = [-1] * n, [0] * n  # layers come in order, so a change of layer is a new layer
    for k, layer in enumerate(layers):
        for i in range(layer.start, layer.end):
            for p in flow.parents[i]:
                if p < layer.start and seen[p] != k:
                    seen[p] = k
                    count[p] += 1
    return {p for p in range(n) if count[p] >= GHOST_USES}


def _structure(layers: Sequence[Layer], blocks: Sequence[Block]) -> list[tuple[Hashable, ...]]:
    """Per layer its drawings and the inputs it names, those of its own left out: they differ from layer to layer."""
    uses: dict[int, int] = {}
    for block in blocks:
        for t in {t for _, tags in block.tags for t in tags}:
            uses[t] = uses.get(t, 0) + 1
    parts: list[list[Hashable]] = [[] for _ in layers]
    for block in blocks:
        named = tuple([(node, tuple([t for t in tags if uses[t] >= GHOST_USES])) for node, tags in block.tags])
        parts[block.layer].append((block.kind, named))
    return [tuple(part) for part in parts]
