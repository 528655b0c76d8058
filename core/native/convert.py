"""From what the child process read in memory to the engine's `Problem` and to what llama.cpp decided.

The problem holds what llama.cpp GAVE to ggml: tensors, roots, pins, where weights and caches lie, the devices. All that
ggml decided (copies, rewritten sources, backends, offsets) stands in `Decided` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..devices.profile import Profile
from ..dtypes import DTYPES, nbytes
from ..graph import Backend, BufferType, Config, Graph, Mode, Problem, Request
from ..llama.taken import Decided
from ..models.names import unique_names
from ..op import Op
from ..tensor import Flag, Tensor
from .layouts import FLAG_COMPUTE
from .messages import RawBuft, RawGraph
from .roots import minimal_roots

OPS = list(Op)
TYPES = {dtype.id: dtype for dtype in DTYPES.values()}
CPU = "CPU"


class Answered(Protocol):
    """What all answers of a child process say about devices."""

    graphs: list[RawGraph]
    backends: list[tuple[str, str]]
    bufts: list[RawBuft]
    weights: list[tuple[str, str]]
    op_offload: bool


class Machine:
    """The backends and buffer types of all graphs of an answer.

    Attributes:
        bufts: those that a backend computes in, then those that only weights or caches lie in.
        backends: in priority order.
        index: of each buffer type by name.
    """

    def __init__(self, answer: Answered, profiles: Mapping[str, Profile]) -> None:
        """Sort out what belongs to whom: the child's answer, and the profiles by name of the device."""
        self.answer, self.profiles = answer, profiles
        self.raw = {buft.name: buft for buft in answer.bufts}
        owned = dict.fromkeys([*(buft for _, buft in answer.backends), CPU])
        used = {buft for _, buft in answer.weights}
        used |= {tensor.buft for graph in answer.graphs for tensor in graph.tensors if tensor.buft}
        names = [*owned, *sorted(used - set(owned))]
        self.index = {name: at for at, name in enumerate(names)}
        self.bufts = tuple(self._buft(self.raw[name]) for name in names)
        self.backends = tuple(self._backend(at, name, buft) for at, (name, buft) in enumerate(answer.backends))

    def _buft(self, buft: RawBuft) -> BufferType:
        profile = self.profiles.get(buft.device)
        if profile is None or profile.buft_of(buft.device) != buft.name:
            return BufferType(buft.name, buft.host, buft.align)
        return BufferType.of(profile, buft.name)

    def _backend(self, at: int, name: str, buft: str) -> Backend:
        profile = self.profiles[name]
        return Backend(
            name=name,
            type=profile.type,
            buft=self.index[buft],
            supports_buft=frozenset(i for other, i in self.index.items() if at in self.raw[other].users),
            offload=None if profile.takes is not None else frozenset(),
            is_async=profile.is_async,
            has_events=profile.has_events,
            profile=profile.name,
            limits=dict(profile.changed),
        )


def to_problem(graph: RawGraph, machine: Machine, about: str, meta: dict[str, object]) -> Problem:
    """The question that llama.cpp asked ggml.

    Raises:
        NoRoots: the order of the graph cannot be reproduced.
    """
    index = machine.index
    names = unique_names(tensor.name for tensor in graph.tensors)
    pins = dict(graph.pins)
    inputs = set(graph.graph_inputs)
    tensors = []
    for at, raw in enumerate(graph.tensors):
        dtype = TYPES[raw.dtype]
        params = list(raw.op_params)
        while params and not params[-1]:
            params.pop()
        flags = raw.flags & ~FLAG_COMPUTE
        if at in inputs:  # the scheduler made its copies outputs, and the input is one of them
            flags &= ~int(Flag.OUTPUT)
        tensors.append(
            Tensor(
                name=names[at],
                op=OPS[raw.op],
                dtype=dtype,
                ne=raw.ne,
                nb=raw.nb,
                src=tuple(raw.src),
                nbytes=nbytes(dtype, raw.ne, raw.nb),
                view_src=raw.view_src,
                view_offs=raw.view_offs,
                flags=flags,
                op_params=tuple(params),
                buft=index[raw.buft] if raw.buft and raw.view_src < 0 else -1,
                is_weight=raw.is_weight and raw.view_src < 0,
                pin=pins.get(at, -1),
            )
        )
    config = Config(mode=Mode.SCHED, n_copies=graph.n_copies, op_offload=machine.answer.op_offload)
    return Problem(
        config,
        machine.bufts,
        machine.backends,
        (Request(Graph(tuple(tensors), minimal_roots(graph))),),
        about=about,
        meta=meta,
    )


def to_decided(graph: RawGraph, problem: Problem) -> Decided:
    """ggml's answer, under the problem's names."""
    names = [tensor.name for tensor in problem.requests[0].graph.tensors]
    backends = [backend.name for backend in problem.backends]
    places = {}
    for place in graph.places:
        name = names[place.tensor]
        if place.copy_backend >= 0:
            name = f"{backends[place.copy_backend]}#{name}#{place.copy}"
        places[name] = (place.backend, place.chunk, place.offset)
    return Decided(
        nodes=names[len(names) - graph.n_nodes :],
        leafs=names[: graph.n_leafs],
        backends=graph.node_backends,
        splits=[(backend, start, end, [names[i] for i in inputs]) for backend, start, end, inputs in graph.splits],
        chunks=graph.chunks,
        places=places,
    )
