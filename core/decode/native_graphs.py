"""Graphs of a session from the real llama.cpp, for architectures without a builder of ours."""

from __future__ import annotations

from functools import cached_property

import msgspec

from ..context import TENSOR_OVERHEAD, graph_overhead
from ..devices.known import DEVICES
from ..errors import InputError
from ..gguf.header import Header
from ..llama.made import Made
from ..models.shape import GraphShape, Purpose
from ..native.convert import Machine, to_problem
from ..native.layouts import BUILD
from ..native.play import play
from ..native.play_messages import Played, PlayedPlan, PlayedUbatch
from ..native.roots import NoRoots
from .devices import script_devices
from .script import Script

CPU = "CPU"


class NativeGraphs:
    """A `GraphSource` that lets the real llama.cpp play the same session and keeps the graph of every shape.

    It gives graphs only: what is re-used, rebuilt or planned is decided by who asks. A shape that llama.cpp never built
    is refused, for then the two have decided differently.
    """

    def __init__(self, header: Header, script: Script, *, time_limit: float = 120) -> None:
        """Nothing is asked before the first graph; then the child has `time_limit` seconds."""
        self._header, self._script, self._limit = header, script, time_limit
        self._made: dict[GraphShape, Made] = {}

    @cached_property
    def played(self) -> Played:
        """The session, as the real llama.cpp took it.

        Raises:
            InputError: llama.cpp cannot be asked, refuses, or stops.
        """
        return play(self._header, self._script, graphs=True, time_limit=self._limit)

    def graph(self, shape: GraphShape) -> Made:
        """The graph of this shape.

        Raises:
            InputError: llama.cpp cannot be asked, or has built no such graph.
        """
        key = _key(shape)
        made = self._made.get(key)
        if made is None:
            number = self._numbers.get(key)
            if number is None:
                raise InputError(
                    f"llama.cpp {BUILD} built no graph for {_words(shape)} in this session: it decided differently"
                )
            made = self._made[key] = self._make(number)
        return made

    @cached_property
    def static(self) -> dict[tuple[str, str], tuple[str, int]]:
        """As `Setup.static`, of the weights and caches that a graph names: where llama.cpp has put them."""
        found: dict[tuple[str, str], tuple[str, int]] = {}
        for graph in self.played.graphs:
            for tensor in graph.tensors:
                if tensor.offset >= 0 and tensor.view_src < 0:
                    usage = "weights" if tensor.is_weight else "any"
                    found.setdefault((tensor.name, tensor.buft), (f"{usage}:{tensor.buft}", tensor.offset))
        return found

    @cached_property
    def _numbers(self) -> dict[GraphShape, int]:
        return {_key(shape): number for number, shape in enumerate(self.played.shapes)}

    @cached_property
    def _unlisted(self) -> dict[GraphShape, int]:
        """Tensors of each shape's pool that are neither nodes nor inputs of its graph."""
        played = self.played
        found = {}
        graphs: list[PlayedPlan | PlayedUbatch] = []
        for step in (played.start, *played.steps):
            graphs += [*step.reserves, *step.ubatches]
        for shape, number in [(one.shape, one.facts) for one in graphs]:
            facts = played.facts[number]
            if facts.used_bytes:
                made = (facts.used_bytes - graph_overhead(facts.graph_size)) // TENSOR_OVERHEAD
                found[_key(shape)] = made - facts.n_nodes - len(facts.inputs)
        return found

    @cached_property
    def _machine(self) -> Machine:
        profiles = {one.name: one.profile for one in script_devices(self._script.devices)}
        return Machine(self.played, {**profiles, CPU: DEVICES["cpu"]})

    def _make(self, number: int) -> Made:
        played = self.played
        shape, raw = played.shapes[number], played.graphs[number]
        about = f"llama.cpp {BUILD}: {self._header.architecture}, {_words(shape)}"
        meta = {"arch": self._header.architecture, "build": BUILD, "n_ctx": played.n_ctx}
        try:
            problem = to_problem(raw, self._machine, about, meta)
        except NoRoots as error:
            raise InputError(f"{about}: the graph cannot be rebuilt: {error}") from None
        return Made(problem, played.classes[number], self._unlisted.get(_key(shape), 0))


def _key(shape: GraphShape) -> GraphShape:
    """The shape without what the real graph does not depend on."""
    if shape.purpose is not Purpose.DECODE:
        return GraphShape(purpose=shape.purpose)
    if shape.probe_flash:  # llama.cpp's own shapes do not tell its probes apart
        shape = msgspec.structs.replace(shape, probe_flash=False)
    if not (shape.n_kv or shape.n_kv_swa):
        shape = msgspec.structs.replace(shape, first_stream=0, n_stream=1)
    if not shape.embeddings:  # only pooling counts sequences
        shape = msgspec.structs.replace(shape, n_seqs_unq=1)
    return shape


def _words(shape: GraphShape) -> str:
    """The shape for a sentence: everything that is not as usual."""
    if shape.purpose is not Purpose.DECODE:
        return "the shift of a cache"
    usual = GraphShape()
    told = [
        f"{name} {getattr(shape, name)}"
        for name in shape.__struct_fields__
        if getattr(shape, name) != getattr(usual, name)
    ]
    return ", ".join(told) or "one token"
