"""The fold of a session's log."""

from __future__ import annotations

import typing

import pytest

from galloscope.core.decode import events as ev
from galloscope.core.decode.life import HANDLERS, fold
from galloscope.core.decode.log import LifeLog
from galloscope.core.decode.session import play
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.recordings import NAMES, script_of


def played(name: str) -> LifeLog:
    script = script_of(name)
    return play(script, header_of(script.model))


def test_every_kind_of_event_has_a_handler() -> None:
    assert set(HANDLERS) == set(typing.get_args(ev.DecodeEvent))


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_the_life_are_those_of_the_log(name: str) -> None:
    log = played(name)
    life = fold(log)
    kinds = [type(event) for event in log.events]
    assert len(life.steps) == kinds.count(ev.StepBegin) == kinds.count(ev.StepEnd)
    assert len(life.ubatches) == kinds.count(ev.UbatchBegin)
    assert sum(one.reused for one in life.ubatches) == kinds.count(ev.Reused)
    assert [one.n_reused for one in life.ubatches][-1:] == [kinds.count(ev.Reused)]
    assert sum(one.nodes_built > 0 for one in life.ubatches) == kinds.count(ev.Rebuilt)
    plans = [plan for one in life.reservations for plan in one.plans]
    assert len(plans) == kinds.count(ev.PlanReserved)
    for one in life.ubatches:
        assert one.reused == (one.why is None)
        assert one.reused == (one.asked and all(check.holds for check in one.checks))


def test_addresses_stand_still_until_a_plan_or_a_graph_moves_them() -> None:
    life = fold(played("gpu1-half-grow"))
    for before, one in zip(life.ubatches, life.ubatches[1:], strict=False):
        if one.reused:
            assert (one.address_set, one.address_since) == (before.address_set, before.address_since)
        if one.moved:
            assert one.address_set != before.address_set
            assert one.address_since == one.number
    grown = [one.number for one in life.ubatches if one.moved]
    assert len(grown) == 3
    assert life.ubatches[-1].address_since == grown[-1]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_graph_since_is_where_shape_and_addresses_began(name: str) -> None:
    ubatches = fold(played(name)).ubatches
    for one in ubatches:
        since = ubatches[one.graph_since : one.number + 1]
        assert one.address_since <= one.graph_since <= one.number
        assert {(other.shape, other.address_set) for other in since} == {(one.shape, one.address_set)} or one.reused
        assert {other.address_set for other in since} == {one.address_set}
        if one.graph_since > one.address_since:
            assert ubatches[one.graph_since - 1].shape != one.shape
        if one.reused:
            assert one.graph_since == ubatches[one.number - 1].graph_since


def test_a_kept_plan_keeps_the_addresses_whatever_the_shapes() -> None:
    """n_kv steps from 256 to 512 on one device: the graph is built anew, every tensor stays where it was."""
    life = fold(played("llama-kv-256"))
    step = next(one for one in life.ubatches if one.why is ev.Why.INPUT)
    before = life.ubatches[step.number - 1]
    assert step.failed is not None
    assert (step.failed.name, step.failed.active, step.failed.now) == ("kq_mask.ne0", "256", "512")
    assert step.address_set == before.address_set
    assert step.replanned == ""
    assert not step.moved


def test_the_first_tensor_that_moved_is_named() -> None:
    life = fold(played("gpu1-llama-half"))
    moved = [one.first_moved for one in life.ubatches if one.first_moved]
    assert moved
    for name, before, now in moved:
        assert name
        assert before != now
