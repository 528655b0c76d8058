"""The re-use test: each condition alone, with both values."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from galloscope.core.decode.events import Check
from galloscope.core.decode.reuse import CONDITIONS, PARAMS, PREFIX, Params, check, inputs_agree
from galloscope.core.decode.ubatch import Ubatch
from galloscope.core.models.shape import GraphShape

UBATCH = Ubatch(
    equal_seqs=True, n_seq_tokens=2, n_seqs=2, seq_id_unq=(0, 1), token=True, embd=False, pos=(0, 1, 0, 1),
    seq=((0,), (0,), (1,), (1,)), out=(False, True, False, True),
)  # fmt: skip
SHAPE = GraphShape(
    n_tokens=4, n_seqs=2, n_seq_tokens=2, n_outputs=2, n_kv=256, n_kv_swa=256, n_stream=2, n_rs=2, rs_head=0, rs_z=-1
)
ALL = tuple(PREFIX + name for name in CONDITIONS)


def asked(ubatch: dict[str, Any] | None = None, shape: dict[str, Any] | None = None, samplers: Any = ()) -> Params:
    replace = msgspec.structs.replace
    return Params(replace(UBATCH, **ubatch or {}), replace(SHAPE, **shape or {}), samplers)


def failed(now: Params, before: Params | None = None, classes: tuple[str, ...] = ALL) -> list[Check]:
    return [one for one in check(before or asked(), now, classes) if not one.holds]


def test_an_equal_micro_batch_agrees_with_everything() -> None:
    checks = list(check(asked(), asked(), ALL))
    assert all(one.holds for one in checks)
    assert [name for name, _ in inputs_agree(checks)] == list(ALL)


@pytest.mark.parametrize(
    ("ubatch", "shape", "name", "values"),
    [
        ({"equal_seqs": False}, {}, "equal_seqs", ("yes", "no")),
        ({"pos": (0, 1, 2), "seq": ((0,),) * 3, "out": (True,) * 3}, {}, "n_tokens", ("4", "3")),
        ({"n_seq_tokens": 1}, {}, "n_seq_tokens", ("2", "1")),
        ({"n_seqs": 4}, {}, "n_seqs", ("2", "4")),
        ({"seq_id_unq": (0, 1, 2)}, {}, "n_seqs_unq", ("2", "3")),
        ({"seq_id_unq": (0, 2)}, {}, "seq_id_unq", ("[0, 1]", "[0, 2]")),
        ({"token": False, "embd": True}, {}, "input", ("tokens", "embeddings")),
        ({}, {"n_outputs": 1}, "n_outputs", ("2", "1")),
        ({}, {"embeddings": True}, "embeddings", ("no", "yes")),
        ({}, {"causal": False}, "causal_attn", ("yes", "no")),
    ],
)
def test_a_parameter_that_differs_is_told_and_no_input_is_asked(
    ubatch: dict[str, Any], shape: dict[str, Any], name: str, values: tuple[str, str]
) -> None:
    checks = list(check(asked(), asked(ubatch, shape), ALL))
    wrong = [one for one in checks if not one.holds]
    assert [(one.group, one.name, one.active, one.now) for one in wrong] == [(PARAMS, name, *values)]
    assert not inputs_agree(checks)


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("n_kv", 512, {("attn_kv", "kq_mask.ne0"), ("attn_kv_iswa", "kq_mask.ne0"), ("mem_hybrid", "kq_mask.ne0")}),
        ("n_kv_swa", 512, {("attn_kv_iswa", "kq_mask_swa.ne0"), ("mem_hybrid_iswa", "kq_mask_swa.ne0")}),
        ("n_stream", 1, {("attn_kv", "kq_mask.ne3"), ("attn_kv", "kq_mask.ne1")}),
        ("n_rs", 3, {("rs", "s_copy.ne0"), ("rs", "s_copy_extra.ne0"), ("mem_hybrid", "s_copy.ne0")}),
        ("rs_head", 1, {("rs", "head"), ("mem_hybrid", "head")}),
        ("rs_z", 0, {("rs", "rs_z"), ("mem_hybrid", "rs_z")}),
    ],
)
def test_an_input_that_differs_is_told_and_the_others_are_asked_all_the_same(
    field: str, value: int, found: set[tuple[str, str]]
) -> None:
    checks = list(check(asked(), asked(shape={field: value}), ALL))
    wrong = {(one.group.removeprefix(PREFIX), one.name) for one in checks if not one.holds}
    assert found <= wrong
    assert [name for name, _ in inputs_agree(checks)] == list(ALL)
    assert {name for name, holds in inputs_agree(checks) if not holds} == {PREFIX + group for group, _ in wrong}


@pytest.mark.parametrize("kind", ["mean", "cls", "attn_no_cache", "cross_embd", "an_input_of_tomorrow"])
def test_inputs_without_a_condition_never_allow_reuse(kind: str) -> None:
    assert [(one.group, one.name) for one in failed(asked(), classes=(PREFIX + kind,))] == [
        (PREFIX + kind, "can_reuse")
    ]


def test_positions_do_not_matter_and_outputs_only_with_samplers() -> None:
    moved = {"pos": (7, 8, 7, 8), "out": (True, False, True, False)}
    assert not failed(asked(moved))
    sampled = ((0, 1),)
    assert [one.name for one in failed(asked(moved, samplers=sampled), asked(samplers=sampled))] == ["output"]
    assert [one.name for one in failed(asked(samplers=((0, 2),)), asked(samplers=sampled))] == ["samplers"]


def test_ids_of_a_simple_split_do_not_matter() -> None:
    simple = asked({"equal_seqs": False, "n_seq_tokens": 1, "n_seqs": 4})
    other = asked({"equal_seqs": False, "n_seq_tokens": 1, "n_seqs": 4, "seq_id_unq": (2, 3)})
    assert not [one for one in failed(other, simple) if one.name == "seq_id_unq"]


def test_embeddings_after_tokens_are_of_another_kind_and_both_fit_neither() -> None:
    both = asked({"token": True, "embd": True})
    assert not failed(both, both)
    assert [one.name for one in failed(both)] == ["input"]
