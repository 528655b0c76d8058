"""Reports with planners: the part of a graph's report, and the whole report of a set of buffers."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from galloscope.app.cli import main
from galloscope.app.figures.planners_scene import Subject
from galloscope.app.report.planners_page import planned_set, set_html, set_svg
from galloscope.app.report.planners_svg import Planned, planners_svg
from galloscope.app.samples import find_sample
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.planner import Plan
from galloscope.core.planners.solve import judged

HOSTILE = "<script>&\"'"
SET = Instance.of([0, 0, 2], [2, 4, 4], [4, 2, 4], ids=[HOSTILE, "b", "c"], name="set")


def words(text: str) -> str:
    root = ET.fromstring(text)
    return " ".join("".join(node.itertext()) for node in root.iter() if node.tag.endswith("}text"))


def test_a_set_as_a_picture() -> None:
    high, low = Plan(np.array([0, 4, 6])), Plan(np.array([2, 0, 2]))
    found = {"ggml": judged(SET, "ggml", high), "offsets_by_size": judged(SET, "offsets_by_size", low)}
    text = set_svg(Planned(Subject.of(SET), found), HOSTILE, "a few words", "set.csv")
    told = words(text)
    assert "set: ggml needs 10 B, the bound is 6 B; offsets_by_size finds 6 B: 4 B (40 %) to gain." in told
    assert "Most alive at once, step 0: 6 B in 2 buffers" in told
    assert "a few words" in told
    assert HOSTILE in told
    assert "A · ggml" in told
    assert "B · offsets_by_size" in told
    assert "<script>" not in text


def test_the_same_plans_give_the_same_picture() -> None:
    made = [Planned(Subject.of(SET), {"ggml": judged(SET, "ggml", Plan(np.array([0, 4, 6])))}) for _ in range(2)]
    first, second = (planners_svg(one, 0, 0, 1000) for one in made)
    assert first == second
    assert first[1] > 300


def test_both_plans_share_a_scale() -> None:
    high = judged(SET, "ggml", Plan(np.array([0, 4, 6])))
    low = judged(SET, "best", Plan(np.array([2, 0, 2])))
    text, _ = planners_svg(Planned(Subject.of(SET), {"ggml": high, "best": low}), 0, 0, 1000)
    heights = re.findall(r'height="([\d.]+)"[^>]*stroke="#fff"', text)
    assert len(heights) == 6
    assert heights[:3] == heights[3:], "a byte is as high in both"


def test_chunks_and_gaps_are_drawn() -> None:
    gapped = Instance.of([0, 1], [6, 3], [8, 4], gaps={0: (Gap(1, 2), Gap(2, 4, 2, 5))}, max_chunk=8)
    plan = judged(gapped, "ggml", Plan(np.array([0, 0]), chunks=np.array([0, 1])))
    text, _ = planners_svg(Planned(Subject.of(gapped), {"ggml": plan}), 0, 0, 1000)
    assert text.count('stroke="#fff"') == 4


@pytest.mark.parametrize("instance", [Instance.of([], [], []), Instance.of([3], [3], [5]), Instance.of([0], [1], [0])])
def test_nothing_to_plan(instance: Instance) -> None:
    text = set_svg(planned_set(instance, ["ggml", "naive"], 1.0), "empty", "", "empty.csv")
    assert "nothing to plan" in words(text)


def test_a_set_as_a_page() -> None:
    text = set_html(planned_set(SET, ["ggml"], 1.0), HOSTILE, "", "set.csv")
    assert "<script>" not in text
    assert text.count("<svg") == 1


def test_the_command_reports_a_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "set.csv", tmp_path / "plan.svg"
    path.write_text("id,lower,upper,size\na,0,2,4\nb,0,4,2\nc,2,4,4\n")
    assert main(["report", str(path), "-o", str(out), "--planners", "ggml,offsets_by_size"]) == 0
    assert "plan.svg" in capsys.readouterr().out
    assert "offsets_by_size" in words(out.read_text())
    assert main(["report", str(path), "-o", str(tmp_path / "plan.html"), "--planners", "ggml"]) == 0
    assert main(["report", str(path), "-o", str(tmp_path / "plan.gv")]) == 2
    assert "a set of buffers has no graph to draw" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_the_command_adds_planners_to_a_graph(tmp_path: Path, ending: str) -> None:
    path, plain, more = find_sample("lesson-in-place").path, tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    assert main(["report", str(path), "-o", str(plain)]) == 0
    assert main(["report", str(path), "-o", str(more), "--planners", "ggml,naive"]) == 0
    told = "CPU: ggml needs "
    assert told not in plain.read_text()
    assert told in more.read_text()
    assert "Planners" in more.read_text()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--planners", "nobody"], "no planner is named 'nobody'"),
        (["--planners", "--time-limit", "soon"], "--time-limit soon: not a number of seconds"),
    ],
)
def test_what_cannot_be_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], sentence: str
) -> None:
    path = find_sample("lesson-in-place").path
    assert main(["report", str(path), "-o", str(tmp_path / "a.svg"), *more]) == 2
    assert sentence in capsys.readouterr().err
    assert main(["report", str(path), "-o", str(tmp_path / "a.gv"), "--planners"]) == 2
    assert "--planners belongs to reports" in capsys.readouterr().err
