"""The graph, folded by layer."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..sessions import SessionStore
from .parts import data, panel, tool
from .table import layout as table_layout


def layout() -> Component:
    """A panel with two tabs: the picture, and the table of the same tensors."""
    tabs = [
        html.Button("Graph", type="button", className="gs-tab", role="tab", **data(data_tab="dag")),
        html.Button(["Table", html.Kbd("t")], type="button", className="gs-tab", role="tab", **data(data_tab="table")),
    ]
    tools = [
        html.Span(
            [
                tool("open-all", "dag-all", "Open all layers"),
                tool("close-all", "dag-none", "Close all layers"),
                tool("fit", "dag-fit", "Fit the graph", "f"),
            ],
            className="gs-dag-tools",
        ),
        tool("max", "max-upper", "Maximise", "1, table 3"),
    ]
    body = html.Div([html.Div(id=ids.DAG, className="gs-fill"), table_layout()], className="gs-stack")
    return panel("dag", tabs, tools, body)


def register(app: dash.Dash, store: SessionStore) -> None:
    """Drawn by `assets/dag.js` from the scene."""
