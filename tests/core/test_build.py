"""Graph order: names, cycles, long chains, the COMPUTE flag."""

import json
from typing import Any

import pytest

from galloscope.core.errors import InputError
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State


def state_of(tensors: list[dict[str, Any]], outputs: list[Any], **keys: Any) -> State:
    document = {"tensors": tensors, "outputs": outputs, **keys}
    return replay(trace(parse_graph(json.dumps(document).encode())).runs[0])


def test_a_chain_of_100000_nodes_does_not_overflow() -> None:
    tensors: list[dict[str, Any]] = [{"name": "x", "ne": [4], "flags": ["input"]}]
    tensors += [{"name": f"n{i}", "op": "SCALE", "src": [f"n{i - 1}" if i else "x"]} for i in range(100_000)]
    state = state_of(tensors[::-1], ["n99999"])
    assert len(state.nodes) == 100_000
    assert state.buffers[0].chunks == [32]


def test_automatic_names_count_nodes_and_leafs_and_stay_unique() -> None:
    tensors: list[dict[str, Any]] = [
        {"ne": [4]},
        {"op": "SCALE", "src": [0]},
        {"name": "node_1", "op": "SCALE", "src": [1]},
        {"op": "SCALE", "src": [2]},
        {"op": "ADD", "src": [3, 1]},
        {"ne": [4]},
    ]
    state = state_of(tensors, [4])
    assert [state.names[t] for t in state.nodes] == ["node_0", "node_1", "node_2", "node_3"]
    assert [state.names[t] for t in state.leafs] == ["leaf_0"]
    assert state.names[5] == "#5"
    clash = state_of([{"ne": [4]}, {"op": "SCALE", "src": [0]}, {"name": "node_0", "op": "SCALE", "src": [1]}], [2])
    assert [clash.names[t] for t in clash.nodes] == ["node_0~2", "node_0"]


def test_right_to_left_visits_the_last_source_first() -> None:
    leafs: list[dict[str, Any]] = [{"name": n, "ne": [4]} for n in "ab"]
    tensors = [*leafs, {"name": "c", "op": "ADD", "src": ["a", "b"]}]
    assert state_of(tensors, ["c"], order="right_to_left").leafs == [1, 0]
    assert state_of(tensors, ["c"]).leafs == [0, 1]


def test_a_cycle_shows_its_path() -> None:
    tensors: list[dict[str, Any]] = [
        {"name": "a", "op": "SCALE", "src": ["c"], "ne": [4]},
        {"name": "b", "op": "SCALE", "src": ["a"]},
        {"name": "c", "op": "SCALE", "src": ["b"]},
    ]
    with pytest.raises(InputError, match="a cycle: a reads c reads b reads a"):
        state_of(tensors, ["c"])


def test_a_graph_of_order_only_is_not_computed() -> None:
    tensors: list[dict[str, Any]] = [{"name": "a", "ne": [4]}, {"name": "b", "op": "SCALE", "src": ["a"]}]
    assert state_of(tensors, [{"name": "b", "compute": False}]).computed == set()
    assert state_of(tensors, [{"name": "b", "compute": False}, "b"]).computed == {1}
