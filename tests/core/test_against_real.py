"""The engine against the real ggml, asked in a child process: random graphs, every placement, chunk and split equal."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import event, given

from galloscope.benchmarks import ggml_abi
from galloscope.benchmarks.real_ggml import RealGgml, load, understood
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.files.record import session_record
from galloscope.core.session import trace
from galloscope.tests.corpora import SMALL, expected, graph_path
from galloscope.tests.strategies import Document, graphs

pytestmark = pytest.mark.skipif(not ggml_abi.available(), reason="the xllamacpp wheel is not installed")


@pytest.fixture(scope="module")
def real() -> Iterator[RealGgml]:
    """One child process for all questions; it is started again when an assert ends it."""
    with RealGgml() as asked:
        yield asked


def ours(document: Document) -> list[Document]:
    """The records of all runs, after a round through JSON, so that tuples are lists."""
    record = session_record(trace(parse_graph(json.dumps(document).encode())))
    runs: list[Document] = json.loads(json.dumps(record.get("runs", [record])))
    return runs


def condition(text: str) -> str:
    """What was asserted, without the place in the source."""
    found = re.search(r"GGML_ASSERT\(.*\) failed|pre-allocated tensor .*|fatal error", text)
    return (found[0] if found else text).replace('"', "'")  # the recorded cases have no double quotes


def compare(runs: list[Document], truth: list[Document] | str) -> None:
    """Every list that real ggml's memory shows must equal that of the records."""
    if isinstance(truth, str):
        assert "abort" in runs[-1], f"real ggml ends with: {truth[-300:]}"
        # A crash without a word is the one undefined behaviour we know: a place that no plan has given.
        stops = (
            condition(truth) or "ggml-alloc.c: galloc->buffers[-1] is read: the leaf had no place in the plan in force"
        )
        assert condition(runs[-1]["abort"]) == stops
        return
    assert len(runs) == len(truth)
    for mine, wanted in zip(runs, truth, strict=True):
        assert "abort" not in mine
        assert mine["ok"] == wanted["ok"]
        assert mine["tensors"] == wanted["tensors"]
        sizes: list[Any] = [(buffer["chunks"], buffer["size"]) for buffer in mine["buffers"]]
        assert sizes == [(buffer["chunks"], buffer["size"]) for buffer in wanted["buffers"]]
        for key in ("splits", "alloc_nodes", "alloc_leafs"):
            assert key not in wanted or mine[key] == wanted[key], key
        for key in ("nodes", "leafs"):
            assert key not in wanted or mine["graph"][key] == wanted[key]


def ask(real: RealGgml, document: Document) -> None:
    """Put a random document to both."""
    truth = real.ask(document)
    if isinstance(truth, str):
        event("ggml's hash set is full" if "ggml-impl.h" in truth else "ggml aborts")
    compare(ours(document), truth)


@given(document=graphs(modes=("galloc",)))
def test_allocator_equals_the_real_one(real: RealGgml, document: Document) -> None:
    ask(real, document)


@given(document=graphs(modes=("sched",), alloc_deps=False))
def test_scheduler_equals_the_real_one(real: RealGgml, document: Document) -> None:
    ask(real, document)


def test_the_real_one_is_asked_rightly(real: RealGgml) -> None:
    """The binding decides what the recorded cases say real ggml decides, its aborts included."""
    asked = [name for name in SMALL if understood(load(graph_path(name)))]
    assert len(asked) > len(SMALL) - 3
    for name in asked:
        record = expected(name)
        compare(record.get("runs", [record]), real.ask(load(graph_path(name))))


def test_a_cast_that_reads_itself(real: RealGgml) -> None:
    """ggml_cast makes its CPY a source of itself; f32 caches with flash attention bring such nodes."""
    document = {
        "backends": [{"name": "GPU0", "align": 128}, {"name": "CPU"}],
        "tensors": [
            {"name": "x", "ne": [64, 2], "flags": ["input"]},
            {"name": "w", "ne": [64, 64], "weight_of": "GPU0"},
            {"name": "m", "op": "MUL_MAT", "src": ["w", "x"], "ne": [64, 2]},
            {"name": "c", "op": "CPY", "type": "f16", "src": ["m", "c"], "ne": [64, 2]},
            {"name": "y", "op": "SCALE", "src": ["c"], "flags": ["output"]},
        ],
        "outputs": ["y"],
    }
    compare(ours(document), real.ask(document))
