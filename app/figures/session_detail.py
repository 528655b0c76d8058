"""One ubatch of a session: what it is, why it was or was not re-used, what it cost, where its tensors are."""

from __future__ import annotations

from typing import Any

from ...core.decode.events import Check, Reserve
from ...core.decode.life import Life, PlanSeen, UbatchSeen
from ...core.decode.log import LifeLog
from ...core.decode.meanings import class_words, meaning
from ...core.decode.words import counted, ubatch_sentences
from ...core.explain.sentence import count
from ...core.text import bytes_text
from .session import kind_of
from .session_words import RESERVES, graph_text

MOST_IDS = 8


def ubatch_data(log: LifeLog, life: Life, number: int) -> dict[str, Any]:
    """Everything about one ubatch."""
    one = life.ubatches[number]
    step = life.steps[one.step]
    first = step.ubatches[0]
    return {
        "number": number,
        "kind": kind_of(one),
        "place": f"{number - first + 1} of {count(step.ubatches[1] - first, 'ubatch', 'ubatches')}",
        "why": [
            {"parts": said.parts, "alarm": said.alarm}
            for said in ubatch_sentences(log, life, number)
            if said.topic != "counted"  # it is the title of the table of conditions
        ],
        "facts": _facts(one),
        "checks": _checks(one.checks),
        "asked": one.asked,
        "counted": counted(one),
        "cost": _cost(one),
        "addresses": _addresses(life, one),
        "run": one.run,
        "graph": graph_text(one.shape),
        "worst": _worst(life, one),
        "needs": _needs(log, life, one),
    }


def _facts(one: UbatchSeen) -> list[tuple[str, str]]:
    ubatch, seen = one.ubatch, one.seen
    ids = ", ".join(map(str, ubatch.seq_id_unq[:MOST_IDS])) + (" …" if ubatch.n_seqs_unq > MOST_IDS else "")
    tokens = f"{ubatch.n_tokens:,}" if ubatch.n_seqs_unq == 1 else f"{ubatch.n_tokens:,} of sequences {ids}"
    rows = [
        ("tokens", tokens if ubatch.token else f"{tokens}, as embeddings"),
        ("positions", _range(ubatch.pos)),
        ("outputs", f"{ubatch.n_outputs:,}"),
        ("result object", "1: with outputs" if ubatch.n_outputs else "0: without outputs"),
    ]
    if seen.n_kv:
        rows.append(
            ("cells seen (n_kv)", f"{seen.n_kv:,}" + (f"; {seen.n_kv_swa:,} in window layers" if seen.n_kv_swa else ""))
        )
    if seen.n_stream > 1 or seen.first_stream:
        last = seen.first_stream + seen.n_stream - 1
        rows.append(
            ("KV streams", str(seen.first_stream) if last == seen.first_stream else f"{seen.first_stream} to {last}")
        )
    if seen.n_rs:
        zeroed = "none zeroed" if seen.rs_z < 0 else f"{seen.rs_z} zeroed"
        rows.append(("recurrent states", f"{seen.n_rs:,} from {seen.rs_head}; {zeroed}"))
    if one.n_copies > 1:
        rows.append(("pipeline copy", f"{one.cur_copy} of {one.n_copies}; the next rebuild takes {one.next_copy}"))
    return rows


def _range(values: tuple[int, ...]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low:,} to {high:,}"


def _checks(checks: list[Check]) -> list[dict[str, Any]]:
    """Those that failed first; the order of llama.cpp otherwise."""
    rows = [
        {"group": class_words(one.group), "class": one.group, "name": one.name, "active": one.active, "now": one.now,
         "holds": one.holds, "what": meaning(one).what, "so": meaning(one).so}
        for one in checks
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row["holds"])


def _cost(one: UbatchSeen) -> list[tuple[str, str]]:
    if one.reused:
        return [("graph", f"re-used, {_nth(one.n_reused)} time in this context"), ("plan", "kept"), ("buffers", "kept")]
    facts = one.facts
    rows = [("graph", f"{count(one.nodes_built, 'node')} built")]
    if facts is not None:
        rows[0] = ("graph", f"{rows[0][1]}, {count(len(facts.splits), 'split')}")
    rows.append(("plan", {"": "kept"}.get(one.replanned, "made anew")))
    rows.append(("buffers", f"{bytes_text(one.bytes_made)} made anew" if one.moved else "kept"))
    return rows


def _nth(number: int) -> str:
    tail = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{tail}"


def _addresses(life: Life, one: UbatchSeen) -> dict[str, int]:
    """From which ubatch to which no tensor moves, and to which shapes are the same, too."""
    last = graph = one.number
    while last + 1 < len(life.ubatches) and life.ubatches[last + 1].address_set == one.address_set:
        last += 1
    while graph < last and life.ubatches[graph + 1].graph_since == one.graph_since:
        graph += 1
    return {"since": one.address_since, "last": last, "graph_since": one.graph_since, "graph_last": graph}


def _worst(life: Life, one: UbatchSeen) -> dict[str, Any] | None:
    plan = worst_plan(life, one)
    if plan is None:
        return None
    return {"run": plan.run, "text": f"{RESERVES[plan.kind]}: {graph_text(plan.shape)}"}


def worst_plan(life: Life, one: UbatchSeen) -> PlanSeen | None:
    """The plan of the worst case that was reserved last before a ubatch."""
    made = [
        plan
        for reservation in life.reservations
        if reservation.step <= one.step
        for plan in reservation.plans
        if plan.kind is Reserve.PREFILL and plan.ok
    ]
    return made[-1] if made else None


def _needs(log: LifeLog, life: Life, one: UbatchSeen) -> list[dict[str, Any]]:
    """Of every buffer: what the worst case needs, what the plan in force needs, and how large it is."""
    worst, facts = worst_plan(life, one), one.facts
    if worst is None or facts is None:
        return []
    rows = zip(log.setup.bufts, worst.facts.peaks, facts.peaks, facts.compute_sizes, strict=True)
    return [
        {"buffer": name, "worst": most, "now": now, "size": size, "text": f"{bytes_text(now)} of {bytes_text(size)}"}
        for name, most, now, size in rows
        if size or most or now
    ]
