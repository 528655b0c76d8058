"""The Timeline view: when each device computes, copies and waits."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..sessions import SessionStore
from .parts import data, icon, panel, tool

BATCHES = ("1", "2", "4", "8")


def button() -> Component:
    """In the top bar."""
    return html.Button(
        [icon("timeline"), html.Span("Timeline", className="gs-timeline-word")],
        id="timeline-button",
        type="button",
        className="gs-planners-button gs-timeline-button",
        title="When does each device compute, copy and wait? (5)",
        **data(data_action="timeline", aria_label="Timeline", aria_controls=ids.TIMELINE, aria_expanded="false"),
    )


def layout() -> Component:
    """The view, closed and empty; `assets/timeline*.js` fill it."""
    return html.Section(
        [_head(), html.Div([_chart(), _below()], className="gs-time-work")],
        id=ids.TIMELINE,
        className="gs-timeline",
        hidden=True,
        **data(aria_label="Timeline"),
    )


def _head() -> Component:
    back = html.Button(
        [html.Kbd("5"), " back to the graph"],
        type="button",
        className="gs-switch",
        **data(data_action="timeline"),
    )
    batches = html.Div(
        [
            html.Button(text, type="button", className="gs-segment", **data(data_batches=text, aria_pressed="false"))
            for text in BATCHES
        ],
        id="time-batches",
        className="gs-segments",
        role="group",
        title="The same graph several times on the same host and devices, one behind the other (b)",
        **data(aria_label="Micro-batches in flight"),
    )
    sources = [("Simulated", ""), ("Measured", "measured")]
    source = html.Div(
        [
            html.Button(text, type="button", className="gs-segment", **data(data_time_source=key, aria_pressed="false"))
            for text, key in sources
        ],
        id="time-source",
        className="gs-segments",
        role="group",
        hidden=True,
        title="Device clocks with assumed rates, or the real times of the last run on this machine (s)",
    )
    note = html.Span(id="time-note", className="gs-time-note", role="note")
    top = [html.Div(id="time-headline", className="gs-time-headline", role="status"), back]
    chosen = html.Div(
        [html.Span("micro-batches", className="gs-label"), batches], className="gs-plan-field", id="time-batches-box"
    )
    controls = [chosen, source, note]
    return html.Div(
        [
            html.Div(top, className="gs-plan-top"),
            html.Div(controls, className="gs-plan-controls gs-time-controls"),
        ],
        className="gs-plan-head",
    )


def _chart() -> Component:
    tools = [
        html.Div(id="time-legend", className="gs-legend gs-time-legend"),
        html.Button(
            "Longest chain",
            type="button",
            id="time-path",
            className="gs-switch",
            title="What bounds the end: each span begins when the one before it is done (l)",
            **data(aria_pressed="false"),
        ),
        tool("fit", "time-fit", "Fit", "f"),
    ]
    chart = html.Div(html.Div(id="time-chart", className="gs-fill"), className="gs-stack")
    selected = html.Div(id="time-selected", className="gs-time-selected", hidden=True, role="status")
    return panel("time-chart", html.Span("Lanes"), tools, html.Div([chart, selected], className="gs-time-lanes"))


def _below() -> Component:
    changed = html.Button(
        "As assumed", type="button", id="time-reset", className="gs-switch", hidden=True, title="Undo all changes"
    )
    return html.Div(
        [
            panel("time-uses", html.Span("Devices"), [], html.Div(id="time-uses", className="gs-time-pane")),
            panel("time-links", html.Span("Copies"), [], html.Div(id="time-links", className="gs-time-pane")),
            panel(
                "time-cost",
                html.Span(["Assumed numbers", html.Span(id="time-changed", className="gs-muted")]),
                [changed],
                html.Div(id="time-cost", className="gs-time-pane"),
            ),
        ],
        className="gs-time-below",
    )


def register(app: dash.Dash, store: SessionStore) -> None:
    """Everything is asked of the route of `app/timeline_routes.py`."""
