"""The panel that explains what is selected: a tensor, a split, a pass of the scheduler, a step of the allocator."""

from __future__ import annotations

import re
from typing import Any

import dash
from dash import Input, Output, State, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from ...core.events import PassName
from ...core.text import bytes_text, tail_text
from .. import ids
from ..figures.causes import PASS_WORDS, pass_title
from ..figures.palette import Hue
from ..figures.passes import PassSummary, did, pass_at
from ..figures.selected import GroupCard, SplitCard, TensorCard, group_card, split_card, tensor_card
from ..figures.steps import live_set
from ..run_view import RunView
from ..sessions import SessionStore
from .model_why import model_section
from .parts import data, icon, link, panel, sentence, swatch, tool, with_causes
from .run import computed

MOST_LISTED = 8
MOST_ALIVE = 24
MOST_SPLITS = 500
_NODES = re.compile(r"(\d{1,9})-(\d{1,9})")
Components = list[Component]


def layout() -> Component:
    """The panel with its hint."""
    tools = [
        tool("back", "back", "Selected before", "["),
        tool("forward", "forward", "Selected after", "]"),
        tool("max", "max-why", "Maximise"),
    ]
    return panel("why", html.Span("Why"), tools, html.Div(hint(), id=ids.WHY, className="gs-why"))


def register(app: dash.Dash, store: SessionStore) -> None:
    """The panel follows the selection and the run."""

    @app.callback(
        Output(ids.WHY, "children"), Input(ids.SELECTION, "data"), State(ids.OPENED, "data"), prevent_initial_call=True
    )
    def show(selection: dict[str, Any] | None, opened: dict[str, Any] | None) -> list[Component]:
        if not opened:
            raise PreventUpdate
        return content(store.view(**opened), **(selection or {}))


def hint(about: str = "", look: str = "", passes: bool = True, notes: int = 0) -> list[Component]:
    """What the graph is, what there is to see, and what to do when nothing is selected."""
    noted = html.Button(
        "1 note" if notes == 1 else f"{notes} notes", type="button", className="gs-link", **data(data_list="check")
    )
    return [
        html.Div(
            [
                *(html.P(text, className=kind) for text, kind in ((about, ""), (look, "gs-look")) if text),
                *([html.P([noted, " on how this was made."])] if notes else []),
                html.P("Click a rectangle, an op, a split or a name to see why it is where it is."),
                html.P(
                    [
                        html.Kbd("p"),
                        " jumps to the peak, ",
                        html.Kbd("/"),
                        " finds a tensor",
                        *([", ", html.Kbd("n"), " steps through the scheduler's passes."] if passes else ["."]),
                    ]
                ),
            ],
            className="gs-hint",
        )
    ]


def content(
    view: RunView,
    tensor: int = -1,
    split: int = -1,
    tick: int = -1,
    nodes: str = "",
    listed: str = "",
    source: str = "",
) -> Components:
    """A section for each thing that is selected, the tensor first: a pass that stays chosen lists many."""
    state = view.state
    sections: Components = []
    if 0 <= tensor < len(state.tensors):
        sections.append(_tensor(view, tensor, tensor_card(state, tensor, view.loaded(tensor))))
    if 0 <= split < len(state.splits):
        sections.append(_split(view, split_card(state, split)))
    if tick >= 0:
        summary = pass_at(view.run, state, tick)
        step = next((k for k, (first, end) in enumerate(view.ticks) if first <= tick < end), -1)
        if summary is not None:
            sections.append(_pass(view, summary))
        elif step >= 0 and tensor < 0:
            sections.append(_alive(view, step))
    found = _NODES.fullmatch(nodes)
    if found and int(found[1]) <= int(found[2]) < len(state.nodes):
        sections.append(_group(view, group_card(state, int(found[1]), int(found[2]) + 1)))
    if listed == "splits" and state.splits:
        sections.append(_splits(view, split))
    sections += model_section(view, listed)
    notes = len(view.opened.model.taken.notes) if view.opened and view.opened.model else 0
    return sections or hint(view.run.problem.about, view.look, bool(state.passes), notes)


def _head(title: Component | str, hue: Hue | None, facts: list[str], extra: list[Component]) -> Component:
    parts = [] if hue is None else [swatch(hue)]
    line = html.Div([*parts, html.Span(title, className="gs-why-title"), *extra], className="gs-why-line")
    return html.Div([line, html.Div([html.Span(with_causes(fact)) for fact in facts], className="gs-facts")])


def _tensor(view: RunView, tensor: int, card: TensorCard) -> Component:
    copy = html.Button(
        icon("copy"),
        type="button",
        className="gs-tool",
        title="Copy the name",
        **data(data_copy=card.name, aria_label="Copy the name"),
    )
    rows: list[Component] = computed(view, tensor)
    rows += [
        part
        for heading, told in card.rows
        for part in (
            html.Dt(heading),
            html.Dd([html.P(sentence(one, view.ids)) for one in told]),
        )
    ]
    rows += _relatives(view, "reads", card.producers) + _relatives(view, "read by", card.consumers)
    return html.Section([_head(card.name, card.hue, card.facts, [copy]), html.Dl(rows, className="gs-why-rows")])


def _relatives(view: RunView, heading: str, tensors: list[int]) -> list[Component]:
    if not tensors:
        return []
    shown: list[Any] = []
    for tensor in tensors[:MOST_LISTED]:
        shown.append(link(tail_text(view.state.names[tensor], 40), tensor))
    more = len(tensors) - MOST_LISTED
    return [html.Dt(heading), html.Dd([*shown, f"and {more:,} more" if more > 0 else ""], className="gs-names")]


def _split(view: RunView, card: SplitCard) -> Component:
    listed = [_sized(view, tensor, size) for tensor, size in card.inputs[:MOST_ALIVE]]
    if len(card.inputs) > MOST_ALIVE:
        listed.append(html.P(f"and {len(card.inputs) - MOST_ALIVE:,} more", className="gs-why-more"))
    told = [html.P(sentence(one, view.ids), className="gs-why-text") for one in card.reasons]
    return html.Section([_head(card.title, card.hue, card.facts, []), *told, html.Div(listed, className="gs-sized")])


def _splits(view: RunView, chosen: int = -1) -> Component:
    """All splits, each a row that selects it."""
    state = view.state
    total = len(state.splits)
    rows: Components = [_split_row(split_card(state, k), k, k == chosen) for k in range(min(total, MOST_SPLITS))]
    if total > MOST_SPLITS:
        rows.append(html.P(f"and {total - MOST_SPLITS:,} more", className="gs-why-more"))
    head = _head("1 split" if total == 1 else f"{total:,} splits", None, [did(state, PassName.SPLIT, 0)], [])
    return html.Section([head, html.Div(rows, className="gs-split-rows")])


def _split_row(card: SplitCard, number: int, chosen: bool) -> Component:
    made: Component = html.Button(
        [
            html.Span([swatch(card.hue), html.Span(card.title)], className="gs-split-name"),
            html.Span(" · ".join(card.facts), className="gs-muted"),
        ],
        type="button",
        className="gs-split-row",
        title=" ".join(one.text for one in card.reasons),
        **data(data_row_split=number, aria_pressed=str(chosen).lower()),
    )
    return made


def _group(view: RunView, card: GroupCard) -> Component:
    told = [html.P(sentence(one, view.ids), className="gs-why-text") for one in card.sentences]
    return html.Section([_head(card.title, None, card.facts, []), *told])


def _pass(view: RunView, summary: PassSummary) -> Component:
    head = _head(pass_title(summary.name), None, [did(view.state, summary.name, summary.changed)], [])
    text = html.P(PASS_WORDS[summary.name][3], className="gs-why-text")
    if summary.name is PassName.SPLIT:
        rows = [
            _split_row(split_card(view.state, k), k, False) for k in range(min(len(view.state.splits), MOST_SPLITS))
        ]
        return html.Section([head, text, html.Div(rows, className="gs-split-rows")])
    listed: Components = []
    for backend, cause, meaning, count, tensors in summary.groups:
        where = view.state.backends[backend].name if backend >= 0 else "no device yet"
        shown: list[Any] = []
        for tensor in tensors[:MOST_LISTED]:
            shown.append(link(tail_text(view.state.names[tensor], 28), tensor))
        more = len(tensors) - MOST_LISTED
        listed += [
            html.Dt(f"{count:,} × {where}"),
            html.Dd(
                [
                    html.P([*with_causes(cause), f": {meaning}"]),
                    html.P([*shown, f"and {more:,} more" if more > 0 else ""], className="gs-names"),
                ]
            ),
        ]
    return html.Section([head, text, html.Dl(listed, className="gs-why-rows gs-wide")])


def _alive(view: RunView, step: int) -> Component:
    """Who is alive at a step, per buffer."""
    state = view.state
    node = state.alloc_nodes[step][0]
    parts: list[Component] = [_head(f"alive at step {step:,}", None, [f"while {state.names[node]} runs"], [])]
    for buffer, alive in live_set(state, step):
        total = sum(size for _, size in alive)
        title = f"{state.buffers[buffer].buft.name}: {bytes_text(total)} in {len(alive):,} tensors"
        parts.append(html.H3(title, className="gs-why-heading"))
        parts.append(html.Div([_sized(view, t, size) for t, size in alive[:MOST_ALIVE]], className="gs-sized"))
        if len(alive) > MOST_ALIVE:
            rest = sum(size for _, size in alive[MOST_ALIVE:])
            parts.append(html.P(f"and {len(alive) - MOST_ALIVE:,} more, {bytes_text(rest)}", className="gs-why-more"))
    return html.Section(parts)


def _sized(view: RunView, tensor: int, size: int) -> Component:
    number = html.Span(bytes_text(size), className="gs-number", title=f"{size:,} bytes")
    return html.Div([number, link(view.state.names[tensor], tensor)])
