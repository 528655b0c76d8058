"""docs/decode.md: outputs and pictures are what the commands give today, and the questions it promises have answers."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from galloscope.core.native.capture import available

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = (
    "Why is n_ubatch in the compute buffer when I run one prompt?",
    "Why did another GPU give out of memory instead of room?",
    "Why is so much reserved for logits that I never read?",
    "Why did llama-bench need 505 MiB and, once mended, 132?",
    "Where do pipeline copies go, and how do I turn them off?",
    "Why exactly four masks per device?",
    "Which rule turns pipeline parallelism on?",
    "Why many splits for 512 tokens and few for one?",
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("decode_doc", ROOT / "scripts" / "decode_doc.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(bool(available()), reason=available())
def test_outputs_and_pictures_are_those_of_today(script: ModuleType) -> None:
    page = script.OUT.read_text(encoding="utf-8")
    text, pictures = script.made(page)
    assert text == page
    assert pictures
    assert set(re.findall(r"!\[[^]]*\]\((.+?)\)", page)) == set(pictures)
    for name, data in pictures.items():
        assert (ROOT / "docs" / name).read_bytes() == data, name
        assert len(data) < 60_000, name


def test_every_block_is_a_command_or_a_script(script: ModuleType) -> None:
    page = script.OUT.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 20
    for kind, text in blocks:
        assert text.startswith("# " if kind == "yaml" else "$ galloscope "), text


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_a_command_its_output_and_a_few_sentences(question: str, script: ModuleType) -> None:
    page = script.OUT.read_text(encoding="utf-8")
    answer = page.split(f"### {question}\n")[1].split("\n### ")[0].split("\n## ")[0]
    block = re.search(r"```\n\$ galloscope .+\n(?:.+\n)+", answer)
    assert block is not None
    prose = re.sub(r"```.*?```", "", answer, flags=re.DOTALL)
    assert len(re.findall(r"[.!](?:\s|$)", prose)) >= 2


def test_filters_mean_what_they_mean_in_a_shell(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "_run", lambda _: "a 1,\n  of a 1\nb\na 2  \nc\n\n")
    printed = script.Printer().printed
    assert printed("galloscope x") == "a 1,\n  of a 1\nb\na 2\nc"
    assert printed('galloscope x | grep -A1 "^a"') == "a 1,\n  of a 1\n--\na 2\nc"
    assert printed("galloscope x | grep a | head -2") == "a 1,\n  of a 1"
    assert printed("galloscope x | grep 'a .,$\\|^c'") == "a 1,\nc"
    with pytest.raises(SystemExit, match="grep nothing: exit code 1"):
        printed("galloscope x | grep nothing")


def test_the_files_are_written_once(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "folder"
    assert script.run([str(folder)]) == 0
    n = len(list(folder.iterdir()))
    assert capsys.readouterr().out == f"{folder}: {n} of {n} files written\n"
    (folder / "chat.yaml").unlink()
    (folder / "mamba.yaml").write_text("mine")
    (folder / "small-llama.gguf").write_text("mine")
    assert script.run([str(folder)]) == 0
    told = f"{folder}: 1 of {n} files written; {n - 1} were there already and stay as they are\n"
    assert capsys.readouterr().out == told
    assert (folder / "mamba.yaml").read_text() == (folder / "small-llama.gguf").read_text() == "mine"
    for words in ([str(folder / "chat.yaml")], ["--help"], ["a", "b"]):
        assert script.run(words) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_without_the_package_the_script_says_what_to_run() -> None:
    isolated = [sys.executable, "-I", "-S", str(ROOT / "scripts" / "decode_doc.py")]
    done = subprocess.run(isolated, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "run .venv/bin/python scripts/decode_doc.py" in done.stderr
    assert done.stderr.count("\n") == 1
