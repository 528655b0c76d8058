"""`galloscope session` from outside: the table, the record, presets written down, one sentence for what goes wrong."""

import json
import shlex
from pathlib import Path

import pytest

from galloscope.app.cli import main
from galloscope.core.decode.presets import PRESETS
from galloscope.core.decode.read import read_script
from galloscope.tests.corpora import GOLDEN

MODELS = GOLDEN / "models"
SESSIONS = GOLDEN / "sessions"
SCRIPT = """\
name: small
about: a prompt and an answer
model: llama.gguf
context: {n_ctx: 512, n_ubatch: 16, flash_attn: off}
steps:
  - decode: [{n: 10}]
  - decode: [{n: 1}]
    repeat: 6
  - decode: [{n: 1, pos: 99}]
  - decode: [{n: 1}]
"""


def session(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main(["session", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def written(folder: Path, text: str = SCRIPT, name: str = "small.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_row_for_each_ubatch_equal_ones_folded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = session(capsys, written(tmp_path), "--models", MODELS)
    assert (code, err) == (0, "")
    head, reserved, rows, room, total = out.rstrip().split("\n\n")
    assert head.splitlines()[0] == "small: a prompt and an answer"
    assert reserved.startswith("Reserved because the context is made: 3 graphs split to probe; pp of 16 tokens")
    table = [line.split(maxsplit=6) for line in rows.splitlines()[1:]]
    assert [row[0] for row in table] == ["0", "1", "2-6", "-", "7"]
    assert table[1][6].split(maxsplit=3) == ["rebuilt", "81", "1", "n_tokens 10 → 1"]
    assert table[2][6].split() == ["re-used", "81", "1"]
    assert "bad batch (-1)" in rows
    assert "n_kv:" not in rows
    assert room.splitlines()[1].split()[:5] == ["metadata", "pool", "of", "a", "graph"]
    assert total.splitlines()[0].startswith("6 of 8 ubatches re-used; 1 rebuild because")


def test_suggestions_come_last(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, f"{SCRIPT}  - clear_cvec: true\n  - decode: [{{n: 1}}]\n")
    advice = session(capsys, path, "--models", MODELS)[1].rstrip().split("\n\n")[-1]
    assert advice.startswith("suggestions\n- 1 reservation (3 plans) because of a control vector")


def test_each_ubatch_by_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = session(capsys, written(tmp_path), "--models", MODELS, "--ubatches")[1]
    assert "ubatch 1, step 1\n  Rebuilt because the number of tokens was 10 and is 1 (n_tokens)." in out
    assert "ubatch 5, step 1\n  Re-used (re-use 4): all 17 conditions hold" in out
    assert "step 2\n  The batch was refused (llama_decode returns -1): " in out


def test_the_record_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = SESSIONS / "llama-basic.session.json"
    code, out, err = session(capsys, path, "--models", MODELS, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    record = json.loads(out)
    assert [one["reused"] for step in record["steps"] for one in step["ubatches"]] == [False, False] + [True] * 5


def test_what_a_file_is_its_content_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    yaml = session(capsys, written(tmp_path), "--models", MODELS)[1]
    assert session(capsys, written(tmp_path, name="small.json"), "--models", MODELS)[1] == yaml
    assert session(capsys, written(tmp_path), "--save", tmp_path / "as.yml")[0] == 0
    assert (tmp_path / "as.yml").read_text().startswith("{")
    assert session(capsys, tmp_path / "as.yml", "--models", MODELS)[1] == yaml


def test_the_model_beside_the_script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "llama.gguf").write_bytes((MODELS / "llama.gguf").read_bytes())
    assert session(capsys, written(tmp_path))[0] == 0


def test_several_devices_have_the_checklist(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    devices = "devices: [{name: GPU0, alignment: 128}, {name: GPU1, alignment: 128}]\nsteps:"
    path = written(tmp_path, SCRIPT.replace("steps:", devices).replace("llama.gguf", "llama_4l.gguf"))
    out = session(capsys, path, "--models", MODELS)[1]
    assert "pipeline parallelism\n✓ more than one GPU" in out
    assert "Pipeline parallelism: 4 copies of each input" in out
    assert "Reserved with 4 pipeline copies" in out


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_played_and_written_down(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    model, out = MODELS / "llama_4l.gguf", tmp_path / "saved.json"
    code, said, _ = session(capsys, "--preset", name, model, "--save", out)
    play = f"play it with: galloscope session {out} --models {MODELS}\n"
    assert (code, said) == (0, f"{out}: {len(read_script(out).steps)} steps for llama_4l.gguf\n{play}")
    assert session(capsys, out, "--models", MODELS)[1] == session(capsys, "--preset", name, model)[1]
    before = out.read_bytes()
    code, _, err = session(capsys, "--preset", name, model, "--save", out)
    assert (code, err) == (2, f"galloscope: {out}: exists; choose another name or say --force\n")
    assert out.read_bytes() == before
    out.write_bytes(b"old")
    assert session(capsys, "--preset", name, model, "--save", out, "--force")[0] == 0
    assert out.read_bytes() == before


def test_what_is_saved_is_played_by_the_line_that_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    (folder / "llama.gguf").write_bytes((MODELS / "llama.gguf").read_bytes())
    monkeypatch.chdir(tmp_path)
    for words in (("--preset", "chat", folder / "llama.gguf"), (written(tmp_path), "--models", folder)):
        for out in ("a chat.json", "-chat.json"):
            code, said, _ = session(capsys, *words, f"--save={out}", "--force")
            lead, line = said.splitlines()[1].split(": ")
            assert (code, lead) == (0, "play it with")
            program, *told = shlex.split(line)
            assert program == "galloscope"
            assert main(told) == 0
            assert "ubatches re-used" in capsys.readouterr().out
    said = session(capsys, written(tmp_path, SCRIPT.replace("llama", "none")), "--save", "b.json")[1]
    assert said.endswith("session b.json --models FOLDER, where FOLDER has none.gguf\n")


def test_a_removal_that_is_refused_has_a_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = SCRIPT.replace("llama.gguf", "mamba.gguf").replace("  - decode: [{n: 1, pos: 99}]", "  - seq_rm: [0, 3, -1]")
    path = written(tmp_path, text)
    out = session(capsys, path, "--models", MODELS)[1]
    row = next(line for line in out.splitlines() if line.startswith("- "))
    assert row.split(maxsplit=2)[2].split("  ")[0] == "removal refused"
    assert row.endswith("a recurrent state cannot be rolled back")
    assert "\n1 removal refused: a recurrent state cannot be rolled back.\n" in out
    every = session(capsys, path, "--models", MODELS, "--ubatches")[1]
    assert "step 2\n  The removal was refused (llama_memory_seq_rm returns false): a recurrent state" in every


def test_a_batch_without_a_slot_has_a_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = SCRIPT.replace("n_ubatch: 16", "n_ubatch: 256").replace("n_ctx: 512", "n_ctx: 256")
    out = session(capsys, written(tmp_path, text.replace("n: 10", "n: 250")), "--models", MODELS)[1]
    assert "bad batch (-1)" in out
    full = text.replace("n: 10", "n: 250").replace("repeat: 6", "repeat: 12")
    assert "no slot (1)" in session(capsys, written(tmp_path, full), "--models", MODELS)[1]


def test_two_numbers_of_cells_are_explained(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, SCRIPT.replace("llama.gguf", "gemma3.gguf"))
    out = session(capsys, path, "--models", MODELS)[1]
    assert "256 + 256" in out
    assert "\nn_kv: cells of layers that attend to all + cells of window layers\n" in out


def test_a_preset_is_played_under_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = (MODELS / "llama_4l.gguf", "--preset", "chat", "-c", "8192", "-ngl", "99", "--device", "cuda:2GiB")
    code, out, err = session(capsys, *words)
    title, about = out.splitlines()[:2]
    assert (code, err) == (0, "")
    assert title.endswith(" Under --device cuda:2GiB -ngl 99 -c 8192.")
    assert about.startswith("llama_4l.gguf, 8,192 cells, 1 sequence, batches of 512, ubatches of 128, ")
    assert about.endswith("on CUDA0, CPU")
    line = "llama-server -m x.gguf -c 8192 -ngl 99 --temp 0.7"
    code, pasted, err = session(capsys, *words[:3], "--device", "cuda:2GiB", "--command", line)
    assert (code, pasted, err) == (0, out, "passed over: -m --temp\n")
    saved = tmp_path / "saved.json"
    assert session(capsys, *words, "--save", saved)[0] == 0
    assert read_script(saved).context.n_ctx == 8192
    assert session(capsys, saved, "--models", MODELS)[1] == out


def test_a_script_is_played_under_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path)
    own = session(capsys, path, "--models", MODELS)[1]
    code, out, err = session(capsys, path, "--models", MODELS, "-fa", "on", "-c", "1024")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == own.splitlines()[0] + " Under -c 1024 -fa on."
    assert "512 cells, 1 sequence, batches of 16, ubatches of 16, flash attention off" in own
    assert "1,024 cells, 1 sequence, batches of 16, ubatches of 16, flash attention on" in out
    assert session(capsys, path, "-fa", "on", "--save", tmp_path / "on.json")[0] == 0
    assert read_script(tmp_path / "on.json").context.flash_attn == "on"


def test_an_abort_is_told_as_such(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, SCRIPT.replace("n: 10", "n: 100"))
    code, out, _ = session(capsys, path, "--models", MODELS)
    assert code == 0
    assert out.rstrip().split("\n\n")[-1] == (
        "The process ends here, in llama.cpp's own words: GGML_ASSERT(n_tokens_all <= cparams.n_batch) failed"
    )
    assert "n_batch" in json.loads(session(capsys, path, "--models", MODELS, "--json")[1])["abort"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("n: 10", "n: ten", "steps[0].decode[0].n: 'ten' is not a whole number from 1 to 1,000,000"),
        ("repeat", "repaet", "steps[1]: there is no key 'repaet' (did you mean 'repeat'?)"),
        ("llama.gguf", "lama.gguf", "the model 'lama.gguf' of the session is missing: looked in "),
        ("steps:", "steps: [", "not YAML: "),
    ],
)
def test_one_sentence_for_what_is_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = written(tmp_path, SCRIPT.replace(old, new))
    code, out, err = session(capsys, path, "--models", MODELS)
    assert (code, out, err.count("\n"), told in err) == (2, "", 1, True), err


def test_what_cannot_be_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, script = MODELS / "llama.gguf", written(tmp_path)
    for words, told in (
        ((model,), "a model and no script; say --preset and one of chat, slots"),
        ((script, "--preset", "chat"), "not a GGUF file; with --preset FILE is the model"),
        ((model, "--preset", "caht"), "'caht' is not a preset (did you mean 'chat'?)"),
        ((script, "--models", tmp_path / "none"), "not a folder"),
        ((tmp_path / "none.yaml",), "No such file"),
        ((script, "--save", tmp_path), "not a place for a file"),
        ((script, "--json", "--ubatches"), "not allowed with"),
        ((script, "--models", MODELS, "-ts", "3,1"), "-ts 3,1: a session divides layers by the memory"),
        ((script, "--models", MODELS, "-b", "4"), "-b 4: steps[0] decodes 10 tokens at once"),
        ((model, "--preset", "chat", "-c", "64"), "-c 64: steps[0] decodes 100 tokens at once"),
        ((script, "--save", "x.json", "-o", "x.svg"), "--save writes the script and plays nothing: leave -o out"),
        ((script, "--save", "x.json", "--json"), "--save writes the script and plays nothing: leave --json out"),
        ((script, "--save", "x.json", "--ubatches"), "plays nothing: leave --ubatches out"),
    ):
        code, out, err = session(capsys, *words)
        assert (code, out, err.count("\n"), told in err) == (2, "", 1, True), err


def test_help_explains_scripts_and_presets(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["session", "-h"])
    said = capsys.readouterr().out
    assert "- decode: [{seq: 0, n: 100}]" in said
    assert all(f"  {name}" in said for name in PRESETS)


def test_a_name_with_control_characters_does_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = written(tmp_path, SCRIPT.replace("name: small", r'name: "a\e[31mb"'))
    out = session(capsys, path, "--models", MODELS)[1]
    assert "\x1b" not in out
    assert out.startswith("a\ufffd[31mb: ")
