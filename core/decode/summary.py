"""Totals of a session: how often the graph was re-used, and what stood in the way, the most frequent first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..explain.sentence import Sentence, count
from ..text import bytes_text
from .events import Reserve
from .life import Life, Reservation
from .reasons import BECAUSE, n_kv_step, reason_of


@dataclass(frozen=True, slots=True)
class Grouped:
    """One reason with its micro-batches.

    Attributes:
        key: see `reasons.BECAUSE`.
        because: ends the sentence "31 rebuilds because ...".
        count: how many.
        first: number of the first of them.
    """

    key: str
    because: str
    count: int
    first: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Of a whole session.

    Attributes:
        decodes: calls of llama_decode that were not refused.
        refused: calls that were.
        not_removed: calls of llama_memory_seq_rm that returned false.
        keeps: why, of the first of them.
        ubatches: micro-batches.
        reused: of them with the graph of the one before.
        reasons: of the rebuilt ones, the most frequent first.
        replans: (`ids_changed` or `needs_realloc`, how many), the more frequent first.
        moved: micro-batches for which a buffer was made anew.
        address_changes: micro-batches after the first with which some tensor got another address.
        addresses_since: the micro-batch since which no tensor moved, -1 where there are no addresses.
        graph_since: the micro-batch since which addresses and shapes are both the same, likewise.
        nodes_built: nodes of all graphs that were built for micro-batches.
        nodes_reserved: nodes of all graphs that were built for reservations, probes included.
        bytes_made: bytes of buffers that were made anew for them.
        reservations: sched_reserve, and plans after memory updates.
        plans: graphs that those planned.
        probes: graphs that those only split, to see which device would run an op.
        aborted: micro-batches that were aborted or could not be allocated.
    """

    decodes: int
    refused: int
    not_removed: int
    keeps: str
    ubatches: int
    reused: int
    reasons: tuple[Grouped, ...]
    replans: tuple[tuple[str, int], ...]
    moved: int
    address_changes: int
    addresses_since: int
    graph_since: int
    nodes_built: int
    nodes_reserved: int
    bytes_made: int
    reservations: int
    plans: int
    probes: int
    aborted: int

    @property
    def rebuilt(self) -> int:
        """Micro-batches with a graph of their own."""
        return self.ubatches - self.reused

    @property
    def replanned(self) -> int:
        """Micro-batches for which the plan in force did not do."""
        return sum(number for _, number in self.replans)


def summary(life: Life) -> Summary:
    """Count."""
    ubatches, keeps = life.ubatches, [step.not_removed for step in life.steps if step.not_removed]
    return Summary(
        decodes=sum(1 for step in life.steps if step.ubatches[1] > step.ubatches[0]),
        refused=sum(1 for step in life.steps if step.refused),
        not_removed=len(keeps),
        keeps=keeps[0] if keeps else "",
        ubatches=len(ubatches),
        reused=sum(one.reused for one in ubatches),
        reasons=_reasons(life),
        replans=tuple(Counter(one.replanned for one in ubatches if one.replanned).most_common()),
        moved=sum(one.moved for one in ubatches),
        address_changes=sum(one.address_since == one.number for one in ubatches[1:]),
        addresses_since=ubatches[-1].address_since if ubatches else -1,
        graph_since=ubatches[-1].graph_since if ubatches else -1,
        nodes_built=sum(one.nodes_built for one in ubatches),
        nodes_reserved=sum(nodes_of(one) for one in life.reservations),
        bytes_made=sum(one.bytes_made for one in ubatches),
        reservations=len(life.reservations),
        plans=sum(plans_of(one) for one in life.reservations),
        probes=sum(len(one.plans) - plans_of(one) for one in life.reservations),
        aborted=sum(one.status != 0 for one in ubatches),
    )


def nodes_of(one: Reservation) -> int:
    """Nodes that were built for a reservation: of what it planned, and of what it only split."""
    return sum(plan.facts.n_nodes for plan in one.plans)


def plans_of(one: Reservation) -> int:
    """Graphs that a reservation planned; a probe is split and no more."""
    return sum(plan.kind is not Reserve.PROBE for plan in one.plans)


def _reasons(life: Life) -> tuple[Grouped, ...]:
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    steps: list[int] = []
    for number, one in enumerate(life.ubatches):
        reason = reason_of(life, number)
        if reason is None:
            continue
        counts[reason.key] += 1
        first.setdefault(reason.key, number)
        if reason.key == "n_kv":
            steps.append(n_kv_step(one) or 0)
    because = {**BECAUSE, "n_kv": _n_kv(steps)}
    order = sorted(counts, key=lambda key: (-counts[key], first[key]))
    return tuple(Grouped(key, because[key], counts[key], first[key]) for key in order)


def _n_kv(steps: list[int]) -> str:
    """All by the same step, or from the smallest to the largest."""
    if len(set(steps)) == 1:
        return f"n_kv stepped by {steps[0]:,}" if steps[0] > 0 else f"n_kv fell by {-steps[0]:,}"
    return f"n_kv changed by {min(steps):+,} to {max(steps):+,}" if steps else BECAUSE["n_kv"]


def headline(total: Summary) -> str:
    """What happened, in one line.

    >>> from .life import Life
    >>> headline(summary(Life()))
    'no ubatch was computed'
    """
    if not total.ubatches:
        return "no ubatch was computed"
    parts = [f"{total.reused:,} of {count(total.ubatches, 'ubatch', 'ubatches')} re-used"]
    parts += [f"{count(one.count, 'rebuild')} because {one.because}" for one in total.reasons]
    return "; ".join(parts)


def summary_sentences(total: Summary) -> list[Sentence]:
    """The headline, then what it cost, then what went wrong; what did not happen is left out."""
    found = [Sentence("reuse", headline(total) + ".")]
    if total.ubatches:
        built = f"**{count(total.nodes_built, 'node')}** built for {count(total.rebuilt, 'graph')}"
        built += f" and {total.nodes_reserved:,} for reservations" if total.reservations else ""
        probes = f" and {count(total.probes, 'probe')}" if total.probes else ""
        planned = f"{count(total.plans, 'plan')}{probes} reserved in {count(total.reservations, 'reservation')}"
        again = f"{count(total.replanned, 'time')} planned anew on the way"
        found.append(Sentence("cost", f"{built}; {planned}, {again}."))
    for why, number in total.replans:
        words = REPLAN_WORDS.get(why, why)
        found.append(Sentence("replans", f"{count(number, 're-plan')} because {words}."))
    if total.moved:
        moved = f"Buffers were made anew for {count(total.moved, 'ubatch', 'ubatches')}"
        found.append(Sentence("moved", f"{moved}, {bytes_text(total.bytes_made)} in all: their addresses changed."))
    if total.addresses_since >= 0:
        found.append(Sentence("addresses", _addresses(total)))
    if total.refused:
        found.append(Sentence("refused", f"{count(total.refused, 'batch', 'batches')} refused.", alarm=True))
    if total.not_removed:
        text = f"{count(total.not_removed, 'removal')} refused: {total.keeps}."
        found.append(Sentence("not_removed", text, alarm=True))
    if total.aborted:
        text = f"{count(total.aborted, 'ubatch', 'ubatches')} aborted or not allocated."
        found.append(Sentence("aborted", text, alarm=True))
    return found


def _addresses(total: Summary) -> str:
    """Of interest to whoever captures graphs."""
    shapes = f"addresses and shapes are the same since ubatch {total.graph_since:,}."
    if not total.address_changes:
        return f"No tensor moved after the first graph: a CUDA graph captured then keeps its addresses; {shapes}"
    times = count(total.address_changes, "time")
    return f"Tensors moved {times}; none has since ubatch {total.addresses_since:,}, {shapes}"


REPLAN_WORDS = {
    "ids_changed": "ops went to other backends than in the split before",
    "needs_realloc": "the graph did not fit into the plan in force",
}
"""`UbatchSeen.replanned` in words."""
