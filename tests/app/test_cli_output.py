"""Odd places: closed streams, pipes that nobody reads, full disks, names that are no UTF-8, an early interrupt."""

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from galloscope.app import cli
from galloscope.app.cli.output import write_file
from galloscope.core.errors import InputError
from galloscope.tests.corpora import graph_path

LLAMA = str(Path(__file__).resolve().parent.parent / "golden" / "models" / "llama.gguf")
unix = pytest.mark.skipif(sys.platform == "win32", reason="shells and descriptors of Unix")


def shell(line: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command under `sh`, where `"$@"` is galloscope with some words."""
    called = [sys.executable, "-m", "galloscope.app", *words]
    shown = {"capture_output": True, "text": True, "errors": "surrogateescape", "timeout": 60, "check": False}
    return subprocess.run(["sh", "-c", line, "sh", *called], **shown)  # type: ignore[call-overload,no-any-return]


@unix
@pytest.mark.parametrize("words", [("gguf",), ("gguf", "--json"), ("stats", "--json"), ("weights",), ("trace",)])
def test_no_standard_output_is_a_sentence(words: Sequence[str]) -> None:
    done = shell('"$@" >&-', *words, LLAMA)
    assert (done.returncode, done.stderr) == (2, "galloscope: there is no standard output to write to\n")


@unix
def test_closed_streams_are_not_mistaken_for_files(tmp_path: Path) -> None:
    """The model, the pipes of the child process and the output would get the numbers 0 to 2."""
    out = tmp_path / "out.json"
    assert shell('"$@" >&- <&-', "capture", LLAMA, "-o", str(out)).returncode == 0
    assert json.loads(out.read_text())["tensors"]
    assert json.loads(shell('"$@" 2>&- <&-', "trace", LLAMA).stdout)["ok"]


@unix
def test_without_an_error_stream_the_output_stays_clean() -> None:
    done = shell('"$@" 2>&-', "trace", "no such file", LLAMA)
    assert done.returncode == 2
    assert [next(iter(json.loads(line))) for line in done.stdout.splitlines()] == ["error", "graph"]


@unix
def test_a_pipe_that_nobody_reads_is_a_sentence(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"pipe.json: cannot be written \("):
        write_file(pipe, b"text", force=True)
    with pytest.raises(InputError, match=r"pipe.json: exists"):
        write_file(pipe, b"text", force=False)


@unix
def test_a_pipe_that_somebody_reads_is_written_whole(tmp_path: Path) -> None:
    pipe, data, read = tmp_path / "pipe.json", bytes(1 << 20), []
    os.mkfifo(pipe)
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = threading.Thread(target=write_file, args=(pipe, data, True), daemon=True)
    writer.start()
    while select.select([handle], [], [], 30)[0] and (piece := os.read(handle, 1 << 16)):
        read.append(piece)
    writer.join(30)
    os.close(handle)
    assert b"".join(read) == data


def test_a_new_file_that_cannot_be_finished_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fdopen

    def full(handle: int, mode: str) -> object:
        file = real(handle, mode)
        file.close()  # what is written now fails
        return real(os.open(os.devnull, os.O_RDONLY), mode)

    mine, new = tmp_path / "mine.json", tmp_path / "new.json"
    mine.write_text("mine")
    monkeypatch.setattr("galloscope.app.cli.output.os.set_blocking", lambda *_: None)
    monkeypatch.setattr("galloscope.app.cli.output.os.fdopen", full)
    for place in (new, mine):
        with pytest.raises(InputError, match="cannot be written"):
            write_file(place, b"text", force=True)
    assert [one.name for one in tmp_path.iterdir()] == ["mine.json"]


@unix
def test_arguments_that_are_no_utf8() -> None:
    done = shell('"$@" -ot "$(printf \'a\\377=CPU\')"', "trace", LLAMA)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "not UTF-8" in done.stderr


@unix
def test_names_that_cannot_be_shown_are_not(tmp_path: Path) -> None:
    name = tmp_path / "a\x1b[31m\udcff.gguf"
    try:
        name.write_bytes(Path(LLAMA).read_bytes())
    except (OSError, UnicodeError):
        pytest.skip("this file system takes UTF-8 only")
    for words in (("stats",), ("stats", "--json"), ("weights", "--json"), ("gguf", "--json")):
        done = shell('"$@"', *words, str(name), *(["--graphs", "builder"] if words[0] == "stats" else []))
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout
    for more in ((), ("--json",)):
        odd = ("--change", "-ot \x1b]=CPU")
        done = shell('"$@"', "whatif", str(name), *odd, "--graphs", "builder", *more)
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout


@pytest.mark.parametrize("words", [("gguf", "{}"), ("weights", "{}"), ("whatif", "{}", "--change", "-c 8")])
def test_a_file_that_is_not_there_is_not_called_another_kind(
    capsys: pytest.CaptureFixture[str], words: Sequence[str], tmp_path: Path
) -> None:
    assert cli.main([word.format(tmp_path / "none.gguf") for word in words]) == 2
    assert "none.gguf: cannot be read (No such file" in capsys.readouterr().err


def test_an_interrupt_while_a_command_is_loaded_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str, package: str) -> None:
        raise KeyboardInterrupt  # not the signal: it may be ignored where the tests run

    monkeypatch.setattr("galloscope.app.cli.importlib.import_module", interrupted)
    assert cli.main(["stats", str(graph_path("a_best_fit"))]) == 130
