"""graph.gv: well-formed text, our positions, and a clear sentence when nothing can paint it."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from galloscope.app.report.gv import graph_gv, quoted, render_svg
from galloscope.core.errors import GalloscopeError
from galloscope.core.files.graph_json import parse_graph, read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State

ROOT = Path(__file__).parents[3]
HOSTILE = 'a"]; b -> c \\N <img> {}'
HAS_ENGINE = bool(
    shutil.which("dot") or shutil.which("graphviz-pure") or Path(sys.executable).with_name("graphviz-pure").exists()
)


def sample(name: str) -> State:
    return replay(trace(read_graph(ROOT / "sample_graphs" / f"{name}.graph.json.gz")).runs[0])


def hostile() -> State:
    document: dict[str, Any] = {
        "backends": [{"name": "CUDA0", "align": 128}, {"name": "CPU"}],
        "tensors": [
            {"name": "x", "ne": [64, 2], "flags": ["input"]},
            {"name": "w", "ne": [64, 64], "weight_of": "CUDA0"},
            {"name": HOSTILE, "op": "MUL_MAT", "src": ["w", "x"], "ne": [64, 2]},
            {"name": "o", "op": "SCALE", "src": [HOSTILE], "flags": ["output"]},
        ],
        "outputs": ["o"],
    }
    return replay(trace(parse_graph(json.dumps(document).encode())).runs[0])


def statements(text: str) -> list[str]:
    """Each line without its strings, so that only graphviz's own syntax is left."""
    return [re.sub(r'"(?:[^"\\]|\\.)*"', '""', line) for line in text.splitlines()]


@pytest.mark.parametrize("style", ["pinned", "ranked"])
def test_names_cannot_leave_their_strings(style: Any) -> None:
    text = graph_gv(hostile(), title=HOSTILE, style=style)
    for line in statements(text):
        assert "img" not in line
        assert line.count("[") == line.count("]") <= 1
    assert quoted(HOSTILE)[1:-1] in text


def test_every_op_stands_at_its_place_and_every_drawn_value_is_a_curve() -> None:
    state = sample("llama_4l-g2full-prefill-fa1-reserve")
    text = graph_gv(state)
    at = {int(t): (x, y) for t, x, y in re.findall(r'^  t(\d+) \[.*pos="([-\d.]+),([-\d.]+)!"', text, re.MULTILINE)}
    assert set(state.nodes) <= set(at)
    assert len({at[t] for t in state.nodes}) == len(state.nodes)
    curves = re.findall(r'^  t\d+ -> t\d+ \[pos="e,([^"]+)"', text, re.MULTILINE)
    assert curves
    assert all(len(curve.split()) % 3 == 2 for curve in curves)  # the arrow's end, then 3 n + 1 points
    assert all(line.count("pos=") for line in text.splitlines() if "->" in line)  # else graphviz would route them all


def test_splits_are_lines_with_their_copies() -> None:
    text = graph_gv(sample("llama_4l-g2full-prefill-fa1-reserve"))
    assert re.search(r'label="split 2 → GPU1: \d+ inputs, [\d.]+ KiB"', text)
    assert re.search(r"s2a -> s2b \[dir=none", text)
    assert " x 4" in text


def test_splits_are_clusters_when_dot_ranks() -> None:
    state = sample("llama_4l-g2full-prefill-fa1-reserve")
    text = graph_gv(state, style="ranked")
    assert text.count("subgraph cluster_split_") == len(state.splits)
    assert "pos=" not in text
    declared = set(re.findall(r"^ +t(\d+) \[", text, re.MULTILINE))
    used = {t for pair in re.findall(r"t(\d+) -> t(\d+)", text) for t in pair}
    assert used <= declared


def test_it_says_the_same_twice() -> None:
    assert graph_gv(hostile()) == graph_gv(hostile())


def test_without_an_engine_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(GalloscopeError, match="pip install graphviz-pure"):
        render_svg(graph_gv(hostile()))


@pytest.mark.skipif(not HAS_ENGINE, reason="no graphviz engine is installed")
@pytest.mark.parametrize("style", ["pinned", "ranked"])
def test_an_engine_paints_it(style: Any) -> None:
    svg = render_svg(graph_gv(sample("llama-prefill-fa1-reserve"), style=style))
    assert "<svg" in svg
    assert svg.count('class="node"') >= 71
    assert "<img" not in render_svg(graph_gv(hostile(), style=style))
