"""From our own builder's graph to what the engine is asked: devices, places of weights and caches, pins."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..errors import InputError
from ..gguf.header import Header
from ..graph import Graph, Problem, Request
from ..models import build, read_hparams
from ..models.built import Built, WeightUse
from ..models.cparams import Ubatch
from ..models.hparams import Hparams
from .backends import pipeline_conditions, scheduler_parts
from .caches import Cache, caches
from .choices import Chosen, choose, reserved
from .facts import cache_facts
from .flash import FlashDecision, resolve_flash
from .machine import Place
from .memory import memory_rows
from .options import FlashAttn, GraphMode, Options
from .pins import pins
from .placement import Placement, place_weights
from .taken import GraphTaken, Taken

SOURCE = "galloscope builder"


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


def graph_maker(header: Header, options: Options) -> GraphMaker:
    """What makes the graphs of a model under some options.

    Raises:
        InputError: there is no builder, the file is no model of that architecture, or llama.cpp would refuse an option.
    """
    hparams = read_hparams(header)
    facts = cache_facts(header)
    chosen = choose(options, facts)
    placement = place_weights(header, chosen.options)
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
        self.made: dict[tuple[GraphMode, bool], tuple[Built, Problem]] = {}
        self.places = {(one.tensor.name, one.layer): one.place for one in placement.weights if one.place}

    def flash(self) -> FlashDecision:
        """On or off as asked for, or as the graph with it shows."""
        asked = self.options.flash_attn
        if asked is not FlashAttn.AUTO:
            return FlashDecision(asked is FlashAttn.ON, "")
        built, problem = self.problem(GraphMode.DECODE, flash=True)
        return resolve_flash(built, problem, self.placement)

    def problem(self, mode: GraphMode, flash: bool) -> tuple[Built, Problem]:
        """One reserve graph with everything the engine needs to know; made once."""
        key = mode, flash
        if key not in self.made:
            self.made[key] = self._make(mode, flash, None)
        return self.made[key]

    def run_problem(self, ubatch: Ubatch, flash: bool) -> tuple[Built, Problem]:
        """The graph that runs a micro-batch, with everything the engine needs to know.

        Raises:
            InputError: the micro-batch does not fit the options, or there are several sequences.
        """
        return self._make(GraphMode.DECODE if ubatch.n_tokens == 1 else GraphMode.PREFILL, flash, ubatch)

    def _make(self, mode: GraphMode, flash: bool, ubatch: Ubatch | None) -> tuple[Built, Problem]:
        built = build(self.header, self.options, mode, flash, self._where, self.hparams, ubatch)
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
        about = self._about(built, flash)
        meta = self._meta(built, flash)
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

    def _about(self, built: Built, flash: bool) -> str:
        gpus = [one.name for one in self.placement.machine.backends[:-1]]
        devices = f"{', '.join(gpus)}, n_gpu_layers {self.placement.layers.n_gpu_layers}" if gpus else "CPU only"
        return (
            f"{SOURCE}: {built.arch}, {built.mode.value}, {_count(built.n_tokens, 'token')} of "
            f"{_count(built.n_seqs, 'sequence')}, n_ctx {self.options.n_ctx}, flash attention "
            f"{'on' if flash else 'off'}, {devices}"
        )

    def _meta(self, built: Built, flash: bool) -> dict[str, object]:
        return {
            "model": built.arch,
            "arch": built.arch,
            "build": SOURCE,
            "mode": built.mode.value,
            "n_ctx": self.options.n_ctx,
            "n_tokens": built.n_tokens,
            "n_outputs": built.n_outputs,
            "n_seqs": built.n_seqs,
            "fa": flash,
        }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
