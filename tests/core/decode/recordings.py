"""The recorded sessions in tests/golden/sessions: scripts, and what the real llama.cpp did with them."""

import gzip
import json
from functools import cache
from typing import Any

from galloscope.core.decode.read import read_script
from galloscope.core.decode.script import Script
from galloscope.tests.corpora import GOLDEN

FOLDER = GOLDEN / "sessions"
NAMES = sorted(path.name.removesuffix(".session.json") for path in FOLDER.glob("*.session.json"))


@cache
def script_of(name: str) -> Script:
    """The script."""
    return read_script(FOLDER / f"{name}.session.json")


@cache
def recording(name: str) -> dict[str, Any]:
    """What llama.cpp did."""
    found: dict[str, Any] = json.loads(gzip.decompress((FOLDER / f"{name}.expect.json.gz").read_bytes()))
    return found


def reservations(name: str) -> list[dict[str, Any]]:
    """Every reserved graph, in order."""
    record = recording(name)
    return [*record["init"]["reserves"], *(one for step in record["steps"] for one in step.get("reserves", []))]


def ubatches(name: str) -> list[dict[str, Any]]:
    """Every micro-batch, in order."""
    return [ubatch for step in recording(name)["steps"] for ubatch in step["ubatches"]]
