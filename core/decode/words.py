"""What happened to a ubatch, a call or a reservation, in sentences with both values of every condition."""

from __future__ import annotations

from ..explain.sentence import Sentence, count, name
from ..text import bytes_text, hex_text
from .events import Reserve, Why
from .life import Life, Reservation, StepSeen, UbatchSeen
from .log import LifeLog
from .meanings import class_words, meaning
from .reasons import leading_check, reason_of
from .reuse import PARAMS

PLAN_WORDS = {
    Reserve.PROBE: "split only, to see which device would run an op",
    Reserve.PREFILL: "prefill, the worst case",
    Reserve.DECODE: "decode, one token a sequence",
}


def ubatch_sentences(log: LifeLog, life: Life, number: int) -> list[Sentence]:
    """One micro-batch: re-used or why not, planned anew or not, moved or not."""
    one = life.ubatches[number]
    found = [_reused(one) if one.reused else _rebuilt(life, one)]
    leading = None if one.reused else leading_check(life, number)
    others = [check for check in one.checks if not check.holds and check is not leading]
    failed = counted(one)
    if failed and not one.reused:
        found.append(Sentence("counted", f"{failed}."))
    if others:
        listed = ", ".join(f"{name(check.name)} {check.active} → {check.now}" for check in others[:6])
        more = f" and {len(others) - 6} more" if len(others) > 6 else ""
        found.append(Sentence("others", f"These differ, too: {listed}{more}."))
    found += [
        sentence for sentence in (_replanned(log, one), _moved(log, one), address_sentence(life, number)) if sentence
    ]
    if one.status:
        found.append(_status(one))
    return found


def counted(one: UbatchSeen) -> str:
    """How many of the conditions that were asked do not hold, as every place that counts them says it."""
    asked, failed = len(one.checks), sum(not check.holds for check in one.checks)
    if not asked:
        return ""
    if not failed:
        return f"All {count(asked, 'condition')} hold"
    return f"{failed:,} of {count(asked, 'condition')} asked {'fails' if failed == 1 else 'fail'}"


def _reused(one: UbatchSeen) -> Sentence:
    held = counted(one)
    return Sentence(
        "reused",
        f"**Re-used** (re-use {one.n_reused:,}): {held[0].lower()}{held[1:]}, so the graph, its plan and every address "
        "stay; only the inputs are set.",
    )


def _rebuilt(life: Life, one: UbatchSeen) -> Sentence:
    failed = leading_check(life, one.number)
    reason = reason_of(life, one.number)
    topic = f"rebuilt-{reason.key}" if reason else "rebuilt"
    if failed is None or one.why not in (Why.PARAMS, Why.INPUT):
        return Sentence(topic, f"**Rebuilt**: {_without_checks(life, one)}")
    told = meaning(failed)
    if failed.name == "can_reuse":
        kind = f"{name(failed.group)} ({class_words(failed.group)})"
        return Sentence(topic, f"**Rebuilt** because {kind} is an input of the graph. {told.so}")
    where = "" if failed.group == PARAMS else f" of {name(failed.group)}"
    return Sentence(
        topic,
        f"**Rebuilt** because {told.what} was **{failed.active}** and is **{failed.now}** "
        f"({name(failed.name)}{where}). {told.so}",
    )


def _without_checks(life: Life, one: UbatchSeen) -> str:
    """Why, where can_reuse was not asked."""
    reason = reason_of(life, one.number)
    key = reason.key if reason else ""
    if key == "disabled":
        return "graph re-use is disabled (`LLAMA_GRAPH_REUSE_DISABLE` is set), so no condition is asked."
    if key == "slot":
        has = (
            "has outputs and the graph before had none"
            if one.ubatch.n_outputs
            else "has no outputs and the graph before had"
        )
        return (
            f"this ubatch {has}; graphs with and without outputs are kept apart, and only the last one built is active."
        )
    if key == "first":
        return "it is the first of this context; reserved graphs are never used again."
    if key == "memory":
        return "positions were shifted or streams copied before it, and after that no graph is active."
    if key == "reserved":
        return f"{_reserved_before(life, one)}; the new scheduler has no active graph."
    return "no graph was active."


def _reserved_before(life: Life, one: UbatchSeen) -> str:
    told = [found.why for found in life.reservations if 0 <= found.step <= one.step]
    return f"there was a new reservation before it ({told[-1]})" if told else "there was a new reservation before it"


def _replanned(log: LifeLog, one: UbatchSeen) -> Sentence | None:
    """Why the plan in force did not do; the other case is worth a word as well."""
    if one.reused or one.facts is None:
        return None
    if not one.replanned:
        return Sentence("kept", "The new graph fits into the **plan in force**: every offset stays as it was planned.")
    changed, needs = one.facts.ids_changed, one.facts.needs_realloc
    if one.replanned == "ids_changed" and changed is not None:
        kind, at, old, new = changed
        names = log.setup.backends
        return Sentence(
            "ids_changed",
            f"**Planned anew**: {kind} {at} went from {_backend(names, old)} to {_backend(names, new)} since the split "
            "before. A plan knows buffers by position in the graph, so it holds for the old backends only.",
        )
    return Sentence("needs_realloc", f"**Planned anew**: {realloc_words(needs)}")


def _backend(names: tuple[str, ...], number: int) -> str:
    return name(names[number]) if 0 <= number < len(names) else "no backend"


def realloc_words(needs: tuple[str | int, ...] | None) -> str:
    """ggml_gallocr_needs_realloc in words.

    >>> realloc_words(("n_nodes", 81, 84))
    'the plan was made for 81 nodes, the graph has 84.'
    """
    match needs:
        case ("n_nodes" | "n_leafs" as what, old, new):
            return f"the plan was made for {old:,} {str(what)[2:]}, the graph has {new:,}."
        case ("node", int(at), str(tensor), int(old), int(new)):
            return f"node {at}, {name(tensor)}, needs {bytes_text(new)}, and the plan has {bytes_text(old)} for it."
        case ("src", int(at), int(which), str(tensor), int(old), int(new)):
            return (
                f"source {which} of node {at}, {name(tensor)}, needs {bytes_text(new)}, and the plan has "
                f"{bytes_text(old)} for it."
            )
        case None:
            return "the graph did not fit into the plan in force."
    return "the graph did not fit into the plan in force: " + " ".join(str(part) for part in needs) + "."


def _moved(log: LifeLog, one: UbatchSeen) -> Sentence | None:
    if not one.moved or one.facts is None:
        return None
    bufts = log.setup.bufts
    listed = ", ".join(
        f"{name(bufts[number]) if number < len(bufts) else number} {bytes_text(size)}"
        for number, size in one.facts.buffers_made
    )
    return Sentence(
        "moved", f"**Buffers were made anew**: {listed}. What lay in them has other addresses now.", alarm=True
    )


def address_sentence(life: Life, number: int) -> Sentence | None:
    """Would a CUDA graph that was captured earlier still point at the right memory?"""
    one = life.ubatches[number]
    if one.address_set < 0:
        return None
    if one.address_since == number:
        if number == 0:
            return Sentence("addresses", "These are the first addresses of the context.")
        moved = ""
        if one.first_moved is not None:
            tensor, was, now = one.first_moved
            moved = f" (first of {name(tensor)}, offset {hex_text(was[2])} → {hex_text(now[2])})"
        return Sentence(
            "addresses",
            f"**Addresses changed** with it{moved}: a CUDA graph captured before points at the old ones.",
            alarm=True,
        )
    if one.graph_since == number:
        text = f"No tensor moved since ubatch **{one.address_since:,}**, but the shapes are others than before: a CUDA "
        return Sentence("addresses", f"{text}graph captured before has to be updated.")
    text = (
        f"**Same addresses and shapes** since ubatch **{one.graph_since:,}**: a CUDA graph captured then stays valid."
    )
    if one.address_since < one.graph_since:
        text += f" Same addresses since ubatch **{one.address_since:,}**."
    return Sentence("addresses", text)


def _status(one: UbatchSeen) -> Sentence:
    if one.status == 2:
        text = "The abort callback **ended the computation**; the graph stays active and may be used again."
    else:
        text = "The graph **could not be allocated**: llama_decode returns -2 and no graph is active."
    return Sentence("status", text, alarm=True)


def step_sentences(life: Life, index: int) -> list[Sentence]:
    """What happened in one call outside of its micro-batches."""
    step = life.steps[index]
    found = []
    if step.refused:
        found.append(_refused(step))
    if step.not_removed:
        text = f"**The removal was refused** (llama_memory_seq_rm returns false): {step.not_removed}."
        found.append(Sentence("not_removed", text, alarm=True))
    if step.shift_runs:
        found.append(
            Sentence(
                "shift",
                "**Positions were shifted**: a graph that rotates K takes the place of the active one and of its plan; "
                "then the worst case is planned again.",
            )
        )
    if step.copies:
        listed = ", ".join(f"{source} → {target}" for source, target in step.copies)
        found.append(
            Sentence("copies", f"**KV streams were copied** ({listed}), whole; then the worst case is planned again.")
        )
    found += [sentence for number in step.reservations for sentence in reservation_sentences(life.reservations[number])]
    waits = {why: step.synchronized.count(why) for why in step.synchronized}
    if waits:
        listed = ", ".join(why if times == 1 else f"{times:,} × {why}" for why, times in waits.items())
        found.append(Sentence("synchronized", f"The scheduler waited for its devices: {listed}."))
    return found


def _refused(step: StepSeen) -> Sentence:
    end = "The active graph stays usable."
    if step.ret == 1:
        return Sentence(
            "refused", f"**No slot** in the memory (llama_decode returns 1): {step.refused}. {end}", alarm=True
        )
    return Sentence(
        "refused", f"**The batch was refused** (llama_decode returns {step.ret}): {step.refused}. {end}", alarm=True
    )


def reservation_sentences(one: Reservation) -> list[Sentence]:
    """What was reserved, and why."""
    kinds = [plan for plan in one.plans if plan.kind is not Reserve.PROBE]
    probes = len(one.plans) - len(kinds)
    parts = [f"{count(probes, 'graph')} split to probe"] if probes else []
    parts += [
        f"{plan.kind.value} of {count(plan.n_tokens, 'token')}, {count(plan.n_seqs, 'sequence')}, "
        f"{count(plan.n_outputs, 'output')}"
        for plan in kinds
    ]
    copies = f" with {one.n_copies} pipeline copies" if one.n_copies > 1 else ""
    found = [Sentence("reserve", f"**Reserved**{copies} because {one.why}: {'; '.join(parts) or 'nothing'}.")]
    if one.dropped >= 0:
        found.append(
            Sentence(
                "dropped",
                "**Pipeline parallelism was given up**: the buffers could not be made with copies of every input, so a "
                "new scheduler plans without.",
                alarm=True,
            )
        )
    return found


def pipeline_sentences(life: Life) -> list[Sentence]:
    """The conditions of pipeline parallelism as a ticked list, and what follows."""
    if not life.conditions:
        return []
    found = [Sentence("pipeline", f"{'✓' if holds else '✗'} {text}") for text, holds in life.conditions]
    copies = life.reservations[-1].n_copies if life.reservations else 1
    missing = sum(1 for _, holds in life.conditions if not holds)
    if missing:
        fail = count(missing, "condition fails", "conditions fail")
        end = f"**No pipeline parallelism**: {fail}; one copy of each input."
    elif copies > 1:
        end = f"**Pipeline parallelism**: {copies} copies of each input, so that devices work on different ubatches."
    else:
        end = "Pipeline parallelism was given up: **one copy** of each input."
    return [*found, Sentence("pipeline-end", end)]
