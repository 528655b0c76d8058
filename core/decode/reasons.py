"""Why a micro-batch was rebuilt, as one of few kinds: what words, totals and suggestions are grouped by."""

from __future__ import annotations

from typing import NamedTuple

from .events import Check, Why
from .life import Life, UbatchSeen
from .reuse import PARAMS


class Reason(NamedTuple):
    """A kind of rebuild.

    Attributes:
        key: short and stable: n_tokens, n_kv, reserved ...
        because: ends the sentence "31 rebuilds because ...".
    """

    key: str
    because: str


BECAUSE = {
    "disabled": "graph re-use is disabled",
    "first": "the context had no graph yet",
    "reserved": "a new reservation left no graph active",
    "memory": "a memory update left no graph active",
    "lost": "the graph before could not be allocated",
    "slot": "graphs with and without outputs took turns",
    "input": "token and embedding inputs took turns",
    "embeddings": "the context was switched between logits and embeddings",
    "causal_attn": "causal attention was switched",
    "samplers": "the samplers in the graph, or the tokens they sample, were others",
    "n_seqs": "another number of sequences took part",
    "n_tokens": "the number of tokens changed",
    "equal_seqs": "the batch was split in another way",
    "seq_ids": "other sequences took part",
    "n_outputs": "the number of outputs changed",
    "n_kv": "n_kv changed",
    "streams": "other KV streams took part",
    "recurrent": "recurrent states began, ended or moved",
    "never": "an input of the graph never allows re-use",
    "other": "another condition failed",
}
"""Every kind, in no order."""

_INPUT_NAMES = {
    "ne0": "n_kv",
    "ne1": "n_tokens",
    "ne3": "streams",
}


def reason_of(life: Life, number: int) -> Reason | None:
    """The kind of one micro-batch, None where the graph was used again."""
    one = life.ubatches[number]
    if one.reused or one.why is None:
        return None
    key = _key(life, one)
    return Reason(key, BECAUSE[key])


def _key(life: Life, one: UbatchSeen) -> str:
    if one.why is Why.DISABLED:
        return "disabled"
    if one.why is Why.OTHER_SLOT:
        return "slot"
    if one.why is Why.NO_ACTIVE:
        return _no_active(life, one)
    return _params(one) if one.why is Why.PARAMS else _input(one)


def _no_active(life: Life, one: UbatchSeen) -> str:
    if one.number == 0:
        return "first"
    before = life.ubatches[one.number - 1]
    if before.status == -2:
        return "lost"
    steps = (
        life.steps[before.step + 1 : one.step + 1] if one.step > before.step else life.steps[one.step : one.step + 1]
    )
    if any(step.shift_runs or step.copies for step in steps):
        return "memory"
    return "reserved" if any(step.reservations for step in steps) else "lost"


def _params(one: UbatchSeen) -> str:
    """The most telling of the parameters that differ: what the user did, before what follows from it."""
    failed = {check.name: check for check in one.checks if check.group == PARAMS and not check.holds}
    for name in ("input", "embeddings", "causal_attn"):
        if name in failed:
            return name
    if "n_seqs_unq" in failed and _same_share(one):
        return "n_seqs"
    for name, key in (
        ("n_tokens", "n_tokens"),
        ("n_seqs_unq", "n_seqs"),
        ("n_seqs", "n_seqs"),
        ("n_seq_tokens", "n_tokens"),
        ("seq_id_unq", "seq_ids"),
        ("n_outputs", "n_outputs"),
        ("equal_seqs", "equal_seqs"),
        ("samplers", "samplers"),
        ("output", "samplers"),
        ("seq_id", "samplers"),
    ):
        if name in failed:
            return key
    return "other"


def _same_share(one: UbatchSeen) -> bool:
    """Each sequence has as many tokens as in the active graph: sequences came or went, no prompt did."""
    values = {check.name: (check.active, check.now) for check in one.checks if check.group == PARAMS}
    tokens, seqs = values.get("n_tokens", ("", "")), values.get("n_seqs_unq", ("", ""))
    if not all(text.isdecimal() for text in (*tokens, *seqs)):
        return False
    return int(tokens[0]) * int(seqs[1]) == int(tokens[1]) * int(seqs[0])


def _input(one: UbatchSeen) -> str:
    failed = one.failed
    if failed is None:
        return "other"
    if failed.name == "can_reuse":
        return "never"
    name, _, part = failed.name.partition(".")
    if name.startswith("kq_mask"):
        return _INPUT_NAMES.get(part, "other")
    if name in ("s_copy", "s_copy_main", "s_copy_extra", "head", "rs_z"):
        return "recurrent"
    return {"tokens": "n_tokens", "embd": "n_tokens", "pos": "n_tokens", "k_idxs": "n_tokens", "k_idxs_swa": "n_tokens",
            "n_outputs": "n_outputs", "samplers": "samplers"}.get(name, "other")  # fmt: skip


def n_kv_step(one: UbatchSeen) -> int | None:
    """By how many cells n_kv changed, where that is why; the first mask that differs counts."""
    check = one.failed
    if check is None or not check.name.startswith("kq_mask") or not check.name.endswith(".ne0"):
        return None
    return int(check.now) - int(check.active) if check.now.isdecimal() and check.active.isdecimal() else None


def leading_check(life: Life, number: int) -> Check | None:
    """The failed condition that the reason is named after, else the first; None where no condition failed."""
    reason = reason_of(life, number)
    wanted = {"n_seqs": "n_seqs_unq", "seq_ids": "seq_id_unq"}.get(reason.key, reason.key) if reason else ""
    failed = [check for check in life.ubatches[number].checks if not check.holds]
    return next((check for check in failed if check.name == wanted), failed[0] if failed else None)


def short_reason(life: Life, number: int) -> str:
    """Why, for a cell of a table: `n_tokens 10 → 1`; empty where the graph was used again."""
    reason = reason_of(life, number)
    if reason is None:
        return ""
    check = leading_check(life, number)
    if check is None:
        one = life.ubatches[number]
        slot = f"outputs {life.ubatches[number - 1].ubatch.n_outputs} → {one.ubatch.n_outputs}: the other result object"
        return slot if one.why is Why.OTHER_SLOT and number else reason.because
    if check.name == "can_reuse":
        return f"{check.group} never allows it"
    return f"{check.name} {check.active} → {check.now}"
