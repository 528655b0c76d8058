"""What llama.cpp refused or ended in a session, in words: the calls, each with the sentence that tells why."""

from __future__ import annotations

from typing import Any

from ...core.decode.life import Life, UbatchSeen
from ...core.decode.log import LifeLog
from ...core.decode.words import step_sentences, ubatch_sentences
from ...core.explain.sentence import Sentence
from .session_words import step_text

MOST_TOLD = 50
"""Refusals in the list; equal ones are one."""
TOPICS = ("refused", "not_removed")


def refusals_data(log: LifeLog, life: Life) -> dict[str, Any]:
    """The list, and how many more there are: what ends the process comes first, then all else in order."""
    told: dict[tuple[str, str], dict[str, Any]] = {}
    end = _end(log, life)
    for call, sentence, ubatch in _refused(log, life):
        row = told.setdefault((call, sentence.text), _row(call, sentence, ubatch))
        row["times"] += 1
    rows = [*end, *told.values()]
    return {"rows": rows[:MOST_TOLD], "more": max(0, len(rows) - MOST_TOLD)}


def _row(call: str, sentence: Sentence, ubatch: int, times: int = 0) -> dict[str, Any]:
    """`ubatch`: the one it happened to, -1 for none."""
    return {"call": call, "parts": sentence.parts, "ubatch": ubatch, "times": times}


def _end(log: LifeLog, life: Life) -> list[dict[str, Any]]:
    """Where the process would end: in the last call, or before the first."""
    if not life.abort:
        return []
    call = step_text(log.script.steps[life.steps[-1].step]) if life.steps else "making the context"
    return [_row(call, Sentence("abort", f"**The process ends here**: {life.abort}", alarm=True), -1, 1)]


def _refused(log: LifeLog, life: Life) -> list[tuple[str, Sentence, int]]:
    """Call, sentence and ubatch of everything that was refused, aborted or not allocated."""
    found: list[tuple[str, Sentence, int]] = []
    for number, step in enumerate(life.steps):
        call = step_text(log.script.steps[step.step])
        if step.refused or step.not_removed:
            found += [(call, said, -1) for said in step_sentences(life, number) if said.topic in TOPICS]
        stopped: list[UbatchSeen] = [one for one in life.ubatches[slice(*step.ubatches)] if one.status]
        for one in stopped:
            said = next(said for said in ubatch_sentences(log, life, one.number) if said.topic == "status")
            found.append((call, said, one.number))
    return found
