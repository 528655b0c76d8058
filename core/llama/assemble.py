"""From our own builder's graph to what the engine is asked: devices, places of weights and caches, pins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from ..errors import InputError
from ..gguf.header import Header
from ..graph import Graph, Problem, Request
from ..models import build, read_hparams
from ..models.built import Built, WeightUse
from ..models.cparams import reserved_shape
from ..models.hparams import Hparams
from ..models.shape import GraphShape, Purpose
from .backends import pipeline_conditions, scheduler_parts
from .caches import Cache, caches
from .choices import Chosen, choose, reserved
from .facts import cache_facts
from .flash import FlashDecision, resolve_flash
from .machine import Machine, Place
from .made import Made
from .memory import memory_rows
from .options import FlashAttn, GraphMode, Options
from .pins import pins
from .placement import Placement, place_weights
from .taken import GraphTaken, Taken

SOURCE = "galloscope builder"
KEPT = 128
"""Graphs that a maker keeps, those asked for last."""


def take(header: Header, options: Options, modes: Sequence[GraphMode]) -> Taken:
    """The graphs of a model under some options, without the real llama.cpp.

    Args:
        header: of a model whose architecture has a builder.
        options: as given; what is left open is filled in.
        modes: the graphs to make, in order.

    Raises:
        InputError: there is no builder, the file is no model of that architecture, or llama.cpp would refuse an option.
    """
    maker = graph_maker(header, options)
    chosen, placement = maker.chosen, maker.placement
    flash = maker.flash()
    graphs = tuple(GraphTaken(mode, maker.problem(mode, flash.on)[1]) for mode in modes)
    resolved = _resolved(chosen.options, placement, flash.on)
    notes = [*chosen.notes, *([flash.why] if chosen.options.flash_attn is FlashAttn.AUTO else [])]
    if all(holds for _, holds in pipeline_conditions(placement, chosen.options)):
        notes.append("pipeline parallelism is on: inputs are kept four times")
    return Taken(
        options=resolved,
        graphs=graphs,
        memory=memory_rows(placement, maker.caches, cache_facts(header), chosen),
        source=SOURCE,
        notes=tuple(notes),
        weights=placement.by_name(),
    )


def graph_maker(header: Header, options: Options, machine: Machine | None = None) -> GraphMaker:
    """What makes the graphs of a model under some options.

    Args:
        header: of a model whose architecture has a builder.
        options: as given; what is left open is filled in.
        machine: the devices, where they are not simply those of the options.

    Raises:
        InputError: there is no builder, the file is no model of that architecture, or llama.cpp would refuse an option.
    """
    hparams = read_hparams(header)
    facts = cache_facts(header)
    chosen = choose(options, facts)
    placement = place_weights(header, chosen.options, machine)
    return GraphMaker(header, hparams, chosen, placement, caches(facts, chosen, placement.machine, placement.layers))


def _resolved(options: Options, placement: Placement, flash: bool) -> Options:
    layers = placement.layers
    wanted = min(layers.n_gpu_layers, layers.n_layer + 1) if placement.machine.gpus else 0
    n_tokens, n_outputs = reserved(options)
    return msgspec.structs.replace(
        options,
        flash_attn=FlashAttn.ON if flash else FlashAttn.OFF,
        n_gpu_layers=wanted,
        n_tokens=n_tokens,
        n_outputs=n_outputs,
    )


class GraphMaker:
    """Makes the problems of one model under one set of options.

    Attributes:
        hparams: of the model.
        chosen: the options as llama.cpp uses them.
        placement: of the weights.
        caches: the KV caches and where they lie.
    """

    def __init__(
        self, header: Header, hparams: Hparams, chosen: Chosen, placement: Placement, caches: Sequence[Cache]
    ) -> None:
        """See `graph_maker`."""
        self.header = header
        self.hparams = hparams
        self.chosen = chosen
        self.options = chosen.options
        self.placement = placement
        self.caches = caches
        self.cache_places = {cache.name: cache.place for cache in caches}
        self.parts = scheduler_parts(placement, self.options, self.cache_places.values())
        self.made = lru_cache(KEPT)(self._make)
        self.places = {(one.tensor.name, one.layer): one.place for one in placement.weights if one.place}

    def flash(self) -> FlashDecision:
        """On or off as asked for, or as the graph with it shows."""
        asked = self.options.flash_attn
        if asked is not FlashAttn.AUTO:
            return FlashDecision(asked is FlashAttn.ON, "")
        built, problem = self.problem(GraphMode.DECODE, flash=True)
        return resolve_flash(built, problem, self.placement)

    def problem(self, mode: GraphMode, flash: bool) -> tuple[Built, Problem]:
        """One reserve graph with everything the engine needs to know.

        Raises:
            InputError: `n_tokens` or `n_outputs` of the options do not fit the batch.
        """
        return self.made(reserved_shape(self.hparams, self.options, mode), flash, mode)

    def graph(self, shape: GraphShape, flash: bool) -> Made:
        """The graph of a shape, with everything the engine needs to know; equal shapes give the same object.

        Raises:
            InputError: the shape does not fit the options, or the model has no such graph.
        """
        mode = GraphMode.DECODE if shape.n_tokens <= shape.n_seqs_unq else GraphMode.PREFILL
        built, problem = self.made(shape, flash, mode)
        return Made(problem, built.inputs)

    def _make(self, shape: GraphShape, flash: bool, mode: GraphMode) -> tuple[Built, Problem]:
        built = build(self.header, self.options, shape, flash, self._where, self.hparams)
        leafs = self._leaf_places(built)
        parts = self.parts
        tensors = list(built.graph.tensors)
        for leaf, place in leafs.items():
            tensors[leaf] = msgspec.structs.replace(
                tensors[leaf], buft=parts.places[place.name], is_weight=leaf in built.weights
            )
        for tensor, backend in pins(built, self.placement, self.options, tensors, parts.bufts).items():
            tensors[tensor] = msgspec.structs.replace(tensors[tensor], pin=backend)
        graph = Graph(tuple(tensors), built.graph.roots, built.graph.alloc_deps)
        about = self._about(built, mode, flash)
        meta = self._meta(built, mode, flash)
        return built, Problem(parts.config, parts.bufts, parts.backends, (Request(graph),), about=about, meta=meta)

    def _where(self, use: WeightUse) -> str:
        place = self.places.get((use.name, use.layer))
        if place is None:
            raise InputError(f"tensor {use.name!r} is not loaded for layer {use.layer}")
        return place.name

    def _leaf_places(self, built: Built) -> dict[int, Place]:
        """Leaf id -> where it lies, weights and caches."""
        found = {leaf: self.places[use.name, use.layer] for leaf, use in built.weights.items()}
        tensors = built.graph.tensors
        found.update((leaf, self.cache_places[tensors[leaf].name]) for leaf in built.caches)
        return found

    def _about(self, built: Built, mode: GraphMode, flash: bool) -> str:
        gpus = [one.name for one in self.placement.machine.backends[:-1]]
        devices = f"{', '.join(gpus)}, n_gpu_layers {self.placement.layers.n_gpu_layers}" if gpus else "CPU only"
        return (
            f"{SOURCE}: {built.arch}, {_what(built.shape, mode)}, n_ctx {self.options.n_ctx}, flash attention "
            f"{'on' if flash else 'off'}, {devices}"
        )

    def _meta(self, built: Built, mode: GraphMode, flash: bool) -> dict[str, object]:
        shape = built.shape
        return {
            "model": built.arch,
            "arch": built.arch,
            "build": SOURCE,
            "mode": mode.value if shape.purpose is Purpose.DECODE else shape.purpose.value,
            "n_ctx": self.options.n_ctx,
            "n_tokens": shape.n_tokens,
            "n_outputs": shape.n_outputs,
            "n_seqs": shape.n_seqs_unq,
            "fa": flash,
        }


def _what(shape: GraphShape, mode: GraphMode) -> str:
    if shape.purpose is not Purpose.DECODE:
        return "shift of K"
    return f"{mode.value}, {_count(shape.n_tokens, 'token')} of {_count(shape.n_seqs_unq, 'sequence')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
