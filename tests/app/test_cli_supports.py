"""`galloscope supports`: which ops a device would refuse, grouped, with names; graph files and GGUFs."""

import json
from pathlib import Path
from typing import Any

import pytest

from galloscope.app.cli import main
from galloscope.core.devices.known import DEVICES
from galloscope.core.models.made_up import MadeUp, made_up
from galloscope.tests.corpora import graph_path

TENSORS: list[dict[str, Any]] = [
    {"name": "w", "type": "bf16", "ne": [64, 48]},
    {"name": "x", "ne": [64, 40], "flags": ["input"]},
    {"name": "h", "type": "f16", "ne": [64, 40], "flags": ["input"]},
    *({"name": f"y{n}", "op": "MUL_MAT", "src": ["w", "x"], "ne": [48, 40]} for n in range(5)),
    {"name": "z", "op": "PAD", "src": ["h"], "type": "f16", "ne": [64, 40]},
]
GRAPH = {"tensors": TENSORS, "outputs": [f"y{n}" for n in range(5)] + ["z"]}


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(GRAPH))
    return str(path)


def test_refusals_are_grouped_by_reason_with_first_names(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["supports", graph, "--device", "metal:bfloat=0"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "metal:bfloat=0 refuses 6 of 6 ops:",
        "  5 × MUL_MAT: source 0 is bf16, and the GPU lacks bfloat (bfloat is 0)",
        "      y0, y1, y2 and 2 more",
        "  1 × PAD: source 0 is f16, not f32",
        "      z",
    ]


def test_each_device_is_asked_once_and_nothing_may_be_refused(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["supports", graph, *("--device", "vulkan:16GiB"), *("--device", "blas"), *("--device", "blas")]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert lines == ["vulkan:16GiB refuses 1 of 6 ops:", "blas refuses 1 of 6 ops:"]


def test_without_a_device_all_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["supports", str(graph_path("gemma3-decode-fa0-reserve"))]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [line.split()[0] for line in heads] == list(DEVICES)
    assert heads[0].startswith("cpu refuses nothing (")


def test_as_json(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["supports", graph, "--json", "--device", "metal", "--device", "vulkan"]) == 0
    metal, vulkan = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert metal == {
        "device": "metal",
        "nodes": 6,
        "refused": [{"op": "PAD", "reason": "PAD: source 0 is f16, not f32", "count": 1, "tensors": ["z"]}],
    }
    assert vulkan["device"] == "vulkan"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The header of a model whose heads have 48 elements: Metal has an attention kernel for them, CUDA has none."""
    path = tmp_path_factory.mktemp("models") / "made-up.gguf"
    path.write_bytes(made_up(MadeUp(n_embd=192, n_head=4, n_head_kv=2, head_size=48)))
    return str(path)


def test_a_gguf_both_graphs(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--graphs", "builder", "-fa", "on", "-c", "256", "--mode", "both", "--device", "cuda", "--device", "metal"]
    assert main(["supports", model, *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    assert [line.split(" ops")[0].split()[0] for line in heads] == ["cuda", "metal", "cuda", "metal"]
    assert [line.rstrip(":)").split(" of the ")[1] for line in heads] == ["prefill graph"] * 2 + ["decode graph"] * 2
    assert heads[1].startswith("metal refuses nothing (")
    assert "  2 × FLASH_ATTN_EXT: head size 48 is not in the kernel table" in lines[1]


def test_llama_cpp_would_not_use_a_kernel_that_is_refused(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--graphs", "builder", "-c", "256", "--json", "--device", "cuda", "--device", "blas"]
    assert main(["supports", model, *words]) == 0
    cuda, blas = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (cuda["device"], cuda["mode"], cuda["refused"]) == ("cuda", "prefill", [])
    assert {"MUL_MAT", "SOFT_MAX"} & {group["op"] for group in blas["refused"]} == {"SOFT_MAX", "MUL_MAT"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--device", "metl"], "'metl' is not a device (did you mean 'metal'?)"),
        (["--device", "metal:bfloats=0"], "'bfloats' is not a limit of it (did you mean 'bfloat'?)"),
        (["--run", "3"], "--run 3: the file has one run, 0"),
        (["-c", "512"], "-c belongs to GGUF files"),
    ],
)
def test_bad_words_are_one_sentence(
    graph: str, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["supports", graph, *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1
