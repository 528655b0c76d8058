"""Keys and gestures."""

from __future__ import annotations

import dash
import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..sessions import SessionStore

KEYS = (
    ("Find and walk", (
        ("/", "find a tensor by name or op"),
        ("i  o", "to a producer, to a consumer"),
        ("[  ]", "back and forth through what was selected"),
        ("n  b", "next and previous pass of the scheduler"),
        ("p", "to the peak, with everything alive there"),
        (",  .", "one step back, one step on"),
        ("Esc", "undo the last of these"),
    )),
    ("Look", (
        ("f", "fit both pictures"),
        ("1  2  3", "graph, memory, table on the whole page"),
        ("t", "graph or table"),
        ("c", "next meaning of the colours"),
        ("?", "this list"),
    )),
    ("In a picture", (
        ("wheel", "zoom at the pointer (memory: steps; with shift: addresses; with ctrl: both)"),
        ("drag", "move; with shift: zoom into a box"),
        ("double click", "into a split, a layer; again: out"),
        ("← → ↑ ↓  + -", "move and zoom"),
        ("Enter", "zoom to the selection"),
    )),
)  # fmt: skip
"""Sections of (keys, what they do); the keys stand apart by two spaces."""


def layout() -> Component:
    """The dialog, closed."""
    sections = [
        html.Section(
            [html.H3(title), html.Dl([part for keys, text in rows for part in (html.Dt(_keys(keys)), html.Dd(text))])]
        )
        for title, rows in KEYS
    ]
    dialog: Component = dmc.Modal(
        html.Div(sections, className="gs-help"),
        id=ids.HELP_DIALOG,
        title="Keys and gestures",
        size=720,
        transitionProps={"duration": 0},
        overlayProps={"backgroundOpacity": 0.35},
        zIndex=300,
        className="gs-dialog",
    )
    return dialog


def _keys(keys: str) -> list[Component]:
    return [html.Kbd(key) for key in keys.split("  ")]


def register(app: dash.Dash, store: SessionStore) -> None:
    """Opened by `assets/page_keys.js`."""
