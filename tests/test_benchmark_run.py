"""The benchmark of running a model says what it measured; its figures are not judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from galloscope.core.models.made_up import MadeUp
from galloscope.tests.core.execute.written import write_model

RUN = Path(__file__).parent.parent / "benchmarks" / "run.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(RUN), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(tmp_path_factory.mktemp("models") / "tiny.gguf", MadeUp()))


def test_both_sides_and_memory_are_measured(model: str) -> None:
    done = run(model, "--tokens", "8", "--steps", "2", "--repeats", "1", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["model"] == "tiny.gguf"
    assert result["prefill"]["nodes"] == result["decode"]["nodes"] > 30
    for step in (result["prefill"], result["decode"]):
        assert {"MUL_MAT", "FLASH_ATTN_EXT", "ROPE"} <= set(step["ops"])
        assert 0 < step["matmul"] < step["seconds"]
        assert sum(step["ops"].values()) < step["seconds"]
    assert result["overhead"] == pytest.approx(result["executor_s"] / result["naive_s"] - 1)
    memory = result["memory"]
    assert memory["weights"] < memory["kept"] <= 2 * memory["weights"], "f16 as float32"
    assert memory["caches"] == 2 * 2 * 256 * 64 * 2
    assert memory["plan"] > 0
    assert memory["used"] == sum(size for name, size in memory.items() if name != "used") + result["beyond"]


def test_the_table(model: str) -> None:
    done = run(model, "--tokens", "4", "--steps", "1", "--repeats", "1", "--flash", "off", "--exact")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("tiny.gguf: prompt of 4 tokens, BLAS threads: 1")
    assert any(line.startswith("    SOFT_MAX ") for line in lines)
    assert "claim: under 15%" in lines[-2]
    assert "claim: at most 96" in lines[-1]


def test_what_cannot_be_measured(tmp_path: Path) -> None:
    done = run(str(tmp_path / "nothing.gguf"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "nothing.gguf" in done.stderr
