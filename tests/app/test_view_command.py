"""`galloscope view`: what stops it before it serves."""

import socket
from pathlib import Path

import pytest

from galloscope.app.cli import main
from galloscope.app.cli.view import listen, open_first, source_of
from galloscope.app.samples import FIRST, SESSIONS, find_sample
from galloscope.app.session_open import open_life
from galloscope.app.sessions import Opened, SessionStore


def test_a_busy_port_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["view", "--no-browser", "--port", str(port)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"cannot listen on 127.0.0.1:{port}" in told


def test_a_bad_file_is_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    assert main(["view", str(bad), "--no-browser"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"galloscope: {bad}: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_out_of_range_is_a_sentence(capsys: pytest.CaptureFixture[str], port: str) -> None:
    assert main(["view", "--no-browser", "--port", port]) == 2
    assert "0 to 65535" in capsys.readouterr().err


def test_port_zero_takes_a_free_one() -> None:
    with listen("127.0.0.1", 0) as listening:
        assert listening.getsockname()[1] > 0


def test_a_sample_by_its_path_is_the_sample(tmp_path: Path) -> None:
    assert source_of(None) == f"sample:{FIRST}"
    assert source_of(str(find_sample("lesson-in-place").path)) == "sample:lesson-in-place"
    assert source_of(str(tmp_path / "x.json")) == f"path:{tmp_path / 'x.json'}"


def test_a_session_that_cannot_be_played_is_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "one.yaml"
    script.write_text("model: nowhere.gguf\nsteps:\n  - decode: [{seq: 0}]\n")
    assert main(["view", str(script), "--no-browser"]) == 2
    told = capsys.readouterr().err
    assert "the model 'nowhere.gguf' of the session is missing" in told
    assert told.count("\n") == 1


def test_the_folder_of_models_has_to_be_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["view", "--no-browser", "--models", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"galloscope: --models {tmp_path / 'none'}: not a folder\n"


def test_the_folder_of_models_is_used_before_it_serves(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "one.yaml"
    script.write_text("model: small-llama.gguf\nsteps:\n  - decode: [{seq: 0}]\n")
    monkeypatch.chdir(SESSIONS.parent)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["view", str(script), "--no-browser", "--port", port, "--models", SESSIONS.name]) == 2
    assert "cannot listen on" in capsys.readouterr().err  # the session was played, and only the port is missing


def test_a_session_is_played_before_the_page_asks() -> None:
    store = SessionStore()
    life = open_life(store, "sample:embedding-requests")
    assert life is not None
    open_first(store, life)
    assert isinstance(open_life(store, "sample:embedding-requests"), Opened)
    assert source_of(str(find_sample("four-slots").path)) == "sample:four-slots"
