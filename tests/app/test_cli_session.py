"""`galloscope session` from outside: the table, the record, presets written down, one sentence for what goes wrong."""

import json
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
    head, reserved, rows, room, total, advice = out.rstrip().split("\n\n")
    assert head.splitlines()[0] == "small: a prompt and an answer"
    assert reserved.startswith("Reserved because the context is made: 3 graphs split to probe; pp of 16 tokens")
    table = [line.split(maxsplit=6) for line in rows.splitlines()[1:]]
    assert [row[0] for row in table] == ["0", "1", "2-6", "-", "7"]
    assert table[1][6].split(maxsplit=3) == ["rebuilt", "81", "1", "n_tokens 10 → 1"]
    assert table[2][6].split() == ["re-used", "81", "1"]
    assert "refused (-1)" in rows
    assert room.splitlines()[1].split()[:5] == ["metadata", "pool", "of", "a", "graph"]
    assert total.splitlines()[0].startswith("6 of 8 ubatches re-used; 1 rebuild because")
    assert advice.startswith("suggestions\n- ")


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
    assert (code, said) == (0, f"{out}: {len(read_script(out).steps)} steps for llama_4l.gguf\n")
    assert session(capsys, out, "--models", MODELS)[1] == session(capsys, "--preset", name, model)[1]
    before = out.read_bytes()
    code, _, err = session(capsys, "--preset", name, model, "--save", out)
    assert (code, err) == (2, f"galloscope: {out}: exists; choose another name\n")
    assert out.read_bytes() == before


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
