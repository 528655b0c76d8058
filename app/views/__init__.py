"""The views of the page, one file each: `layout()` and `register(app, store)`.

A view that is drawn by `assets/` has an empty `register`; what it shows comes with the scene.
"""

from __future__ import annotations

from typing import Protocol

import dash
from dash.development.base_component import Component

from ..sessions import SessionStore
from . import (
    answers,
    color,
    dag,
    devices,
    events,
    header,
    help,
    open_file,
    params,
    passes,
    planners,
    run,
    session,
    strip,
    table,
    timeline,
    why,
)


class View(Protocol):
    """What the page asks of a view's module."""

    def layout(self) -> Component:
        """Its components, empty."""
        ...

    def register(self, app: dash.Dash, store: SessionStore) -> None:
        """Its callbacks."""
        ...


VIEWS: dict[str, View] = {
    "header": header,
    "params": params,
    "answers": answers,
    "devices": devices,
    "color": color,
    "passes": passes,
    "dag": dag,
    "table": table,
    "why": why,
    "strip": strip,
    "events": events,
    "planners": planners,
    "timeline": timeline,
    "session": session,
    "run": run,
    "open": open_file,
    "help": help,
}
