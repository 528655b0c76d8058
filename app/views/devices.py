"""A line per device: compute buffer, KV cache and other data, weights; of a model also how much memory is left."""

from __future__ import annotations

from typing import Any

import dash
from dash import Input, Output, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from ...core.text import bytes_text
from .. import ids
from ..figures.devices import DeviceTotals
from ..run_view import RunView
from ..sessions import SessionStore
from .parts import data, hue_style, swatch, tool_list

_PARTS = (
    ("weights", "weights"),
    ("kept", "KV"),
    ("recurrent", "recurrent"),
    ("compute", "compute"),
    ("output", "output"),
)
"""The parts of a model's row in llama.cpp's order: attribute, heading."""
_MEANING = {
    "weights": "the model's weights",
    "kept": "the KV cache",
    "recurrent": "recurrent state",
    "compute": "the compute buffer: the largest of all graphs, as llama.cpp keeps one for all",
    "output": "logits and embeddings for the caller",
}


def layout() -> Component:
    """An empty table."""
    return html.Div(id=ids.DEVICES, className="gs-devices")


def register(app: dash.Dash, store: SessionStore) -> None:
    """The totals follow the run on the screen."""

    @app.callback(Output(ids.DEVICES, "children"), Input(ids.OPENED, "data"), prevent_initial_call=True)
    def show(opened: dict[str, Any] | None) -> Component:
        if not opened:
            raise PreventUpdate
        return content(store.view(**opened))


def content(view: RunView) -> Component:
    """The lines as one grid, so that the columns line up."""
    model = view.opened is not None and view.opened.model is not None
    return _model_grid(view.devices) if model else _graph_grid(view.devices)


def _head(text: str, title: str = "") -> Component:
    made: Component = html.Span(text, className="gs-devices-head", title=title)
    return made


def _graph_grid(rows: list[DeviceTotals]) -> Component:
    """Of a graph file: what the graph shows, and a bar that compares the devices."""
    most = max((row.total for row in rows), default=0) or 1
    cells: list[Component] = [
        _head("device", "one row per buffer type"),
        _head("compute", "the compute buffer that the plan needs"),
        _head("KV, other", "data allocated before planning that is no weight, as far as this graph reads it"),
        _head("weights", "weights that this graph reads"),
        _head(""),
    ]
    for row in rows:
        cells += [_name(row), _size(row.compute, strong=True), _size(row.kept), _size(row.weights), _bar(row, most)]
    return html.Div(cells, className="gs-devices-grid")


def _model_grid(rows: list[DeviceTotals]) -> Component:
    """Of a model: everything that llama.cpp allocates, its sum, and the device's memory."""
    shown = [(key, text) for key, text in _PARTS if key in ("weights", "kept", "compute") or _any(rows, key)]
    several = any(row.here != row.compute for row in rows)  # the other graph needs more
    cells: list[Component] = [
        _head("device", "GPUs in the order of use, then all memory that the CPU can read"),
        *(_head(f"max {text}" if key == "compute" and several else text, _MEANING[key]) for key, text in shown),
        _head("sum", "everything together"),
        _head("free", "what is left of the device's memory, or by how much it does not fit"),
    ]
    for row in rows:
        name = [_name(row), tool_list("info", f"device-{row.name}", f"What is simulated about {row.name}")]
        cells.append(html.Span(name if row.memory is not None else name[:1], className="gs-device-name"))
        for key, _ in shown:
            cells.append(_size(getattr(row, key), note=_here(row) if key == "compute" else ""))
        cells += [_size(row.total, strong=True), _left(row), _fill(row)]
    return html.Div(
        cells,
        className="gs-devices-grid gs-devices-model",
        style={"gridTemplateColumns": f"minmax(72px, max-content) repeat({len(shown) + 2}, auto)"},
    )


def _any(rows: list[DeviceTotals], key: str) -> bool:
    return any(getattr(row, key) for row in rows)


def _here(row: DeviceTotals) -> str:
    return "" if row.here == row.compute else f"; this graph needs {bytes_text(row.here)}"


def _name(row: DeviceTotals) -> Component:
    label = [swatch(row.hue), html.Span(row.name)]
    if row.peak_step < 0:
        plain: Component = html.Span(label, className="gs-device", title=row.buft)
        return plain
    made: Component = html.Button(
        label,
        type="button",
        className="gs-device gs-link",
        title=f"{row.buft}: go to its peak at step {row.peak_step:,}",
        **data(data_peak=str(row.buffer)),
    )
    return made


def _size(number: int, *, strong: bool = False, note: str = "") -> Component:
    text = bytes_text(number) if number else "–"
    kind = "gs-number gs-strong" if strong else "gs-number"
    made: Component = html.Span(text, className=kind, title=f"{number:,} bytes{note}")
    return made


def _left(row: DeviceTotals) -> Component:
    """What is free, or in red by how much it does not fit."""
    if row.memory is None:
        return html.Span("–", className="gs-number")
    free = row.memory - row.total
    text = bytes_text(free) if free >= 0 else f"{bytes_text(-free)} over"
    title = f"{row.total:,} of {row.memory:,} bytes ({bytes_text(row.memory)})"
    made: Component = html.Span(text, className="gs-number" if free >= 0 else "gs-number gs-over", title=title)
    return made


def _fill(row: DeviceTotals) -> Component:
    """A bar as long as the device's memory or, where it does not fit, as what it should hold."""
    most = max(row.memory or 0, row.total) or 1
    parts = [("compute", row.compute), ("kept", row.kept + row.recurrent + row.output), ("weights", row.weights)]
    bar: list[Component] = [_part(kind, size, most, row) for kind, size in parts if size]
    if row.memory is not None and row.total > row.memory:
        over = {"left": f"{100 * row.memory / most:.2f}%"}
        bar.append(
            html.Span(className="gs-bar-over", style=over, title=f"{bytes_text(row.memory)}: the device ends here")
        )
    made: Component = html.Span(bar, className="gs-bar gs-bar-fill")
    return made


def _bar(row: DeviceTotals, most: int) -> Component:
    parts = (("compute", row.compute), ("kept", row.kept), ("weights", row.weights))
    made: Component = html.Span([_part(kind, size, most, row) for kind, size in parts if size], className="gs-bar")
    return made


def _part(kind: str, size: int, most: int, row: DeviceTotals) -> Component:
    made: Component = html.Span(
        className=f"gs-bar-{kind} gs-hue",
        title=f"{kind}: {bytes_text(size)}",
        style={"width": f"{100 * size / most:.2f}%", **hue_style(row.hue)},
    )
    return made
