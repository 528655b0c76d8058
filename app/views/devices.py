"""A line per device: compute buffer, KV cache and other data, weights, and a bar that compares them."""

from __future__ import annotations

from typing import Any

import dash
from dash import Input, Output, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from ...core.text import bytes_text
from .. import ids
from ..figures.devices import DeviceTotals, device_totals
from ..sessions import RunView, SessionStore
from .parts import data, hue_style, swatch


def layout() -> Component:
    """An empty table."""
    return html.Div(id=ids.DEVICES, className="gs-devices")


def register(app: dash.Dash, store: SessionStore) -> None:
    """The totals follow the run on the screen."""

    @app.callback(Output(ids.DEVICES, "children"), Input(ids.OPENED, "data"), prevent_initial_call=True)
    def show(opened: dict[str, Any] | None) -> list[Component]:
        if not opened:
            raise PreventUpdate
        return content(store.view(**opened))


def content(view: RunView) -> list[Component]:
    """The lines as one grid, so that the columns line up."""
    rows = device_totals(view.state)
    most = max((row.total for row in rows), default=0) or 1
    cells: list[Component] = [
        html.Span(text, className="gs-devices-head", title=title)
        for text, title in (
            ("device", "one row per buffer type"),
            ("compute", "the compute buffer that the plan needs"),
            ("KV, other", "data allocated before planning that is no weight, as far as this graph reads it"),
            ("weights", "weights that this graph reads"),
            ("", ""),
        )
    ]
    for row in rows:
        cells += _cells(row, most)
    return cells


def _cells(row: DeviceTotals, most: int) -> list[Component]:
    label = [swatch(row.hue), html.Span(row.name)]
    name: Component = html.Span(label, className="gs-device", title=row.buft)
    if row.peak_step >= 0:
        name = html.Button(
            label,
            type="button",
            className="gs-device gs-link",
            title=f"{row.buft}: go to its peak at step {row.peak_step:,}",
            **data(data_peak=str(row.buffer)),
        )
    return [
        name,
        html.Span(_size(row.compute), className="gs-number gs-strong", title=f"{row.compute:,} bytes"),
        html.Span(_size(row.kept), className="gs-number", title=f"{row.kept:,} bytes"),
        html.Span(_size(row.weights), className="gs-number", title=f"{row.weights:,} bytes"),
        _bar(row, most),
    ]


def _size(number: int) -> str:
    return bytes_text(number) if number else "–"


def _bar(row: DeviceTotals, most: int) -> Component:
    parts = (("compute", row.compute), ("kept", row.kept), ("weights", row.weights))
    return html.Span(
        [
            html.Span(
                className=f"gs-bar-{kind} gs-hue",
                title=f"{kind}: {bytes_text(size)}",
                style={"width": f"{100 * size / most:.2f}%", **hue_style(row.hue)},
            )
            for kind, size in parts
            if size
        ],
        className="gs-bar",
    )
