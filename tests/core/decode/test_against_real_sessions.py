"""The engine against the real llama.cpp, which plays random sessions without computing: decisions, graphs and sizes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given, settings
from msgspec import structs

from galloscope.core.decode.life import Life, PlanSeen, Reservation, fold
from galloscope.core.decode.run_facts import RunFacts
from galloscope.core.decode.script import Script
from galloscope.core.decode.session import play as play_here
from galloscope.core.errors import InputError
from galloscope.core.models.shape import GraphShape
from galloscope.core.native.capture import library_path
from galloscope.core.native.library import WrongBuild
from galloscope.core.native.play import play
from galloscope.core.native.play_messages import Facts, Played, PlayedPlan
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.session_strategies import sessions


def installed() -> bool:
    """The wheel with the real llama.cpp is there."""
    try:
        library_path()
    except WrongBuild:
        return False
    return True


pytestmark = pytest.mark.skipif(not installed(), reason="the xllamacpp wheel is not installed")
SOAK = settings().max_examples > 1000
EXAMPLES = settings(max_examples=3000 if SOAK else 8)


def agree(script: Script) -> str:
    """Both take the session alike; the word for how it ended."""
    header = header_of(script.model)
    real: Played | str
    try:
        real = play(header, script)
    except InputError as error:
        real = str(error)
    try:
        log = play_here(script, header)
    except InputError:
        if not isinstance(real, str):
            raise
        return "refused"
    if isinstance(real, str):
        assert log.abort, f"only the real llama.cpp stops: {real}"
        return "stopped"
    assert not log.abort, f"only the engine stops: {log.abort}"
    compare(real, fold(log))
    return "played"


def compare(real: Played, life: Life) -> None:
    """Step by step."""
    starts = [one for one in life.reservations if one.step < 0]
    compare_plans(real, real.start.reserves, starts, "start")
    assert len(real.steps) == len(life.steps)
    for i, (one, other) in enumerate(zip(real.steps, life.steps, strict=True)):
        where = f"steps[{i}]"
        assert one.ret == other.ret, (where, "ret", one.ret, other.ret)
        compare_plans(real, one.reserves, [life.reservations[k] for k in other.reservations], where)
        mine = life.ubatches[slice(*other.ubatches)]
        assert len(one.ubatches) == len(mine), (where, "ubatches")
        for k, (his, ours) in enumerate(zip(one.ubatches, mine, strict=True)):
            at = f"{where}.ubatches[{k}]"
            decided = {
                "ubatch": (his.ubatch, ours.ubatch),
                "shape": (shown(his.shape), shown(ours.shape)),
                "asked": (his.can_reuse is not None, ours.asked),
                "reused": (his.reused, ours.reused),
                "n_reused": (his.n_reused, ours.n_reused),
                "copies": ((his.n_copies, his.cur_copy, his.next_copy), (ours.n_copies, ours.cur_copy, ours.next_copy)),
            }
            for key, (wanted, got) in decided.items():
                assert wanted == got, (at, key, wanted, got)
            assert ours.facts is not None
            compare_facts(real.facts[his.facts], ours.facts, at)


def shown(shape: GraphShape) -> GraphShape:
    """Without what llama.cpp's own shape does not show: the number of sequences counts where results are pooled, and
    which probe is the one of flash attention is seen from its nodes only."""
    return structs.replace(shape, n_seqs_unq=shape.n_seqs_unq if shape.embeddings else 1, probe_flash=False)


def compare_plans(real: Played, plans: list[PlayedPlan], reservations: list[Reservation], where: str) -> None:
    """Every graph that was reserved."""
    mine: list[PlanSeen] = [plan for one in reservations for plan in one.plans]
    assert len(plans) == len(mine), (where, "reserves", len(plans), len(mine))
    for i, (one, other) in enumerate(zip(plans, mine, strict=True)):
        at = f"{where}.reserves[{i}]"
        assert shown(one.shape) == shown(other.shape), (at, shown(one.shape), shown(other.shape))
        for key in ("n_tokens", "n_seqs", "n_outputs", "ok"):
            assert getattr(one, key) == getattr(other, key), (at, key, getattr(one, key), getattr(other, key))
        compare_facts(real.facts[one.facts], other.facts, at, sized=not one.split_only)


def compare_facts(wanted: Facts, got: RunFacts, where: str, *, sized: bool = True) -> None:
    """One graph: its size, its splits, its inputs, and what was allocated."""
    keys = ["n_nodes", "n_leafs", "splits", "inputs", "sched_nodes", "sched_leafs"]
    for key in [*keys, *(["compute_sizes"] if sized else [])]:
        one: Any = getattr(wanted, key)
        other: Any = getattr(got, key)
        assert tuple(one) == tuple(other) if isinstance(one, tuple) else one == other, (where, key, one, other)


@EXAMPLES
@given(script=sessions(max_devices=0))
def test_sessions_on_the_cpu(script: Script) -> None:
    event(agree(script))


@EXAMPLES
@given(script=sessions(max_devices=2))
def test_sessions_on_devices(script: Script) -> None:
    event(agree(script))


@EXAMPLES
@given(script=sessions(max_devices=0, deadly=True))
def test_sessions_that_may_end_the_process(script: Script) -> None:
    event(agree(script))
