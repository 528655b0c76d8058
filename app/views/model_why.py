"""What is known about a model beside its tensors: was it compared with llama.cpp, and what is simulated of a device."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from ...core.devices.profile import Profile
from ...core.llama.open import TracedGraph, TracedModel
from ...core.text import bytes_text
from ..figures.model_devices import model_device
from ..run_view import RunView

_COMPARED = (
    "Same order of nodes and leafs, same device for every node, same splits and copies, same chunks of every compute "
    "buffer and the same offset for every tensor.",
    "llama.cpp was given the same simulated devices: what a real one would support is assumed by its profile.",
)
_NOT_COMPARED = (
    "The graph comes from galloscope's own builder of this architecture, and llama.cpp was not asked. With the extra "
    "`native` (Linux, x86-64) the real llama.cpp makes the graph, and every decision is compared."
)


def model_section(view: RunView, listed: str) -> list[Component]:
    """The section that `listed` asks for: `check`, or `device-NAME`; nothing for a graph file."""
    opened = view.opened
    if opened is None or opened.model is None or view.graph is None:
        return []
    if listed == "check":
        return [_check(opened.model, view.graph)]
    name = listed.removeprefix("device-")
    device = model_device(opened.model.taken.options, name) if name != listed else None
    return [] if device is None else [_device(name, device.profile, device.spec.memory is None)]


def _head(title: str, facts: list[str]) -> list[Component]:
    return [
        html.Div(html.Span(title, className="gs-why-title"), className="gs-why-line"),
        html.Div([html.Span(fact) for fact in facts], className="gs-facts"),
    ]


def _rows(rows: list[tuple[str, list[str]]]) -> Component:
    parts = [
        part for heading, told in rows if told for part in (html.Dt(heading), html.Dd([html.P(one) for one in told]))
    ]
    made: Component = html.Dl(parts, className="gs-why-rows")
    return made


def _check(model: TracedModel, graph: TracedGraph) -> Component:
    source, found = model.taken.source, graph.differences
    if found is None:
        title, told = "built by galloscope, not compared", [_NOT_COMPARED]
    elif found:
        title = f"{len(found)} difference{'' if len(found) == 1 else 's'} from {source}"
        told = list(found)
    else:
        title, told = f"verified against {source}", list(_COMPARED)
    facts = [f"the {graph.taken.mode.value} graph", f"opened in {model.seconds:.2f} s"]
    section: Component = html.Section(
        [
            *_head(title, facts),
            _rows([("differ" if found else "compared", told), ("notes", list(model.taken.notes))]),
        ],
        className="gs-check gs-wrong" if found else "gs-check",
    )
    return section


def _device(name: str, profile: Profile, assumed: bool) -> Component:
    memory = f"{bytes_text(profile.memory)} of memory" + (", assumed: nobody said how much it has" if assumed else "")
    limits = [
        f"{key} = {value:,}" + _unit(profile, key) for key, value in profile.limits().items() if value is not None
    ]
    section: Component = html.Section(
        [
            *_head(name, [f"simulated {profile.title} device", memory]),
            _rows([("not real", list(profile.simplified)), ("limits", limits), ("rules from", [profile.source])]),
        ]
    )
    return section


def _unit(profile: Profile, key: str) -> str:
    return f" ({profile.units[key]})" if key in profile.units else ""
