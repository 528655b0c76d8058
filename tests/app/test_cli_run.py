"""`galloscope run` from outside: graphs and models in, times, values and verdicts out, one sentence for the rest."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from galloscope.app.cli import main
from galloscope.app.cli.run_output import key_of
from galloscope.core.models.made_up import MadeUp
from galloscope.tests.core.execute.written import write_model
from galloscope.tests.corpora import graph_path

SAMPLES = Path(__file__).parent.parent.parent / "sample_graphs"
LESSON = SAMPLES / "lesson-in-place.graph.json"
TINY = SAMPLES / "llama-prefill-fa1-reserve.graph.json.gz"
TWO_GPUS = SAMPLES / "llama_4l-g2full-prefill-fa1-reserve.graph.json.gz"
STALE = SAMPLES / "lesson-stale-plan.graph.json"
CHECKS = ("--poison", "--guard", "--compare", "naive")


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main(["run", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def numbers(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> dict[str, Any]:
    got, out, err = run(capsys, *words, "--json")
    assert (got, out.count("\n")) == (code, 1), err
    found: dict[str, Any] = json.loads(out)
    return found


def values(found: dict[str, Any]) -> list[list[Any]]:
    """What does not depend on the clock."""
    return [[one[key] for key in ("name", "min", "max", "mean", "nan", "inf")] for one in found["nodes"]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "small.gguf", MadeUp(n_layer=1))


def test_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, LESSON, *CHECKS)
    assert (code, err) == (0, "")
    answers, ops, slowest, outputs = out.rstrip().split("\n\n")
    first = answers.splitlines()[0]
    assert re.match(r"[\d.]+ .?s for 10 nodes on numpy, random weights, seed 1: [A-Z_]+ \d+ %", first)
    assert "in 10 nodes every byte read was still its owner's; no poison reached a result." in answers
    assert "Equal: the same graph without shared memory gives the same bytes everywhere." in answers
    assert ops.splitlines()[0].split() == ["op", "nodes", "time", "share"]
    assert len(slowest.splitlines()) == 6
    assert [line.split()[0] for line in outputs.splitlines()] == ["output", "kept", "result"]


def test_a_reserved_graph_runs_on_the_plan_that_it_made(capsys: pytest.CaptureFixture[str]) -> None:
    found = numbers(capsys, TWO_GPUS, *CHECKS)
    assert (found["guard"], found["compare"]) == (
        {"sound": True, "conflict": None},
        {"equal": True, "differing": []},
    )
    assert {one["backend"] for one in found["nodes"]} == {"CPU", "GPU0", "GPU1"}
    assert [one["name"] for one in found["splits"]] == ["split 0 on CPU", "split 1 on GPU0", "split 2 on GPU1"]
    assert sum(one["nodes"] for one in found["splits"]) == len(found["nodes"])
    assert not any(one["nan"] or one["inf"] for one in found["nodes"])


def test_the_seed_decides(capsys: pytest.CaptureFixture[str]) -> None:
    once, again, other = (numbers(capsys, TINY, "--random-weights", seed) for seed in ("1", "1", "2"))
    assert values(once) == values(again) != values(other)
    assert other["filled"] == "random weights, seed 2"


@pytest.mark.parametrize("planner", ["naive", "offsets_by_size", "ggml"])
def test_other_planners_give_the_same_values(capsys: pytest.CaptureFixture[str], planner: str) -> None:
    assert values(numbers(capsys, TINY, "--planner", planner, *CHECKS)) == values(numbers(capsys, TINY))


def test_exact_is_another_result(capsys: pytest.CaptureFixture[str]) -> None:
    rounded, exact = (numbers(capsys, TINY, *words) for words in ((), ("--exact",)))
    assert values(rounded) != values(exact)
    assert exact["exact"]


def test_the_copies_of_a_pipeline_take_turns(capsys: pytest.CaptureFixture[str]) -> None:
    one, three = (numbers(capsys, TWO_GPUS, "--batches", n, "--guard") for n in ("1", "3"))
    outputs = [[found["max"] for found in each["outputs"] if found["key"] == "result_output"] for each in (one, three)]
    assert outputs[0] == outputs[1]


def test_a_stale_plan_is_found_by_the_guard(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    code, text, err = run(capsys, STALE, "--run", "1", "--backend", "digest", "--guard", "-o", out)
    assert code == 1
    assert text.startswith("! Overlap: result at step 2 writes over a while it reads it.")
    assert err == f"galloscope: {out} is not written: the graph was not run to its end\n"
    assert not out.exists()
    found = numbers(capsys, STALE, "--run", "1", "--backend", "digest", "--guard", code=1)
    assert (found["guard"]["conflict"]["tensor"], found["guard"]["conflict"]["step"]) == ("a", 2)


def test_fingerprints_are_no_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    found = numbers(capsys, TINY, "--backend", "digest", *CHECKS)
    assert found["compare"]["equal"]
    assert all(one["min"] is None for one in found["nodes"])
    assert "largest" not in run(capsys, TINY, "--backend", "digest")[1]


def test_outputs_in_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    code, text, _ = run(capsys, LESSON, "-o", out)
    assert (code, text.splitlines()[-1]) == (0, f"{out}: 2 outputs")
    with np.load(out, allow_pickle=False) as arrays:
        assert set(arrays) == {"kept", "result"}
        assert (arrays["kept"].dtype, arrays["kept"].shape) == (np.float32, (1, 1, 16, 256))
    before = out.read_bytes()
    code, _, err = run(capsys, LESSON, "-o", out)
    assert (code, "exists; choose another name or say --force" in err) == (2, True)
    assert run(capsys, LESSON, "-o", out, "--force")[0] == 0
    assert out.read_bytes() == before


def test_keys_are_names_of_files_in_no_folder() -> None:
    assert [key_of(name) for name in ("../../etc", "a b#0", ".x", "l_out-0 (view)")] == [
        "_.._etc",
        "a_b_0",
        "x",
        "l_out-0_view_",
    ]


def test_inputs_from_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.full((16, 256), 7, np.float32))
    found = numbers(capsys, LESSON, "--input", f"x={path}")
    assert (found["nodes"][0]["name"], found["nodes"][0]["min"], found["nodes"][0]["max"]) == ("normed", 1, 1)
    assert found["filled"] == "random weights, seed 1, 1 from files"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (np.zeros((16, 256), np.float64), "it holds float64, tensor 'x' is f32: save it with .astype('float32')"),
        (np.zeros((16, 255), np.float32), "its shape is (16, 255), tensor 'x' (f32 [256, 16]) needs (16, 256)"),
        (np.array([{}]), "it holds object"),
    ],
)
def test_a_file_that_does_not_fit(capsys: pytest.CaptureFixture[str], tmp_path: Path, made: Any, told: str) -> None:
    path = tmp_path / "x.npy"
    np.save(path, made)
    code, out, err = run(capsys, LESSON, "--input", f"x={path}")
    assert (code, out, err.count("\n"), told in err) == (2, "", 1, True), err


def test_a_header_that_promises_too_much(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((16, 256), np.float32))
    data = path.read_bytes()
    path.write_bytes(data[:-4])
    code, _, err = run(capsys, LESSON, "--input", f"x={path}")
    assert (code, "its header asks for" in err) == (2, True)
    path.write_bytes(data[:8] + (60000).to_bytes(2, "little") + b"(" * 60000)
    code, _, err = run(capsys, LESSON, "--input", f"x={path}")
    assert (code, err.count("\n"), "not a .npy file of numbers" in err) == (2, 1, True)


def test_a_model_runs_with_its_own_weights(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    words = (model, "--graphs", "builder", "-c", "256", "-ub", "16")
    own, random = numbers(capsys, *words), numbers(capsys, *words, "--random-weights", "3")
    assert own["filled"] == "weights of small.gguf, random inputs, seed 1"
    assert random["filled"] == "random weights, seed 3"
    assert values(own) != values(random)
    decode = numbers(capsys, *words, "--mode", "decode", *CHECKS)
    assert decode["compare"]["equal"]
    assert [one["key"] for one in decode["outputs"]][-1] == "result_output"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--backend", "abacus"), "no backend is named 'abacus', there are numpy, "),
        (("--input", "x"), "--input x: give it as NAME=FILE.npy"),
        (("--input", "xx=a.npy"), "the graph has no input 'xx'"),
        (("--input", "x=none.npy"), "none.npy: cannot be read (No such file or directory)"),
        (("--random-weights", "many"), "--random-weights many: not a whole number from 0"),
        (("--weights", "a.gguf", "--random-weights", "1"), "--weights and --random-weights: choose one"),
        (("--weights", str(LESSON)), "it is not a GGUF file"),
        (("--top", "-1"), "--top -1: not a whole number from 0"),
        (("--batches", "0"), "--batches 0: not a whole number from 1 to 64"),
        (("--batches", "65"), "--batches 65: not a whole number from 1 to 64"),
        (("--run", "x"), "argument --run: invalid int value: 'x'; galloscope run -h lists what there is"),
        (("--compare", "llama.cpp"), "argument --compare: invalid choice: 'llama.cpp'"),
        (("--run", "7"), "--run 7: the file has one run, 0"),
        (("--planner", "best_of_all"), "no planner"),
        (("-o", "out.txt"), "out.txt: end the name in .npz"),
        (("--mode", "decode"), "--mode belongs to GGUF files"),
        (("--mode", "both"), "argument --mode: invalid choice: 'both'"),
    ],
)
def test_what_cannot_be_asked(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str) -> None:
    code, out, err = run(capsys, LESSON, *words)
    assert (code, out, err.count("\n"), told in err) == (2, "", 1, True), err


def test_graphs_that_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, SAMPLES / "lesson-no-device.graph.json")
    assert (code, "the graph cannot run: real ggml stops in run 0" in err) == (2, True)
    code, _, err = run(capsys, STALE)
    assert (code, err.startswith("galloscope: node 'result' (MUL_MAT): the result is ")) == (2, True)
    assert err.endswith("; if the graph was made only for planning, --backend digest follows its bytes\n")
    assert run(capsys, STALE, "--backend", "digest")[0] == 0


@pytest.mark.parametrize("command", ["run", "stats", "timeline", "why", "report", "view"])
def test_options_of_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str], command: str) -> None:
    words = {"why": ["x"], "report": ["-o", "out.svg"]}.get(command, [])
    assert main([command, "none.gguf", *words, "--mode", "decode"]) == 2
    assert capsys.readouterr().err == "galloscope: none.gguf: cannot be read (No such file or directory)\n"


@pytest.mark.parametrize("command", ["run", "stats", "timeline"])
def test_buffers_are_no_graph(capsys: pytest.CaptureFixture[str], command: str) -> None:
    path = SAMPLES.parent / "sample_buffers" / "needs-search.csv"
    assert main([command, str(path)]) == 2
    assert capsys.readouterr().err == f"galloscope: {path}: a CSV of buffers and no graph: use `galloscope plan`\n"


def test_help_has_the_options_of_a_gguf_last(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "-h"])
    said = capsys.readouterr().out
    assert said.index("\nchecks:") < said.index("\nwhat is shown:") < said.index("\nfor a GGUF")
    assert "the sample gemma3-270m-g2full-prefill-fa1-reserve" in " ".join(said.split()).replace("- ", "-")
    assert "--mode {prefill,decode}" in said


def test_all_runs_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, TWO_GPUS, "--batches", "4", "--guard", "--backend", "digest")
    assert re.search(r"^Sound: in 4 runs, the last one of \d+ nodes, every byte read", out, re.MULTILINE)
    assert numbers(capsys, TWO_GPUS, "--batches", "4", "--guard", "--backend", "digest")["runs"] == 4


def test_a_difference_before_the_last_run_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The second time the stale copy holds what the first one left, which is the same."""
    path, out = graph_path("s_pin_view"), tmp_path / "out.npz"
    words = ("--backend", "digest", "--compare", "naive", "--batches", "2", "-o", str(out))
    code, said, err = run(capsys, path, *words)
    assert (code, said.splitlines()[0]) == (1, "! 1 node differs from a run without shared memory, first o.")
    assert "is not written: the graph was not run to its end" in err
    assert not out.exists()


def test_files_for_one_graph_of_several(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Also by the names that ggml gives, which stand in no file."""
    first, second = (
        {"tensors": [{**name, "ne": [4], "flags": ["input"]}, {"op": "SQR", "src": [0]}], "outputs": [1]}
        for name in ({"name": "x"}, {})
    )
    path, file = tmp_path / "two.graph.json", tmp_path / "x.npy"
    path.write_text(json.dumps({**first, "sequence": [second]}))
    np.save(file, np.full(4, 10, np.float32))
    for given, last in (("x", 0), ("x", 1), ("leaf_0", 1)):
        found = numbers(capsys, path, "--run", str(last), "--input", f"{given}={file}")
        assert (found["outputs"][0]["max"] == 100) == (given != "x" or last == 0)
    code, _, err = run(capsys, path, "--run", "0", "--input", f"leaf_0={file}")
    assert (code, "the graph has no input 'leaf_0'" in err) == (2, True)


@pytest.mark.parametrize("backend", ["numpy", "digest"])
def test_more_elements_than_bytes(capsys: pytest.CaptureFixture[str], tmp_path: Path, backend: str) -> None:
    """With strides of 0 a few bytes are as many numbers as one likes."""
    path, ne = tmp_path / "many.graph.json", [1 << 53] * 3
    leaf = {"name": "x", "ne": ne, "nb": [0, 0, 0, 0], "flags": ["input"]}
    node = {"name": "y", "op": "SQR", "src": ["x"], "ne": ne, "nb": [0, 0, 0, 0]}
    path.write_text(json.dumps({"tensors": [leaf, node], "outputs": ["y"]}))
    code, _, err = run(capsys, path, "--backend", backend)
    assert (code, err.count("\n"), f"has {2**159} elements: this graph can be planned, not run" in err) == (2, 1, True)


def test_a_graph_without_work(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "leaf.graph.json"
    path.write_text('{"tensors": [{"name": "x", "ne": [4], "flags": ["input"]}], "outputs": ["x"]}')
    code, out, _ = run(capsys, path, "--guard", "--poison", "--compare", "naive")
    assert (code, out.splitlines()[0]) == (0, "Nothing was computed: no node of this graph has work to do.")


def test_a_header_without_weights(capsys: pytest.CaptureFixture[str]) -> None:
    header = Path(__file__).parent.parent / "golden" / "models" / "llama.gguf"
    code, _, err = run(capsys, header, "--graphs", "builder")
    assert (code, err.count("\n"), "the file ends with its header" in err) == (2, 1, True)
    assert run(capsys, header, "--graphs", "builder", "--random-weights", "1", "-ub", "8")[0] == 0


def test_values_that_are_no_numbers_are_named_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.full((16, 256), np.nan, np.float32))
    code, out, _ = run(capsys, LESSON, "--input", f"x={path}", "--nodes")
    assert code == 0
    assert re.match(r"! \d+ nodes with NaN, the first is normed \(RMS_NORM on CPU\): 4,096 NaN of 4,096 values\.", out)
    assert "\n! normed " in out
    found = numbers(capsys, LESSON, "--input", f"x={path}")
    assert found["nodes"][0]["nan"] == 4096
