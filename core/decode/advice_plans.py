"""Suggestions about plans, reservations and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..explain.sentence import count
from ..text import bytes_text
from .advice import Facts, Suggestion, said, times
from .advice_outputs import worst_case
from .summary import plans_of


def _offload(facts: Facts) -> Iterator[Suggestion]:
    hits = [one for one in facts.life.ubatches if one.replanned == "ids_changed"]
    options = facts.log.setup.options
    if not options.op_offload or not facts.log.script.devices:
        return
    moved = sum(one.bytes_made for one in hits if one.moved)
    cost = f", and buffers of {bytes_text(moved)} were made anew" if moved else ""
    yield from said(
        "op_offload",
        hits,
        f"{times(hits)} planned anew because ops changed their backend{cost}: ops with 32 rows and "
        "more take weights from the CPU to a device (matrix products from 32 tokens on, others, such as norms per "
        "head, earlier), smaller ones do not. `--no-op-offload` keeps them on the CPU; with all layers on devices "
        "(`-ngl 99`) there is nothing to switch.",
    )


def _fit(facts: Facts) -> Iterator[Suggestion]:
    hits = [one for one in facts.life.ubatches if one.replanned == "needs_realloc"]
    grown = [one for one in hits if one.moved]
    cost = f" ({count(len(grown), 'time')} with buffers made anew)" if grown else ""
    yield from said(
        "needs_realloc",
        hits,
        f"{times(hits)} with a graph that did not fit into the plan in force{cost}: a re-plan is made for its own "
        "graph and forgets the reserved worst case, so the next larger graph plans again. What causes the first "
        "re-plan is the thing to avoid.",
        saves=0,
    )


def _reservations(facts: Facts) -> Iterator[Suggestion]:
    again = [one for one in facts.life.reservations[1:] if one.step >= 0]
    for topic, word, cure in (
        ("samplers", "sampler", "set samplers once, before the first batch"),
        ("adapters", "control vector", "leave out calls that change nothing: this one reserves even then"),
        ("adapters", "LoRA", "change adapters as rarely as possible"),
    ):
        hits = [one for one in again if word in one.why]
        if hits:
            plans = sum(plans_of(one) for one in hits)
            text = f"**{count(len(hits), 'reservation')}** ({count(plans, 'plan')}) because of a {word}: {cure}."
            yield Suggestion(topic, text, len(hits))


def _memory(facts: Facts) -> Iterator[Suggestion]:
    shifts = sum(1 for step in facts.life.steps if step.shift_runs)
    if shifts:
        yield Suggestion(
            "shift",
            f"**{count(shifts, 'context shift')}**, each with a graph of its own, a plan of the worst case and a "
            "rebuild: a larger `-c` shifts less often, removing more cells at once does, too, and "
            "`--no-context-shift` never.",
            shifts,
        )
    copies = sum(len(step.copies) for step in facts.life.steps)
    if copies:
        yield Suggestion(
            "seq_cp",
            f"**{count(copies, 'KV stream')}** copied whole because `llama_memory_seq_cp` went from one stream to "
            "another: with `--kv-unified` the sequences share cells, and nothing is copied or planned.",
            copies,
        )


def _space(facts: Facts) -> Iterator[Suggestion]:
    full = sum(1 for step in facts.life.steps if step.refused and step.ret == 1)
    if full:
        text = f"**{count(full, 'batch', 'batches')}** found no slot: a larger `-c`, or remove cells first."
        yield Suggestion("no_slot", text)
    if any(one.dropped >= 0 for one in facts.life.reservations):
        yield Suggestion(
            "pipeline",
            "The buffers did not fit **with pipeline copies**, and the context was planned without: a smaller `-ub` "
            "makes them fit, and a build with `GGML_SCHED_MAX_COPIES=1` does not try.",
        )


PLAN_RULES: tuple[Callable[[Facts], Iterator[Suggestion]], ...] = (
    _offload, _fit, _reservations, _memory, _space, worst_case,
)  # fmt: skip
"""Each looks for its evidence."""
