"""The Session view: what is re-used from batch to batch, what is rebuilt, why, and what it costs."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..samples import Sample, session_samples
from ..session_view import presets_data
from ..sessions import SessionStore
from .parts import data, icon, panel, tool

PANES = (
    ("", "Advice", "What would avoid rebuilds, from the conditions that failed"),
    ("reserve", "Reservations", "The worst cases that llama.cpp planned, with their sizes"),
    ("pipeline", "Pipeline", "The conditions of pipeline parallelism, one by one"),
    ("pools", "Pools", "How full the fixed pools of metadata are"),
)
"""What can be read about the whole session: key, label, explanation."""


def button() -> Component:
    """In the top bar."""
    return html.Button(
        [icon("session"), html.Span("Session", className="gs-life-word")],
        id="life-button",
        type="button",
        className="gs-planners-button gs-life-button",
        title="What is re-used from batch to batch, what is rebuilt, and why? (6)",
        **data(data_action="session", aria_label="Session", aria_controls=ids.LIFE, aria_expanded="false"),
    )


def layout() -> Component:
    """The view, closed and empty; `assets/session*.js` fill it."""
    return html.Section(
        [_head(), _start(), html.Div([_chart(), _below()], id="life-work", className="gs-life-work", hidden=True)],
        id=ids.LIFE,
        className="gs-life",
        hidden=True,
        **data(aria_label="Session"),
    )


def _head() -> Component:
    back = html.Button(
        [html.Kbd("6"), " back to the graph"],
        type="button",
        className="gs-switch",
        **data(data_action="session"),
    )
    preset = html.Label(
        [html.Span("preset", className="gs-label"), html.Select(id="life-preset", className="gs-plan-select")],
        id="life-preset-box",
        className="gs-plan-field",
        hidden=True,
        title="Another kind of session on the same model",
    )
    top = [html.Div(id="life-headline", className="gs-time-headline", role="status"), back]
    return html.Div(
        [
            html.Div(top, className="gs-plan-top"),
            html.Div([html.Div(id="life-about", className="gs-life-about"), preset], className="gs-plan-controls"),
        ],
        className="gs-plan-head",
    )


def _start() -> Component:
    """What to open when no session is open."""
    presets = [_offer(one["title"], one["look"], data_life_preset=one["name"]) for one in presets_data()]
    return html.Div(
        [
            html.Section(
                [
                    html.H3("On a model of yours"),
                    html.P(id="life-on", className="gs-open-told"),
                    html.Div(presets, id="life-presets", className="gs-samples"),
                ]
            ),
            html.Section(
                [html.H3("Samples"), html.Div([_sample(one) for one in session_samples()], className="gs-samples")]
            ),
            html.P(
                [
                    "Or write one down: a JSON or YAML file with ",
                    html.Code("model, context, devices, steps"),
                    ", beside the GGUF that it names. Open it by its path, or drop it here while the model is open.",
                ],
                className="gs-open-told",
            ),
        ],
        id="life-empty",
        className="gs-life-empty",
        hidden=True,
    )


def _sample(sample: Sample) -> Component:
    return _offer(sample.title, sample.look, data_source=f"sample:{sample.name}")


def _offer(title: str, look: str, **attributes: str) -> Component:
    return html.Button(
        [html.Span(title, className="gs-sample-title"), html.Span(look, className="gs-sample-look")],
        type="button",
        className="gs-sample",
        **data(**attributes),
    )


def _chart() -> Component:
    walk = [
        html.Button(
            icon(name), type="button", className="gs-tool", title=title, **data(data_life_go=by, aria_label=title)
        )
        for name, by, title in (("back", "-1", "The rebuild before (b)"), ("forward", "1", "The next rebuild (n)"))
    ]
    tools = [
        html.Div(id="life-legend", className="gs-legend gs-time-legend"),
        *walk,
        tool("fit", "life-fit", "Fit", "f"),
    ]
    chart = html.Div(html.Div(id="life-chart", className="gs-fill"), className="gs-stack")
    return panel("life-chart", html.Span("Ubatches"), tools, chart)


def _below() -> Component:
    graph = html.Button(
        ["Its graph ", html.Kbd("g")],
        type="button",
        id="life-graph",
        className="gs-switch",
        title="The graph and the memory of this ubatch, in the pictures of the page",
    )
    worst = html.Button(
        ["Worst case ", html.Kbd("w")],
        type="button",
        id="life-worst",
        className="gs-switch",
        title="The graph that was reserved for the worst case, in the pictures of the page",
    )
    tabs = [
        html.Button(
            text, type="button", className="gs-tab", role="tab", title=title, **data(data_life_pane=key or "advice")
        )
        for key, text, title in PANES
    ]
    detail = html.Div(id="life-detail", className="gs-time-pane gs-life-detail", tabIndex=-1)
    scale = html.Button(
        "Same scale",
        type="button",
        id="life-scale",
        className="gs-switch",
        title="Both plans on one scale of bytes",
        **data(aria_pressed="false"),
    )
    plans = html.Div(
        [
            _caption("worst", "reserved", "life-of-a"),
            html.Div(html.Div(id="life-a", className="gs-fill"), className="gs-stack"),
            _caption("now", "in force", "life-of-b"),
            html.Div(html.Div(id="life-b", className="gs-fill"), className="gs-stack"),
            html.Div(id="life-needs", className="gs-life-needs"),
        ],
        className="gs-life-plans",
    )
    return html.Div(
        [
            panel("life-detail", html.Span(id="life-title"), [graph], detail),
            panel("life-plans", html.Span("Reserved and in force"), [scale, worst], plans),
            panel("life-panes", tabs, [], html.Div(id="life-pane", className="gs-time-pane", tabIndex=-1)),
        ],
        className="gs-life-below",
    )


def _caption(mark: str, text: str, name: str) -> Component:
    """A line over a plan, with the mark that stands for it in the bars below."""
    sign = html.I(className=f"gs-life-key gs-life-bar-{mark}")
    return html.Div(
        [sign, html.Strong(text), html.Span(id=name, className="gs-muted")],
        className="gs-life-caption",
    )


def register(app: dash.Dash, store: SessionStore) -> None:
    """Everything is asked of the routes of `app/session_routes.py`."""
