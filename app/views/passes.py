"""The scheduler's passes as a row of buttons: the pictures show the devices as they were after the chosen one."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..sessions import SessionStore
from .parts import data


def layout() -> Component:
    """The row, which `assets/page_legend.js` fills from the scene."""
    return html.Div(id=ids.PASSES, className="gs-passes", role="group", **data(aria_label="Passes of the scheduler"))


def register(app: dash.Dash, store: SessionStore) -> None:
    """What a pass changed is told by the why panel."""
