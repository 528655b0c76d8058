"""The commands on GGUFs: with the real llama.cpp where its wheel is installed, with the builders everywhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from galloscope.app.cli import main
from galloscope.core.native.capture import available

MODELS = Path(__file__).resolve().parent.parent / "golden" / "models"
LLAMA = str(MODELS / "llama_4l.gguf")
MOE = str(MODELS / "mixtral.gguf")
GPU = ["--device", "cuda:24GiB"]
WAYS = [
    pytest.param("llama.cpp", marks=pytest.mark.skipif(bool(available()), reason=available() or "there")),
    "builder",
]


def say(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(words) == code
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return told.err if code else told.out


def records(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in say(capsys, *words).splitlines()]


@pytest.mark.parametrize("way", WAYS)
def test_trace_prints_a_record_for_each_graph(capsys: pytest.CaptureFixture[str], way: str) -> None:
    found = records(capsys, "trace", LLAMA, MOE, *GPU, "--mode", "both", "--graphs", way)
    assert len(found) == 4
    assert all(one["ok"] for one in found)


@pytest.mark.skipif(bool(available()), reason=available() or "there")
@pytest.mark.parametrize("options", [[], GPU, [*GPU, *GPU, "-ngl", "2", "-fa", "off"], [*GPU, "-nkvo", "-np", "2"]])
def test_both_ways_print_the_same_record(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    words = ("trace", LLAMA, "--mode", "both", *options, "--graphs")
    assert records(capsys, *words, "llama.cpp") == records(capsys, *words, "builder")


@pytest.mark.parametrize("way", WAYS)
def test_stats_tells_the_model_first(capsys: pytest.CaptureFixture[str], way: str) -> None:
    text = say(capsys, "stats", LLAMA, *GPU, "-c", "512", "-fa", "off", "--graphs", way)
    assert text.startswith("llama-server -m llama_4l.gguf -dev CUDA0 ")
    assert "-c 512 -b 512 -ub 512" in text
    told = "verified, given these devices every decision equals" if way == "llama.cpp" else "not compared"
    assert told in text
    (numbers,) = records(capsys, "stats", LLAMA, *GPU, "-c", "512", "-fa", "off", "--graphs", way, "--json")
    rows = {row["name"]: row for row in numbers["model"]["totals"]}
    assert numbers["mode"] == "prefill"
    assert rows["CUDA0"]["compute"] == next(d["compute_bytes"] for d in numbers["devices"] if d["buft"] == "CUDA0")
    assert rows["CUDA0"]["total"] == sum(rows["CUDA0"][key] for key in ("weights", "kv", "recurrent", "compute"))
    assert rows["CUDA0"]["free"] == (24 << 30) - rows["CUDA0"]["total"] - rows["CUDA0"]["output"]


def test_the_table_of_llama_cpp(capsys: pytest.CaptureFixture[str]) -> None:
    text = say(capsys, "stats", LLAMA, *GPU, "--graphs", "builder", "--breakdown")
    assert text.startswith("| memory breakdown [MiB]")
    assert "CUDA0 (CUDA)" in text
    assert len(text.splitlines()) == 3
    sample = str(Path(__file__).resolve().parents[2] / "sample_graphs" / "lesson-in-place.graph.json")
    assert "--breakdown is for GGUF files" in say(capsys, "stats", sample, "--breakdown", code=2)


def test_a_copy_without_weights_is_the_same_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "header.gguf"
    assert "header.gguf: " in say(capsys, "gguf", MOE, "--header-only", str(out))
    words = ("--graphs", "builder", *GPU)
    assert records(capsys, "trace", str(out), *words) == records(capsys, "trace", MOE, *words)
    assert "header.gguf: exists" in say(capsys, "gguf", MOE, "--header-only", str(out), code=2)
    assert "cannot be written" in say(capsys, "gguf", MOE, "--header-only", str(tmp_path / "no" / "x.gguf"), code=2)


def test_a_device_that_is_too_small_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert "too much" in say(capsys, "stats", LLAMA, "--device", "cuda:64KiB", "--graphs", "builder")


def test_a_refused_attention_names_its_cures(capsys: pytest.CaptureFixture[str]) -> None:
    old = ["--device", "cuda:24GiB:fa_convert=0", "-fa", "on"]
    model = str(MODELS / "gemma3.gguf")
    text = say(capsys, "stats", model, *old, "-ctk", "q4_1", "-ctv", "q4_1", "--graphs", "builder")
    assert "fell back to CPU" in text
    assert "back to CUDA0" in text


def test_why_follows_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("why", LLAMA, "ffn_out-0", *GPU, "--graphs", "builder")
    assert "On CUDA0" in say(capsys, *ask)
    assert "On CPU" in say(capsys, *ask, "-ngl", "1", "--mode", "decode")


def test_why_of_a_weight_tells_why_it_was_loaded_there(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("why", LLAMA, "blk.0.ffn_up.weight", *GPU, "--graphs", "builder")
    assert "llama.cpp loads it into CUDA0: layer 0 is on CUDA0" in say(capsys, *ask)
    assert "llama.cpp loads it into CUDA_Host: layer 0 is on CPU: -ngl 2 leaves" in say(capsys, *ask, "-ngl", "2")
    assert "llama.cpp loads it into CUDA_Host: -ot ffn_up=CPU" in say(capsys, *ask, "-ot", "ffn_up=CPU")


def test_one_graph_at_a_time_where_one_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words in (("why", LLAMA, "l_out-0"), ("report", LLAMA, "-o", str(tmp_path / "r.svg"))):
        assert "choose --mode prefill or --mode decode" in say(
            capsys, *words, "--mode", "both", "--graphs", "builder", code=2
        )


def test_a_report_of_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "report.svg"
    say(capsys, "report", LLAMA, *GPU, "--graphs", "builder", "-o", str(out))
    text = out.read_text()
    assert "llama-server -m llama_4l.gguf -dev CUDA0" in text
    assert "not compared with llama.cpp" in text
    assert "simulated, profile cuda with 24 GiB" in text
    assert "of 24 GiB" in text
    page = tmp_path / "report.html"
    say(capsys, "report", LLAMA, *GPU, "--graphs", "builder", "-o", str(page))
    assert "<code>llama-server -m llama_4l.gguf -dev CUDA0" in page.read_text()


@pytest.mark.parametrize("way", WAYS)
def test_a_captured_graph_is_the_same_graph(capsys: pytest.CaptureFixture[str], tmp_path: Path, way: str) -> None:
    options = [*GPU, *GPU, "-ngl", "3", "--mode", "both", "--graphs", way]
    say(capsys, "capture", MOE, *options, "-o", str(tmp_path / "m.graph.json.gz"))
    made = [tmp_path / f"m-{mode}.graph.json.gz" for mode in ("prefill", "decode")]
    assert records(capsys, "trace", *map(str, made)) == records(capsys, "trace", MOE, *options)


def test_a_capture_replaces_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "m-decode.json"
    out.write_text("mine")
    words = ("capture", LLAMA, "--mode", "both", "--graphs", "builder", "-o", str(tmp_path / "m.json"))
    assert "m-decode.json: exists" in say(capsys, *words, code=2)
    assert [one.name for one in tmp_path.iterdir()] == ["m-decode.json"]
    assert out.read_text() == "mine"
    say(capsys, *words, "--force")
    assert out.read_text() != "mine"


def test_whatif_has_a_row_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("whatif", LLAMA, *GPU, "-c", "512", "--mode", "both", "--graphs", "builder")
    changes = ["--change", "-ngl 2", "--change", "-fa off", "--change", "--device cpu", "--change", "-ctv q4_0 -fa off"]
    text = say(capsys, *words, *changes)
    assert "prefill splits 2 → " in text
    (numbers,) = records(capsys, *words, *changes, "--json")
    assert [row["change"] for row in numbers["rows"]] == ["as asked", "-ngl 2", "-fa off", "--device cpu", changes[-1]]
    assert "V cache" in numbers["rows"][-1]["error"]
    assert numbers["rows"][0]["changes"] == []
    (only_cpu,) = [row for row in numbers["rows"] if row["change"] == "--device cpu"]
    assert [graph["splits"] for graph in only_cpu["graphs"]] == [1, 1]


def test_an_option_is_its_whole_name(capsys: pytest.CaptureFixture[str]) -> None:
    """-t of a llama.cpp command is a number of threads, not the beginning of -ts."""
    for words in (["-t", "8"], ["-m", "3"], ["--no-k"]):
        assert f"{words[0]}: galloscope stats has no such option" in say(capsys, "stats", LLAMA, *words, code=2)


def test_a_pasted_command_gives_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    line = "llama-server -m x.gguf -dev CUDA0 -ngl 2 -c 512 --temp 0.7"
    words = ("stats", LLAMA, "--graphs", "builder")
    assert main([*words, "--command", line, "-ngl", "3"]) == 0
    told = capsys.readouterr()
    assert "-dev CUDA0 -ngl 3 -c 512" in told.out
    assert "passed over: -m --temp" in told.err
    assert told.out == say(capsys, *words, "--device", "cuda", "-ngl", "3", "-c", "512")


def test_a_change_can_take_a_flag_back(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["whatif", MOE, *GPU, "--cpu-moe", "-nkvo", "--no-op-offload", "--graphs", "builder", "--json"]
    changes = ["--change", "--n-cpu-moe 1", "--change", "-kvo", "--change", "--op-offload"]
    (told,) = records(capsys, *words, *changes)
    fewer, cache, offload = (row["changes"] for row in told["rows"][1:])
    assert any("CUDA0 weights +" in one for one in fewer)
    assert any("CUDA0 KV cache +" in one for one in cache)
    assert any("splits" in one for one in offload)


def test_weights_tells_what_a_pattern_catches(capsys: pytest.CaptureFixture[str]) -> None:
    text = say(capsys, "weights", MOE, *GPU, "-ot", r"exps=CPU,blk\.0=CPU")
    assert "exps=CPU" in text
    assert "CUDA0 → CUDA_Host" in text
    (told,) = records(capsys, "weights", MOE, *GPU, "-ot", r"exps=CPU,blk\.0=CPU", "--json")
    first, second = told["patterns"]
    assert all("exps" in name for name in first["names"])
    assert second["taken"] == sum(name.startswith("blk.0.") for name in first["names"])
    places = {one["name"]: one["buffer_type"] for one in told["weights"]}
    assert {places[name] for name in first["names"]} == {"CUDA_Host"}
    assert len(say(capsys, "weights", MOE, "--all").splitlines()) > len(places)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["trace", LLAMA, "--device", "cud"], "did you mean 'cuda'"),
        (["trace", LLAMA, "-c", "many"], "-c many: expected a number of tokens"),
        (["stats", str(MODELS / "gptoss.gguf"), "--graphs", "builder"], "gpt-oss"),
        (["stats", LLAMA, "-ot", "exps=CUDA7"], "CUDA7"),
        (["stats", LLAMA, "-ot", "(=CPU"], "a group is not closed"),
        (["stats", LLAMA, *GPU, "-ctv", "q4_0", "-fa", "off", "--graphs", "builder"], "V cache"),
        (["whatif", LLAMA], "nothing to change"),
        (["whatif", LLAMA, "--change", "--what 3"], "no option of galloscope"),
        (["capture", LLAMA, "-o", "x.txt"], "end the name in .json or .json.gz"),
    ],
)
def test_bad_options_are_one_sentence(capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    text = say(capsys, *words, code=2)
    assert told in text
    assert text.count("\n") == 1


def test_options_of_a_model_do_nothing_for_a_graph(capsys: pytest.CaptureFixture[str]) -> None:
    sample = "sample_graphs/llama_4l-g2full-prefill-fa1-reserve.graph.json.gz"
    path = str(Path(__file__).resolve().parents[2] / sample)
    assert "-ngl belongs to GGUF files" in say(capsys, "stats", path, "-ngl", "3", code=2)
    assert "--mode belongs to GGUF files" in say(capsys, "stats", path, "--mode", "decode", code=2)
    for command in ("whatif", "weights"):
        extra = ["--change", "-ngl 3"] if command == "whatif" else []
        assert "not a GGUF file" in say(capsys, command, path, *extra, code=2)
