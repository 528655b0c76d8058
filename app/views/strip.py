"""Memory over time: steps across, addresses up."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..sessions import SessionStore
from .parts import data, panel, tool

SWITCHES = (
    ("holes", "Holes", "Free blocks between tensors"),
    ("chains", "In place", "Who took whose memory"),
    ("views", "Views", "Views inside the memory they look at"),
    ("even", "Even", "Small tensors as readable as large ones: the height is no longer true"),
)
"""What can be shown on top: key, label, explanation."""


def layout() -> Component:
    """The canvas with its switches."""
    switches = [
        html.Button(
            text, type="button", className="gs-switch", title=title, **data(data_show=key, aria_pressed="false")
        )
        for key, text, title in SWITCHES
    ]
    tools = [
        html.Span(switches, id=ids.STRIP_SHOW, className="gs-switches"),
        tool("peak", "peak", "Go to the peak", "p"),
        tool("fit", "strip-fit", "Fit", "f"),
        tool("max", "max-strip", "Maximise", "2"),
    ]
    body = html.Div(html.Div(id=ids.STRIP, className="gs-fill"), className="gs-stack")
    return panel("strip", html.Span("Memory"), tools, body)


def register(app: dash.Dash, store: SessionStore) -> None:
    """Drawn by `assets/strip.js` from the scene."""
