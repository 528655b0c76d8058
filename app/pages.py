"""The one page: answers on top, then the graph beside its explanation, then memory over time."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from . import ids
from .theme import THEME
from .views import VIEWS
from .views.parts import data

_DROP = "Drop a GGUF, a graph, a session or a CSV of buffers to open it"


def layout(first: str, options: str = "") -> Component:
    """The skeleton, empty; `assets/page.js` opens what the address says, else `first` under its options."""
    view = {name: module.layout() for name, module in VIEWS.items() if name != "table"}
    page = html.Main(
        [
            html.Div(id="changes", className="gs-changes", hidden=True, role="status"),
            html.Div([view["answers"], view["devices"]], className="gs-head"),
            view["run"],
            html.Div([view["color"], view["passes"]], className="gs-controls"),
            html.Div(
                [
                    html.Div([view["dag"], _divider("side", "vertical"), view["why"]], className="gs-upper"),
                    _divider("top", "horizontal"),
                    view["strip"],
                ],
                className="gs-work",
                id="work",
            ),
            view["events"],
            view["planners"],
            view["timeline"],
            view["session"],
        ],
        className="gs-page",
        id="page",
        **data(data_state="loading", data_first=first, data_first_options=options),
    )
    shell: Component = dmc.MantineProvider(
        [
            dcc.Store(id=ids.OPENED),
            dcc.Store(id=ids.SELECTION),
            view["header"],
            html.Div(id="progress", className="gs-progress", hidden=True, role="progressbar"),
            _waiting(),
            html.Div(id="notice", className="gs-notice", hidden=True, role="status"),
            html.Div([view["params"], page], className="gs-body"),
            html.Div(id="trouble", className="gs-trouble", hidden=True, role="alert"),
            html.Div(_DROP, id="drop", className="gs-drop", hidden=True),
            view["open"],
            view["help"],
        ],
        theme=THEME,
        defaultColorScheme="auto",
    )
    return shell


def _waiting() -> Component:
    """What is being done, for how long, and a way out; `assets/page_progress.js` fills it."""
    return html.Div(
        [
            html.Span(id="waiting-text", className="gs-waiting-text"),
            html.Span(id="waiting-time", className="gs-muted gs-number"),
            html.Button("Cancel", type="button", className="gs-switch", **data(data_action="cancel")),
        ],
        id="waiting",
        className="gs-waiting",
        hidden=True,
        role="status",
    )


def _divider(name: str, orientation: str) -> Component:
    return html.Div(
        className=f"gs-divider gs-divider-{orientation}",
        role="separator",
        tabIndex=0,
        **data(data_divider=name, aria_orientation=orientation, aria_label="Resize the panels"),
    )
