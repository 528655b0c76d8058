"""What llama.cpp makes of a script before the first graph: devices, effective sizes, where graphs come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..context import graph_max_nodes
from ..errors import InputError
from ..gguf.header import Header
from ..graph import Problem
from ..llama.addresses import Buffer, Static, static_addresses, static_buffers
from ..llama.assemble import GraphMaker, graph_maker
from ..llama.backends import Parts, pipeline_conditions, scheduler_parts
from ..llama.caches import Cache, caches
from ..llama.choices import Chosen, choose
from ..llama.creation import KNOWN
from ..llama.facts import MAX_UINT32, CacheFacts, cache_facts, number
from ..llama.machine import Machine, machine
from ..llama.options import FlashAttn, Options, Pooling
from ..llama.placement import Placement, place_weights
from ..models import MODELS
from .builder_graphs import BuilderGraphs
from .devices import alloc_limits, script_devices
from .graphs import GraphSource
from .native_graphs import NativeGraphs
from .script import Script
from .script_options import in_script_words, script_options, script_words

ROLLBACK = frozenset(
    {"kimi-k3", "qwen35", "qwen35moe", "qwen4exp", "deepseek4", "glm5-next", "nemotron_h", "nemotron_h_moe", "lfm2"}
    | {"lfm2moe", "bailingmoe3"}
)
"""Architectures whose recurrent state can be rolled back (llm_arch_supports_rs_rollback)."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A context, made.

    Attributes:
        header: of the model.
        options: as llama.cpp uses them: rounded, limited, defaults filled in; flash attention may still be auto, as
            that decides how the V cache is laid out.
        n_ctx_seq: cells of context per sequence.
        flash: the graphs use flash attention (auto is resolved).
        flash_auto: it was asked for as auto, which costs a probe.
        embeddings: results are embeddings when the context begins.
        causal: attention is causal when the context begins, as the model says.
        pooling: enum llama_pooling_type as a number, the model's own where the script leaves it open.
        n_vocab: tokens of the vocabulary.
        n_embd_out: elements of an embedding.
        problem: config (its n_copies without regard to a failed plan), buffer types and backends, and no request.
        backends: names in the scheduler's order.
        bufts: names of the buffer types that the backends compute in, in that order.
        conditions: of pipeline parallelism, (text, holds), in llama.cpp's order.
        n_outputs_max: outputs of a micro-batch at most.
        n_rs_seq: states that can be rolled back, as llama.cpp limits it.
        max_nodes: graph_max_nodes: nodes of a graph at most, without samplers.
        alloc_limits: by buffer type name: a buffer of more bytes cannot be made.
        static: (tensor name, buffer type name) -> (usage:buffer type, offset in the buffer) of weights and caches.
        notes: what was changed, a sentence each.
    """

    header: Header
    options: Options
    n_ctx_seq: int
    flash: bool
    flash_auto: bool
    embeddings: bool
    causal: bool
    pooling: int
    n_vocab: int
    n_embd_out: int
    problem: Problem
    backends: tuple[str, ...]
    bufts: tuple[str, ...]
    conditions: tuple[tuple[str, bool], ...]
    n_outputs_max: int
    n_rs_seq: int
    max_nodes: int
    alloc_limits: dict[str, int]
    static: Static
    notes: tuple[str, ...]


class _Loaded(NamedTuple):
    """A model under the options of a script, before any graph."""

    facts: CacheFacts
    chosen: Chosen
    placement: Placement
    caches: Sequence[Cache]
    parts: Parts
    maker: GraphMaker | None


def make_setup(script: Script, header: Header) -> tuple[Setup, GraphSource]:
    """Load the model and make the context as far as it goes without a graph; and what makes the graphs.

    Args:
        script: as read.
        header: of its model.

    Raises:
        InputError: llama.cpp would refuse something, or there is neither a builder nor the real llama.cpp for it.
    """
    given = script.context
    devices = script_devices(script.devices)
    with script_words():
        options = script_options(script, tuple(one.spec for one in devices))
        loaded = _load(header, options, machine(options, devices))
    chosen, placement, parts = loaded.chosen, loaded.placement, loaded.parts
    used = chosen.options
    auto = used.flash_attn is FlashAttn.AUTO
    notes = [in_script_words(note) for note in chosen.notes]
    source: GraphSource
    if loaded.maker is not None:
        flash = loaded.maker.flash()
        notes += [flash.why] if auto else []
        on = flash.on
        source = BuilderGraphs(loaded.maker, on)
    else:
        source = native = NativeGraphs(header, script)
        on = not native.played.flash_off if auto else used.flash_attn is FlashAttn.ON
    if header.architecture not in KNOWN:
        notes.append(
            f"the order in which llama.cpp loads the weights of {header.architecture!r} is not known here: within a "
            "block they are taken to lie in the order of the file"
        )
    n_tensors = sum(1 for one in placement.weights if one.place and one.size)
    buffers = static_buffers(header.architecture, placement, loaded.caches, loaded.facts.windowed)
    limits = alloc_limits(script.devices, devices)
    _check_limits(buffers, limits)
    setup = Setup(
        header=header,
        options=used,
        n_ctx_seq=chosen.n_ctx_seq,
        flash=on,
        flash_auto=auto,
        embeddings=given.embeddings,
        causal=loaded.facts.causal,
        pooling=_pooling(header, used.pooling),
        n_vocab=loaded.facts.n_vocab,
        n_embd_out=number(header, "embedding_length_out", 0) or number(header, "embedding_length", 0),
        problem=Problem(parts.config, parts.bufts, parts.backends, ()),
        backends=tuple(one.name for one in parts.backends),
        bufts=tuple(parts.bufts[one.buft].name for one in parts.backends),
        conditions=pipeline_conditions(placement, used),
        n_outputs_max=given.n_outputs_max or used.n_batch,
        n_rs_seq=given.n_rs_seq if header.architecture in ROLLBACK else 0,
        max_nodes=graph_max_nodes(header.architecture, min(used.n_ctx or 0, used.n_ubatch), n_tensors),
        alloc_limits=limits,
        static=static_addresses(buffers),
        notes=tuple(notes),
    )
    return setup, source


def _load(header: Header, options: Options, devices: Machine) -> _Loaded:
    facts = cache_facts(header)
    if header.architecture in MODELS:
        maker = graph_maker(header, options, devices)
        return _Loaded(facts, maker.chosen, maker.placement, maker.caches, maker.parts, maker)
    chosen = choose(options, facts)
    placement = place_weights(header, chosen.options, devices)
    kept = caches(facts, chosen, devices, placement.layers)
    parts = scheduler_parts(placement, chosen.options, [cache.place for cache in kept])
    return _Loaded(facts, chosen, placement, kept, parts, None)


def _check_limits(buffers: Sequence[Buffer], limits: Mapping[str, int]) -> None:
    for one in buffers:
        if one.buft in limits and one.size > limits[one.buft]:
            what = "weights" if one.usage == "weights" else "caches"
            raise InputError(
                f"{one.buft}: a buffer of {one.size:,} bytes for {what} is more than its alloc_limit of "
                f"{limits[one.buft]:,} bytes: llama.cpp loads no such model"
            )


def _pooling(header: Header, asked: Pooling) -> int:
    """The pooling of the context: as asked, else the model's own, else none."""
    if asked is not Pooling.UNSPECIFIED:
        return asked.value
    own = number(header, "pooling_type", 0, MAX_UINT32)
    return 0 if own == MAX_UINT32 else own  # -1, unspecified
