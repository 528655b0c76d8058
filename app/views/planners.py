"""The Planners view: how far from the best is ggml on this graph, and what would a better planner save."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..planning import USUAL_LIMIT
from ..sessions import SessionStore
from .parts import data, panel, tool

PANES = (
    ("", "Peak", "Who is alive where the memory is fullest"),
    ("holes", "Holes", "Free areas below the peak, the largest first"),
    ("chains", "In place", "Tensors that share one buffer one after the other"),
    ("stages", "Stages", "Order, intervals, interference, placement: how a plan comes about"),
)
"""What can be read about the two plans: key, label, explanation."""


def layout() -> Component:
    """The view, closed and empty; `assets/planners*.js` fill it."""
    return html.Section(
        [_head(), html.Div([_left(), _right()], className="gs-plan-work")],
        id=ids.PLANNERS,
        className="gs-planners",
        hidden=True,
        **data(aria_label="Planners"),
    )


def _head() -> Component:
    order = html.Label(
        [
            html.Span("order", className="gs-label"),
            html.Select(id="plan-order", className="gs-plan-select", title="The order of the steps"),
        ],
        id="plan-order-box",
        className="gs-plan-field",
    )
    limit = html.Label(
        [
            html.Span("limit", className="gs-label"),
            html.Span(id="plan-limit-box", **data(data_limit=f"{USUAL_LIMIT:g}")),
            html.Span("s", className="gs-label"),
        ],
        className="gs-plan-field",
        title="Seconds that a planner may take; Enter asks those again that would use a longer time",
    )
    in_place = html.Div(
        [_choice("with in-place", "on"), _choice("without", "off")],
        id="plan-inplace",
        className="gs-segments",
        role="group",
        title="An op may write over a source that nobody else needs: both then share one buffer (i)",
    )
    status = html.Div(
        [
            html.Span(id="plan-stage", className="gs-plan-stage"),
            html.Button("Cancel", type="button", id="plan-cancel", className="gs-switch", hidden=True),
        ],
        className="gs-plan-status",
        role="status",
    )
    back = html.Button(
        [html.Kbd("4"), " back to the graph"],
        type="button",
        id="plan-back",
        className="gs-switch",
        **data(data_action="planners"),
    )
    about = html.P(id="plan-about", className="gs-plan-about", hidden=True)
    controls = [about, html.Div(id="plan-buffers", className="gs-plan-buffers"), in_place, order, limit, status]
    return html.Div(
        [
            html.Div([html.Div(id="plan-headline", className="gs-plan-headline"), back], className="gs-plan-top"),
            html.Div(controls, className="gs-plan-controls"),
        ],
        className="gs-plan-head",
    )


def _choice(text: str, value: str) -> Component:
    return html.Button(text, type="button", className="gs-segment", **data(data_inplace=value, aria_pressed="false"))


def _left() -> Component:
    table = panel("planners", "Planners", [html.Span(id="plan-count", className="gs-muted")], html.Div(id="plan-table"))
    tabs = [
        html.Button(text, type="button", className="gs-tab", role="tab", title=title, **data(data_pane=key or "peak"))
        for key, text, title in PANES
    ]
    panes = panel("plan-panes", tabs, [], html.Div(id="plan-pane", className="gs-plan-pane", tabIndex=-1))
    return html.Div([table, panes], className="gs-plan-left")


def _right() -> Component:
    colour = html.Label(
        [html.Span("colour", className="gs-label"), html.Select(id="plan-colour", className="gs-plan-select")],
        className="gs-plan-field",
    )
    switches = [
        html.Button(text, type="button", className="gs-switch", title=title, **data(data_plan_show=key))
        for key, text, title in (
            ("holes", "Holes", "Free blocks between buffers"),
            ("even", "Even", "Small buffers as readable as large ones: the height is no longer true"),
        )
    ]
    tools = [
        colour,
        html.Div(id="plan-legend", className="gs-legend gs-plan-legend"),
        html.Span(switches, className="gs-switches"),
        tool("peak", "plan-peak", "Go to the peak", "p"),
        tool("fit", "plan-fit", "Fit", "f"),
    ]
    charts = html.Div(
        [
            html.Div(html.Div(id="plan-a", className="gs-fill"), className="gs-stack"),
            html.Div(html.Div(id="plan-b", className="gs-fill"), className="gs-stack"),
            html.Div(id="plan-curve", className="gs-plan-curve", **data(aria_label="Live bytes over the steps")),
        ],
        className="gs-plan-charts",
    )
    return panel("plan-charts", html.Span("Plans"), tools, charts)


def register(app: dash.Dash, store: SessionStore) -> None:
    """Everything is asked of the routes of `app/planner_routes.py`."""
