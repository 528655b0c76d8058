"""The route of the Timeline view: one run's lanes under a number of micro-batches and a cost model."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
from flask import Flask, Response, request

from ..core.errors import InputError
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
            if asked.get("source") == "measured":
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
    if not batches.isdecimal() or not 1 <= int(batches[:4]) <= MOST_BATCHES:
        raise InputError(f"{batches[:40]} micro-batches: from 1 to {MOST_BATCHES} can be simulated")
    state, count = view.state, int(batches)
    cost = parse_changes(changes, state.backends)
    one = simulate(view.run, state, cost)
    if len(one.spans) * count > MOST_SPANS:
        raise InputError(f"{len(one.spans) * count:,} spans are too many to draw; choose fewer micro-batches")
    found = simulate(view.run, state, cost, count) if count > 1 else one
    scene = timeline_scene(found, totals_of(found), state, cost, one.total if count > 1 else 0)
    return {**scene, "has_measured": view.running.done is not None}


def measured_scene(view: RunView) -> dict[str, Any]:
    """The lanes of the last real run.

    Raises:
        InputError: there was none.
    """
    done = view.running.done
    if done is None:
        raise InputError("this graph was not run yet: press x to run it, then its real times can be shown")
    found = measured(done.execution)
    scene = timeline_scene(found, totals_of(found), view.state, assumed(view.state.backends), 0)
    return {**scene, "has_measured": True}
