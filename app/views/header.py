"""The top bar: which file, which run, its parameters, search, theme and help."""

from __future__ import annotations

import dash
import dash_mantine_components as dmc
from dash import Input, html
from dash.development.base_component import Component

from .. import ids
from ..sessions import SessionStore
from .parts import call_page, data, icon
from .run import button as run_button
from .session import button as session_button
from .timeline import button as timeline_button


def layout() -> Component:
    """One line, 48 px high."""
    return html.Header(
        [
            html.Span("galloscope", className="gs-brand"),
            html.Button(
                [html.Span(id=ids.FILE_TITLE, className="gs-file-title"), icon("down")],
                id=ids.FILE_BUTTON,
                type="button",
                className="gs-file",
                title="Open a model (GGUF), a graph, a session or a sample",
                **data(data_action="open"),
            ),
            html.Div(
                dmc.SegmentedControl(id=ids.RUN, data=[], size="xs"), id="run-box", className="gs-runs", hidden=True
            ),
            html.Button(
                [
                    icon("sliders"),
                    html.Span(id="parameters-text", className="gs-parameters-text"),
                ],
                id=ids.PARAMETERS,
                type="button",
                className="gs-parameters",
                **data(data_action="params", aria_controls=ids.PARAMS, aria_expanded="false"),
            ),
            html.Button(
                id=ids.BADGE,
                type="button",
                className="gs-badge",
                hidden=True,
                title="What was compared, and what llama.cpp said",
                **data(data_list="check"),
            ),
            html.Button(
                [icon("planners"), html.Span("Planners", className="gs-planners-word")],
                id="planners-button",
                type="button",
                className="gs-planners-button",
                title="How far from the best is this plan? (4)",
                **data(data_action="planners", aria_controls=ids.PLANNERS, aria_expanded="false"),
            ),
            timeline_button(),
            session_button(),
            run_button(),
            html.Div(
                [
                    icon("search"),
                    html.Div(
                        dmc.TextInput(
                            id=ids.SEARCH,
                            placeholder="Find a tensor",
                            size="xs",
                            variant="unstyled",
                            debounce=False,
                            **data(aria_label="Find a tensor by name or op"),
                        ),
                        className="gs-search-input",
                    ),
                    html.Kbd("/"),
                    html.Div(id="search-list", className="gs-search-list", hidden=True, role="listbox"),
                ],
                className="gs-search",
            ),
            dmc.ColorSchemeToggle(
                lightIcon=icon("sun"),
                darkIcon=icon("moon"),
                size=28,
                variant="subtle",
                color="gray",
                className="gs-theme",
                **data(aria_label="Light or dark theme"),
            ),
            html.Button(
                "?",
                type="button",
                className="gs-tool gs-tool-text",
                title="Keys and gestures (?)",
                **data(data_action="help", aria_label="Help"),
            ),
        ],
        className="gs-top",
    )


def register(app: dash.Dash, store: SessionStore) -> None:
    """Choosing a run loads it."""
    call_page(app, "chooseRun", ids.RUN, Input(ids.RUN, "value"))
