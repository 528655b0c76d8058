"""Write a report to take away: .svg (a picture for an issue), .html (the page in one file), .gv (for graphviz).

A name ending in .gv.svg is the graph drawn by the graphviz that is installed; .perfetto.json and .pftrace are the
simulated timeline for Perfetto, and --view timeline draws it as .svg. Of a CSV of buffers the planners are reported.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import InputError, printable
from ...core.files.reading import read_bytes
from ...core.gguf.magic import is_gguf
from ...core.replay import replay
from ...core.state import State
from ..report.about import About, about_model
from .inputs import Teller, add_file, load, pick_run, time_limit
from .model_options import refuse_model_options
from .output import check_place, write_file
from .report_timeline import TRACES, timeline_report, wants_timeline
from .timeline_options import add_timeline_options

if TYPE_CHECKING:
    from ...core.planners.instance import Instance
    from ..report.planners_svg import Planned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope report`."""
    add_file(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="report.svg, report.html, graph.gv, graph.gv.svg, trace.perfetto.json or trace.pftrace",
    )
    parser.add_argument("--force", action="store_true", help="replace OUT when it exists")
    parser.add_argument(
        "--planners",
        nargs="?",
        const="all",
        metavar="NAMES",
        help="add static planners side by side to .svg and .html: names with commas between them, or nothing for all",
    )
    parser.add_argument(
        "--time-limit", metavar="S", default="2", help="seconds for each planner on each buffer (default 2)"
    )
    parser.add_argument(
        "--view", choices=("graph", "timeline"), default="graph", help="what an .svg shows (default graph)"
    )
    add_timeline_options(parser, "of a timeline: ")


def run(args: argparse.Namespace) -> int:
    """Write one file."""
    out = Path(args.output)
    check_place(out)
    if wants_timeline(args, _kind(out)):
        return _write(args, out, timeline_report(args, _kind(out)))
    names = planner_names(args.planners)
    limit = time_limit(args.time_limit)
    if not is_gguf(args.file):
        from ..buffers_open import buffers_of

        data = read_bytes(args.file)
        buffers = buffers_of(data, printable(args.file), printable(Path(args.file).name))
        if buffers is not None:
            return _report_set(args, buffers, names or [], limit, out)
    if names is not None and _kind(out) not in (".svg", ".html"):
        raise InputError(f"{out}: --planners belongs to reports that end in .svg or .html")
    loaded = load(args.file, args)
    session = loaded.session
    state = replay(pick_run(session, args.run))
    source = printable(Path(args.file).name)
    about = about_model(loaded.model, state) if loaded.model else None
    planned = None if names is None else _planned(state, names, limit)
    text = _render(_kind(out), state, session.problem.about, session.problem.meta, source, about, planned)
    return _write(args, out, text.encode())


def _write(args: argparse.Namespace, out: Path, data: bytes) -> int:
    write_file(out, data, args.force)
    print(f"{printable(os.fspath(out))}: {len(data):,} bytes")
    return 0


def planner_names(text: str | None) -> list[str] | None:
    """What `--planners` asks for: None for no planners, an empty list for all.

    Raises:
        InputError: one of the names is no planner.
    """
    if text is None:
        return None
    from ...core.planners.solve import find_planner  # it brings numba along

    names = [] if text == "all" else [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        find_planner(name)
    return names


def _planned(state: State, names: list[str], limit: float) -> list[Planned]:
    from ..report.planners_page import planned_graph

    told = Teller()
    try:
        return planned_graph(state, names, limit, told.say)
    finally:
        told.end()


def _report_set(args: argparse.Namespace, buffers: Instance, names: list[str], limit: float, out: Path) -> int:
    """The report of a set of buffers, which has no graph."""
    from ..report.planners_page import planned_set, set_html, set_svg

    refuse_model_options(args, args.file)
    if _kind(out) not in (".svg", ".html"):
        raise InputError(f"{out}: a set of buffers has no graph to draw; end the name in .svg or .html")
    told = Teller()
    try:
        planned = planned_set(buffers, names, limit, told.say)
    finally:
        told.end()
    write = set_svg if _kind(out) == ".svg" else set_html
    return _write(args, out, write(planned, buffers.name, "", buffers.name).encode())


def _kind(out: Path) -> str:
    """What to write, by the ending of the name."""
    for kind in (".gv.svg", ".svg", ".html", ".gv", *TRACES):
        if out.name.endswith(kind):
            return kind
    raise InputError(f"{out}: end the name in .svg, .html, .gv, .gv.svg, .perfetto.json or .pftrace")


def _render(
    kind: str,
    state: State,
    title: str,
    meta: dict[str, object],
    source: str,
    about: About | None,
    planned: list[Planned] | None,
) -> str:
    # Each writer is imported when it is wanted: the pictures need numpy, the others do not.
    if kind == ".svg":
        from ..report.picture import report_svg

        if planned is None:
            return report_svg(state, title, meta, source, about)
        from ..report.planners_page import part_svg

        return report_svg(state, title, meta, source, about, lambda y: part_svg(planned, y))
    if kind == ".html":
        from ..report.html import report_html

        if planned is None:
            return report_html(state, title, meta, source, about)
        from ..report.planners_page import part_html

        return report_html(state, title, meta, source, about, part_html(planned))
    from ..report.gv import graph_gv, render_svg

    text = graph_gv(state, title or source)
    return text if kind == ".gv" else render_svg(text)
