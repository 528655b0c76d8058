"""What stands beside the ubatches of a session: sentences, reservations, pipeline conditions, pools."""

from __future__ import annotations

from typing import Any

from ...core.decode.life import Life, PlanSeen, Reservation
from ...core.decode.log import LifeLog
from ...core.decode.room import fullest
from ...core.decode.suggest import suggestions
from ...core.decode.summary import Summary, summary, summary_sentences
from ...core.explain.sentence import Sentence, count
from ...core.text import bytes_text
from .session_refusals import refusals_data
from .session_words import RESERVES, graph_text


def facts_data(log: LifeLog, life: Life) -> dict[str, Any]:
    """The sentences, and the contents of the tabs."""
    total = summary(life)
    said = summary_sentences(total)
    return {
        "answers": [one.parts for one in (_counts(total), *_ends(life), *(one for one in said if one.alarm))],
        "told": [one.parts for one in said if one.topic != "reuse" and not one.alarm],
        "advice": [
            {"parts": one.sentence.parts, "saves": one.saves, "first": one.ubatch} for one in suggestions(log, life)
        ],
        "reasons": [{"count": one.count, "because": one.because, "first": one.first} for one in total.reasons],
        "refusals": refusals_data(log, life),
        "settings": settings_text(log),
        "bufts": list(log.setup.bufts),
        "reservations": [reservation_data(one) for one in life.reservations],
        "conditions": [{"text": text, "holds": holds} for text, holds in life.conditions],
        "n_copies": life.reservations[-1].n_copies if life.reservations else 1,
        "dropped": any(one.dropped >= 0 for one in life.reservations),
        "pools": pools_data(log, life),
        "notes": list(log.setup.notes),
    }


def _counts(total: Summary) -> Sentence:
    """What a reader sees first; the reasons stand in a tab."""
    if not total.ubatches:
        return Sentence("counts", "No ubatch was computed.")
    parts = [f"**{total.reused:,} of {total.ubatches:,}** ubatches re-used"]
    parts += [f"**{total.rebuilt:,}** rebuilt"] if total.rebuilt else []
    parts += [f"**{total.replanned:,}** planned anew"] if total.replanned else []
    parts += [f"**{total.moved:,}** with buffers made anew"] if total.moved else []
    return Sentence("counts", ", ".join(parts) + ".")


def _ends(life: Life) -> list[Sentence]:
    """Where the process would end."""
    return [Sentence("abort", f"The process ends here: **{life.abort}**.", alarm=True)] if life.abort else []


def settings_text(log: LifeLog) -> str:
    """The context as llama.cpp made it, the numbers that decide most."""
    options, setup = log.setup.options, log.setup
    words = [f"{options.n_ctx or 0:,} cells", f"ubatches of {options.n_ubatch:,}"]
    if options.n_seq_max > 1:
        kind = "one stream" if options.kv_unified else "streams"
        words.append(f"{count(options.n_seq_max, 'sequence')} ({kind})")
    words.append(f"flash attention {'on' if setup.flash else 'off'}")
    devices = [name for name in setup.backends if name != "CPU"]
    if devices:
        layers = log.script.model_params.n_gpu_layers
        words.append(f"{', '.join(devices)}: {'all layers' if layers is None else count(layers, 'layer')}")
    return " · ".join(words)


def reservation_data(one: Reservation) -> dict[str, Any]:
    """One reservation with its graphs and what each needs of every buffer."""
    return {
        "why": one.why,
        "step": one.step,
        "n_copies": one.n_copies,
        "dropped": one.dropped,
        "plans": [plan_data(plan) for plan in one.plans],
    }


def plan_data(plan: PlanSeen) -> dict[str, Any]:
    """One graph of a reservation."""
    return {
        "kind": RESERVES[plan.kind],
        "text": graph_text(plan.shape),
        "asked": f"{plan.n_tokens} tokens, {plan.n_seqs} sequences, {plan.n_outputs} outputs",
        "run": plan.run,
        "ok": plan.ok,
        "nodes": plan.facts.n_nodes,
        "splits": len(plan.facts.splits),
        "needs": [bytes_text(size) for size in plan.facts.peaks] if plan.facts.reserved else [],
        "holds": [bytes_text(size) for size in plan.facts.compute_sizes] if plan.facts.reserved else [],
    }


def pools_data(log: LifeLog, life: Life) -> list[dict[str, Any]]:
    """How full the pools of metadata are with the graph that fills them most."""
    room = fullest(log, life)
    if room is None:
        return []
    pool = room.pool
    return [
        {
            "name": "nodes of a graph",
            "used": f"{pool.n_nodes:,}",
            "of": f"{pool.max_nodes:,}",
            "share": pool.n_nodes / pool.max_nodes,
            "told": f"graph_max_nodes of the model; {room.where} is fullest",
        },
        {
            "name": "pool of a result",
            "used": bytes_text(pool.used),
            "of": bytes_text(pool.capacity),
            "share": pool.fill,
            "told": "tensors and the graph itself; there are two such results",
        },
        {
            "name": "hash set of the scheduler",
            "used": f"{room.tensors:,}",
            "of": f"{room.slots:,}",
            "share": room.tensors / room.slots,
            "told": "nodes and leafs of the graph against its slots",
        },
    ]
