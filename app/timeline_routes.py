"""The route of the Timeline view: one run's lanes under a number of micro-batches and a cost model."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
from flask import Flask, Response, request

from ..core.errors import InputError
from ..core.execute.result import Execution
from ..core.timeline.cost import assumed, parse_changes
from ..core.timeline.simulate import MOST_BATCHES, measured, simulate
from ..core.timeline.totals import totals_of
from . import replies
from .figures.timeline import timeline_scene
from .run_view import RunView
from .sessions import SessionStore

MOST_SPANS = 400_000
"""More are not sent to a browser."""


def add(server: Flask, store: SessionStore) -> None:
    """Add the route to a server."""

    @server.get("/timeline/<session>/<int:run>.json")
    def timeline(session: str, run: int) -> Response:
        def make() -> bytes:
            view = store.view(session, run)
            asked = request.args
            source = asked.get("source", "")
            if source not in ("", "measured"):
                raise InputError(f"source {source[:40]!r}: only 'measured' is known")
            if source:
                scene = measured_scene(view)
            else:
                scene = simulated_scene(view, asked.get("batches", "1"), asked.get("cost", ""))
            return gzip.compress(msgspec.json.encode(scene), 6, mtime=0)

        return replies.packed(make)


def simulated_scene(view: RunView, batches: str, changes: str) -> dict[str, Any]:
    """The lanes of device clocks.

    Raises:
        InputError: nothing runs in the graph, a number cannot be read, or there would be too much to draw.
    """
    if not (batches.isascii() and batches.isdecimal()) or not 1 <= int(batches[:9]) <= MOST_BATCHES:
        raise InputError(f"{batches[:40]} micro-batches: from 1 to {MOST_BATCHES} can be simulated")
    state, count = view.state, int(batches)
    cost = parse_changes(changes, state.backends)
    one = simulate(view.run, state, cost)
    if len(one.spans) * count > MOST_SPANS:
        raise InputError(f"{len(one.spans) * count:,} spans are too many to draw; choose fewer micro-batches")
    found = simulate(view.run, state, cost, count) if count > 1 else one
    scene = timeline_scene(found, totals_of(found), state, cost, one.total if count > 1 else 0)
    return {**scene, "has_measured": measured_run(view) is not None}


def measured_run(view: RunView) -> Execution | None:
    """The last run, when kernels were timed in it: a conflict ends one, and fingerprints are no kernels."""
    done = view.running.done
    return None if done is None or done.follows_bytes or not done.execution.nodes else done.execution


def measured_scene(view: RunView) -> dict[str, Any]:
    """The lanes of the last real run.

    Raises:
        InputError: there was none.
    """
    run = measured_run(view)
    if run is None:
        raise InputError("this graph was not computed yet: press x to run it, then its real times can be shown")
    found = measured(run)
    scene = timeline_scene(found, totals_of(found), view.state, assumed(view.state.backends), 0)
    return {**scene, "has_measured": True}
