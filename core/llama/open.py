"""From a GGUF header and options to traced graphs: by the real llama.cpp where installed, else by our own builders."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ..errors import InputError
from ..gguf.header import Header
from ..gguf.read import parse_header, read_header
from ..models import MODELS
from ..native.capture import available, capture
from ..native.verify import differences
from ..session import Session, trace
from .assemble import take
from .machine import machine
from .options import GraphMode, Options
from .overrides import all_overrides, check_bufts
from .pattern import compile_pattern
from .taken import GraphTaken, Taken

Progress = Callable[[str], None]


class Origin(str, Enum):
    """Who makes the graphs; AUTO takes llama.cpp when its wheel is installed."""

    AUTO = "auto"
    LLAMA = "llama.cpp"
    BUILDER = "builder"


@dataclass(frozen=True, slots=True)
class TracedGraph:
    """One graph of a model and what the engine decided about it.

    Attributes:
        taken: the problem and llama.cpp's own decisions.
        session: the engine's, one run.
        differences: sentences where the two differ; None when llama.cpp was not asked.
    """

    taken: GraphTaken
    session: Session
    differences: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class TracedModel:
    """A model under some options, with every graph traced.

    Attributes:
        name: of the file.
        header: what its GGUF header says.
        taken: graphs, memory and options with the defaults filled in.
        graphs: as asked for.
        seconds: how long everything took.
    """

    name: str
    header: Header
    taken: Taken
    graphs: tuple[TracedGraph, ...]
    seconds: float


def open_model(
    source: str | Path | bytes,
    name: str,
    options: Options,
    modes: Sequence[GraphMode],
    origin: Origin = Origin.AUTO,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> TracedModel:
    """Read the header, get the graphs, trace them and compare.

    Args:
        source: a path, or the bytes of a header.
        name: what to call the file in messages.
        options: as given; what is left open is filled in.
        modes: the graphs to make.
        origin: who makes them.
        progress: told what is being done, a few words each time.
        cancelled: asked now and then; True stops the work.

    Raises:
        InputError: the header, an option or the model is unusable, or the work was cancelled.
    """
    began = time.monotonic()
    say = progress or (lambda text: None)
    say("reading the header")
    header = parse_header(source, name) if isinstance(source, bytes) else read_header(source)
    _check(options)
    taken = _take(source, header, options, modes, origin, say, cancelled)
    graphs = []
    for graph in taken.graphs:
        if cancelled is not None and cancelled():
            raise InputError("cancelled")
        say(f"deciding about the {graph.mode.value} graph")
        session = trace(graph.problem)
        different = None if graph.decided is None else tuple(differences(session, graph.decided))
        graphs.append(TracedGraph(graph, session, different))
    return TracedModel(name, header, taken, tuple(graphs), time.monotonic() - began)


def _check(options: Options) -> None:
    """What can be wrong with options whatever the model: devices and patterns, in our own words."""
    overrides = all_overrides(options)
    check_bufts(overrides, machine(options).override_places())
    for override in overrides:
        compile_pattern(override.pattern)


def _take(
    source: str | Path | bytes,
    header: Header,
    options: Options,
    modes: Sequence[GraphMode],
    origin: Origin,
    say: Progress,
    cancelled: Callable[[], bool] | None,
) -> Taken:
    why_not = available() if origin is not Origin.BUILDER else ""
    if origin is Origin.LLAMA and why_not:
        raise InputError(f"the real llama.cpp cannot be asked: {why_not}")
    if origin is not Origin.BUILDER and not why_not:
        return capture(source, options, modes, progress=say, cancelled=cancelled)
    if header.architecture not in MODELS:
        known = ", ".join(sorted(MODELS))
        hint = f"; with the real llama.cpp it can be opened, but {why_not}" if why_not else ""
        raise InputError(f"architecture {header.architecture!r} has no builder (there are {known}){hint}")
    say("building the graph")
    return take(header, options, modes)
