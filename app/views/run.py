"""The bar that runs the graph on the screen, its answers, and what was computed of a tensor."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from ...core.explain.sentence import Sentence
from .. import ids
from ..figures.run_words import number_text, seconds_text, share_text, wrong_text
from ..run_view import RunView
from ..sessions import SessionStore
from .parts import data, icon, sentence

BACKENDS = (
    ("numpy", "numpy: computes", "Every op is computed, on this machine's CPU"),
    (
        "digest",
        "digest: follows bytes",
        "Fingerprints of bytes, no numbers: does the plan keep them apart?",
    ),
)
SWITCHES = (
    ("poison", "Poison", "Bytes that were freed or never written are NaN: whoever reads them shows it"),
    ("guard", "Guard", "Before each node: are its sources' bytes still theirs? After it: did nothing else change?"),
)
SEED = "1"


def layout() -> Component:
    """The bar, closed; `assets/run.js` opens and fills it."""
    status = [
        html.Button("Run", type="submit", id="run-go", className="gs-button gs-run-go"),
        html.Button("Cancel", type="button", id="run-cancel", className="gs-switch", hidden=True),
        html.Span(id="run-stage", className="gs-muted gs-number", hidden=True, role="status"),
        html.Button(
            "Clear", type="button", id="run-clear", className="gs-switch", hidden=True, title="Forget what was computed"
        ),
    ]
    close = html.Button(
        [html.Kbd("x"), " close"], type="button", className="gs-switch gs-run-close", **data(data_action="run")
    )
    return html.Section(
        [
            html.Form([*_choices(), *status, close], id="run-form", className="gs-run-form"),
            html.Div(
                [
                    html.Span(id="run-trouble-text"),
                    html.Button("Check the bytes only", type="button", id="run-digest", className="gs-switch"),
                ],
                id="run-trouble",
                className="gs-run-trouble",
                hidden=True,
                role="alert",
            ),
            html.Div(id="run-answers", className="gs-answers gs-run-answers", hidden=True),
        ],
        id=ids.RUN_BAR,
        className="gs-run",
        hidden=True,
        **data(aria_label="Run the graph", data_job=""),
    )


def _choices() -> list[Component]:
    """What the weights are, who computes, what is watched."""
    filled = html.Select(
        [html.Option("the file's own", value="own"), html.Option("random", value="random")],
        id="run-filled",
        className="gs-plan-select",
    )
    seed = html.Label(
        [
            html.Span("random weights, seed", className="gs-label"),
            _seed(),
        ],
        id="run-seed-box",
        className="gs-plan-field",
        title="Weights and inputs are random numbers: the same seed gives the same",
    )
    backend = html.Select(
        [html.Option(text, value=key, title=title) for key, text, title in BACKENDS],
        id="run-backend",
        className="gs-plan-select",
    )
    switches = [
        html.Button(
            text, type="button", id=f"run-{key}", className="gs-switch", title=title, **data(aria_pressed="false")
        )
        for key, text, title in SWITCHES
    ]
    return [
        html.Label(
            [html.Span("weights", className="gs-label"), filled],
            id="run-own-box",
            className="gs-plan-field",
            hidden=True,
        ),
        seed,
        html.Label([html.Span("backend", className="gs-label"), backend], className="gs-plan-field"),
        html.Span(switches, className="gs-run-switches"),
    ]


def _seed() -> Component:
    """A plain field: Dash's own input would ask the server on every key."""
    made: Component = html.Span(id="run-seed-place", **data(data_seed=SEED))
    return made


def button() -> Component:
    """For the top bar."""
    made: Component = html.Button(
        [icon("run"), html.Span("Run", className="gs-planners-word")],
        id="run-button",
        type="button",
        className="gs-planners-button",
        title="Compute the graph inside the planned addresses (x)",
        **data(data_action="run", aria_controls=ids.RUN_BAR, aria_expanded="false"),
    )
    return made


def register(app: dash.Dash, store: SessionStore) -> None:
    """Everything is asked of the routes of `app/run_routes.py`."""


def computed(view: RunView, tensor: int) -> list[Component]:
    """Rows of the why panel: what the last run says about a tensor, nothing where it was not run."""
    done = view.running.done
    one = None if done is None else next((one for one in done.execution.nodes if one.node == tensor), None)
    if done is None or one is None:
        return []
    told = []
    if not done.follows_bytes:
        share = share_text(one.seconds, sum(other.seconds for other in done.execution.nodes))
        told.append(Sentence("time", f"**{seconds_text(one.seconds)}**, {share} of the time of all nodes."))
    if one.low is not None and one.high is not None:
        mean = "" if one.mean is None else f", mean {number_text(one.mean)}"
        told.append(Sentence("values", f"From **{number_text(one.low)}** to **{number_text(one.high)}**{mean}."))
    wrong = wrong_text(one.nans, one.infs)
    rows: list[Component] = [html.P(sentence(each, view.ids)) for each in told]
    if wrong:
        rows.append(html.P(html.Strong(wrong), className="gs-run-bad"))
    rows.append(html.P(done.about, className="gs-muted"))
    return [html.Dt("computed"), html.Dd(rows)]
