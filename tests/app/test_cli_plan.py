"""`galloscope plan` from outside: CSV, graphs and headers in, tables, JSON and plans out, one sentence for the rest."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from galloscope.app.cli import main
from galloscope.core.files.buffers_csv import read_buffers
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Plan
from galloscope.core.planners.validate import validate

EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
MODEL = Path(__file__).resolve().parent.parent / "golden" / "models" / "llama_4l.gguf"
SAMPLES = Path(__file__).parent.parent.parent / "sample_graphs"
TWO_DEVICES = SAMPLES / "gemma3-270m-g1ngl9-decode-fa1-reserve.graph.json.gz"
KEYS = {"planner", "solved", "peak", "bound", "ratio", "optimal", "proved_bound", "seconds", "offsets"}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "input.12.csv"
    path.write_text(EXAMPLE)
    return path


def plan(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main(["plan", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def numbers(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    code, out, err = plan(capsys, *words, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found: dict[str, Any] = json.loads(out)
    return found


def test_json_of_one_planner(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = numbers(capsys, example, "--planner", "offsets_by_size")
    assert set(found) >= KEYS
    assert (found["solved"], found["peak"], found["bound"], found["ratio"]) == (True, 12, 12, 1.0)
    assert (found["optimal"], found["proved_bound"], found["verdict"]) == (True, 12, "good")
    assert set(found["offsets"]) == {"b1", "b2", "b3", "b4", "b5"}
    assert 0 <= found["seconds"] < 60


def test_json_of_all_planners(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = numbers(capsys, example, "--planner", "all")
    assert [one["planner"] for one in found["planners"]] == list(PLANNERS)
    assert all(set(one) >= KEYS for one in found["planners"])


def test_the_default_is_the_best_planner(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert numbers(capsys, example, "--minimize")["planner"] == "best"


def test_the_table(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = plan(capsys, example, "--planner", "naive", "--planner", "ggml", "--planner", "offsets_by_size")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "input.12.csv: 5 buffers, 20 B without re-use"
    assert lines[1] == "bound: 12 B, alive at step 0: b1 4 B, b3 4 B, b5 4 B"
    assert lines[3].split() == ["planner", "peak", "ratio", "waste", "time", "result"]
    naive, by_size = lines[4].split(), lines[6].split()
    assert naive[:6] == ["naive", "20", "B", "1.6667", "8", "B"]
    assert (by_size[0], by_size[-1]) == ("offsets_by_size", "optimal")


def test_saving_against_ggml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,lower,upper,size\na,0,2,8\nb,0,4,8\nc,2,4,16\n")
    _, out, _ = plan(capsys, path, "--planner", "ggml", "--planner", "offsets_by_size")
    assert out.splitlines()[-1] == "ggml takes 32 B: offsets_by_size saves 8 B (25.0%)"


def test_unsolved_at_the_capacity_is_exit_code_1(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (example, "--planner", "naive", "--capacity")
    assert plan(capsys, *words, "20")[0] == 0
    code, out, err = plan(capsys, *words, "19")
    assert (code, "too large" in out) == (1, True)
    assert err == "galloscope: naive: its plan needs 20 bytes, more than the capacity of 19\n"
    assert "no plan fits into 11 B: 12 B are proved necessary" in plan(capsys, *words, "11")[1]
    code, out, err = plan(capsys, *words, "11", "--json")
    assert (code, json.loads(out)["solved"]) == (1, False)
    assert err == "galloscope: naive: no plan fits into 11 bytes: 12 are necessary\n"
    assert plan(capsys, *words, "1KiB")[0] == 0


def test_none_of_several_is_exit_code_1(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = plan(capsys, example, "--planner", "naive", "--planner", "ggml", "--capacity", "11")
    assert (code, err) == (1, "galloscope: none of the planners has a plan within the capacity\n")
    assert plan(capsys, example, "--planner", "naive", "--planner", "offsets_by_size", "--capacity", "12")[0] == 0


def test_a_refusal_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fixed.csv"
    path.write_text("id,lower,upper,size,offset\na,0,2,8,4096\n")
    code, out, err = plan(capsys, path, "--planner", "ggml")
    sentence = "ggml cannot keep fixed offsets (buffer 'a' must lie at 4096)"
    assert (code, sentence in out) == (1, True)
    assert err == f"galloscope: {sentence}\n"


def test_a_written_csv_is_the_input_with_offsets(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plan.csv"
    code, text, _ = plan(capsys, example, "--planner", "naive", "--planner", "offsets_by_size", "-o", out)
    assert (code, text.splitlines()[-1]) == (0, f"{out}: the plan of offsets_by_size")
    assert out.read_text().splitlines()[0] == "id,lower,upper,size,offset"
    instance, placed = read_buffers(example).instance, read_buffers(out).instance
    assert validate(instance, Plan(placed.fixed), 12).good
    code, _, err = plan(capsys, example, "--planner", "naive", "-o", out)
    assert (code, "exists; choose another name or say --force" in err) == (2, True)
    assert plan(capsys, example, "--planner", "naive", "-o", out, "--force")[0] == 0
    assert read_buffers(out).instance.fixed.tolist() != placed.fixed.tolist()


def test_a_written_json_says_what_it_is(example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.json"
    plan(capsys, example, "--planner", "offsets_by_size", "-o", out, "--capacity", "12")
    found = json.loads(out.read_text())
    assert (found["planner"], found["peak"], found["bound"], found["capacity"], found["chunks"]) == (
        "offsets_by_size",
        12,
        12,
        12,
        [12],
    )
    assert [one["id"] for one in found["buffers"]] == ["b1", "b2", "b3", "b4", "b5"]
    code, _, err = plan(capsys, out, "--planner", "naive")
    assert (code, "a plan that galloscope wrote; give the CSV or the graph that was planned" in err) == (2, True)
    assert set(found["buffers"][0]) == {"id", "lower", "upper", "size", "alignment", "offset"}


def test_nothing_is_written_without_a_plan(example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.csv"
    code, _, err = plan(capsys, example, "--planner", "naive", "--capacity", "19", "-o", out)
    assert (code, err.rstrip().endswith(f"{out} is not written"), out.exists()) == (1, True, False)


def test_alignment_and_chunks(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = numbers(capsys, example, "--planner", "offsets_by_size", "--alignment", "16")
    assert all(offset % 16 == 0 for offset in found["offsets"].values())
    found = numbers(capsys, example, "--planner", "naive", "--max-chunk", "8")
    assert max(found["chunks"].values()) == 2
    assert found["peak"] == 20


def test_a_graph_has_a_table_per_device_and_sums(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = plan(capsys, TWO_DEVICES, "--planner", "naive", "--planner", "offsets_by_size")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines() if "without re-use" in line] == ["GPU0", "CPU"]
    assert "all together: bound " in out
    assert out.splitlines()[-2].startswith("ggml takes ")
    assert out.splitlines()[-1].endswith("tensors given back after their last use save 7.50 KiB")


def test_json_of_a_graph(capsys: pytest.CaptureFixture[str]) -> None:
    found = numbers(capsys, TWO_DEVICES, "--planner", "ggml")
    parts = found["buffers"]
    assert [one["buffer"] for one in parts] == ["GPU0", "CPU"]
    for key in ("peak", "bound", "waste", "proved_bound"):
        assert found[key] == sum(one[key] for one in parts)
    assert (found["saving"], found["solved"]) == (0, True)
    assert len(found["offsets"]) == sum(len(one["offsets"]) for one in parts)


def test_ggml_of_a_graph_is_what_stats_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = numbers(capsys, TWO_DEVICES, "--planner", "ggml")
    assert main(["stats", str(TWO_DEVICES), "--json"]) == 0
    devices = json.loads(capsys.readouterr().out)["devices"]
    assert [(one["buffer"], one["peak"]) for one in found["buffers"]] == [
        (device["name"], device["compute_bytes"]) for device in devices
    ]


def test_options_of_a_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = numbers(capsys, TWO_DEVICES, "--planner", "offsets_by_size")
    apart = numbers(capsys, TWO_DEVICES, "--planner", "offsets_by_size", "--no-in-place")
    assert len(apart["offsets"]) > len(whole["offsets"])
    one = numbers(capsys, TWO_DEVICES, "--planner", "offsets_by_size", "--buffer", "CPU")
    assert one["peak"] == whole["buffers"][1]["peak"]
    ordered = numbers(capsys, TWO_DEVICES, "--planner", "offsets_by_size", "--order", "kahn")
    assert ordered["solved"]
    out = tmp_path / "plan.csv"
    code, _, err = plan(capsys, TWO_DEVICES, "--planner", "naive", "-o", out)
    assert (code, "choose one with --buffer (GPU0, CPU), or write .json" in err) == (2, True)
    assert plan(capsys, TWO_DEVICES, "--planner", "naive", "-o", out, "--buffer", "GPU0")[0] == 0
    out = tmp_path / "plan.json"
    assert plan(capsys, TWO_DEVICES, "--planner", "naive", "-o", out)[0] == 0
    assert [one["name"] for one in json.loads(out.read_text())["devices"]] == ["GPU0", "CPU"]


def test_a_gguf_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    words = (MODEL, "--graphs", "builder", "--planner", "offsets_by_size", "--device", "cuda:24GiB")
    whole, small = (numbers(capsys, *words, "-ub", size) for size in ("512", "64"))
    assert [one["buffer"] for one in whole["buffers"]] == ["CUDA0", "CPU"]
    assert whole["peak"] > small["peak"]
    code, _, err = plan(capsys, MODEL, "--graphs", "builder", "--planner", "naive", "--mode", "both")
    assert (code, "choose --mode prefill or --mode decode" in err) == (2, True)


def test_files_are_told_apart_by_what_they_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "buffers.json"
    table.write_bytes(gzip.compress(EXAMPLE.encode()))
    assert numbers(capsys, table, "--planner", "naive")["peak"] == 20
    graph = tmp_path / "graph.csv"
    graph.write_bytes(TWO_DEVICES.read_bytes())
    assert len(numbers(capsys, graph, "--planner", "naive")["buffers"]) == 2


REFUSED = [
    (("none.csv",), "none.csv: cannot be read"),
    (("bad.csv",), "bad.csv, line 2: size is 'x', not a whole number"),
    (("good.csv", "--planner", "nave"), "no planner is named 'nave' (did you mean 'naive'?)"),
    (("good.csv", "--capacity", "12apples"), "--capacity: 'apples' is not a unit"),
    (("good.csv", "--capacity", "-1"), "--capacity: '-1' is not a number of bytes"),
    (("good.csv", "--capacity", "1", "--minimize"), "not allowed with argument"),
    (("good.csv", "--time-limit", "soon"), "--time-limit soon: not a number of seconds"),
    (("good.csv", "--time-limit", "nan"), "--time-limit nan: not a number of seconds"),
    (("good.csv", "--node-limit", "0"), "--node-limit 0: not a whole number from 1"),
    (("good.csv", "--seed", "1.5"), "--seed 1.5: not a whole number from 0"),
    (("good.csv", "--alignment", "0"), "--alignment 0: take a number of bytes from 1"),
    (("good.csv", "-o", "plan.txt"), "plan.txt: end the name in .csv or .json"),
    (("good.csv", "-o", "nowhere/plan.csv"), "not a place for a file"),
    (("good.csv", "-c", "512"), "good.csv: -c belongs to GGUF files"),
    (("good.csv", "--order", "kahn"), "good.csv: --order belongs to graphs"),
    (("good.csv", "--no-in-place"), "good.csv: --no-in-place belongs to graphs"),
    (("good.csv", "--run", "1"), "good.csv: --run belongs to graphs"),
    (("good.csv", "--buffer", "GPU0"), "--buffer GPU0: no buffer of that name; there is good.csv"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=[sentence for _, sentence in REFUSED])
def test_bad_input_is_exit_code_2_and_one_sentence(
    words: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "good.csv").write_text(EXAMPLE)
    (tmp_path / "bad.csv").write_text(EXAMPLE.replace("3,4", "3,x"))
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["plan", "--planner", "naive", *words])
    except SystemExit as stop:
        code = int(str(stop.code))
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert sentence in said.err


def test_names_that_cannot_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,lower,upper,size\n\x1b[31mred,0,2,8\n")
    code, out, _ = plan(capsys, path, "--planner", "naive")
    assert (code, "\x1b" in out) == (0, False)


def test_an_interrupt_is_exit_code_130(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("galloscope.app.cli.plan.compare", stop)
    assert main(["plan", str(example), "--planner", "naive"]) == 130


def test_a_graph_over_its_capacity_is_told_with_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = plan(capsys, TWO_DEVICES, "--planner", "naive", "--capacity", "1KiB")
    assert code == 1
    assert "GPU0: naive: no plan fits into 1024 bytes" in err
    assert "too large" in out.partition("all together")[2]


def test_an_option_that_changes_nothing_leaves_ggmls_own_plan(capsys: pytest.CaptureFixture[str]) -> None:
    plain, same, changed = (
        json.loads(plan(capsys, TWO_DEVICES, "--planner", "ggml", "--json", *more)[1])
        for more in ((), ("--alignment", "1", "--max-chunk", "0"), ("--alignment", "4096"))
    )
    assert same["peak"] == plain["peak"]
    assert same["offsets"] == plain["offsets"]
    assert "the graph's own plan" in changed["note"]


def test_alignments_without_a_common_multiple_in_range_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "far.csv"
    path.write_text("id,lower,upper,size,alignment\na,0,2,1,16777217\nb,0,2,1,16777217\n")
    code, _, err = plan(capsys, path, "--alignment", "1TiB")
    assert code == 2
    assert "far.csv" in err
