"""The time axis: a scrubber over the steps, and what the allocator did at the chosen one."""

from __future__ import annotations

from typing import Any

import dash
from dash import Input, Output, State, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from .. import ids
from ..figures.events import in_words
from ..run_view import RunView
from ..sessions import SessionStore
from .parts import data, sentence

MOST = 40


def layout() -> Component:
    """The scrubber, which `assets/page_scrub.js` draws, over a line of events."""
    return html.Footer(
        [
            html.Div(
                [
                    html.Div(className="gs-scrub-span"),
                    html.Div(className="gs-scrub-thumb", hidden=True),
                    html.Div(id="scrub-hint", className="gs-scrub-hint", hidden=True),
                ],
                id="scrub",
                className="gs-scrub",
                role="slider",
                tabIndex=0,
                **data(aria_label="Step", aria_valuemin="0", aria_valuenow="0", aria_valuemax="0"),
            ),
            html.Div(
                [
                    html.Span(id="step-label", className="gs-step-label"),
                    html.Div(id=ids.EVENTS, className="gs-events"),
                    html.Button(
                        "all",
                        id="events-all",
                        type="button",
                        className="gs-switch",
                        hidden=True,
                        title="All events of this step",
                        **data(data_action="events"),
                    ),
                ],
                className="gs-events-line",
            ),
        ],
        className="gs-time",
    )


def register(app: dash.Dash, store: SessionStore) -> None:
    """The events follow the tick of the selection."""

    @app.callback(
        Output(ids.EVENTS, "children"),
        Input(ids.SELECTION, "data"),
        State(ids.OPENED, "data"),
        prevent_initial_call=True,
    )
    def show(selection: dict[str, Any] | None, opened: dict[str, Any] | None) -> list[Component]:
        if not opened:
            raise PreventUpdate
        return content(store.view(**opened), (selection or {}).get("tick", -1))


def content(view: RunView, tick: int) -> list[Component]:
    """The events of the step that a tick belongs to, each with its tick."""
    span = next(((first, end) for first, end in view.ticks if first <= tick < end), None)
    if tick < 0 or span is None:
        told = f"{len(view.run.events):,} decisions in the log."
        how = " Drag above to see those of a step." if any(first >= 0 for first, _ in view.ticks) else ""
        return [html.Span(told + how, className="gs-muted")]
    first, end = span
    rows: list[Component] = []
    for at in range(first, min(end, first + MOST)):
        words = sentence(in_words(view.state, view.run.events[at]), view.ids)
        rows.append(html.Span(words, className="gs-event", title=f"tick {at:,}"))
    if end - first > MOST:
        rows.append(html.Span(f"and {end - first - MOST:,} more", className="gs-event gs-muted"))
    return rows
