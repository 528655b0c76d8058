"""`galloscope generate` from outside: tokens with margins and times; llama.cpp's verdict where it is there."""

import json
from pathlib import Path
from typing import Any

import pytest

from galloscope.app.cli import main
from galloscope.app.cli.generate_text import margin_of, shown_piece, token_pieces
from galloscope.core.gguf.read import parse_header
from galloscope.core.models.made_up import MadeUp
from galloscope.core.native.capture import available
from galloscope.tests.core.execute.written import write_model
from galloscope.tests.core.gguf.plain import ARRAY, STRING, entry, gguf

SMALL = ("-c", "256", "-ub", "32")
native = pytest.mark.skipif(bool(available()), reason="the real llama.cpp is not installed")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "small.gguf", MadeUp(n_layer=1))


def generate(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main(["generate", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def numbers(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    code, out, err = generate(capsys, *words, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_line_per_token_then_where_the_time_went(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    code, out, err = generate(capsys, model, "--tokens", "1,2, 3", "-n", "4", *SMALL)
    assert (code, err) == (0, "")
    tokens, speed, ops = out.rstrip().split("\n\n")
    assert tokens.splitlines()[0].split() == ["step", "token", "logit", "margin", "time"]  # it has no vocabulary
    assert [line.split()[0] for line in tokens.splitlines()[1:]] == ["0", "1", "2", "3"]
    assert speed.splitlines()[0].startswith("prompt of 3 tokens: ")
    assert speed.splitlines()[1].startswith("3 tokens after it: ")
    assert speed.splitlines()[1].endswith(" tokens/s")
    assert "MUL_MAT" in ops


@pytest.mark.parametrize("flash", ["on", "off"])
def test_checks_change_nothing(capsys: pytest.CaptureFixture[str], model: Path, flash: str) -> None:
    words = (model, "--tokens", "5,6,7,8", "-n", "3", "-fa", flash, *SMALL)
    plain, watched = numbers(capsys, *words), numbers(capsys, *words, "--poison", "--guard")
    assert (len(plain["tokens"]), plain["flash_attn"], plain["equal"]) == (3, flash, None)
    assert plain["tokens"] == watched["tokens"]
    assert [one["logit"] for one in plain["steps"]] == [one["logit"] for one in watched["steps"]]
    assert all(one["margin"] >= 0 for one in plain["steps"])


def test_a_prompt_in_micro_batches_is_the_same_prompt(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    prompt = ",".join(str(token) for token in range(40))
    whole, pieces = (
        numbers(capsys, model, "--tokens", prompt, "-n", "2", "-c", "256", "-ub", ub, "--exact") for ub in ("64", "16")
    )
    assert whole["tokens"] == pieces["tokens"]
    assert whole["steps"][0]["logit"] == pytest.approx(pieces["steps"][0]["logit"], abs=1e-5)


@native
def test_llama_cpp_chooses_the_same(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    words = (model, "--tokens", "1,2,3", "-n", "4", "--compare", "llama.cpp", *SMALL)
    found = numbers(capsys, *words)
    assert found["equal"]
    assert all(one["llama"] == one["token"] and one["difference"] <= 3e-4 for one in found["steps"])
    code, out, _ = generate(capsys, *words)
    assert (code, out.splitlines()[0].split()[-2:]) == (0, ["llama.cpp", "difference"])
    assert "4 of 4 tokens as llama.cpp chooses them, logits within " in out


@native
def test_another_model_is_told_apart(capsys: pytest.CaptureFixture[str], model: Path, monkeypatch: Any) -> None:
    """The comparison can fail: it is fed with what llama.cpp does with other weights."""
    from galloscope.core.native import observe as door

    other = write_model(model.parent / "other.gguf", MadeUp(n_layer=1), seed=9)
    real = door.observe
    monkeypatch.setattr(door, "observe", lambda path, *rest, **more: real(other, *rest, **more))
    code, out, _ = generate(capsys, model, "--tokens", "1,2,3", "-n", "4", "--compare", "llama.cpp", *SMALL)
    assert code == 1
    assert "first other at step " in out
    assert " ! " in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tokens", "1,x"), "--tokens 'x': token ids are whole numbers, as in 1,2,3"),
        (("--tokens", ""), "--tokens '': token ids are whole numbers"),
        (("--tokens", "256"), "token 256 is not in the vocabulary of 256 tokens (0 to 255)"),
        (("--tokens", "1", "-n", "0"), "-n 0: not a whole number from 1"),
        (("--tokens", "1", "-n", "300"), "the context has 256: ask for more (-c)"),
        (("--tokens", "1", "--mode", "decode"), "--mode: galloscope generate has no such option\n"),
        (("--tokens", "1", "--n-tokens", "2"), "--n-tokens: galloscope generate has no such option\n"),
        (("--tokens", "1", "--backend", "digest"), "--backend digest: it computes no logits"),
        (("--tokens", "1", "-np", "2"), "-np 2: one sequence is generated"),
    ],
)
def test_what_cannot_be_asked(
    capsys: pytest.CaptureFixture[str], model: Path, words: tuple[str, ...], told: str
) -> None:
    code, out, err = generate(capsys, model, "-c", "256", *words)
    assert (code, out, err.count("\n"), told in err) == (2, "", 1, True), err


def test_a_file_that_is_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    here = Path(__file__)
    assert generate(capsys, here, "--tokens", "1") == (2, "", f"galloscope: {here}: not a GGUF file\n")
    header = here.parent.parent / "golden" / "models" / "llama.gguf"
    code, _, err = generate(capsys, header, "--tokens", "1")
    assert (code, err.count("\n"), "the file ends with its header" in err) == (2, 1, True)


def test_help_offers_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["generate", "-h"])
    said = capsys.readouterr().out
    assert "--flash-attn" in said
    assert not [one for one in ("--mode", "--graphs", "--n-tokens", "--n-outputs") if one in said]


def test_an_architecture_without_builder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = (Path(__file__).parent.parent / "golden" / "models" / "llama.gguf").read_bytes()
    path = tmp_path / "bloom.gguf"
    path.write_bytes(data.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0bloom", 1))
    code, _, err = generate(capsys, path, "--tokens", "1")
    assert (code, err.count("\n"), "there is none for 'bloom'; `galloscope run` and" in err) == (2, 1, True), err


def test_the_checks_have_a_verdict(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    sound = "Sound: in every graph of 2 steps every byte read was still its owner's"
    for words, told in (
        (("--guard",), f"{sound}\n"),
        (("--guard", "--poison"), f"{sound}; no poison reached a logit\n"),
        (("--poison",), "No poison: nothing that was freed or never written reached a logit\n"),
    ):
        assert told in generate(capsys, model, "--tokens", "1,2", "-n", "2", *words, *SMALL)[1]
    assert "Sound" not in generate(capsys, model, "--tokens", "1,2", "-n", "2", *SMALL)[1]


def test_logits_that_are_no_numbers(capsys: pytest.CaptureFixture[str], model: Path, monkeypatch: Any) -> None:
    from galloscope.core.execute.generate import Generator

    real = Generator._logits
    monkeypatch.setattr(Generator, "_logits", lambda self: real(self) * float("nan"))
    out = generate(capsys, model, "--tokens", "1,2", "-n", "2", "--poison", "--guard", *SMALL)[1]
    assert "! logits that are no numbers in 2 steps, first in step 0\nSound: " in out
    assert "no poison" not in out


@pytest.mark.parametrize(
    ("text", "shown"),
    [("the", "the"), ("\n", r"'\n'"), (" ", "' '"), (" a", "' a'"), ("", "''"), ("\udcff", r"'\xff'"), ("…", "…")],
)
def test_pieces_that_would_not_be_seen_are_quoted(text: str, shown: str) -> None:
    assert token_pieces({"tokenizer.ggml.tokens": ("x", text)}).of(1) == shown_piece(text) == shown


def test_a_piece_that_is_no_utf8() -> None:
    words = [b"\xff\xfe", *(f"t{k}".encode() for k in range(5000))]
    header = parse_header(gguf([entry("tokenizer.ggml.tokens", ARRAY, (STRING, words))], []), "x")
    pieces = token_pieces(header.metadata)
    assert (pieces.of(0), pieces.of(5000)) == (r"'\xff\xfe'", "t4999")


def test_the_margin_is_that_of_the_second_best() -> None:
    assert margin_of([1.0, 5.0, 3.0], 1) == 2.0
    assert margin_of([1.0, 5.0, 5.0], 1) == 0.0
    assert margin_of([4.0], 0) == 0.0
