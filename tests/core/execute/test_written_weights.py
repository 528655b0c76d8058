"""Weights that a graph writes to, in a session whose other graphs only read them."""

import json

import numpy as np
import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.execute.compare import Comparison
from galloscope.core.execute.executor import Settings
from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.replay import replay_all
from galloscope.core.session import trace

WEIGHT = {"name": "w", "ne": [32, 4], "type": "f16", "weight_of": "CPU"}
DOUBLED = {
    "tensors": [
        WEIGHT,
        {"name": "twice", "op": "ADD", "src": ["w", "w"], "type": "f16"},
        {"name": "written", "op": "CPY", "src": ["twice", "w"], "view_src": "w"},
    ],
    "outputs": ["written"],
}
READ = {
    "tensors": [
        WEIGHT,
        {"name": "x", "ne": [32], "flags": ["input"]},
        {"name": "y", "op": "MUL_MAT", "src": ["w", "x"], "ne": [4]},
    ],
    "outputs": ["y"],
}


@pytest.mark.parametrize("backend", ["numpy", "digest"])
def test_what_is_read_is_what_was_written_last(backend: str) -> None:
    graphs = [READ, DOUBLED, READ, DOUBLED, READ]
    runs = trace(parse_graph(json.dumps({**graphs[0], "sequence": graphs[1:]}).encode())).runs
    both = Comparison(lambda: make_backend(backend), Settings(guard=True))
    feed = RandomFeed(runs[0].request.graph, 1)
    products = []
    for run, state, graph in zip(runs, replay_all(runs), graphs, strict=True):
        assert both.run(run, state, feed).equal
        if graph is READ:
            products.append(both.executor.values(state.names.index("y")))
    assert not np.array_equal(products[0], products[1])
    if backend == "numpy":
        assert np.array_equal(products[1], 2 * products[0])
        assert np.array_equal(products[2], 4 * products[0])
