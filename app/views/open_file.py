"""The dialog that opens a file: a sample, a path on this machine, or one from the browser's side."""

from __future__ import annotations

import dash
import dash_mantine_components as dmc
from dash import Input, html
from dash.development.base_component import Component

from .. import ids
from ..samples import Sample, buffer_samples, samples, session_samples
from ..sessions import SessionStore
from .parts import call_page, data

_KINDS = (
    ("capture", "Captured from llama.cpp"),
    ("lesson", "One mechanism each"),
    ("session", "Sessions: from batch to batch"),
    ("buffers", "Buffers alone, to plan"),
)


def layout() -> Component:
    """The dialog, closed."""
    path = html.Form(
        [
            dmc.TextInput(
                id=ids.OPEN_PATH,
                placeholder="/path/to/model.gguf, a graph.json, a session.yaml, or buffers.csv",
                size="sm",
                className="gs-grow",
                **data(aria_label="Path of a GGUF, a graph, a session or a CSV of buffers on galloscope's own machine"),
            ),
            html.Button("Open", type="submit", className="gs-button", id="open-submit"),
            html.Button(
                "Choose a file",
                type="button",
                className="gs-button gs-button-quiet",
                title="From this browser's machine; of a GGUF only the header is sent. Or drop it on the page",
                **data(data_action="upload"),
            ),
        ],
        className="gs-open-path",
        id="open-form",
    )
    known = samples() + buffer_samples() + session_samples()
    groups = [
        html.Section(
            [html.H3(title), html.Div([_entry(one) for one in known if one.kind == kind], className="gs-samples")]
        )
        for kind, title in _KINDS
    ]
    told = html.P(
        "Of a GGUF only the header is read, never the weights: tens of GB open as fast as a small one.",
        className="gs-open-told",
    )
    dialog: Component = dmc.Modal(
        [path, told, html.P(id=ids.OPEN_ERROR, className="gs-open-error", role="alert", hidden=True), *groups],
        id=ids.OPEN_DIALOG,
        title="Open a model, a graph or a session",
        size=880,
        transitionProps={"duration": 0},
        overlayProps={"backgroundOpacity": 0.35},
        zIndex=300,
        className="gs-dialog",
    )
    return dialog


def _entry(sample: Sample) -> Component:
    return html.Button(
        [html.Span(sample.title, className="gs-sample-title"), html.Span(sample.look, className="gs-sample-look")],
        type="button",
        className="gs-sample",
        **data(data_source=f"sample:{sample.name}"),
    )


def register(app: dash.Dash, store: SessionStore) -> None:
    """Opening is a plain request, see `assets/page_open.js`; a file that the server let go is opened again."""
    call_page(app, "reopen", ids.OPEN_DIALOG, Input(ids.OPENED, "data"))
