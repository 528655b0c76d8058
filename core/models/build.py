"""From a GGUF header and options to the graph that llama.cpp b11549 would build."""

from __future__ import annotations

from ..errors import InputError, nearest
from ..gguf.header import Header
from ..llama.options import GraphMode, Options
from . import gemma3, llama, phi3, qwen2, qwen3
from .architecture import Architecture
from .built import Built, Called, Where
from .cparams import Cparams, Ubatch, context_params
from .graph import LlmGraph
from .hparams import Hparams, Keys, common_hparams
from .names import unique_names
from .weights import Weights, with_scales

MODELS: dict[str, Architecture] = {
    "llama": llama.ARCHITECTURE,
    "qwen2": qwen2.ARCHITECTURE,
    "qwen3": qwen3.DENSE,
    "qwen3moe": qwen3.MOE,
    "gemma3": gemma3.ARCHITECTURE,
    "phi3": phi3.ARCHITECTURE,
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
    keys = Keys(header)
    return architecture_of(header).hparams(common_hparams(keys), keys)


def one_place(_use: object) -> str:
    """Every weight in the same buffer type: what `build` takes for granted when nobody says where."""
    return ""


def build(
    header: Header,
    options: Options,
    mode: GraphMode,
    flash: bool,
    where: Where = one_place,
    hparams: Hparams | None = None,
    ubatch: Ubatch | None = None,
) -> Built:
    """The reserve graph of a model, or the graph that runs a micro-batch.

    Args:
        header: of the model.
        options: chosen ones; see `cparams.context_params`.
        mode: prefill or decode.
        flash: whether flash attention is on.
        where: what each weight is loaded into; matters for weights that are loaded more than once.
        hparams: when they have been read already.
        ubatch: what is run; None for the reserve graph.

    Raises:
        InputError: no builder, the file is not a model that llama.cpp loads, or it refuses the options.
    """
    architecture = architecture_of(header)
    h = read_hparams(header) if hparams is None else hparams
    c = context_params(h, options, mode, flash, ubatch)
    weights = Weights(header, with_scales(architecture.weights(h)), where, h.n_layer)
    graph = LlmGraph(h, c, weights, architecture.rope_type)
    architecture.build(graph)
    return _finish(graph, mode, h, c)


def _finish(g: LlmGraph, mode: GraphMode, h: Hparams, c: Cparams) -> Built:
    listed = g.ctx.finish(unique_names(lazy.name for lazy in g.ctx.members()))
    ids = listed.ids
    caches = [cache for cache in (g.cache, g.cache_swa) if cache is not None]
    held = [(lazy, il) for cache in caches for kv in (cache.k, cache.v) for il, lazy in kv.items()]
    return Built(
        arch=h.arch,
        mode=mode,
        graph=listed.graph,
        weights={ids[leaf]: use for leaf, use in g.weights.uses.items() if leaf in ids},
        caches={ids[leaf]: il for leaf, il in held if leaf in ids},
        called=tuple(Called(ids[tensor], name, il) for tensor, name, il in g.called if tensor in ids),
        attention=tuple((ids[tensor], il) for tensor, il in g.attention),
        after_attention=tuple(ids[tensor] for tensor in g.after_attention),
        n_layer=h.n_layer,
        n_tokens=c.n_tokens,
        n_seqs=c.n_seqs,
        n_outputs=c.n_outputs,
    )
