"""The parameters panel: llama.cpp's options of a model, its devices, the `-ot` patterns and the equal command."""

from __future__ import annotations

import json

import dash
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..figures.model import fields
from ..sessions import SessionStore
from .parts import data, tool

_GRAPH = (
    "This file is a graph: what llama.cpp decided from its options is in it. Open a GGUF to try devices, context, "
    "batches and flash attention."
)


def layout() -> Component:
    """The panel, closed; `assets/page_params.js` makes a field for each flag."""
    head = html.Div(
        [
            html.Span("Parameters", className="gs-panel-title"),
            html.Span(
                [
                    html.Button(
                        "defaults",
                        type="button",
                        className="gs-switch gs-for-model",
                        title="llama.cpp's defaults for everything, on the CPU",
                        **data(data_action="defaults"),
                    ),
                    tool("close", "params", "Close", "m"),
                ],
                className="gs-tools",
            ),
        ],
        className="gs-panel-head",
    )
    graph = html.Div(
        [html.P(_GRAPH), html.Button("Open", type="button", className="gs-button", **data(data_action="open"))],
        className="gs-params-graph",
    )
    return html.Aside(
        [head, graph, html.Div(id="params-body", className="gs-params-body gs-for-model")],
        id=ids.PARAMS,
        className="gs-params",
        hidden=True,
        tabIndex=-1,
        **data(data_fields=json.dumps(fields()), aria_label="Parameters"),
    )


def register(app: dash.Dash, store: SessionStore) -> None:
    """Changed values are opened like a file, see `assets/page_params.js`."""
