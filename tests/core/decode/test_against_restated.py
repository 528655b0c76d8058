"""The engine against the plain restatement: random sessions, every decision equal."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given, settings

from galloscope.core.decode.record import record
from galloscope.core.decode.script import Script
from galloscope.core.decode.session import play
from galloscope.core.errors import InputError
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.restated import restate
from galloscope.tests.core.decode.restated_models import facts_of
from galloscope.tests.core.decode.session_strategies import sessions

SOAK = settings().max_examples > 1000
EXAMPLES = settings(max_examples=3000 if SOAK else 30)
FEW = settings(max_examples=1000 if SOAK else 15)


def agree(script: Script) -> dict[str, Any]:
    """Both decide the same; what they decided."""
    wanted = restate(script, facts_of(script.model))
    try:
        got = record(play(script, header_of(script.model)))
    except InputError:
        if not wanted["abort"]:
            raise
        return wanted
    assert bool(got.get("abort")) == bool(wanted["abort"]), (got.get("abort"), wanted["abort"])
    if wanted["init"].get("n_copies"):
        same(got["init"], wanted["init"], "init")
    assert len(got["steps"]) >= len(wanted["steps"])
    for i, step in enumerate(wanted["steps"]):
        same(got["steps"][i], step, f"steps[{i}]")
    return wanted


def same(got: Any, wanted: Any, where: str) -> None:
    """Every key of the restatement stands in the record with an equal value."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            if key == "reserves" and not value:
                assert not got.get(key), where
            elif key == "ret":
                assert repr(got.get(key)) == repr(value), (where, key, got.get(key), value)
            else:
                assert key in got, (where, key)
                same(got[key], value, f"{where}.{key}")
    elif isinstance(wanted, list):
        assert len(got) == len(wanted), (where, got, wanted)
        for i, (one, other) in enumerate(zip(got, wanted, strict=True)):
            same(one, other, f"{where}[{i}]")
    else:
        assert got == wanted, (where, got, wanted)


def tell(wanted: dict[str, Any]) -> None:
    """What the example was good for, in hypothesis's statistics."""
    ubatches = [u for step in wanted["steps"] for u in step["ubatches"]]
    event(f"reused: {any(u['reused'] for u in ubatches)}")
    event(f"an input refuses: {any((u['can_reuse'] or {}).get('params_ok') and not u['reused'] for u in ubatches)}")
    for ret in {str(step["ret"]) for step in wanted["steps"]}:
        event(f"ret {ret}")


@EXAMPLES
@given(script=sessions(max_devices=0))
def test_sessions_on_the_cpu(script: Script) -> None:
    tell(agree(script))


@FEW
@given(script=sessions(max_devices=2))
def test_sessions_on_devices(script: Script) -> None:
    tell(agree(script))


@FEW
@given(script=sessions(max_devices=0, deadly=True))
def test_sessions_that_may_end_the_process(script: Script) -> None:
    tell(agree(script))
