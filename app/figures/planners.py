"""Planners side by side: a row for each, and the sentence that says what a better planner would save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.explain.sentence import Sentence
from ...core.planners.planner import Planner
from ...core.text import bytes_text

if TYPE_CHECKING:
    from ...core.planners.solve import Outcome

REFERENCE = "ggml"
"""Whose plan the others are compared with."""
BEST = "best"


def ratio_text(ratio: float) -> str:
    """A ratio to the bound, so that only an exact one reads as 1.

    >>> ratio_text(1.0), ratio_text(1.000004), ratio_text(1.2951)
    ('1', '1.000+', '1.295')
    """
    if ratio == 1.0:
        return "1"
    return "1.000+" if ratio < 1.0005 else f"{ratio:.3f}"


def percent_text(part: int, whole: int) -> str:
    """A share with as many digits as it deserves.

    >>> percent_text(21, 301), percent_text(1, 3000), percent_text(0, 5)
    ('7 %', '0.033 %', '0 %')
    """
    share = 100 * part / whole if whole else 0.0
    return f"{share:.0f} %" if share >= 1 or share == 0 else f"{share:.2g} %"


def seconds_text(seconds: float) -> str:
    """A short time, as `assets/planners_table.js` writes it.

    >>> seconds_text(0.00002), seconds_text(0.0123), seconds_text(2.0)
    ('0.02 ms', '12.3 ms', '2.00 s')
    """
    if seconds < 0.001:
        return f"{max(0.01, seconds * 1000):.2f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:.0f} s"


def exact_text(n: int) -> str:
    """Every byte of a number, as `assets/format.js` writes it.

    >>> exact_text(1234567)
    '1,234,567 B'
    """
    return f"{n:,} B"


def above_text(peak: int, bound: int) -> str:
    """A peak beside its bound; where both would read the same, how far they are apart.

    >>> above_text(3 << 20, 2 << 20), above_text((1 << 30) + 224, (1 << 30) + 1), above_text(7, 7)
    ('3 MiB', '1.00 GiB, 223 B above', '7 B')
    """
    text = bytes_text(peak)
    return f"{text}, {exact_text(peak - bound)} above" if peak > bound and text == bytes_text(bound) else text


def verdict_of(outcome: Outcome, proved: int = 0) -> tuple[str, str]:
    """A short key and the words for a table: optimal, proved, heuristic, refused, failed.

    `proved` bytes are known to be necessary, whoever proved it.
    """
    if outcome.refused:
        return "refused", outcome.refused.removeprefix(f"{outcome.planner} ")
    if outcome.plan is None:
        return "failed", outcome.note or "found no plan"
    if outcome.optimal or (outcome.peak or 0) <= proved:
        return "optimal", "optimal"
    if outcome.proved_bound > outcome.bound:
        return "proved", f"proved ≥ {bytes_text(outcome.proved_bound)}"
    return "heuristic", "heuristic"


def row_of(name: str, outcome: Outcome, reference: int | None, proved: int = 0) -> dict[str, Any]:
    """A planner's row; `reference` is ggml's peak in bytes, None while it is not known, `proved` as in the verdict."""
    key, words = verdict_of(outcome, proved)
    row: dict[str, Any] = {
        "planner": name,
        "verdict": key,
        "words": words,
        "seconds": outcome.seconds,
        "nodes": outcome.nodes,
        "note": outcome.note,
    }
    if outcome.peak is not None and outcome.ratio is not None:
        row |= {
            "peak": outcome.peak,
            "ratio": outcome.ratio,
            "ratio_text": ratio_text(outcome.ratio),
            "waste": outcome.peak - outcome.bound,
            "saving": None if reference is None else reference - outcome.peak,
        }
    return row


def titles(planners: Mapping[str, Planner]) -> list[dict[str, Any]]:
    """What there is to choose from, in the order of the table."""
    return [
        {"planner": name, "title": one.title, "summary": one.summary, "source": one.source, "exact": one.exact}
        for name, one in planners.items()
    ]


def headline(
    name: str,
    bound: int,
    peaks: Mapping[str, int],
    given: int | None = None,
    proved: int = 0,
    freed: int | None = None,
    *,
    unsound: bool = False,
    complete: bool = False,
) -> Sentence:
    """The answer for one buffer.

    Args:
        name: of the device or set.
        bound: the most bytes alive at once.
        peaks: by planner, those that have a plan by now.
        given: what ggml needs in the order of the graph, where these plans are for another order.
        proved: bytes that a complete search proved necessary.
        freed: bytes that ggml would need if it gave tensors back after their last use.
        unsound: ggml has a plan, and it is wrong.
        complete: every planner has answered.
    """
    where = f"{name}: " if name else ""
    if not bound:
        return Sentence("planners", f"{where}nothing is ever alive, so there is nothing to plan.")
    needed = peaks.get(REFERENCE)
    if needed is None:
        best = min(peaks, key=lambda one: peaks[one], default="")
        nobody = "no planner has a plan" if complete else "no planner has a plan yet"
        found = f"{best} finds **{above_text(peaks[best], bound)}**" if best else nobody
        order = "" if given is None else "in this order "
        order = "**ggml's plan is unsound**; " if unsound else order
        own = "" if given is None else f"; in the graph's own order ggml needs **{bytes_text(given)}**"
        return Sentence("planners", f"{where}{order}the bound is **{bytes_text(bound)}**; {found}{own}.")
    if needed == bound:
        return Sentence(
            "planners", f"{where}ggml needs **{bytes_text(needed)}**, and no plan can need less: nothing to gain."
        )
    if needed <= proved:
        return Sentence(
            "planners",
            f"{where}ggml needs **{above_text(needed, bound)}**. At most {bytes_text(bound)} are alive at once, but a "
            "complete search proves that no plan needs less: nothing to gain.",
        )
    start = f"{where}ggml needs **{above_text(needed, bound)}**, the bound is **{bytes_text(bound)}**"
    if proved > bound:
        start += f" ({above_text(proved, bound)} proved)"
    others = [one for one in peaks if one != REFERENCE]
    if not others:
        return Sentence("planners", f"{start}.")
    low = min(peaks[one] for one in others)
    found = BEST if peaks.get(BEST) == low else next(one for one in others if peaks[one] == low)
    if low >= needed:
        return Sentence("planners", f"{start}; no planner here finds less.")
    gain = needed - low
    late = f", {bytes_text(needed - freed)} of it held by ggml after the last use" if freed and freed < needed else ""
    saved = f"**{bytes_text(gain)} ({percent_text(gain, needed)})** to gain{late}"
    return Sentence("planners", f"{start}; {found} finds {bytes_text(low)}: {saved}.")


def peaks_of(outcomes: Mapping[str, Outcome]) -> dict[str, int]:
    """The peaks of those that have a plan."""
    return {name: one.peak for name, one in outcomes.items() if one.peak is not None}


def proved_of(outcomes: Mapping[str, Outcome]) -> int:
    """Bytes that any of the planners proved necessary, 0 for none."""
    return max((one.proved_bound for one in outcomes.values()), default=0)


def pair_of(names: Sequence[str], peaks: Mapping[str, int]) -> tuple[str, str]:
    """Which two plans to show when nobody chose: ggml's, and the smallest other (`best` where it is as small)."""
    planned = [one for one in names if one in peaks]
    first = REFERENCE if REFERENCE in peaks else next((one for one in planned if one != "naive"), "".join(planned[:1]))
    others = [one for one in names if one in peaks and one != first]
    if not others:
        return first, first
    low = min(peaks[one] for one in others)
    return first, BEST if peaks.get(BEST) == low and first != BEST else next(one for one in others if peaks[one] == low)
