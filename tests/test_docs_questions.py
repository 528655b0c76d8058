"""The answers in docs/questions.md are what the commands print today."""

import importlib.util
from pathlib import Path

import pytest

from galloscope.core.native.capture import available

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(bool(available()), reason=available())
def test_the_questions_are_answered_as_written() -> None:
    spec = importlib.util.spec_from_file_location("questions", ROOT / "scripts" / "questions.py")
    assert spec is not None
    assert spec.loader is not None
    questions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(questions)
    assert questions.text() == questions.OUT.read_text(encoding="utf-8")
    assert {one.number for one in questions.QUESTIONS} == {1, 2, 3, 20, 21, 22}
