"""Write a report to take away: .svg (a picture for an issue), .html (the page in one file), .gv (for graphviz).

A name ending in .gv.svg is the graph drawn by the graphviz that is installed.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ...core.errors import InputError, printable
from ...core.replay import replay
from ...core.state import State
from ..report.about import About, about_model
from .inputs import add_file, load, pick_run
from .output import check_place, write_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope report`."""
    add_file(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="report.svg, report.html, graph.gv or graph.gv.svg"
    )
    parser.add_argument("--force", action="store_true", help="replace OUT when it exists")


def run(args: argparse.Namespace) -> int:
    """Write one file."""
    out = Path(args.output)
    check_place(out)
    _kind(out)
    loaded = load(args.file, args)
    session = loaded.session
    state = replay(pick_run(session, args.run))
    source = printable(Path(args.file).name)
    about = about_model(loaded.model, state) if loaded.model else None
    text = _render(_kind(out), state, session.problem.about, session.problem.meta, source, about).encode()
    write_file(out, text, args.force)
    print(f"{printable(os.fspath(out))}: {len(text):,} bytes")
    return 0


def _kind(out: Path) -> str:
    """What to write, by the ending of the name."""
    for kind in (".gv.svg", ".svg", ".html", ".gv"):
        if out.name.endswith(kind):
            return kind
    raise InputError(f"{out}: end the name in .svg, .html, .gv or .gv.svg")


def _render(kind: str, state: State, title: str, meta: dict[str, object], source: str, about: About | None) -> str:
    # Each writer is imported when it is wanted: the pictures need numpy, the others do not.
    if kind == ".svg":
        from ..report.picture import report_svg

        return report_svg(state, title, meta, source, about)
    if kind == ".html":
        from ..report.html import report_html

        return report_html(state, title, meta, source, about)
    from ..report.gv import graph_gv, render_svg

    text = graph_gv(state, title or source)
    return text if kind == ".gv" else render_svg(text)
