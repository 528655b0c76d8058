"""Every recorded case, every key, every event: what real ggml decided."""

import json

import msgspec
import pytest

from galloscope.core.files.graph_json import read_graph
from galloscope.core.files.record import session_record
from galloscope.core.session import trace
from galloscope.tests.corpora import CASES, difference, expected, graph_path


@pytest.mark.parametrize("name", CASES)
def test_decides_what_ggml_decided(name: str) -> None:
    record = session_record(trace(read_graph(graph_path(name))))
    got = json.loads(msgspec.json.encode(record))
    assert difference(got, expected(name)) is None


def test_all_corpora_are_here() -> None:
    assert len(CASES) == 392
