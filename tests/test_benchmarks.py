"""The benchmark runs and says what it claims to say; its figures are not judged here, machines differ."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from galloscope.benchmarks import ggml_abi

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
