"""Small pieces that several views are made of. Names are set as text, never as markup."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import dash
from dash import ClientsideFunction, Input, Output, html
from dash.development.base_component import Component

from ...core.explain.sentence import Sentence
from ..figures.causes import with_codes
from ..figures.palette import Hue

Children = Component | str | list[Any]


def data(**values: object) -> dict[str, Any]:
    """Keyword arguments for attributes whose names have dashes; None and -1, which stand for nothing, are left out.

    >>> data(data_tensor=3, data_split=-1, aria_label="Copy")
    {'data-tensor': '3', 'aria-label': 'Copy'}
    """
    return {key.replace("_", "-"): str(value) for key, value in values.items() if value is not None and value != -1}


def link(text: str, tensor: int) -> Component:
    """A name that selects its tensor; `assets/page.js` listens for the data attribute."""
    made: Component = html.Button(text, type="button", className="gs-name", **data(data_tensor=tensor))
    return made


_UNIT = re.compile(r"(?<=\d) (?=%|[KMGTPE]?i?B\b)")


def spans(parts: Sequence[tuple[str, str]], ids: Mapping[str, int]) -> list[Any]:
    """The pieces of a sentence; a name of a tensor becomes a link to it, a number stays with its unit."""
    made: list[Any] = []
    for text, style in parts:
        if style == "name":
            made.append(link(text, ids[text]) if text in ids else html.Span(text, className="gs-mono"))
        elif style == "strong":
            made.append(html.Strong(_UNIT.sub("\u00a0", text)))
        else:
            made += with_causes(text)
    return made


def with_causes(text: str) -> list[Any]:
    """A plain text, its cause codes with their meaning as a tooltip."""
    return [cause(piece, told) if told else _UNIT.sub("\u00a0", piece) for piece, told in with_codes(text)]


def cause(code: str, told: str) -> Component:
    """A cause code that says what it means when the pointer rests on it."""
    made: Component = html.Abbr(code, className="gs-mono gs-code", title=told)
    return made


def sentence(one: Sentence, ids: Mapping[str, int]) -> list[Any]:
    """A whole sentence."""
    return spans(one.parts, ids)


def hue_style(hue: Hue) -> dict[str, str]:
    """A hue in both themes, for the class `gs-hue`."""
    return {"--light": hue.light, "--dark": hue.dark}


def swatch(hue: Hue) -> Component:
    """A small square of a device's colour."""
    made: Component = html.Span(className="gs-swatch gs-hue", style=hue_style(hue))
    return made


def icon(name: str) -> Component:
    """One of the icons of `assets/page.css`."""
    return html.Span(className=f"gs-icon gs-icon-{name}", **data(aria_hidden="true"))


def tool(name: str, action: str, title: str, key: str = "") -> Component:
    """A small button with an icon; `assets/page.js` does what its action says."""
    return html.Button(
        icon(name),
        type="button",
        className="gs-tool",
        title=f"{title} ({key})" if key else title,
        **data(data_action=action, aria_label=title),
    )


def tool_list(name: str, listed: str, title: str) -> Component:
    """A small button with an icon; the why panel lists what it names."""
    return html.Button(
        icon(name),
        type="button",
        className="gs-tool gs-tool-small",
        title=title,
        **data(data_list=listed, aria_label=title),
    )


def call_page(app: dash.Dash, function: str, component: str, value: Input) -> None:
    """Let a function of `assets/page.js` know of a change; it answers with no update, but Dash wants an output."""
    register: Any = app.clientside_callback
    asked = ClientsideFunction("galloscope", function)
    register(asked, Output(component, "className"), value, prevent_initial_call=True)


def panel(kind: str, title: Children, tools: Sequence[Component], body: Component) -> Component:
    """A panel with its header line."""
    head = html.Div(
        [html.Div(title, className="gs-panel-title"), html.Div(list(tools), className="gs-tools")],
        className="gs-panel-head",
    )
    return html.Section([head, body], className=f"gs-panel gs-panel-{kind}", id=f"panel-{kind}")
