"""The timeline from outside: the command, its reports, and the route of the page."""

import gzip
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient

from galloscope.app.cli import main
from galloscope.app.figures.columns import values
from galloscope.app.server import create_app
from galloscope.app.sessions import SessionStore
from galloscope.core.execute.result import Execution, NodeRun
from galloscope.core.files.graph_json import read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.timeline.cost import assumed
from galloscope.core.timeline.simulate import simulate
from galloscope.core.timeline.totals import totals_of

SAMPLES = Path(__file__).resolve().parents[2] / "sample_graphs"
SAMPLE = "llama_4l-g2full-prefill-fa1-reserve"
GRAPH = SAMPLES / f"{SAMPLE}.graph.json.gz"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "timeline.md"
MODEL = Path(__file__).resolve().parent.parent / "golden" / "models" / "llama_4l.gguf"
HOSTILE = "<script>alert(1)</script>"


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main([*map(str, words)])
    out = capsys.readouterr()
    return code, out.out, out.err


# the command


def test_the_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "timeline", GRAPH, "--batches", "4")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert re.match(r"4 micro-batches: [\d.]+ ms, [\d.]+ times as fast as one after another", lines[0])
    assert lines[1].startswith("GPU1 waits ")
    assert any(line.startswith("Simulated: device clocks with assumed rates; 4 pipeline copies") for line in lines)
    assert re.search(r"^GPU0 +0 % +1 % +99 %$", out, re.MULTILINE), "small matrices: all but launch latency"
    assert "99 % of GPU0's computing is launch latency." in lines
    assert re.search(r"^result_output +MUL_MAT +GPU1 +[\d.]+ µs +launch latency$", out, re.MULTILINE)
    assert re.search(r"^MUL_MAT +29 +[\d.]+ µs +36 %$", out, re.MULTILINE)
    for part in ("device  computes", "slowest nodes", "of all computing", "link ", "the host waits for", "longest "):
        assert part in out


def test_json_is_the_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "timeline", GRAPH, "--batches", "2", "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found = json.loads(out)
    run = trace(read_graph(GRAPH)).runs[0]
    state = replay(run)
    timeline = simulate(run, state, assumed(state.backends), 2)
    assert found["total_ns"] == timeline.total
    assert [(one["start"], one["end"], one["kind"]) for one in found["spans"]] == [
        (span.start, span.end, span.kind.value) for span in timeline.spans
    ]
    assert found["path"] == totals_of(timeline).path
    assert found["lanes"][-1] == "host"
    for one in found["devices"]:
        assert sum(one["compute_parts_ns"].values()) == one["compute_ns"]
    assert sum(found["devices"][0]["idle_ns"].values()) + found["devices"][0]["compute_ns"] == timeline.total


def test_a_cost_file_changes_the_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cost = tmp_path / "cost.json"
    cost.write_text('{"devices": {"GPU0": {"launch": 1.0}}}')
    found = json.loads(said(capsys, "timeline", GRAPH, "--cost", cost, "--json")[1])
    assert found["total_ns"] > 10**10
    assert found["cost"]["changed"] == [["GPU0", "launch"]]
    assert "1 of them changed" in said(capsys, "timeline", GRAPH, "--cost", cost)[1]


def test_the_printed_numbers_are_a_cost_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, _ = said(capsys, "timeline", GRAPH, "--print-cost")
    assert code == 0
    file = tmp_path / "cost.json"
    file.write_text(printed)
    plain, given = said(capsys, "timeline", GRAPH), said(capsys, "timeline", GRAPH, "--cost", file)
    assert plain[0] == given[0] == 0
    assert [line for line in given[1].splitlines() if "Simulated" not in line] == [
        line for line in plain[1].splitlines() if "Simulated" not in line
    ]


def test_the_cost_model_of_the_documentation_fits_the_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = re.search(r"```json\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    cost = tmp_path / "cost.json"
    cost.write_text(example[1])
    code, out, err = said(capsys, "timeline", GRAPH, "--cost", cost, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["cost"]
    assert [found["devices"][name]["matrix"] for name in ("GPU0", "GPU1")] == [1.6e14, 1.6e14]
    assert (found["links"]["GPU0-GPU1"]["speed"], found["links"]["host-GPU0"]["latency"]) == (5e10, 8e-6)
    cost.write_text('{"links": {"CUDA0-CUDA1": {"speed": 5e10}}}')
    code, out, err = said(capsys, "timeline", GRAPH, "--cost", cost)
    assert (code, out) == (2, "")
    assert "there are host-GPU0, host-GPU1, host-CPU, GPU0-GPU1" in err


def test_a_sample_that_decodes_says_that_one_sequence_waits(capsys: pytest.CaptureFixture[str]) -> None:
    decode = SAMPLES / "gemma3-270m-g1ngl9-decode-fa1-reserve.graph.json.gz"
    assert "\nOne sequence cannot do this: " in said(capsys, "timeline", decode, "--batches", "4")[1]
    assert "One sequence" not in said(capsys, "timeline", decode)[1]
    assert "One sequence" not in said(capsys, "timeline", GRAPH, "--batches", "4")[1]


def test_both_graphs_of_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "timeline", MODEL, "--device", "cuda:1GiB", "--mode", "both")
    assert code == 0
    assert out.startswith("prefill\n")
    assert "\ndecode\n" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["timeline", GRAPH, "--batches", "0"], "--batches 0: not a number from 1 to 64"),
        (["timeline", GRAPH, "--batches", "many"], "--batches many"),
        (["timeline", GRAPH, "--cost", "nowhere.json"], "nowhere.json"),
        (["timeline", SAMPLES / "lesson-no-device.graph.json"], "ggml stops"),
        (["report", GRAPH, "-o", "x.svg", "--batches", "2"], "--batches belongs to a timeline"),
        (["report", GRAPH, "-o", "x.html", "--view", "timeline"], "--view timeline is written as"),
        (["report", GRAPH, "-o", "x.pftrace", "--planners"], "--planners belongs to reports of the graph"),
        (["report", GRAPH, "-o", "x.json"], "end the name in"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    words: list[str | Path],
    told: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = said(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert list(tmp_path.iterdir()) == []


# reports


@pytest.mark.parametrize("name", ["trace.perfetto.json", "trace.pftrace", "lanes.svg"])
def test_reports_are_written_and_say_the_same_twice(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / name
    words: list[str | Path] = ["report", GRAPH, "-o", out, "--batches", "3"]
    words += ["--view", "timeline"] if name.endswith("svg") else []
    code, text, err = said(capsys, *words)
    assert (code, err) == (0, "")
    first = out.read_bytes()
    assert text == f"{out}: {len(first):,} bytes\n"
    assert said(capsys, *words)[0] == 2, "it is not replaced unasked"
    assert said(capsys, *words, "--force")[0] == 0
    assert out.read_bytes() == first


def test_the_picture_has_every_lane_and_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x.svg"
    said(capsys, "report", GRAPH, "-o", out, "--view", "timeline", "--batches", "4")
    root = ElementTree.fromstring(out.read_text())
    words = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    for lane in ("GPU0", "GPU1", "CPU", "host", "copy"):
        assert lane in words
    assert any(one.startswith("Simulated: device clocks with assumed rates") for one in words)
    assert sum(one.startswith("split 1 · #") for one in words) == 4
    width = float(root.attrib["width"])
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width + 0.01


def test_names_of_strangers_stay_text_in_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tmp_path / "x.json"
    document = {
        "about": HOSTILE,
        "backends": [{"name": f"GPU{HOSTILE}"}, {"name": "CPU"}],
        "tensors": [
            {"name": f"x{HOSTILE}", "ne": [64, 64], "flags": ["input"]},
            {"name": "w", "ne": [64, 64], "weight_of": f"GPU{HOSTILE}"},
            {"name": "y", "op": "MUL_MAT", "src": ["w", f"x{HOSTILE}"], "ne": [64, 64], "flags": ["output"]},
        ],
        "outputs": ["y"],
    }
    graph.write_text(json.dumps(document))
    out = tmp_path / "x.svg"
    assert said(capsys, "report", graph, "-o", out, "--view", "timeline")[0] == 0
    text = out.read_text()
    assert "<script" not in text
    ElementTree.fromstring(text)


# the route


@pytest.fixture
def store() -> SessionStore:
    return SessionStore()


@pytest.fixture
def client(store: SessionStore) -> FlaskClient:
    return create_app(f"sample:{SAMPLE}", store=store).server.test_client()  # type: ignore[no-any-return]


@pytest.fixture
def session(store: SessionStore) -> str:
    return store.open_source(f"sample:{SAMPLE}").key


def scene(client: FlaskClient, session: str, **query: object) -> dict[str, Any]:
    response = client.get(f"/timeline/{session}/0.json", query_string=query, headers={"Accept-Encoding": "gzip"})
    assert response.status_code == 200
    data = response.data
    return dict(json.loads(gzip.decompress(data) if response.headers.get("Content-Encoding") == "gzip" else data))


def test_the_scene_is_the_timeline(client: FlaskClient, session: str) -> None:
    found = scene(client, session, batches=4)
    run = trace(read_graph(GRAPH)).runs[0]
    state = replay(run)
    timeline = simulate(run, state, assumed(state.backends), 4)
    spans = found["spans"]
    assert spans["n"] == len(timeline.spans)
    assert values(spans["start"], "float64") == [span.start for span in timeline.spans]
    assert values(spans["end"], "float64") == [span.end for span in timeline.spans]
    lanes = [(lane["device"], lane["what"]) for lane in found["lanes"]]
    assert [lanes[row] for row in values(spans["lane"], "int32")] == [
        tuple(timeline.lanes[span.lane]) for span in timeline.spans
    ]
    assert values(found["nodes"]["ns"], "float64") == timeline.nodes.ns
    assert [device["name"] for device in found["devices"]] == ["GPU0", "GPU1", "CPU", "host"]
    assert (found["total"], found["n_copies"], found["has_measured"]) == (timeline.total, 4, False)
    assert found["uses"][0]["made_of"] == "99 % launch latency, 1 % memory traffic"
    shares = [one["share"] + sum(part["share"] for part in one["parts"]) for one in found["uses"]]
    assert shares == pytest.approx([1] * len(shares))


def test_a_changed_number_comes_back_marked(client: FlaskClient, session: str) -> None:
    found = scene(client, session, cost="0.matrix:1e9,h-0.latency:0,call:0")
    usual = scene(client, session)
    assert found["total"] > usual["total"]
    numbers = {one["key"]: one for row in found["cost"]["rows"] for one in row["numbers"]}
    assert (numbers["0.matrix"]["value"], found["cost"]["changed"]) == (1e9, 3)
    assert numbers["0.matrix"]["usual"] == numbers["1.matrix"]["value"]
    assert {"h-0.speed", "h-1.speed", "0-1.speed", "call"} <= set(numbers)


@pytest.mark.parametrize(
    "query",
    [
        {"batches": "0"},
        {"batches": "x"},
        {"batches": "9" * 5000},
        {"cost": "9.matrix:1"},
        {"cost": HOSTILE},
        {"source": "measured"},
    ],
)
def test_what_the_route_refuses(client: FlaskClient, session: str, query: dict[str, str]) -> None:
    found = scene(client, session, **query)
    assert set(found) == {"error"}
    assert len(found["error"]) < 500


def test_a_file_that_was_let_go_is_missing(client: FlaskClient) -> None:
    assert client.get("/timeline/0000/0.json").status_code == 404


def test_a_run_that_cannot_be_computed_says_why(client: FlaskClient, store: SessionStore) -> None:
    key = store.open_source("sample:lesson-no-device").key
    assert "ggml stops" in scene(client, key)["error"]


class Done:
    """As much of a finished run as the route reads."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.follows_bytes = False


def test_measured_lanes_after_a_run(client: FlaskClient, store: SessionStore, session: str) -> None:
    view = store.view(session, 0)
    nodes = view.state.nodes
    runs = [NodeRun(nodes[0], 0, 2, 0.5, 0.25), NodeRun(nodes[9], 1, 0, 1.0, 2.0)]
    view.running.done = Done(Execution(view.state, runs, [], 3.0))  # type: ignore[assignment]
    found = scene(client, session, source="measured")
    assert (found["measured"], found["has_measured"], found["cost"]) == (True, True, None)
    assert [(lane["device"], lane["what"]) for lane in found["lanes"]] == [(0, "compute"), (2, "compute")]
    assert {one["made_of"] for one in found["uses"]} == {""}
    assert values(found["spans"]["end"], "float64") == [750_000_000, 3_000_000_000]
    assert scene(client, session)["has_measured"]
