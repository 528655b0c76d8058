"""What the colours mean: one question at a time, for all pictures at once, with its legend."""

from __future__ import annotations

import dash
import dash_mantine_components as dmc
from dash import Input, html
from dash.development.base_component import Component

from .. import ids
from ..sessions import SessionStore
from .parts import call_page

QUESTIONS = ("device", "op", "layer", "cause", "size")


def layout() -> Component:
    """The choice and the legend, which `assets/page_legend.js` fills."""
    return html.Div(
        [
            html.Span("colour", className="gs-label"),
            dmc.SegmentedControl(id=ids.COLOR, data=list(QUESTIONS), value="device", size="xs"),
            html.Div(id="legend", className="gs-legend"),
        ],
        className="gs-color",
    )


def register(app: dash.Dash, store: SessionStore) -> None:
    """The choice goes to the pictures without the server."""
    call_page(app, "chooseColor", ids.COLOR, Input(ids.COLOR, "value"))
