"""The laws of a session's log: folding it tells what the engine did, runs obey their law, sharing changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import event, given, settings

from galloscope.core.allocator.gallocr import Gallocr
from galloscope.core.check.checker import check
from galloscope.core.columns import Columns
from galloscope.core.decode import context as engine
from galloscope.core.decode import events as ev
from galloscope.core.decode.life import fold
from galloscope.core.decode.log import LifeLog
from galloscope.core.decode.plans import Act, Plans
from galloscope.core.decode.record import record
from galloscope.core.decode.script import Script
from galloscope.core.decode.session import play
from galloscope.core.models.shape import GraphShape
from galloscope.core.replay import replay
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.session_strategies import sessions
from galloscope.tests.core.decode.test_restated import SESSIONS, load
from galloscope.tests.core.engine import Ended
from galloscope.tests.core.test_law import hold

SOAK = settings().max_examples > 1000
EXAMPLES = settings(max_examples=1000 if SOAK else 12)
Call = Callable[[Columns, Any], bool]


class Watched(Plans):
    """A scheduler whose runs are held to the law as they end, while the engine's own objects are at hand."""

    def _call(self, act: Act) -> Call:
        call = super()._call(act)

        def keep(columns: Columns, say: Any) -> bool:
            self.columns = columns
            return call(columns, say)

        return keep

    def _perform(self, act: Act, shape: GraphShape) -> Any:
        done = super()._perform(act, shape)
        gallocr: Gallocr = self._scheduler.gallocr
        hold(Ended(self._runs[-1].run, self.columns, self._scheduler.splitter, gallocr))
        return done


class Forgetful(Plans):
    """A scheduler that performs everything, however often it came before."""

    def act(self, act: Act, shape: GraphShape) -> Any:
        self._known.clear()
        return super().act(act, shape)


@contextmanager
def instead(kind: type[Plans]) -> Iterator[None]:
    """Sessions are played with this kind of scheduler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "Plans", kind)
        yield


def played(script: Script) -> LifeLog:
    """By the engine."""
    return play(script, header_of(script.model))


def fold_is_the_engine(log: LifeLog) -> None:
    """Counters, and every beginning of the log: its life is the beginning of the life."""
    life = fold(log)
    kinds = [type(one) for one in log.events]
    assert len(life.ubatches) == kinds.count(ev.UbatchBegin)
    assert len(life.steps) == kinds.count(ev.StepBegin)
    assert sum(one.reused for one in life.ubatches) == kinds.count(ev.Reused)
    assert sum(len(one.plans) for one in life.reservations) == kinds.count(ev.PlanReserved)
    if life.ubatches:
        assert life.ubatches[-1].n_reused == kinds.count(ev.Reused)
    for one in life.ubatches:
        assert one.reused != bool(one.why) or one.status == -2
        assert not one.reused or (one.asked and all(check.holds for check in one.checks))
    ends = [at + 1 for at, kind in enumerate(kinds) if kind is ev.StepEnd]
    for end in ends[:: max(1, len(ends) // 4)]:
        part = fold(LifeLog(log.script, log.setup, log.events[:end], log.runs))
        assert part.steps == life.steps[: len(part.steps)]
        assert part.ubatches == life.ubatches[: len(part.ubatches)]
        assert part.reservations == life.reservations[: len(part.reservations)]


@pytest.mark.parametrize("name", SESSIONS[::4])
def test_fold_is_the_engine(name: str) -> None:
    fold_is_the_engine(played(load(name)[0]))


@EXAMPLES
@given(script=sessions())
def test_fold_is_the_engine_on_any_session(script: Script) -> None:
    fold_is_the_engine(played(script))


@pytest.mark.parametrize("name", SESSIONS[::4])
def test_runs_obey_the_law(name: str) -> None:
    with instead(Watched):
        log = played(load(name)[0])
    assert log.runs
    plans_are_sound(log)


@EXAMPLES
@given(script=sessions())
def test_runs_of_any_session_obey_the_law(script: Script) -> None:
    with instead(Watched):
        log = played(script)
    event(f"runs: {min(len(log.runs) // 10 * 10, 50)} or more")
    plans_are_sound(log)


def plans_are_sound(log: LifeLog) -> None:
    """No two tensors that are needed together share bytes in any graph of the session."""
    for number, one in enumerate(log.runs):
        state = replay(one.run)
        if state.abort is None and state.reserved:
            assert not check(state), number


@EXAMPLES
@given(script=sessions())
def test_sharing_runs_changes_nothing(script: Script) -> None:
    shared = played(script)
    with instead(Forgetful):
        alone = played(script)
    assert len(alone.runs) >= len(shared.runs)
    assert record(alone) == record(shared)
