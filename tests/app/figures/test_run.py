"""What is drawn and said of a run: classes of time and values, what is no number, who spent the time."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.app.figures.columns import values
from galloscope.app.figures.run import by_time, by_values, run_columns
from galloscope.app.figures.run_answers import by_op, run_answers
from galloscope.app.figures.run_result import Executed
from galloscope.app.figures.run_words import number_text, seconds_text
from galloscope.app.samples import find_sample
from galloscope.core.execute.result import Execution, NodeRun
from galloscope.core.files.graph_json import read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State


@pytest.fixture(scope="module")
def state() -> State:
    return replay(trace(read_graph(find_sample("lesson-in-place").path)).runs[0])


def executed(state: State, runs: list[NodeRun], **how: Any) -> Executed:
    return Executed(
        Execution(state, runs, [], sum(one.seconds for one in runs)), "numpy", "random weights, seed 1", **how
    )


def nodes(state: State, seconds: list[float], highs: list[float | None]) -> list[NodeRun]:
    pairs = zip(state.nodes, seconds, highs, strict=False)
    return [NodeRun(node, 0, 0, 0.0, s, None if h is None else -h, h, 0.0) for node, s, h in pairs]


def label(question: dict[str, Any], tensor: int) -> str:
    return str(question["palette"][values(question["of"], "uint8")[tensor]]["label"])


def test_classes_of_time(state: State) -> None:
    found = by_time(executed(state, nodes(state, [3e-6, 4e-4, 0.02], [1.0] * 3)).execution)
    assert [label(found, node) for node in state.nodes[:3]] == ["2 – 5 µs", "200 – 500 µs", "20 – 50 ms"]
    assert label(found, state.nodes[3]) == "not run"
    assert len(found["palette"]) == 14


def test_classes_of_values(state: State) -> None:
    runs = nodes(state, [1.0] * 4, [0.0, 3e-3, 70000.0, 1.0])
    runs[3] = NodeRun(state.nodes[3], 0, 0, 0.0, 1.0, 0.0, 1.0, 0.5, nans=2)
    found = by_values(executed(state, runs).execution)
    assert [label(found, node) for node in state.nodes[:4]] == [
        "none but 0",
        "0.001 – 0.01",
        "10000 – 100000",
        "NaN or infinite",
    ]
    near = by_values(executed(state, nodes(state, [1.0] * 2, [0.3, 30.0])).execution)
    assert [label(near, node) for node in state.nodes[:2]] == ["0.2 – 0.5", "20 – 50"]


def test_nothing_has_run(state: State) -> None:
    empty = executed(state, [], guard=True)
    assert {entry["label"] for entry in by_time(empty.execution)["palette"]} == {"not run"}
    assert [one.topic for one in run_answers(empty)] == ["time", "guard"]


def test_the_first_that_is_no_number_is_named(state: State) -> None:
    runs = nodes(state, [1.0] * 4, [1.0] * 4)
    for k in (1, 2):
        runs[k] = NodeRun(state.nodes[k], 0, 0, 0.0, 1.0, 0.0, 1.0, 0.5, nans=k)
    first = run_answers(executed(state, runs, poison=True))[0]
    assert (first.topic, first.alarm, first.tensor) == ("nan", True, state.nodes[1])
    assert first.text.startswith("2 nodes with NaN, the first is ")
    assert ": 1 NaN of " in first.text


def test_poison_that_nobody_read(state: State) -> None:
    runs = nodes(state, [1.0] * 4, [1.0] * 4)
    assert any(one.topic == "poison" for one in run_answers(executed(state, runs, poison=True)))
    assert not any(one.topic == "poison" for one in run_answers(executed(state, runs)))
    fingerprints = executed(state, nodes(state, [1.0] * 4, [None] * 4), poison=True)
    assert {one.topic for one in run_answers(fingerprints)} == {"time", "slowest"}


def test_differences_are_an_alarm(state: State) -> None:
    runs = nodes(state, [1.0] * 4, [1.0] * 4)
    first = run_answers(executed(state, runs, differing=[state.nodes[2]]))[0]
    assert (first.topic, first.alarm, first.tensor) == ("compared", True, state.nodes[2])
    assert not any(one.alarm for one in run_answers(executed(state, runs, differing=[])))


def test_time_adds_up(state: State) -> None:
    runs = nodes(state, [0.1, 0.2, 0.3, 0.4], [1.0] * 4)
    found = by_op(executed(state, runs))
    assert sum(one.seconds for one in found) == pytest.approx(1.0)
    assert sum(one.nodes for one in found) == 4
    columns = run_columns(executed(state, runs).execution, len(state.tensors))
    assert len(values(columns["nans"], "float64")) == len(state.tensors)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-9, 1e6))
def test_times_are_read_back(seconds: float) -> None:
    number, unit = seconds_text(seconds).split(" ")
    read = float(number.replace(",", "")) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]
    assert read == pytest.approx(seconds, rel=0.006, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_values_are_read_back(value: float) -> None:
    assert float(number_text(value)) == pytest.approx(value, rel=6e-4)
    assert len(number_text(value)) <= 11
