"""The graph for graphviz: `graph.gv`, a text that needs no program to write and many to read.

Two styles. "pinned" carries our own positions and curves; graphviz then only paints (`neato -n2`), so it is fast and
looks like the page. "ranked" leaves the layout to `dot`, with one cluster per split, for small graphs and for editing.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from ...core.errors import GalloscopeError
from ...core.op import VIEW_OPS
from ...core.state import State
from ...core.tensor import Flag
from ...core.text import bytes_text, shape_text, tail_text
from ..figures import palette
from ..figures.dag import Block, Dag, build_dag
from ..figures.layout import kind as measures
from ..figures.layout.page import Page, Point, line_points, link_points, place_blocks, straight

Style = Literal["pinned", "ranked"]
_PINNED = "// positions are given: neato -n2"
_NO_ENGINE = (
    "graphviz is not installed, so the .gv text cannot be painted: install the program `dot` "
    "(for example `apt install graphviz`) or `pip install graphviz-pure`"
)


def graph_gv(state: State, title: str = "galloscope", style: Style = "pinned") -> str:
    """The graph of a run as the text of a graphviz file."""
    dag = build_dag(state)
    writer = _Writer(state, dag, _place(dag) if style == "pinned" else None)
    return "\n".join(writer.lines(title)) + "\n"


def render_svg(text: str) -> str:
    """The picture of a graph.gv as SVG, by the graphviz that is installed."""
    import graphviz  # only this function needs it, and its import reads the disk

    engine = shutil.which("dot")
    if engine is None:
        beside = Path(sys.executable).with_name("graphviz-pure")
        engine = str(beside) if beside.exists() else shutil.which("graphviz-pure")
    if engine is None:
        raise GalloscopeError(_NO_ENGINE)
    pinned = text.startswith(_PINNED)
    found = graphviz.backend.dot_command.DOT_BINARY
    graphviz.backend.dot_command.DOT_BINARY = Path(engine)
    try:
        svg: str = graphviz.pipe_string(
            "neato" if pinned else "dot", "svg", text, encoding="utf-8", neato_no_op=2 if pinned else None, quiet=True
        )
    except graphviz.CalledProcessError as error:
        detail = (error.stderr or "no message").strip().splitlines()[-1]
        raise GalloscopeError(f"graphviz could not paint the graph: {detail}") from error
    finally:
        graphviz.backend.dot_command.DOT_BINARY = found
    return svg


def quoted(text: str) -> str:
    r"""A graphviz string. Backslashes are doubled: graphviz reads escapes in labels, and names come from strangers.

    >>> print(quoted('a "b" \\N'))
    "a \"b\" \\\\N"
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where everything stands, y downward; graphviz counts upward."""

    page: Page
    heights: list[list[int]]
    block_of: list[int]

    def at(self, x: float, y: float) -> str:
        return f"{x:.1f},{self.page.height - y:.1f}"


def _place(dag: Dag) -> _Layout:
    kinds = [dag.kinds[block.kind] for block in dag.blocks]
    opens = [k == 0 or block.layer != dag.blocks[k - 1].layer for k, block in enumerate(dag.blocks)]
    heights = [[shape.height(node) for node in range(len(shape.views))] for shape in dag.shapes]
    return _Layout(
        place_blocks(kinds, opens), heights, [k for k, b in enumerate(dag.blocks) for _ in range(b.start, b.end)]
    )


class _Writer:
    """Writes one file; without a layout, dot decides where everything stands."""

    def __init__(self, state: State, dag: Dag, layout: _Layout | None) -> None:
        self.state, self.dag, self.layout = state, dag, layout
        hues = palette.device_hues([backend.type for backend in state.backends])
        self.hue = [hue.light for hue, _ in hues]
        self.place = {t: i for i, t in enumerate(dag.nodes)}
        self.named = {b.start + node: ids for b in dag.blocks for node, ids in b.tags}

    def lines(self, title: str) -> Iterator[str]:
        if self.layout:
            yield _PINNED
        yield "digraph galloscope {"
        yield f"  graph [label={quoted(title)}, labelloc=t, fontname=Helvetica, bgcolor=white, outputorder=edgesfirst];"
        yield '  node [shape=box, style="rounded,filled", fontname=Helvetica, fontsize=10, penwidth=0.8, margin=0.05];'
        yield '  edge [color="#94a3b8", arrowsize=0.5, penwidth=0.8];'
        if self.layout:
            yield "  // layers and split boundaries"
            yield from self._titles(self.layout)
            yield from self._boundaries(self.layout)
            yield "  // ops"
            for i in range(len(self.dag.nodes)):
                yield "  " + self._node(i)
        else:
            yield from self._clusters()
        yield "  // values"
        yield from self._edges()
        yield "}"

    def _color(self, tensor: int) -> str:
        backend = self.state.backend_ids[tensor]
        return self.hue[backend] if 0 <= backend < len(self.hue) else palette.NEUTRAL.light

    def _node(self, i: int) -> str:
        state, t = self.state, self.dag.nodes[i]
        tensor, color = state.tensors[t], self._color(t)
        view = tensor.op in VIEW_OPS
        name = tensor.label or state.names[t]
        rows = [tail_text(name, 24), f"{tensor.op.value} {shape_text(tensor.ne)}"]
        rows += [f"< {tail_text(state.names[s], 22)}" for s in self.named.get(i, [])[:3]]
        style = "rounded,dotted" if view else "rounded,filled"
        parts = [
            f"label={quoted(chr(10).join(rows[:1] if view and self.layout else rows))}",
            f"tooltip={quoted(f'{name}: {tensor.dtype.name}, {bytes_text(tensor.nbytes)}')}",
            f'color="{color}"',
            f'fillcolor="{color}26"',
            f'style="{style}"',
        ]
        if state.flags[t] & Flag.OUTPUT:
            parts.append("peripheries=2")
        if self.layout:
            block = self.dag.blocks[b := self.layout.block_of[i]]
            kind, (x, y) = self.dag.kinds[block.kind], self.layout.page.corner[b]
            local = i - block.start
            width = measures.VIEW_W if view else measures.NODE_W
            height = self.layout.heights[block.kind][local]
            parts.append(f'pos="{self.layout.at(x + kind.x[local], y + kind.y[local])}!"')
            parts.append(f"width={width / 72:.3f}, height={height / 72:.3f}, fixedsize=true")
        return f"t{t} [{', '.join(parts)}];"

    def _split_label(self, k: int) -> str:
        split = self.state.splits[k]
        copied = sum(self.state.tensors[t].nbytes for t in split.inputs)
        text = f"split {k} → {self.state.backends[split.backend].name}"
        n = len(split.inputs)
        return f"{text}: {n} input{'s' if n > 1 else ''}, {bytes_text(copied)}" if n else text

    def _copies(self, k: int) -> list[tuple[int, int, int]]:
        """What split `k` begins with: (copy, its original, number of copies); one copy stands for all."""
        split = self.state.splits[k]
        made = [c for c in self.state.copies if c.backend == split.backend and c.tensor != c.src]
        inputs = set(split.inputs)
        mine = sorted((c.src, c.tensor) for c in made if c.src in inputs)
        found = []
        for src, group in groupby(mine, key=lambda pair: pair[0]):
            tensors = [t for _, t in group]
            found.append((tensors[0], src, len(tensors)))
        return found

    def _copy(self, copy: int, src: int, count: int, place: str = "") -> str:
        text = f"{tail_text(self.state.names[src], 24)}\n{bytes_text(self.state.tensors[src].nbytes)}"
        label = quoted(text + (f" x {count}" if count > 1 else ""))
        color = self._color(copy)
        return (
            f"t{copy} [label={label}, tooltip={quoted(self.state.names[copy])}, "
            f'style="striped,dashed", fillcolor="{color}33:white:{color}33:white:{color}33", color="{color}"{place}];'
        )

    def _titles(self, layout: _Layout) -> Iterator[str]:
        seen = set()
        for b, block in enumerate(self.dag.blocks):
            if block.layer in seen:
                continue
            seen.add(block.layer)
            (x, y), layer = layout.page.corner[b], self.dag.layers[block.layer]
            text = layer.title + (f"  {self.dag.notes[block.layer]}" if self.dag.notes[block.layer] else "")
            yield self._text(f"l{block.layer}", text, layout, x + 4, y - 10, "#64748b")

    def _text(self, name: str, text: str, layout: _Layout, x: float, y: float, color: str) -> str:
        width = 6.2 * len(text)
        return (
            f'  {name} [shape=plaintext, style="", label={quoted(text)}, fontcolor="{color}", fontsize=10, '
            f'width={width / 72:.3f}, height=0.2, fixedsize=true, pos="{layout.at(x + width / 2, y)}!"];'
        )

    def _boundaries(self, layout: _Layout) -> Iterator[str]:
        for b, block in enumerate(self.dag.blocks):
            kind, (x, y) = self.dag.kinds[block.kind], layout.page.corner[b]
            cuts = self.dag.shapes[block.kind].cuts
            for k, own in zip((self.dag.split_of[block.start + cut] for cut in cuts), kind.boundaries, strict=True):
                color, line = self.hue[self.state.splits[k].backend], y + own
                for side, at in (("a", x), ("b", x + kind.width)):
                    yield f'  s{k}{side} [shape=point, width=0.01, color="{color}", pos="{layout.at(at, line)}!"];'
                curve = " ".join(layout.at(*p) for p in [(x, line), *straight((x, line), (x + kind.width, line))])
                yield f'  s{k}a -> s{k}b [dir=none, penwidth=1.6, color="{color}", pos="{curve}"];'
                text = self._split_label(k)
                yield self._text(f"s{k}", text, layout, x + 6, line + 11, color)
                yield from self._chips(k, layout, x + 20 + 6.2 * len(text), x + kind.width, line + 12)

    def _chips(self, k: int, layout: _Layout, x: float, end: float, y: float) -> Iterator[str]:
        """As many copies as fit behind the label; the label counts them all."""
        for copy, src, count in self._copies(k):
            if x + 104 > end:
                return
            place = f', fontsize=7, width=1.39, height=0.28, fixedsize=true, pos="{layout.at(x + 52, y)}!"'
            yield "  " + self._copy(copy, src, count, place)
            x += 108

    def _clusters(self) -> Iterator[str]:
        ends = range(len(self.dag.nodes))
        if not self.state.splits:
            for i in ends:
                yield "  " + self._node(i)
            return
        for k, split in enumerate(self.state.splits):
            color = self.hue[split.backend]
            yield f"  subgraph cluster_split_{k} {{"
            yield f'    label={quoted(self._split_label(k))}; color="{color}"; fontcolor="{color}"; fontsize=10;'
            for copy, src, count in self._copies(k):
                yield "    " + self._copy(copy, src, count)
            for i in range(split.start, split.end):
                yield "    " + self._node(i)
            yield "  }"

    def _edges(self) -> Iterator[str]:
        state = self.state
        if self.layout:
            for b, block in enumerate(self.dag.blocks):
                yield from self._block_edges(self.layout, b, block)
            return
        drawn = {copy: src for k in range(len(state.splits)) for copy, src, _ in self._copies(k)}
        for copy, src in drawn.items():
            if src in self.place:
                yield f"  t{src} -> t{copy} [style=dashed];"
        for t in self.dag.nodes:
            for s in dict.fromkeys(s for s in state.src[t] if s in self.place or s in drawn):
                yield f"  t{s} -> t{t};"

    def _block_edges(self, layout: _Layout, b: int, block: Block) -> Iterator[str]:
        kind, heights = self.dag.kinds[block.kind], layout.heights[block.kind]
        n = len(kind.x)
        for line in kind.lines:
            source, target = line[0], line[1]
            if target >= n:
                continue
            points = _shift(line_points(kind, line, heights), layout.page.corner[b])
            start = self.dag.nodes[block.start + source] if source >= 0 else block.ports[-1 - source]
            if source < 0:
                points = self._way(layout, start, b, points)
            yield self._edge(layout, start, self.dag.nodes[block.start + target], points)

    def _way(self, layout: _Layout, tensor: int, target: int, rest: list[Point]) -> list[Point]:
        """The whole curve of a value that comes from an earlier block."""
        node = self.place[tensor]
        b = layout.block_of[node]
        block = self.dag.blocks[b]
        kind, outs = self.dag.kinds[block.kind], self.dag.shapes[block.kind].outs
        out = len(kind.x) + outs.index(node - block.start)
        own = next(line for line in kind.lines if line[1] == out)
        first = _shift(line_points(kind, own, layout.heights[block.kind]), layout.page.corner[b])
        link = link_points(layout.page, first[-1], rest[0], b, target)
        return [*first, *link[1:], *rest[1:]]

    def _edge(self, layout: _Layout, source: int, target: int, points: Sequence[Point]) -> str:
        curve = " ".join(layout.at(*p) for p in points)
        return f'  t{source} -> t{target} [pos="e,{layout.at(*points[-1])} {curve}"];'


def _shift(points: Sequence[Point], by: Point) -> list[Point]:
    return [(x + by[0], y + by[1]) for x, y in points]
