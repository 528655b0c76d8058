"""The reports that show a timeline: Perfetto's two formats, and a picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...core.errors import InputError, printable
from ...core.replay import replay
from ...core.timeline.simulate import simulate
from .inputs import load, pick_run
from .timeline_options import timeline_with

TRACES = (".perfetto.json", ".pftrace")


def wants_timeline(args: argparse.Namespace, kind: str) -> bool:
    """Whether the options ask for a timeline.

    Raises:
        InputError: they contradict each other.
    """
    asked = kind in TRACES or args.view == "timeline"
    if asked and args.planners is not None:
        raise InputError(f"{args.output}: --planners belongs to reports of the graph")
    if args.view == "timeline" and kind not in (".svg", *TRACES):
        raise InputError(f"{args.output}: --view timeline is written as .svg, .perfetto.json or .pftrace")
    for option in ("batches", "cost"):
        if not asked and getattr(args, option) is not None:
            raise InputError(
                f"{args.output}: --{option} belongs to a timeline: say --view timeline, or end in {TRACES[0]}"
            )
    return asked


def timeline_report(args: argparse.Namespace, kind: str) -> bytes:
    """The file's bytes.

    Raises:
        InputError: nothing runs in the graph, or Perfetto's package is not there.
    """
    loaded = load(args.file, args)
    run = pick_run(loaded.session, args.run)
    state = replay(run)
    timeline, cost = timeline_with(args, run, state)
    # Each writer is imported when it is wanted.
    if kind == ".perfetto.json":
        from ...core.timeline.perfetto_json import perfetto_json

        return perfetto_json(timeline, state, cost)
    if kind == ".pftrace":
        from ...core.timeline.perfetto_proto import perfetto_proto

        return perfetto_proto(timeline, state)
    from ..report.timeline_svg import timeline_svg

    source = printable(Path(args.file).name)
    alone = simulate(run, state, cost).total if timeline.batches > 1 else 0
    return timeline_svg(timeline, state, cost, loaded.session.problem.about or source, alone).encode()
