"""The restatement decides what was recorded: all sessions of the real llama.cpp, all decisions."""

from __future__ import annotations

import gzip
import json
from typing import Any

import msgspec
import pytest

from galloscope.core.decode.script import Script
from galloscope.tests.core.decode.restated import restate
from galloscope.tests.core.decode.restated_models import facts_of
from galloscope.tests.corpora import GOLDEN

SESSIONS = sorted(path.name.removesuffix(".session.json") for path in (GOLDEN / "sessions").glob("*.session.json"))


def load(name: str) -> tuple[Script, dict[str, Any]]:
    """A recorded session: the script, and what happened."""
    folder = GOLDEN / "sessions"
    script = msgspec.json.decode((folder / f"{name}.session.json").read_bytes(), type=Script)
    return script, json.loads(gzip.decompress((folder / f"{name}.expect.json.gz").read_bytes()))


def kept(record: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    """Of a record what the other has too."""
    return {key: value for key, value in record.items() if key in like}


@pytest.mark.parametrize("name", SESSIONS)
def test_recorded_session(name: str) -> None:
    script, expect = load(name)
    mine = restate(script, facts_of(script.model))
    assert mine["abort"] == ""
    init = mine["init"]
    assert kept(expect["init"], {k: v for k, v in init.items() if k != "reserves"}) == {
        k: v for k, v in init.items() if k != "reserves"
    }
    assert [kept(r, init["reserves"][0]) for r in expect["init"]["reserves"]] == init["reserves"]
    assert len(expect["steps"]) == len(mine["steps"])
    for recorded, step in zip(expect["steps"], mine["steps"], strict=True):
        assert recorded.get("ret") == step["ret"]
        reserves = step.get("reserves", [])
        assert [kept(r, reserves[0]) for r in recorded.get("reserves", [])] == reserves
        assert len(recorded.get("ubatches", [])) == len(step["ubatches"])
        for one, other in zip(recorded.get("ubatches", []), step["ubatches"], strict=True):
            assert kept(one, other) == other


def test_there_are_sessions() -> None:
    assert len(SESSIONS) >= 60
