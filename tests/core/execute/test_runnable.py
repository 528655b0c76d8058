"""What a captured graph becomes before it runs."""

import json

import numpy as np
import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.execute.compare import Comparison
from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.execute.runnable import runnable
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.graph import Problem
from galloscope.core.replay import replay
from galloscope.core.session import trace


def without_names(order: str = "left_to_right") -> Problem:
    """The difference of two weights of one shape, and an input."""
    weight = {"ne": [4], "weight_of": "CPU"}
    tensors = [weight, weight, {"op": "SUB", "src": [0, 1]}, {"ne": [4]}, {"op": "ADD", "src": [2, 3]}]
    return parse_graph(json.dumps({"tensors": tensors, "outputs": [4], "order": order}).encode())


@pytest.mark.parametrize("order", ["left_to_right", "right_to_left"])
def test_tensors_have_the_names_that_the_build_gives_them(order: str) -> None:
    problem = without_names(order)
    expected = replay(trace(problem).runs[-1]).names
    made = runnable(problem, 2)
    assert [tensor.name for tensor in made.requests[0].graph.tensors] == expected
    assert made.requests[0].graph is made.requests[1].graph
    assert replay(trace(made).runs[-1]).names == expected


def test_weights_without_names_are_two() -> None:
    run = trace(runnable(without_names())).runs[-1]
    both = Comparison(lambda: make_backend("numpy"))
    state = replay(run)
    assert both.run(run, state, RandomFeed(run.request.graph, 1)).equal
    difference = both.executor.values(2)
    assert np.count_nonzero(difference) == 4
