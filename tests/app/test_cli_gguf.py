"""`galloscope gguf`: what it prints of a model, and one sentence with exit code 2 for what it cannot read."""

import json
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from galloscope.app.cli import main
from galloscope.core.dtypes import DTYPES, F32
from galloscope.core.gguf.write import header_bytes

METADATA: dict[str, Any] = {
    "general.architecture": "qwen3moe",
    "general.name": "Made \x1b[31mup",
    "qwen3moe.block_count": 3,
    "qwen3moe.context_length": 40960,
    "qwen3moe.embedding_length": 256,
    "qwen3moe.attention.head_count": 4,
    "qwen3moe.attention.head_count_kv": [2, 1, 2],
    "qwen3moe.expert_count": 8,
    "qwen3moe.expert_used_count": 2,
    "qwen3moe.rope.freq_base": 1e6,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": [f"t{i}" for i in range(2000)],
}
TENSORS = [("token_embd.weight", DTYPES["q4_K"], (256, 2000)), ("output_norm.weight", F32, (256,))]
HEADER = header_bytes(METADATA, TENSORS)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(HEADER)
    return path


def test_the_summary(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gguf", str(model)]) == 0
    printed = capsys.readouterr().out
    lines = [line.split(None, 1) for line in printed.splitlines()]
    assert printed.splitlines()[0] == "Made �[31mup"
    for row in (
        ["architecture", "qwen3moe"],
        ["parameters", "512,256"],
        ["weights", "282.3 KiB, 4.51 bits per weight"],
        ["context", "40,960 tokens"],
        ["heads", "4, 1 to 2 by layer for KV, 64 elements each"],
        ["experts", "8, 2 used per token"],
        ["vocabulary", "2,000 tokens (gpt2)"],
        ["q4_K", "1     512,000  281.3 KiB  99.6 %"],
    ):
        assert row in lines
    assert "2 tensors (the data are not there)" in printed
    assert f"{len(HEADER):,} bytes, 12 metadata entries" in printed


def test_the_tensor_table(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gguf", str(model), "--tensors"]) == 0
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["tensor", "token_embd.weight", "output_norm.weight"]
    assert "[256, 2000]" in rows[1]


def test_json_has_all_but_long_arrays(model: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["gguf", str(model), "--json"]) == 0
    record = json.loads(capfdbinary.readouterr().out)
    values = {key: one["value"] for key, one in record["metadata"].items()}
    assert values == {**METADATA, "tokenizer.ggml.tokens": {"count": 2000}}
    assert record["metadata"]["qwen3moe.attention.head_count_kv"]["type"] == "arr[u32]"
    assert record["tensors"][0] == {
        **{"name": "token_embd.weight", "type": "q4_K", "ne": [256, 2000]},
        **{"offset": 0, "nbytes": 288000, "part": 0},
    }
    assert (record["header_bytes"], record["complete"]) == (len(HEADER), False)
    assert record["facts"]["parameters"] == 512256
    assert record["facts"]["kv_heads"] == [2, 1, 2]


def test_parts_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for no in range(2):
        split = {"split.no": no, "split.count": 2, "split.tensors.count": 4}
        names = [(f"{no}{name}", dtype, ne) for name, dtype, ne in TENSORS]
        (tmp_path / f"m-{no + 1:05}-of-00002.gguf").write_bytes(header_bytes(split, names))
    assert main(["gguf", str(tmp_path / "m-00002-of-00002.gguf"), "--tensors"]) == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["part", "1", "1", "2", "2"]
    assert main(["gguf", str(tmp_path / "m-00001-of-00002.gguf")]) == 0
    assert "in 2 files, 4 tensors" in capsys.readouterr().out


def test_a_file_that_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.gguf"
    path.write_bytes(header_bytes({}, []))
    assert main(["gguf", str(path)]) == 0
    assert "A model without a name" in capsys.readouterr().out


def head(n_tensors: int, n_entries: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_entries)


def hole(path: Path) -> None:
    """A terabyte of zeros behind a string that says it is 200 GiB long."""
    path.write_bytes(head(0, 1) + struct.pack("<Q3sIQ", 3, b"key", 8, 200 << 30))
    os.truncate(path, 1 << 40)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "missing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
    "junk": lambda path: path.write_bytes(os.urandom(1000)),
    "cut header": lambda path: path.write_bytes(HEADER[:-1]),
    "cut data": lambda path: path.write_bytes(HEADER + bytes(1000)),
    "2^63 tensors": lambda path: path.write_bytes(head(2**63, 0)),
    "a million tensors": lambda path: path.write_bytes(head(1_000_000, 0) + bytes(60_000_000)),
    "100,000 rows of nothing": lambda path: path.write_bytes(head(100_000, 0) + bytes(60_000_000)),
    "a terabyte": hole,
    "long array": lambda path: path.write_bytes(head(0, 1) + struct.pack("<Q3sIIQ", 3, b"key", 9, 4, 2**63)),
    "no string": lambda path: path.write_bytes(head(0, 1) + struct.pack("<Q3sIQ", 3, b"key", 8, 2**64 - 1)),
    "terminal codes": lambda path: path.write_bytes(head(0, 1) + struct.pack("<Q5sI", 5, b"\x1b[31m", 99) + bytes(9)),
}


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


@pytest.mark.parametrize(
    ("name", "options"), [*((name, ()) for name in HOSTILE), ("empty", ("--json",)), ("a terabyte", ("--tensors",))]
)
def test_refused(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "hostile.gguf"
    HOSTILE[name](path)
    line = [sys.executable, "-m", "galloscope.app", "gguf", str(path), *options]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=20, check=False, preexec_fn=limit, stdin=subprocess.DEVNULL
    )
    sentence = done.stderr.strip()
    assert (done.returncode, done.stdout) == (2, ""), sentence
    assert len(sentence.splitlines()) == 1
    assert sentence.startswith(f"galloscope: {path}: ")
    assert sentence.isprintable()
