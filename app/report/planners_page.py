"""Reports about planners: the part of a graph's report, and the whole report of a set of buffers."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from ... import __version__
from ...core.planners.instance import Instance
from ...core.planners.known import PLANNERS
from ...core.planners.planner import Budget
from ...core.planners.solve import left_out, solve
from ...core.state import State
from ...core.text import bytes_text
from ..figures.planners_axis import live_bytes
from ..figures.planners_scene import Subject
from . import svg
from .picture import INNER, MARGIN, WIDTH
from .planners_svg import Planned, planners_svg

MOST_ROWS = 12


def planned_graph(
    state: State, names: Sequence[str], limit: float, say: Callable[[str], None] | None = None
) -> list[Planned]:
    """The buffers of a run, each asked of the planners.

    Raises:
        InputError: the run made no plan.
    """
    from ...core.planners.from_graph import instances

    subjects = [Subject.of(one.instance, one) for one in instances(state)]
    return [_planned(one, names, limit, say) for one in subjects if one.segments.buffer.size]


def planned_set(
    instance: Instance, names: Sequence[str], limit: float, say: Callable[[str], None] | None = None
) -> Planned:
    """A set of buffers, asked of the planners."""
    return _planned(Subject.of(instance), names, limit, say)


def _planned(subject: Subject, names: Sequence[str], limit: float, say: Callable[[str], None] | None) -> Planned:
    found = {}
    for name in names or PLANNERS:
        if say is not None:
            say(f"planning with {name}")
        out = None if names else left_out(subject.instance, name, None)
        found[name] = out or solve(subject.instance, name, budget=Budget(time_limit=limit, progress=say))
    return Planned(subject, found)


def part_svg(planned: Sequence[Planned], y: float) -> tuple[str, float]:
    """The part of a graph's picture: every buffer's table, and the pictures of those with something to gain.

    Returns:
        The markup and its height.
    """
    pictured = [one for one in planned if one.gain > 0] or planned[:1]
    parts, at = [], y
    for one in planned:
        markup, height = planners_svg(one, MARGIN, at, INNER, pictures=one in pictured)
        parts.append(markup)
        at += height + 14
    return "".join(parts), at - y


def set_svg(planned: Planned, title: str, about: str, source: str) -> str:
    """The whole report of a set of buffers as one SVG text."""
    instance, axis = planned.subject.instance, planned.subject.axis
    parts, y = [], MARGIN
    for words in svg.wrap([(title, "strong")], INNER, 20)[:2]:
        parts.append(svg.runs(MARGIN, y + 18, words, 20))
        y += 28
    total = bytes_text(int(instance.size.sum()))
    facts = [
        source,
        f"{len(instance):,} buffers",
        f"{axis.n:,} steps",
        f"{total} in all",
    ]
    for text in (" · ".join(facts), about):
        for words in svg.wrap([(text, "")], INNER, 12)[:3] if text else []:
            parts.append(svg.text(MARGIN, y + 12, "".join(piece for piece, _ in words), 12, svg.MUTED))
            y += 18
    y += 12
    markup, height = planners_svg(planned, MARGIN, y, INNER)
    parts.append(markup)
    y += height + 8
    markup, height = _blockers(planned, y)
    parts.append(markup)
    y += height + 10
    parts.append(svg.line(MARGIN, y, WIDTH - MARGIN, y, svg.LINE))
    told = f"galloscope {__version__} · bound: the most bytes alive at one step · sizes in binary units"
    parts.append(svg.text(MARGIN, y + 20, told, 11, svg.MUTED))
    y += 36
    size = f'viewBox="0 0 {svg.num(WIDTH)} {svg.num(y)}" width="{svg.num(WIDTH)}" height="{svg.num(y)}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{svg.SANS}">'
        f"<style>.m{{font-family:{svg.MONO}}}</style>"
    )
    return head + svg.rect(0, 0, WIDTH, y, svg.PAPER) + "\n".join(parts) + "</svg>\n"


def _blockers(planned: Planned, y: float) -> tuple[str, float]:
    """Who is alive where most is."""
    subject = planned.subject
    live = live_bytes(subject.segments, subject.axis)
    if not len(subject.segments.buffer):
        return "", 0.0
    step = int(live.argmax())
    rows = subject.segments.alive_at(step)
    size = (subject.segments.high - subject.segments.low)[rows]
    order = sorted(range(len(rows)), key=lambda k: (-int(size[k]), int(rows[k])))
    cells = []
    for k in order[:MOST_ROWS]:
        name = subject.instance.ids[int(subject.segments.buffer[rows[k]])]
        cells.append([bytes_text(int(size[k])), f"{100 * int(size[k]) / int(live[step]):.1f} %", f"  {name}"])
    more = len(order) - len(cells)
    title = (
        f"Most alive at once, step {subject.axis.step(step):,}: {bytes_text(int(live[step]))} in {len(order):,} buffers"
    )
    head = svg.text(MARGIN, y + 12, title + (f", the {len(cells)} largest" if more > 0 else ""), 14, weight=600)
    columns = [("bytes", 100.0, "r"), ("share", 80.0, "r"), ("  buffer", 600.0, "m")]
    markup, height = svg.table(MARGIN + 12, y + 26, columns, cells, [""] * len(cells))
    return head + markup, height + 30


def set_html(planned: Planned, title: str, about: str, source: str) -> str:
    """The same report in a page of its own."""
    picture = set_svg(planned, title, about, source)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title>\n"
        "<style>body{margin:0;background:#fff}svg{display:block;max-width:100%;height:auto;margin:auto}</style>\n"
        f"</head>\n<body>\n{picture}</body>\n</html>\n"
    )


def part_html(planned: Sequence[Planned]) -> str:
    """The part of a graph's page: the same as in the picture."""
    markup, height = part_svg(planned, 8)
    size = f'viewBox="0 0 {svg.num(WIDTH)} {svg.num(height + 16)}"'
    paper = svg.rect(0, 0, WIDTH, height + 16, svg.PAPER)
    return (
        f'<h2>Planners</h2>\n<svg class="gs-planners" xmlns="http://www.w3.org/2000/svg" {size} '
        f'font-family="{svg.SANS}"><style>.gs-planners .m{{font-family:{svg.MONO}}}</style>{paper}{markup}</svg>'
    )
