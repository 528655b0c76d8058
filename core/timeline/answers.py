"""What a timeline says, in sentences: the answer first."""

from __future__ import annotations

from collections.abc import Mapping

from ..explain.sentence import Sentence, count
from ..text import bytes_text
from .cost import HOST
from .lanes import Bound, Kind, Timeline
from .totals import COPYING, DONE, Totals, Use

LEAST_GAIN = 1.005
"""Less is no overlap."""


def time_text(ns: int) -> str:
    """A time with three significant digits or more.

    >>> time_text(0), time_text(999), time_text(12_345), time_text(4_100_000), time_text(12_000_000_000)
    ('0 ns', '999 ns', '12.3 µs', '4.10 ms', '12.0 s')
    """
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 1000)):
        if ns >= size - size // 20_000:  # what would round up to the unit is in it
            hundredths = (200 * ns + size) // (2 * size)
            if hundredths < 1000:
                return f"{hundredths // 100}.{hundredths % 100:02} {unit}"
            tenths = (20 * ns + size) // (2 * size)
            return f"{tenths // 10:,}.{tenths % 10} {unit}" if tenths < 10_000 else f"{ns // size:,} {unit}"
    return f"{ns} ns"


def percent(part: int, whole: int) -> str:
    """A share.

    >>> percent(1, 3), percent(1, 2000), percent(0, 5)
    ('33 %', '0.1 %', '0 %')
    """
    if not part or not whole:
        return "0 %"
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else f"{max(share, 0.1):.1f} %"


def reason_text(timeline: Timeline, reason: int) -> str:
    """What an idle device waits for."""
    return {HOST: "the host", COPYING: "copies", DONE: "nothing more to do"}.get(reason) or timeline.name(reason)


def idle_text(timeline: Timeline, idle: Mapping[int, int]) -> str:
    """What a device idles for, the most first: "11 % for GPU0, 2 % for copies; 55 % nothing more to do"."""
    shares = {
        reason: percent(ns, timeline.total)
        for reason, ns in sorted(idle.items(), key=lambda item: (-item[1], item[0]))
        if 1000 * ns >= timeline.total
    }
    waits = ", ".join(f"{share} for {reason_text(timeline, why)}" for why, share in shares.items() if why != DONE)
    done = f"{shares[DONE]} {reason_text(timeline, DONE)}" if DONE in shares else ""
    return "; ".join(filter(None, (waits, done)))


def parts_text(use: Use) -> str:
    """What the computing of a device is, the most first: "85 % launch latency, 15 % memory traffic"."""
    order = sorted(((ns, bound) for bound, ns in use.parts.items() if ns), key=lambda one: -one[0])
    return ", ".join(f"{percent(ns, use.compute)} {bound.value}" for ns, bound in order)


def timeline_answers(timeline: Timeline, totals: Totals, alone: int = 0) -> list[Sentence]:
    """The sentences, the most telling first; one that has nothing to say is left out.

    Args:
        timeline: of one or more micro-batches.
        totals: its sums.
        alone: nanoseconds that one micro-batch takes by itself, to compare with; 0 to leave that out.
    """
    if timeline.measured:
        return [_length(timeline, alone), *_busiest(timeline, totals)]
    found = [
        _length(timeline, alone),
        _one_sequence(timeline, alone),
        _waiting(timeline, totals),
        _copies(timeline, totals),
        _bound(timeline, totals),
        _launches(timeline, totals),
        _logits(timeline, totals),
    ]
    return [one for one in found if one is not None]


def _length(timeline: Timeline, alone: int) -> Sentence:
    k, total = timeline.batches, timeline.total
    if timeline.measured:
        return Sentence("length", f"The run took **{time_text(total)}** here.")
    if k == 1 or not alone:
        return Sentence("length", f"{count(k, 'micro-batch', 'micro-batches')}: **{time_text(total)}**.")
    gain = _gain(timeline, alone)
    if gain < LEAST_GAIN:
        return Sentence(
            "length", f"{k} micro-batches: **{time_text(total)}**, as long as one after another: nothing overlaps."
        )
    return Sentence(
        "length",
        f"{k} micro-batches: **{time_text(total)}**, {gain:.2f} times as fast as one after another "
        f"({time_text(alone)} each).",
    )


def _gain(timeline: Timeline, alone: int) -> float:
    """How many times as fast as one micro-batch after another."""
    return timeline.batches * alone / timeline.total if timeline.total else 1.0


def _one_sequence(timeline: Timeline, alone: int) -> Sentence | None:
    """Where a speed-up was told that a single sequence cannot have."""
    if not timeline.decode or timeline.batches == 1 or _gain(timeline, alone) < LEAST_GAIN:
        return None
    return Sentence(
        "decode",
        "One sequence cannot do this: each token needs the one before it; the micro-batches are of other sequences.",
    )


def _busiest(timeline: Timeline, totals: Totals) -> list[Sentence]:
    """Of a measured run, whose devices are all this machine: where the time went."""
    if not timeline.spans or len(timeline.names) < 2:
        return []
    most = max(range(len(totals.devices)), key=lambda b: (totals.devices[b].compute, -b))
    ns = totals.devices[most].compute
    text = f"{timeline.name(most)} computes longest: **{time_text(ns)}**, {percent(ns, timeline.total)}."
    return [Sentence("busiest", text)]


def _waiting(timeline: Timeline, totals: Totals) -> Sentence | None:
    """The device that idles most for somebody else."""
    idle = {
        (b, reason): ns
        for b, use in enumerate(totals.devices)
        for reason, ns in use.idle.items()
        if use.compute and reason != DONE and not _is_host_cpu(timeline, b)
    }
    if not idle or not timeline.total:
        return None
    device, reason = max(idle, key=lambda key: (idle[key], -key[0], -key[1]))
    share = idle[device, reason]
    if share * 100 < timeline.total:
        return None
    whom = reason_text(timeline, reason)
    return Sentence(
        "waiting", f"{timeline.name(device)} waits **{percent(share, timeline.total)}** of the time for {whom}."
    )


def _is_host_cpu(timeline: Timeline, backend: int) -> bool:
    """The CPU is the host: that it idles while GPUs work is how it should be."""
    return len(timeline.names) > 1 and backend == len(timeline.names) - 1


def _copies(timeline: Timeline, totals: Totals) -> Sentence | None:
    if not totals.links:
        return None
    (start, end), most = max(totals.links.items(), key=lambda item: item[1].ns)
    all_ns = sum(one.ns for one in totals.links.values())
    where = f"{timeline.name(start)} to {timeline.name(end)}"
    copies = count(most.copies, "copy", "copies")
    text = f"{copies} {where}: {bytes_text(most.nbytes)} in **{time_text(most.ns)}**"
    more = f"; all copies take {time_text(all_ns)}" if len(totals.links) > 1 else ""
    return Sentence("copies", f"{text}{more}.")


def _bound(timeline: Timeline, totals: Totals) -> Sentence | None:
    """Who has most of the longest chain, the critical path."""
    if not totals.path_ns or not timeline.total:
        return None
    by: Mapping[tuple[int, Kind], int] = totals.path_ns
    device, kind = max(by, key=lambda key: (by[key], -key[0]))
    share, name = percent(by[device, kind], timeline.total), timeline.name(device)
    if kind is Kind.COPY:
        return Sentence("bound", f"Copies of {name} are the bottleneck: **{share}** of the critical path.")
    return Sentence("bound", f"{name} is the bottleneck: its computing is **{share}** of the critical path.")


def _launches(timeline: Timeline, totals: Totals) -> Sentence | None:
    """Of the device that computes longest, when most of that is no work."""
    use = max(totals.devices, key=lambda one: one.compute)
    launch = use.parts.get(Bound.LAUNCH, 0)
    if 2 * launch <= use.compute:
        return None
    name = timeline.name(totals.devices.index(use))
    return Sentence("launch", f"**{percent(launch, use.compute)}** of {name}'s computing is launch latency.")


def _logits(timeline: Timeline, totals: Totals) -> Sentence | None:
    """A prompt's logits are wanted for its last token only."""
    if timeline.logits is None:
        return None
    row, tokens = timeline.logits
    device = timeline.nodes.backend[row]
    ns, whole = timeline.nodes.ns[row] * timeline.batches, totals.devices[device].compute
    if 4 * ns <= whole:
        return None
    return Sentence(
        "logits",
        f"`result_output` computes logits for {tokens:,} tokens, as llama.cpp reserves: **{percent(ns, whole)}** of "
        f"{timeline.name(device)}'s computing; a prompt wants one row (of a GGUF: --n-outputs 1).",
    )
