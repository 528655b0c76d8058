"""The README's example prints what the README says."""

import re
import shlex
from pathlib import Path

import pytest

from galloscope.app.cli import main

ROOT = Path(__file__).resolve().parent.parent


def test_the_example_is_true(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```\n\$ \.venv/bin/galloscope (.+)\n((?:.+\n)+)```", text)
    assert examples
    for command, printed in examples:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out == printed
