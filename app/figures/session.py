"""A session as plain data: ubatches, calls and marks as columns for the canvas, everything else as text."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from ...core.decode.life import Life, Reservation, UbatchSeen
from ...core.decode.log import LifeLog
from ...core.decode.summary import nodes_of, plans_of
from ...core.decode.words import reservation_sentences, step_sentences
from .columns import column
from .session_facts import facts_data
from .session_words import cause_text, step_text

REUSED, REBUILT, REPLANNED, MOVED, STOPPED = range(5)
"""What became of a ubatch, the worst last; `assets/session_data.js` knows the same."""
RESERVE, REFUSED, UPDATE, WAIT = range(4)
"""What happens between ubatches; likewise."""
NO_RESULT = -99
"""In the column `ret`: the call has no result."""


class Cost(NamedTuple):
    """What was paid: nodes built, plans made, bytes of buffers made."""

    nodes: int = 0
    plans: int = 0
    made: int = 0


class Mark(NamedTuple):
    """Something before ubatch `at`, in words, with what it cost."""

    at: int
    kind: int
    text: str
    cost: Cost = Cost()


class Words:
    """Texts by number, each once."""

    def __init__(self) -> None:
        """None but the empty one."""
        self.texts = [""]
        self._known = {"": 0}

    def number(self, text: str) -> int:
        """Of a text, new or known."""
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(text)
        return self._known[text]


def session_scene(log: LifeLog, life: Life) -> dict[str, Any]:
    """Everything the view needs but the details of single ubatches."""
    words = Words()
    marks = marks_of(log, life)
    seen = life.ubatches
    return {
        "name": log.script.name,
        "model": log.script.model,
        "about": log.script.about,
        "abort": life.abort,
        "has_kv": any(one.seen.n_kv for one in seen),
        "ubatches": ubatch_columns(seen, words),
        "steps": _steps(log, life, words),
        "marks": {
            "n": len(marks),
            "at": column((mark.at for mark in marks), "int32"),
            "kind": column((mark.kind for mark in marks), "uint8"),
            "text": column((words.number(mark.text) for mark in marks), "int32"),
            "nodes": column((mark.cost.nodes for mark in marks), "int32"),
            "plans": column((mark.cost.plans for mark in marks), "int32"),
            "made": column((mark.cost.made for mark in marks), "float64"),
        },
        "words": words.texts,
        **facts_data(log, life),
    }


def kind_of(one: UbatchSeen) -> int:
    """What became of a ubatch."""
    if one.status:
        return STOPPED
    if one.moved:
        return MOVED
    if one.replanned:
        return REPLANNED
    return REUSED if one.reused else REBUILT


def ubatch_columns(seen: list[UbatchSeen], words: Words) -> dict[str, Any]:
    """One row per ubatch."""
    return {
        "n": len(seen),
        "kind": column((kind_of(one) for one in seen), "uint8"),
        "tokens": column((one.ubatch.n_tokens for one in seen), "int32"),
        "outputs": column((one.ubatch.n_outputs for one in seen), "int32"),
        "seqs": column((one.ubatch.n_seqs_unq for one in seen), "int32"),
        "n_kv": column((one.seen.n_kv for one in seen), "int32"),
        "run": column((one.run for one in seen), "int32"),
        "nodes": column((one.nodes_built for one in seen), "int32"),
        "made": column((one.bytes_made for one in seen), "float64"),
        "plans": column((int(bool(one.replanned)) for one in seen), "int32"),
        "since": column((one.address_since for one in seen), "int32"),
        "step": column((one.step for one in seen), "int32"),
        "reason": column((words.number(cause_text(one)) for one in seen), "int32"),
    }


def _steps(log: LifeLog, life: Life, words: Words) -> dict[str, Any]:
    texts = [words.number(step_text(step)) for step in log.script.steps]
    places = step_places(life)
    return {
        "n": len(life.steps),
        "first": column((first for first, _ in places), "int32"),
        "last": column((last for _, last in places), "int32"),
        "label": column((texts[step.step] for step in life.steps), "int32"),
        "ret": column((NO_RESULT if step.ret is None else step.ret for step in life.steps), "int32"),
    }


def step_places(life: Life) -> list[tuple[int, int]]:
    """The ubatches of each call; one without any stands behind those before it."""
    places, end = [], 0
    for step in life.steps:
        first, last = step.ubatches
        if last <= first:
            first = last = end
        end = max(end, last)
        places.append((first, last))
    return places


def marks_of(log: LifeLog, life: Life) -> list[Mark]:
    """Everything between ubatches, in order, in the words of core/decode/words.py."""
    made: list[Mark] = []
    for one in life.reservations:
        if one.step < 0:
            cost = reservation_cost(one)
            for sentence in reservation_sentences(one):
                made.append(Mark(0, RESERVE, sentence.text, cost))
                cost = Cost()
    for number, (first, _) in enumerate(step_places(life)):
        made += _marks_of_step(life, number, first, step_text(log.script.steps[life.steps[number].step]))
    return made


_MARKS = {"refused": REFUSED, "not_removed": REFUSED, "shift": UPDATE, "copies": UPDATE, "reserve": RESERVE,
          "dropped": RESERVE, "synchronized": WAIT}  # fmt: skip


def _marks_of_step(life: Life, number: int, at: int, text: str) -> list[Mark]:
    step = life.steps[number]
    costs = iter([reservation_cost(life.reservations[one]) for one in step.reservations])
    made: list[Mark] = []
    usual = len(step.synchronized) <= sum(one.reused for one in life.ubatches[slice(*step.ubatches)])
    for sentence in step_sentences(life, number):
        if sentence.topic == "synchronized" and (usual or made):
            continue  # each re-use of a pipeline waits once, and so does every reservation
        cost = next(costs, Cost()) if sentence.topic == "reserve" else Cost()
        lead = f"{text}: " if _MARKS[sentence.topic] == REFUSED else ""
        made.append(Mark(at, _MARKS[sentence.topic], f"{lead}{sentence.text}", cost))
    return made


def reservation_cost(one: Reservation) -> Cost:
    """What all its graphs cost."""
    made = chain.from_iterable(plan.facts.buffers_made for plan in one.plans)
    return Cost(
        nodes_of(one),
        plans_of(one),
        sum(size for _, size in made),
    )
