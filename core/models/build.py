"""From a GGUF header and options to the graph that llama.cpp b11549 would build."""

from __future__ import annotations

from ..errors import InputError, nearest
from ..gguf.header import Header
from ..llama.options import Options
from . import gemma3, llama, mamba, phi3, qwen2, qwen3
from .architecture import Architecture
from .built import Built, Called, Where
from .cparams import context_params
from .graph import LlmGraph
from .hparams import Hparams, Keys, common_hparams
from .names import unique_names
from .outputs import build_pooling, build_sampling
from .shape import GraphShape, Purpose
from .shift import build_shift
from .weights import Weights, with_scales

MODELS: dict[str, Architecture] = {
    "llama": llama.ARCHITECTURE,
    "qwen2": qwen2.ARCHITECTURE,
    "qwen3": qwen3.DENSE,
    "qwen3moe": qwen3.MOE,
    "gemma3": gemma3.ARCHITECTURE,
    "phi3": phi3.ARCHITECTURE,
    "mamba": mamba.ARCHITECTURE,
}
"""The architectures with a builder, by `general.architecture`; all others need the real llama.cpp."""


def architecture_of(header: Header) -> Architecture:
    """The architecture of a model.

    Raises:
        InputError: none is named, or there is no builder for it.
    """
    name = header.architecture
    if not name:
        raise InputError("key general.architecture is missing: this GGUF is not a language model")
    found = MODELS.get(name)
    if found is None:
        raise InputError(
            f"architecture {name!r} has no builder{nearest(name, MODELS)}, there is one for {', '.join(MODELS)}; any "
            f"other needs the real llama.cpp: pip install xllamacpp==2026.10.11549 (Linux, x86-64)"
        )
    return found


def read_hparams(header: Header) -> Hparams:
    """The hyperparameters of a model of a known architecture.

    Raises:
        InputError: the metadata are not those of such a model.
    """
    keys, architecture = Keys(header), architecture_of(header)
    return architecture.hparams(common_hparams(keys, architecture.attention), keys)


def one_place(_use: object) -> str:
    """Every weight in the same buffer type: what `build` takes for granted when nobody says where."""
    return ""


def build(
    header: Header,
    options: Options,
    shape: GraphShape,
    flash: bool,
    where: Where = one_place,
    hparams: Hparams | None = None,
) -> Built:
    """One graph of a model.

    Args:
        header: of the model.
        options: chosen ones; see `cparams.context_params`.
        shape: of the graph; `cparams.reserved_shape` for one that is reserved.
        flash: whether flash attention is on.
        where: what each weight is loaded into; matters for weights that are loaded more than once.
        hparams: when they have been read already.

    Raises:
        InputError: no builder, the file is not a model that llama.cpp loads, it refuses the options, or the shape does
            not fit them.
    """
    architecture = architecture_of(header)
    h = read_hparams(header) if hparams is None else hparams
    c = context_params(h, options, flash, shape)
    weights = Weights(header, with_scales(architecture.weights(h)), where, h.n_layer)
    graph = LlmGraph(h, c, weights, architecture.rope_type)
    if shape.purpose is Purpose.DECODE:
        architecture.build(graph)
        build_pooling(graph)
        build_sampling(graph)
    else:
        build_shift(graph)
    return _finish(graph, h, shape)


def _finish(g: LlmGraph, h: Hparams, shape: GraphShape) -> Built:
    listed = g.ctx.finish(unique_names(lazy.name for lazy in g.ctx.members()))
    ids = listed.ids
    caches = [cache for cache in (g.cache, g.cache_swa) if cache is not None]
    kept = [kind for cache in caches for kind in (cache.k, cache.v)] + [g.rs.r, g.rs.s]
    held = [(lazy, il) for kind in kept for il, lazy in kind.items()]
    return Built(
        arch=h.arch,
        shape=shape,
        graph=listed.graph,
        weights={ids[leaf]: use for leaf, use in g.weights.uses.items() if leaf in ids},
        caches={ids[leaf]: il for leaf, il in held if leaf in ids},
        called=tuple(Called(ids[tensor], name, il) for tensor, name, il in g.called if tensor in ids),
        attention=tuple((ids[tensor], il) for tensor, il in g.attention),
        after_attention=tuple(ids[tensor] for tensor in g.after_attention),
        n_layer=h.n_layer,
        inputs=tuple(g.inputs),
    )
