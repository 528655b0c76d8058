"""Keys, gestures and the words of the page."""

from __future__ import annotations

import dash
import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from .. import ids
from ..figures.causes import PASS_WORDS, glossary, pass_title
from ..sessions import SessionStore

KEYS = (
    ("Find and walk", (
        ("/", "find a tensor by name or op"),
        ("i  o", "to a producer, to a consumer"),
        ("[  ]", "back and forth through what was selected"),
        ("n  b", "next and previous pass of the scheduler"),
        ("p", "to the peak, with everything alive there"),
        (",  .", "one step back, one step on"),
        ("Esc", "cancel, close what is open, else select nothing"),
    )),
    ("A model", (
        ("m", "its parameters, as in llama.cpp"),
        ("u", "back to the options before"),
        ("r", "prefill or decode; the next run of a graph file"),
    )),
    ("Look", (
        ("f", "fit both pictures"),
        ("1  2  3", "graph, memory, table on the whole page"),
        ("t", "graph or table"),
        ("4", "planners: how far from the best is ggml"),
        ("5", "timeline: when each device computes, copies and waits"),
        ("6", "session: what is re-used from batch to batch, and why not"),
        ("c", "next meaning of the colours"),
        ("x", "run the graph: real numbers in its planned memory"),
        ("?", "this list"),
    )),
    ("Planners", (
        ("i", "with or without in-place"),
        ("a  b", "the next planner above, below; with shift: the one before"),
        (",  .", "one step back, one step on"),
        ("p  f  c", "to the peak, fit, next meaning of the colours"),
    )),
    ("Timeline", (
        ("b", "more micro-batches in flight; with shift: fewer"),
        ("l", "the longest chain, which bounds the end"),
        ("s", "simulated, or measured in the last run"),
    )),
    ("Session", (
        ("← →", "one ubatch back, one on"),
        ("n  b", "the next rebuild, the one before; so do ] and ["),
        ("g  w", "the graph of the ubatch, the worst case that was reserved"),
        ("f  + -", "fit, zoom to the selected one"),
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

TERMS = (
    ("split", "A run of nodes that one device computes without a break; what it needs from elsewhere is copied first."),
    ("step", "A node of the graph that the allocator sees: the nodes in order, and the copies before each split."),
    ("peak", "The step at which most bytes of a buffer are alive."),
    ("in place", "An op writes its result over a source that nobody else needs any more."),
    ("chunk", "A part of a compute buffer, where the device limits the size of one allocation."),
    ("bound", "The most bytes alive at one step: no plan of the same lifetimes can need less memory."),
    ("ratio", "What a plan needs, divided by the bound; a plan with ratio 1 is optimal."),
    ("pool", "A block of memory that buffers share one after the other; it is as large as the largest of them."),
    ("poison", "Bytes that were freed or never written are made NaN while a graph runs: whoever reads them shows it."),
    ("guard", "Before each node: are its sources' bytes still theirs? After it: has nothing else changed?"),
    (
        "ubatch",
        "A micro-batch: the tokens that one graph computes at once; a long prompt is several, some in flight together.",
    ),
    (
        "longest chain",
        "The critical path of the timeline: back from what ends last, each time to what it had to wait for.",
    ),
    ("session", "Batches in the order in which a program decodes them, in one context of llama.cpp."),
    (
        "re-used",
        "A ubatch for which graph, plan and addresses of the one before serve again: only inputs are set.",
    ),
    ("re-planned", "A rebuilt graph did not fit the plan in force: other devices, other counts, or a larger tensor."),
    ("reservation", "llama.cpp plans the largest graphs it may meet, so that buffers are large enough from the start."),
    ("pipeline copy", "One of several copies of an input, so that the next batch can begin before the last is done."),
)
"""Words of the page that a newcomer may not know."""


def layout() -> Component:
    """The dialog, closed."""
    sections = [
        html.Section(
            [html.H3(title), html.Dl([part for keys, text in rows for part in (html.Dt(_keys(keys)), html.Dd(text))])]
        )
        for title, rows in KEYS
    ]
    words = [(pass_title(name), told) for name, (_, _, _, told) in PASS_WORDS.items()]
    glossaries = [_glossary("Words", list(TERMS)), _glossary("Passes of the scheduler", words)]
    glossaries.append(_glossary("Causes: why a tensor has its device", glossary()))
    dialog: Component = dmc.Modal(
        [html.Div(sections, className="gs-help"), html.Div(glossaries, className="gs-glossary")],
        id=ids.HELP_DIALOG,
        title="Keys, gestures and words",
        size=720,
        transitionProps={"duration": 0},
        overlayProps={"backgroundOpacity": 0.35},
        zIndex=300,
        className="gs-dialog",
    )
    return dialog


def _glossary(title: str, rows: list[tuple[str, str]]) -> Component:
    terms = [part for term, told in rows for part in (html.Dt(term), html.Dd(told))]
    made: Component = html.Section([html.H3(title), html.Dl(terms)])
    return made


def _keys(keys: str) -> list[Component]:
    return [html.Kbd(key) for key in keys.split("  ")]


def register(app: dash.Dash, store: SessionStore) -> None:
    """Opened by `assets/page_keys.js`."""
