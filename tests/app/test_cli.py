"""The commands from outside: one sentence for what goes wrong, the other files still traced, nothing hangs."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from galloscope.app.cli import main
from galloscope.tests.corpora import graph_path

GOOD: dict[str, Any] = {
    "tensors": [{"name": "x", "ne": [4]}, {"name": "y", "op": "SIN", "src": ["x"]}],
    "outputs": ["y"],
}
EXPERTS: dict[str, Any] = {
    "backends": [{"name": "CUDA0", "offload": "*"}, {"name": "CPU"}],
    "tensors": [
        {"name": "w", "ne": [64, 64, 8], "weight_of": "CPU"},
        {"name": "x", "ne": [64, 1, 4], "flags": ["input"]},
        {"name": "ids", "type": "i32", "ne": [33554432, 1048576], "flags": ["input"]},
        {"name": "y", "op": "MUL_MAT_ID", "src": ["w", "x", "ids"], "ne": [64, 2, 4]},
    ],
    "outputs": ["y"],
}


def command(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "galloscope.app", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, **options)


def write(folder: Path, document: Any, name: str = "graph.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def test_one_line_a_file_in_order_and_the_others_still_traced(tmp_path: Path) -> None:
    good = write(tmp_path, GOOD)
    done = command("trace", "--json", good, tmp_path / "missing.json", tmp_path, good)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2
    assert ["error" in line for line in lines] == [False, True, True, False]
    assert len(done.stderr.splitlines()) == 2


def test_a_name_that_is_not_utf8_ends_nothing(tmp_path: Path) -> None:
    good = write(tmp_path, GOOD)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.json"))
    odd.write_text("{")
    done = command("trace", "--json", good, odd, good)
    assert [next(iter(json.loads(line))) for line in done.stdout.splitlines()] == ["graph", "error", "graph"]
    odd.write_text(json.dumps(GOOD))
    assert command("report", odd, "-o", tmp_path / "r.svg").returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = command("trace", tmp_path / "pipe")
    assert done.returncode == 2
    assert "not a regular file" in done.stderr


def test_many_gzip_members_are_read_in_one_go(tmp_path: Path) -> None:
    (tmp_path / "many.json.gz").write_bytes(gzip.compress(b" ") * 100_000 + gzip.compress(json.dumps(GOOD).encode()))
    assert command("trace", tmp_path / "many.json.gz").returncode == 0


@pytest.mark.parametrize("ids", [{}, {"ne": [1 << 50], "nb": [0, 0, 0, 0]}], ids=["huge", "strideless"])
def test_expert_ids_of_any_size_take_no_time(tmp_path: Path, ids: dict[str, Any]) -> None:
    tensors = [{**tensor, **(ids if tensor["name"] == "ids" else {})} for tensor in EXPERTS["tensors"]]
    done = command("trace", write(tmp_path, {**EXPERTS, "tensors": tensors}))
    record = json.loads(done.stdout)
    assert ["set_async", "CUDA0", "CUDA0#w#0", 0, 16384 + 512] in record["compute"]


@pytest.mark.parametrize("src", [["w", "x"], ["w"], ["w", "x", None]])
def test_experts_without_ids_are_an_abort(tmp_path: Path, src: list[str | None]) -> None:
    tensors = [*EXPERTS["tensors"][:3], {**EXPERTS["tensors"][3], "src": src}]
    done = command("trace", write(tmp_path, {**EXPERTS, "tensors": tensors}))
    assert "null pointer" in json.loads(done.stdout)["abort"]


def test_a_thousand_runs_are_traced_in_seconds(tmp_path: Path) -> None:
    done = command("trace", write(tmp_path, {**GOOD, "sequence": [{}] * 1000}))
    assert len(json.loads(done.stdout)["runs"]) == 1001


def test_unprintable_texts_do_not_reach_a_picture(tmp_path: Path) -> None:
    document = {**GOOD, "about": "a\u0000b\ufffe\u001b[31m", "meta": {"k\u0007": ["\u0000"], "n": 3}}
    graph = write(tmp_path, document)
    for name in ("r.svg", "r.html", "g.gv"):
        assert main(["report", str(graph), "-o", str(tmp_path / name)]) == 0
        text = (tmp_path / name).read_text()
        assert not {c for c in text if ord(c) < 32} - {"\n", "\t"}
    bad = write(tmp_path, {**GOOD, "backends": [{"name": "CPU\n\u001b"}]}, "bad.json")
    assert command("stats", bad).returncode == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("why", "{}", "#" + "9" * 5000), "no tensor is named"),
        (("why", "{}", "nothing"), "no tensor is named 'nothing'"),
        (("report", "{}", "-o", "x" * 300 + ".svg"), "cannot be written"),
        (("stats", "{}", "--run", "7"), "the file has one run, 0"),
    ],
)
def test_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    done = command(*(word.format(graph_path("a_best_fit")) for word in words))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_is_a_sentence() -> None:
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "galloscope.app", "stats", str(graph_path("a_best_fit"))]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_terminal_without_arrows_still_gets_its_sentences() -> None:
    done = command("stats", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "peaks at 526.3 MiB" in done.stdout
