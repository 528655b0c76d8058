"""The opening sentences: each one an answer, its number large, its evidence one click away."""

from __future__ import annotations

import re
from typing import Any

import dash
from dash import Input, Output, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from ...core.explain.sentence import Sentence
from .. import ids
from ..run_view import RunView
from ..sessions import SessionStore
from .parts import data, spans

_KEYS = {"hazard": "Overlap", "realloc": "New plan", "unchecked": "Stale plan", "no_plan": "No addresses"}
"""Headlines of sentences whose marked words do not make one."""
_LONG = 18
"""More letters than this fill the column of key numbers; the first two words will do."""
_FIRST_WORDS = re.compile(r"\d[\d,]* \w+")


def layout() -> Component:
    """An empty list."""
    return html.Div(id=ids.ANSWERS, className="gs-answers")


def register(app: dash.Dash, store: SessionStore) -> None:
    """The answers follow the run on the screen."""

    @app.callback(Output(ids.ANSWERS, "children"), Input(ids.OPENED, "data"), prevent_initial_call=True)
    def show(opened: dict[str, Any] | None) -> list[Component]:
        if not opened:
            raise PreventUpdate
        return content(store.view(**opened))


def content(view: RunView) -> list[Component]:
    """A cell for each sentence: the key number, then the words."""
    return [_cell(sentence, view.ids) for sentence in view.answers]


def headline(sentence: Sentence) -> tuple[str, list[tuple[str, str]]]:
    """The key words of a sentence, and the rest with them taken out where they stand at its start.

    >>> headline(Sentence("splits", "**3 splits**, 9 MiB copied."))
    ('3 splits', [('9 MiB copied.', '')])
    >>> headline(Sentence("in_place", "74 times an op could not."))[0]
    '74 times'
    """
    parts = sentence.parts
    if sentence.topic in _KEYS:
        return _KEYS[sentence.topic], parts
    first = next((i for i, (_, style) in enumerate(parts) if style == "strong"), -1)
    if first < 0:
        found = _FIRST_WORDS.match(parts[0][0])
        if not found:
            return "", parts
        return found.group(), [(parts[0][0][found.end() :].lstrip(" ,:"), ""), *parts[1:]]
    if first > 0:
        return parts[first][0], parts
    short = _FIRST_WORDS.match(parts[0][0])
    if short and len(parts[0][0]) > _LONG:
        return short.group(), [(parts[0][0][short.end() :].lstrip(), ""), *parts[1:]]
    rest = parts[1:]
    if rest and not rest[0][1]:
        rest = [(rest[0][0].lstrip(" ,:."), ""), *rest[1:]]
    return parts[0][0], rest


def evidence(sentence: Sentence) -> dict[str, object]:
    """What a click on an answer selects; the one about all splits opens their list."""
    if sentence.topic == "splits":
        return {"data_list": "splits"}
    return {"data_tensor": sentence.tensor, "data_split": sentence.split}


def _cell(sentence: Sentence, known: dict[str, int]) -> Component:
    key, rest = headline(sentence)
    return html.Div(
        [html.Div(key, className="gs-answer-key"), html.Div(spans(rest, known), className="gs-answer-text")],
        title=sentence.text,
        className="gs-answer gs-alarm" if sentence.alarm else "gs-answer",
        role="button",
        tabIndex=0,
        **data(data_topic=sentence.topic, **evidence(sentence)),
    )
