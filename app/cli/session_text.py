"""The life of a session as text: what was reserved, a row for each ubatch, totals and suggestions."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.decode.life import Life, StepSeen, UbatchSeen
from ...core.decode.log import LifeLog
from ...core.decode.reasons import short_reason
from ...core.decode.room import fullest
from ...core.decode.session import BAD_BATCH, NO_SLOT
from ...core.decode.suggest import suggestions
from ...core.decode.summary import summary, summary_sentences
from ...core.decode.words import pipeline_sentences, reservation_sentences, step_sentences, ubatch_sentences
from ...core.errors import printable
from ...core.explain.sentence import count
from ...core.text import bytes_text
from .table import table

HEAD = ("ubatch", "step", "tokens", "seqs", "outputs", "n_kv", "graph", "nodes", "splits", "why")
_NUMBERS = (2, 3, 4, 5, 7, 8)
REFUSALS: dict[int | None, str] = {NO_SLOT: f"no slot ({NO_SLOT})", BAD_BATCH: f"bad batch ({BAD_BATCH})"}
"""What llama_decode returned, with what it means."""
MOST_WHY = 90
"""Characters of a cell."""


def session_text(log: LifeLog, life: Life, *, every: bool = False) -> str:
    """All of it; with `every` each micro-batch has a row and its sentences."""
    parts = [_head(log), *_reserved(log, life), *_pipeline(log, life)]
    if life.ubatches or any(step.refused or step.not_removed for step in life.steps):
        lines = [table(HEAD, list(_rows(life, fold=not every)), right=_NUMBERS)]
        if any(one.shape.n_kv and one.shape.n_kv_swa for one in life.ubatches):
            lines.append("n_kv: cells of layers that attend to all + cells of window layers")
        parts.append("\n".join(lines))
    if every:
        parts += [text for number in range(len(life.steps)) for text in _step(log, life, number)]
    if life.ubatches:
        parts.append(_fullness(log, life))
    parts.append("\n".join(one.text for one in summary_sentences(summary(life))))
    advice = suggestions(log, life)
    if advice:
        parts.append("\n".join(["suggestions", *(f"- {one.sentence.text}" for one in advice)]))
    if life.abort:
        parts.append(f"The process ends here, in llama.cpp's own words: {life.abort}")
    return "\n\n".join("\n".join(printable(line) for line in part.split("\n")) for part in parts if part)


def _head(log: LifeLog) -> str:
    script, setup = log.script, log.setup
    options = setup.options
    title = ": ".join(part for part in (script.name, script.about) if part)
    about = (
        f"{script.model}, {options.n_ctx:,} cells, {count(options.n_seq_max, 'sequence')}, batches of "
        f"{options.n_batch:,}, ubatches of {options.n_ubatch:,}, flash attention {'on' if setup.flash else 'off'}, on "
        f"{', '.join(setup.backends)}"
    )
    return "\n".join(line for line in (title, about, *setup.notes) if line)


def _reserved(log: LifeLog, life: Life) -> Iterator[str]:
    """The making of the context, with the size of each compute buffer."""
    if not life.reservations:
        return
    first = life.reservations[0]
    lines = [one.text for one in reservation_sentences(first)]
    if first.plans:
        sizes = zip(log.setup.bufts, first.plans[-1].facts.compute_sizes, strict=False)
        lines.append("Compute buffers: " + ", ".join(f"{buft} {bytes_text(size)}" for buft, size in sizes) + ".")
    yield "\n".join(lines)


def _pipeline(log: LifeLog, life: Life) -> Iterator[str]:
    """The checklist, where pipeline parallelism is a question."""
    if len(log.script.devices) > 1:
        yield "\n".join(["pipeline parallelism", *(one.text for one in pipeline_sentences(life))])


def _rows(life: Life, *, fold: bool) -> Iterator[tuple[str, ...]]:
    """A row for each micro-batch, equal re-used ones in a row folded, and for what happened between them."""
    waiting: list[UbatchSeen] = []
    for step in life.steps:
        for row in _between(step, life):
            yield from _folded(life, waiting)
            waiting = []
            yield row
        for one in life.ubatches[slice(*step.ubatches)]:
            if fold and one.reused and not one.status and waiting and _alike(waiting[-1], one):
                waiting.append(one)
                continue
            yield from _folded(life, waiting)
            waiting = [one]
    yield from _folded(life, waiting)


def _alike(before: UbatchSeen, one: UbatchSeen) -> bool:
    """Both were re-used; a re-used graph has the shape of the one before."""
    return before.reused and not before.status


def _folded(life: Life, waiting: list[UbatchSeen]) -> Iterator[tuple[str, ...]]:
    if not waiting:
        return
    first, last = waiting[0], waiting[-1]
    shape, facts = first.shape, first.facts
    steps = [life.steps[one.step].step for one in (first, last)]
    yield (
        _span(first.number, last.number),
        _span(*steps),
        f"{shape.n_tokens:,}",
        f"{first.ubatch.n_seqs_unq:,}",
        f"{shape.n_outputs:,}",
        _cells(first),
        _graph(first),
        f"{facts.n_nodes:,}" if facts else "-",
        f"{len(facts.splits):,}" if facts else "-",
        _cut(short_reason(life, first.number)),
    )


def _cells(one: UbatchSeen) -> str:
    """Of the caches that there are."""
    both = [str(n) for n in (one.shape.n_kv, one.shape.n_kv_swa) if n]
    return " + ".join(both) or "-"


def _graph(one: UbatchSeen) -> str:
    if one.reused:
        text = "re-used"
    elif not one.replanned:
        text = "rebuilt"
    else:
        text = f"rebuilt, planned anew ({one.replanned})"
    if one.moved:
        text += ", buffers moved"
    return text + {0: "", 2: ", aborted"}.get(one.status, ", not allocated")


def _between(step: StepSeen, life: Life) -> Iterator[tuple[str, ...]]:
    """What a call did outside of micro-batches, as rows of the same table."""
    told: list[tuple[str, str]] = []
    if step.shift_runs:
        told.append(("positions shifted", "a graph that rotates K"))
    if step.copies:
        told.append(("streams copied", ", ".join(f"{source} → {target}" for source, target in step.copies)))
    told += [("reserved", life.reservations[number].why) for number in step.reservations]
    if step.refused:
        told.append((REFUSALS.get(step.ret, "refused"), step.refused))
    if step.not_removed:
        told.append(("removal refused", step.not_removed))
    for what, why in told:
        yield ("-", str(step.step), "", "", "", "", what, "", "", _cut(why))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_WHY else text[: MOST_WHY - 3] + "..."


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _step(log: LifeLog, life: Life, number: int) -> Iterator[str]:
    """A call and its micro-batches, all that is known about them."""
    step = life.steps[number]
    around = step_sentences(life, number)
    if around:
        yield "\n".join([f"step {step.step}", *(f"  {one.text}" for one in around)])
    for ubatch in range(*step.ubatches):
        lines = [f"  {one.text}" for one in ubatch_sentences(log, life, ubatch)]
        yield "\n".join([f"ubatch {ubatch}, step {step.step}", *lines])


def _fullness(log: LifeLog, life: Life) -> str:
    """How much room the fullest graph leaves in the pools, and what the compute buffers hold in the end."""
    setup = log.setup
    room, last = fullest(log, life), life.ubatches[-1].facts
    if room is None or last is None:
        return ""
    pool = room.pool
    rows = [
        ("metadata pool of a graph", bytes_text(pool.used), bytes_text(pool.capacity), f"{100 * pool.fill:.1f} %"),
        (
            "nodes of a graph",
            f"{pool.n_nodes:,}",
            f"{pool.max_nodes:,}",
            f"{100 * pool.n_nodes / pool.max_nodes:.1f} %",
        ),
        (
            "hash set of the scheduler",
            f"{room.tensors:,}",
            f"{room.slots:,}",
            f"{100 * room.tensors / room.slots:.1f} %",
        ),
    ]
    for buft, size, peak in zip(setup.bufts, last.compute_sizes, last.peaks, strict=False):
        if size:
            share = f"{100 * peak / size:.1f} %"
            rows.append((f"compute buffer of {buft}, at the end", bytes_text(peak), bytes_text(size), share))
    return table((f"room ({room.where} is fullest)", "used", "of", "full"), rows, right=(1, 2, 3))
