"""The benchmark runs and says what it claims to say; its figures are not judged here, machines differ."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from galloscope.benchmarks import buffer_sets, ggml_abi
from galloscope.core.planners.bound import lower_bound
from galloscope.core.planners.instance import Instance

ENGINE = Path(__file__).parent.parent / "benchmarks" / "engine.py"


def engine(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ENGINE), *arguments], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not ggml_abi.available(), reason="the xllamacpp wheel is not installed")
def test_engine_measures_both_sides() -> None:
    done = engine("--only", "llama_2k", "--repeats", "1", "--json")
    assert done.returncode == 0, done.stderr
    [case] = json.loads(done.stdout)["cases"]
    assert case["nodes"] == 2014
    assert not case["real_called_python"]
    assert set(case["reference"]) <= set(case["real"]), "timing.jsonl has a step that is not measured"
    assert case["ratio"] > 0
    assert case["total_ms"] == pytest.approx(min(map(sum, zip(*case["ours"].values(), strict=True))))


def test_engine_refuses_a_folder_without_graphs(tmp_path: Path) -> None:
    done = engine(str(tmp_path))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


PLANNERS = ENGINE.parent / "planners.py"


def planners(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(PLANNERS), *arguments], capture_output=True, text=True, check=False)


def test_planners_are_measured_on_new_and_on_large_sets() -> None:
    done = planners("--only", "unseen", "large", "--each", "1", "--counts", "200", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [row["buffers"] for row in result["unseen"]] == [100, 150, 250, 400] * 2
    assert all(len(row["seeds"]) == row["of"] == 1 for row in result["unseen"])
    assert [row["kind"] for row in result["large"]] == ["training", "random", "zerowaste"]
    assert all(row["ratio"] >= 1 and row["greedy_ratio"] >= 1 for row in result["large"])


def test_planners_time_a_minimalloc_program_on_the_same_files(tmp_path: Path) -> None:
    sample = ENGINE.parent.parent / "sample_buffers" / "decoder-layer.csv"
    (tmp_path / "A.csv").write_text(sample.read_text().replace("134217728", "131072").replace("67108864", "65536"))
    program = tmp_path / "minimalloc"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    arguments = ("--minimalloc", str(tmp_path), "--executable", str(program), "--only", "minimalloc", "--seeds", "2")
    done = planners(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["minimalloc"]
    assert result["solved"]
    assert len(result["totals"]) == 2
    assert result["ratio"] > 0
    program.write_text("#!/bin/sh\necho no >&2\nexit 3\n")
    failed = planners(*arguments)
    assert failed.returncode != 0
    assert "no" in failed.stderr


def test_a_zero_waste_set_fills_its_rectangle() -> None:
    for kind in ("zerowaste", "pinwheel"):
        lower, upper, size = buffer_sets.buffer_set(kind, 300, 7)
        assert int(((upper - lower) * size).sum()) == buffer_sets.SIDE**2
        assert lower_bound(Instance.of(lower, upper, size)) == buffer_sets.SIDE
    for kind in buffer_sets.KINDS:
        again = [buffer_sets.buffer_set(kind, 64, 3) for _ in range(2)]
        assert all((a == b).all() for a, b in zip(*again, strict=True))


def test_sessions_are_measured_and_grow() -> None:
    script = ENGINE.parent / "sessions.py"
    given = ["--ubatches", "100", "300", "--repeats", "1", "--json"]
    done = subprocess.run([sys.executable, str(script), *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["script"] for row in rows] == ["chat", "chat", "switching", "switching"]
    assert rows[1]["ubatches"] > rows[0]["ubatches"] > rows[0]["runs"]
    assert rows[0]["runs"] == rows[1]["runs"], "a longer session of the same turns makes no more runs"
    assert all(row["seconds"] > 0 for row in rows)
