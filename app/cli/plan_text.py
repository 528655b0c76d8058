"""A comparison of planners as text for the terminal."""

from __future__ import annotations

from ...core.errors import printable
from ...core.planners.bound import Live, blockers
from ...core.planners.compare import GGML, Comparison, Row
from ...core.planners.from_graph import GraphBuffers
from ...core.planners.instance import Instance
from ...core.planners.solve import Outcome
from ...core.text import bytes_text
from .table import table

MOST_BLOCKERS = 6
HEAD = ("planner", "peak", "ratio", "waste", "time", "result")


def plan_text(found: Comparison) -> str:
    """Each address space with its bound and its table; then the sums, and what is saved against ggml."""
    parts = [_space(found, number) for number in range(len(found.instances))]
    if not parts:
        return "there is nothing to plan"
    if len(parts) > 1:
        parts.append(_sums(found))
    saved = _saved(found)
    return "\n\n".join([*parts, *([saved] if saved else [])])


def _space(found: Comparison, number: int) -> str:
    instance, live = found.instances[number], found.live[number]
    rows = [_row(row.planner, row.outcomes[number]) for row in found.rows]
    proved = max((row.outcomes[number].proved_bound for row in found.rows), default=0)
    told = ""
    if proved > live.bound:
        told = f"\nproved: no plan needs less than {bytes_text(proved)}"
    if found.capacity is not None and proved > found.capacity:
        told = f"\nno plan fits into {bytes_text(found.capacity)}: {bytes_text(proved)} are proved necessary"
    return f"{_about(instance, live)}{told}\n\n{table(HEAD, rows, right=range(1, 5))}"


def _about(instance: Instance, live: Live) -> str:
    total = sum(instance.size.tolist())
    count = "1 buffer" if len(instance) == 1 else f"{len(instance):,} buffers"
    text = f"{instance.name}: {count}, {bytes_text(total)} without re-use\n"
    if not live.bound:
        return text + "bound: 0 B, nothing is ever alive"
    first = live.peak_step()
    there = blockers(instance, first)
    named = ", ".join(f"{instance.ids[one.buffer]} {bytes_text(one.bytes)}" for one in there[:MOST_BLOCKERS])
    more = f" and {len(there) - MOST_BLOCKERS:,} more" if len(there) > MOST_BLOCKERS else ""
    return _printable(text + f"bound: {bytes_text(live.bound)}, alive at step {first}: {named}{more}")


def _printable(text: str) -> str:
    """Names come from files: what cannot be shown is replaced, line by line."""
    return "\n".join(map(printable, text.split("\n")))


def _row(name: str, one: Outcome) -> tuple[str, ...]:
    if one.peak is None or one.ratio is None or one.waste is None:
        return (name, "-", "-", "-", _time(one.seconds), one.refused or one.note)
    seconds = "-" if _by_engine(name, one) else _time(one.seconds)
    return (name, bytes_text(one.peak), f"{one.ratio:.4f}", bytes_text(one.waste), seconds, _result(one))


def _by_engine(name: str, one: Outcome) -> bool:
    """Nothing was planned: the plan is the one that the graph was traced with."""
    return name == GGML and isinstance(one.instance, GraphBuffers) and one.instance.engine_plan is not None


def _result(one: Outcome) -> str:
    if not one.solved:
        return "too large"
    words = []
    if one.optimal:
        words.append("optimal")
    elif one.proved_bound > one.bound:
        words.append(f"{bytes_text(one.proved_bound)} or more proved")
    if one.note:
        words.append(one.note)
    return "; ".join(words)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _sums(found: Comparison) -> str:
    rows = []
    for row in found.rows:
        if row.peak is None or row.ratio is None or row.waste is None:
            rows.append((row.planner, "-", "-", "-", _time(row.seconds), row.refused or row.note))
        else:
            words = ("optimal" if row.optimal else "") if row.solved else "too large"
            seconds = "-" if all(_by_engine(row.planner, one) for one in row.outcomes) else _time(row.seconds)
            cells = (row.planner, bytes_text(row.peak), f"{row.ratio:.4f}", bytes_text(row.waste), seconds)
            rows.append((*cells, words))
    bound = sum(live.bound for live in found.live)
    return f"all together: bound {bytes_text(bound)}\n\n{table(HEAD, rows, right=range(1, 5))}"


def _saved(found: Comparison) -> str:
    """What the best of the others saves against ggml."""
    base, others = found.ggml, [row for row in found.rows if found.ggml is not None and row is not found.ggml]
    best: Row | None = min(
        (row for row in others if row.solved and row.peak is not None), key=lambda row: row.peak or 0, default=None
    )
    if base is None or base.peak is None or best is None or best.saving is None:
        return ""
    ggml = f"ggml takes {bytes_text(base.peak)}"
    if best.saving > 0:
        text = f"{ggml}: {best.planner} saves {bytes_text(best.saving)} ({best.saving / base.peak:.1%})"
        if found.freed_in_time is not None and found.freed_in_time < base.peak:
            alone = bytes_text(base.peak - found.freed_in_time)
            text += f"\nggml never frees what nobody reads: tensors given back after their last use save {alone}"
        return text
    if best.saving < 0:
        return f"{ggml}: {best.planner} takes {bytes_text(-best.saving)} more"
    return f"{ggml}, and {best.planner} no less"
