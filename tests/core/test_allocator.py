"""Corners of the allocator that no recorded case shows; the real library says the same where it can be asked."""

import json

import pytest

from galloscope.benchmarks import ggml_abi
from galloscope.benchmarks.real_ggml import RealGgml
from galloscope.core.explain.why import why
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.files.record import session_record
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.tests.core.test_against_real import compare, ours
from galloscope.tests.core.test_law import hold_law
from galloscope.tests.strategies import Document

# Flagged INPUT, b is given memory before the nodes run and takes x's in place, as one reader is counted by then; when
# that reader's turn comes, x has no memory and is given other.
TWICE: Document = {
    "tensors": [
        {"name": "x", "ne": [32], "flags": ["input"]},
        {"name": "a", "op": "SIN", "src": ["x"]},
        {"name": "b", "op": "ADD", "src": ["x", "a"], "flags": ["input"]},
        {"name": "c", "op": "SCALE", "src": ["b"], "flags": ["output"]},
    ],
    "outputs": ["c"],
}

# Eight leaf views whose bases are not in the graph: 17 tensors for a hash set of 11 slots.
CROWDED: Document = {
    "tensors": [
        *({"name": f"base{i}", "ne": [8]} for i in range(8)),
        *({"name": f"v{i}", "view_src": f"base{i}"} for i in range(8)),
        {"name": "o", "op": "CONCAT", "src": [f"v{i}" for i in range(8)], "ne": [64]},
    ],
    "outputs": ["o"],
}

# The second graph needs a chunk of 0 bytes in a buffer that was made without one.
NO_CHUNK: Document = {
    "mode": "galloc",
    "backends": [{"name": "A"}, {"name": "CPU"}],
    "tensors": [{"name": "x", "ne": [32], "flags": ["input"]}, {"name": "o", "op": "SIN", "src": ["x"]}],
    "outputs": ["o"],
    "sequence": [
        {
            "tensors": [
                {"name": "x", "ne": [0], "flags": ["input"]},
                {"name": "a", "op": "SIN", "src": ["x"], "buffer_id": 1},
                {"name": "o", "op": "SIN", "src": ["a"]},
            ]
        }
    ],
}

# A leaf that lay in a buffer of its own has no place in the plan; nothing checks leafs, so ggml reads buffers[-1].
NO_PLACE: Document = {
    "tensors": [
        {"name": "l", "ne": [64], "alloc_in": "CPU"},
        {"name": "x", "ne": [64]},
        {"name": "o", "op": "SIN", "src": ["x"]},
    ],
    "outputs": ["l", "o"],
    "sequence": [
        {
            "tensors": [
                {"name": "l", "ne": [64]},
                {"name": "x", "ne": [64]},
                {"name": "o", "op": "SIN", "src": ["x"]},
            ]
        }
    ],
}


@pytest.mark.parametrize(
    "document", [TWICE, CROWDED, NO_CHUNK, NO_PLACE], ids=["twice", "crowded", "no chunk", "no place"]
)
def test_law_and_real_library(document: Document) -> None:
    hold_law(parse_graph(json.dumps(document).encode()))
    if ggml_abi.available():
        with RealGgml() as real:
            compare(ours(document), real.ask(document))


@pytest.mark.parametrize(("document", "words"), [(NO_CHUNK, "GGML_ASSERT(buffer)"), (NO_PLACE, "buffers[-1]")])
def test_stops_where_ggml_stops(document: Document, words: str) -> None:
    assert words in session_record(trace(parse_graph(json.dumps(document).encode())))["runs"][-1]["abort"]


def test_an_input_overwritten_before_it_is_read_lives_twice() -> None:
    state = replay(trace(parse_graph(json.dumps(TWICE).encode())).runs[0])
    x, b = 0, 2
    assert [life.tensor for life in state.earlier] == [x]
    assert state.earlier[0].child == b
    assert state.lifetimes[b].offset == state.earlier[0].offset != state.lifetimes[x].offset
    assert "before it was read, so it was given other memory" in " ".join(one.text for one in why(state, x))


def test_a_full_hash_set_is_ggmls_abort() -> None:
    record = session_record(trace(parse_graph(json.dumps(CROWDED).encode())))
    assert record["abort"] == "ggml-impl.h: fatal error"
    assert [row[0] for row in record["events"]][-4:] == ["alloc", "exec", "view_done", "view_done"]


def test_names_of_copies_are_cut_like_ggmls() -> None:
    """ggml_format_name keeps 63 bytes."""
    name = "n" * 63
    document = {
        "backends": [{"name": "CUDA0"}, {"name": "CPU"}],
        "tensors": [
            {"name": name, "ne": [32], "flags": ["input"]},
            {"name": "w", "ne": [32, 32], "weight_of": "CUDA0"},
            {"name": "o", "op": "MUL_MAT", "src": ["w", name], "ne": [32]},
        ],
        "outputs": ["o"],
    }
    record = session_record(trace(parse_graph(json.dumps(document).encode())))
    assert record["copies"][0][0] == ("CUDA0#" + name)[:63]
    assert record["alloc_nodes"][0] == (name, 1)
    if ggml_abi.available():
        with RealGgml() as real:
            compare(ours(document), real.ask(document))
