"""The reports: deterministic, well-formed, with the numbers of `stats`; names from strangers stay text."""

import base64
import gzip
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from galloscope.app.cli import main
from galloscope.app.report.html import report_html
from galloscope.app.report.picture import report_svg
from galloscope.core.explain.stats import stats
from galloscope.core.files.graph_json import parse_graph, read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.core.text import bytes_text
from galloscope.tests.corpora import SMALL, graph_path

GEMMA = "gemma3-270m-g2full-prefill-fa1-reserve"
HOSTILE = """</script><img src=x onerror=alert(1)>&"'"""


def state_of(case: str) -> State:
    return replay(trace(read_graph(graph_path(case))).runs[-1])


def words_of(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    return " ".join("".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.parametrize("case", [*SMALL[::9], GEMMA])
def test_svg_is_well_formed_and_deterministic(case: str) -> None:
    first = report_svg(state_of(case), "title", {"n_ctx": 512}, "file.json")
    assert first == report_svg(state_of(case), "title", {"n_ctx": 512}, "file.json")
    ElementTree.fromstring(first)
    assert "nan" not in re.sub(r"<t[^>]*>[^<]*", "", first).lower()


@pytest.mark.parametrize("case", [*SMALL[::29], GEMMA])
def test_html_is_deterministic_and_asks_no_network(case: str) -> None:
    first = report_html(state_of(case), "title", {}, "file.json")
    assert first == report_html(state_of(case), "title", {}, "file.json")
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", first)


def test_reports_show_the_numbers_of_stats() -> None:
    state = state_of(GEMMA)
    numbers = stats(state)
    shown = words_of(report_svg(state, "", {}, "x"))
    page = report_html(state, "", {}, "x")
    for device in numbers["devices"]:
        assert f"compute {bytes_text(device['compute_bytes'])}" in shown
        assert f"{bytes_text(device['peak_live_bytes'])} at step {device['peak_step']:,}" in shown
        for key in ("compute_bytes", "peak_live_bytes", "sum_bytes"):
            assert f">{bytes_text(device[key])}<" in page
    for split in numbers["splits"]:
        assert bytes_text(split["copied_bytes"]) in shown
        assert f">{bytes_text(split['copied_bytes'])}<" in page
    assert f"Splits: {len(numbers['splits'])}, {bytes_text(numbers['copied_bytes'])} copied per batch" in shown
    assert f"In place: {numbers['in_place']['hits']} hits" in shown


def test_hostile_names_stay_text() -> None:
    document = {
        "about": HOSTILE,
        "meta": {"model": HOSTILE},
        "tensors": [{"name": HOSTILE, "ne": [64], "flags": ["input"]}, {"name": "y", "op": "SCALE", "src": [0]}],
        "outputs": ["y"],
    }
    problem = parse_graph(json.dumps(document).encode())
    state = replay(trace(problem).runs[0])
    page = report_html(state, problem.about, problem.meta, HOSTILE)
    assert "<img" not in page
    ElementTree.fromstring(report_svg(state, problem.about, problem.meta, HOSTILE))
    packed = re.search(r'id="gs-report-data">([^<]*)<', page)
    assert packed
    data = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    assert data["scene"]["tensors"]["name"][0] == HOSTILE


def test_command_writes_and_never_overwrites_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = str(graph_path("a_best_fit"))
    out = tmp_path / "report.svg"
    assert main(["report", graph, "-o", str(out)]) == 0
    before = out.read_bytes()
    assert main(["report", graph, "-o", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert main(["report", graph, "-o", str(out), "--force"]) == 0
    assert main(["report", graph, "-o", str(tmp_path / "x.pdf")]) == 2
    assert main(["report", graph, "-o", str(tmp_path / "no" / "x.svg")]) == 2
    for name in ("r.html", "g.gv"):
        assert main(["report", graph, "-o", str(tmp_path / name)]) == 0
