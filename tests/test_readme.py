"""Examples with an output print what README and docs/running.md say."""

import re
import shlex
from pathlib import Path

import pytest

from galloscope.app.cli import main

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("page", ["README.md", "docs/running.md"])
def test_the_examples_are_true(page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / page).read_text(encoding="utf-8")
    examples = re.findall(r"```\n\$ (?:\.venv/bin/)?galloscope (.+)\n((?:[^$\n].*\n)+)```", text)
    assert any(printed.startswith("! Overlap") for _, printed in examples)
    for command, printed in examples:
        assert main(shlex.split(command)) == (1 if printed.startswith("! ") else 0)
        assert capsys.readouterr().out == printed
