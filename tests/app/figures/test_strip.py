"""The strip's columns say what the log says, for whatever the allocator did."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.app.figures.columns import Kind as ColumnKind
from galloscope.app.figures.columns import values
from galloscope.app.figures.holes import Hole, Span, holes
from galloscope.app.figures.scene import scene, split_steps
from galloscope.app.figures.strip import Kind, lanes, strip_data
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State

TWO_DEVICES: dict[str, Any] = {
    "backends": [{"name": "CUDA0", "align": 128}, {"name": "CPU"}],
    "tensors": [
        {"name": "x", "ne": [64, 2], "flags": ["input"]},
        {"name": "w", "ne": [64, 64], "weight_of": "CUDA0"},
        {"name": "y", "op": "MUL_MAT", "src": ["w", "x"], "ne": [64, 2]},
        {"name": "v", "op": "RESHAPE", "src": ["y"], "ne": [128]},
        {"name": "s", "op": "SCALE", "src": ["v"]},
        {"name": "o", "op": "SQR", "src": ["s"], "flags": ["output"]},
    ],
    "outputs": ["o"],
}


def state_of(document: dict[str, Any]) -> State:
    return replay(trace(parse_graph(json.dumps(document).encode())).runs[0])


def columns(table: dict[str, Any], **kinds: ColumnKind) -> list[dict[str, int]]:
    """A table of columns as rows."""
    read = {name: values(table[name], kind) for name, kind in kinds.items()}
    assert {len(column) for column in read.values()} <= {table["n"]}
    return [dict(zip(read, row, strict=True)) for row in zip(*read.values(), strict=True)]


def rectangles(strip: dict[str, Any]) -> list[dict[str, int]]:
    wide: dict[str, ColumnKind] = dict.fromkeys(("id", "x0", "x1", "parent", "copy_of"), "int32")
    return columns(strip, **wide, lane="int16", y0="float64", size="float64", kind="uint8")


def name(state: State, tensor: int) -> str:
    return str(state.names[tensor])


def test_a_rectangle_per_lifetime() -> None:
    state = state_of(TWO_DEVICES)
    strip = strip_data(state)
    rows = rectangles(strip)
    assert {row["id"] for row in rows} == set(state.lifetimes)
    for row in rows:
        life = state.lifetimes[row["id"]]
        assert (row["x0"], row["x1"], row["y0"], row["size"]) == (life.born, life.dies, life.offset, life.size)
        assert strip["lanes"][row["lane"]]["buffer"] == life.buffer


def test_kinds() -> None:
    state = state_of(TWO_DEVICES)
    rows = {name(state, row["id"]): row for row in rectangles(strip_data(state))}
    assert rows["x"]["kind"] & Kind.INPUT
    assert rows["CUDA0#x#0"]["kind"] & Kind.COPY
    assert name(state, rows["CUDA0#x#0"]["copy_of"]) == "x"
    assert rows["o"]["kind"] & Kind.IN_PLACE
    assert rows["o"]["kind"] & Kind.NEVER_FREED


def test_lanes_know_their_peak() -> None:
    state = state_of(TWO_DEVICES)
    for lane in lanes(state):
        alive = [state.lifetimes[tensor] for tensor in lane.alive]
        assert lane.most == sum(life.size for life in alive)
        assert all(life.born <= lane.step < life.dies for life in alive)
        assert lane.most <= lane.peak == lane.size


def test_a_view_lies_on_its_base() -> None:
    state = state_of(TWO_DEVICES)
    strip = strip_data(state)
    kinds: dict[str, ColumnKind] = dict.fromkeys(("id", "rect", "x0", "x1"), "int32")
    (view,) = columns(strip["views"], **kinds, y0="float64", size="float64")
    base = rectangles(strip)[view["rect"]]
    assert (name(state, view["id"]), name(state, base["id"])) == ("v", "y")
    assert base["x0"] <= view["x0"] < view["x1"] <= base["x1"]
    assert base["y0"] == view["y0"]


def test_reads_name_the_copy_and_look_through_views() -> None:
    state = state_of(TWO_DEVICES)
    strip = strip_data(state)
    rows = rectangles(strip)
    reads = {
        (name(state, rows[read["rect"]]["id"]), name(state, read["reader"]))
        for read in columns(strip["reads"], rect="int32", step="int32", reader="int32")
    }
    assert ("x", "CUDA0#x#0") in reads
    assert ("y", "s") in reads


def test_splits_share_the_step_axis() -> None:
    session = trace(parse_graph(json.dumps(TWO_DEVICES).encode()))
    drawn = scene(session, session.runs[0])
    state = replay(session.runs[0])
    assert [split["x0"] for split in drawn["splits"]] == split_steps(state)[:-1]
    assert drawn["splits"][-1]["x1"] == state.n_steps
    assert json.loads(json.dumps(drawn))["strip"] == drawn["strip"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"tensors": [{"name": "w", "weight_of": "CPU", "ne": [4]}], "outputs": ["w"]}, "no nodes"),
        (
            {
                "tensors": [
                    {"name": "k", "alloc_in": "CPU", "ne": [4]},
                    {"name": "v", "op": "VIEW", "src": ["k"], "ne": [4]},
                ],
                "outputs": ["v"],
            },
            "buffer of its own",
        ),
    ],
)
def test_an_empty_strip_says_why(document: dict[str, Any], words: str) -> None:
    strip = strip_data(state_of(document))
    assert strip["n"] == 0
    assert words in strip["empty"]


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[Span], int, int]:
    """Spans that never overlap: first fit over a row of unit cells."""
    size, n_steps = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    free_from = [0] * size
    spans = []
    for _ in range(draw(st.integers(0, 12))):
        start = draw(st.integers(0, size - 1))
        end = draw(st.integers(start + 1, size))
        earliest = max(free_from[start:end])
        if earliest >= n_steps:
            continue
        born = draw(st.integers(earliest, n_steps - 1))
        dies = draw(st.integers(born + 1, n_steps))
        free_from[start:end] = [dies] * (end - start)
        spans.append(Span(born, dies, start, end))
    return spans, size, n_steps


@given(plans())
def test_holes_are_exactly_what_is_free(plan: tuple[list[Span], int, int]) -> None:
    spans, size, n_steps = plan
    found = holes(spans, size, n_steps)
    used = {(step, byte) for s in spans for step in range(s.born, s.dies) for byte in range(s.start, s.end)}
    free = [(step, byte) for h in found for step in range(h.first, h.last) for byte in range(h.start, h.end)]
    area = sum((hole.last - hole.first) * (hole.end - hole.start) for hole in found)
    assert len(free) == len(set(free)) == area
    assert set(free) == {(step, byte) for step in range(n_steps) for byte in range(size)} - used


def test_a_stale_plan_shows_what_it_overwrites() -> None:
    path = Path(__file__).parents[3] / "sample_graphs" / "lesson-stale-plan.graph.json"
    sound, stale = (replay(run) for run in trace(parse_graph(path.read_bytes())).runs)
    assert strip_data(sound)["overlaps"]["n"] == 0
    strip = strip_data(stale)
    wide: dict[str, ColumnKind] = dict.fromkeys(("x0", "x1", "tensor", "other"), "int32")
    (overlap,) = columns(strip["overlaps"], **wide, lane="int16", y0="float64", size="float64")
    assert (name(stale, overlap["tensor"]), name(stale, overlap["other"])) == ("result", "a")
    assert (overlap["x0"], overlap["x1"]) == (2, 3)
    assert (overlap["lane"], overlap["y0"], overlap["size"]) == (0, 256, 256)


def test_a_hole_lasts_as_long_as_it_is_free() -> None:
    spans = [Span(0, 9, 0, 4), Span(2, 3, 4, 8), Span(0, 9, 8, 12), Span(5, 6, 12, 16)]
    assert Hole(3, 9, 4, 8) in holes(spans, 16, 9)


def test_the_script_knows_the_same_kinds() -> None:
    script = (Path(__file__).parents[3] / "assets" / "strip_data.js").read_text(encoding="utf-8")
    assert ", ".join(f"{kind.name}: {kind.value}" for kind in Kind) in script
