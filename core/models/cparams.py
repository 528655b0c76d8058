"""What llama.cpp makes of the options before it builds a graph (llama_context's constructor)."""

from __future__ import annotations

import msgspec

from ..dtypes import DType
from ..errors import InputError
from ..llama.choices import batch
from ..llama.options import FlashAttn, GraphMode, Options, Pooling
from ..ops import as_float, logarithm, quotient
from .hparams import Hparams
from .shape import GraphShape, Purpose

SWA_PAD = 256
"""Cells to which the cache of window layers is padded."""


class Cparams(msgspec.Struct, frozen=True):
    """llama_cparams and the shape of one graph.

    Attributes:
        n_ctx_seq: cells of context of one sequence.
        n_ctx_swa: cells of one stream of the cache of window layers; 0 without one.
        n_seq_max: sequences.
        n_stream: separate KV caches: 1 when unified, else one per sequence.
        flash_attn: the graph uses FLASH_ATTN_EXT.
        v_trans: the V cache is transposed: flash attention was off when the cache was made. Automatic flash attention
            that turns out to be off leaves it untransposed.
        type_k: element type of the K cache.
        type_v: element type of the V cache.
        rope_freq_base: base of the rope frequencies.
        rope_freq_scale: scale of the positions.
        yarn_ext_factor: 1 with YaRN, else 0.
        yarn_attn_factor: magnitude of the rotated values.
        n_ctx_orig_yarn: context length of the training.
        pooling: an enum llama_pooling_type, how embeddings of a sequence become one; any number if the model says so.
        shape: of the graph.
    """

    n_ctx_seq: int
    n_ctx_swa: int
    n_seq_max: int
    n_stream: int
    flash_attn: bool
    v_trans: bool
    type_k: DType
    type_v: DType
    rope_freq_base: float
    rope_freq_scale: float
    yarn_ext_factor: float
    yarn_attn_factor: float
    n_ctx_orig_yarn: int
    pooling: int
    shape: GraphShape

    @property
    def n_tokens(self) -> int:
        """Tokens in the graph."""
        return self.shape.n_tokens

    @property
    def n_outputs(self) -> int:
        """Tokens whose results are computed."""
        return self.shape.n_outputs


def context_params(hparams: Hparams, options: Options, flash: bool, shape: GraphShape) -> Cparams:
    """The parameters of the context and of one of its graphs.

    Args:
        hparams: of the model.
        options: chosen ones (`core.llama.choices.choose`): defaults filled in, sizes rounded. `flash_attn` as asked
            for: with AUTO the V cache is laid out as for flash attention on.
        flash: whether the graph uses flash attention; what AUTO was resolved to.
        shape: of the graph.

    Raises:
        InputError: the shape does not fit the context, or a cache type the heads.
    """
    if not hparams.recurrent:
        _check_cache_type("-ctk", options.type_k, hparams.n_embd_head_k)
        _check_cache_type("-ctv", options.type_v, hparams.n_embd_head_v)
    n_ctx_seq, n_ctx_swa = cache_cells(hparams, options)
    ext_factor, attn_factor = _yarn(hparams)
    pooling = hparams.pooling if options.pooling == Pooling.UNSPECIFIED else options.pooling
    cparams = Cparams(
        n_ctx_seq=n_ctx_seq,
        n_ctx_swa=n_ctx_swa,
        n_seq_max=options.n_seq_max,
        n_stream=1 if options.kv_unified else options.n_seq_max,
        flash_attn=flash,
        v_trans=options.flash_attn is FlashAttn.OFF,
        type_k=options.type_k,
        type_v=options.type_v,
        rope_freq_base=hparams.rope_freq_base,
        rope_freq_scale=1.0 if hparams.rope_scaling == "none" else hparams.rope_freq_scale,
        yarn_ext_factor=ext_factor,
        yarn_attn_factor=attn_factor,
        n_ctx_orig_yarn=hparams.n_ctx_orig_yarn or hparams.n_ctx_train,
        pooling=Pooling.NONE if pooling == Pooling.UNSPECIFIED else pooling,
        shape=shape,
    )
    if shape.purpose is Purpose.DECODE:
        _check_tokens(shape, options)
        _check_memory(shape, cparams, hparams)
    return cparams


def reserved_shape(hparams: Hparams, options: Options, mode: GraphMode) -> GraphShape:
    """The shape of a reserve graph: whole sequences, all of the memory (graph_reserve, init_full).

    Args:
        hparams: of the model.
        options: chosen ones.
        mode: prefill or decode.

    Raises:
        InputError: `n_tokens` or `n_outputs` do not fit the batch.
    """
    n_ctx_seq, n_ctx_swa = cache_cells(hparams, options)
    tokens = batch(options, mode)
    return GraphShape(
        n_tokens=tokens.n_tokens,
        n_seqs=tokens.n_seqs,
        n_seq_tokens=tokens.n_tokens // tokens.n_seqs,
        n_seqs_unq=tokens.n_seqs,
        n_outputs=tokens.n_outputs,
        n_kv=0 if hparams.recurrent else n_ctx_seq,
        n_kv_swa=n_ctx_swa,
        n_stream=1 if options.kv_unified or hparams.recurrent else options.n_seq_max,
        n_rs=options.n_seq_max if hparams.recurrent else 0,
        rs_z=0 if hparams.recurrent else -1,
    )


def cache_cells(hparams: Hparams, options: Options) -> tuple[int, int]:
    """Cells per stream of the KV cache and of the one of window layers, 0 without one (llama_kv_cache_iswa).

    Raises:
        InputError: the context size is open.
    """
    if options.n_ctx is None:
        raise InputError("the context size is open: options must be chosen before a graph is built")
    size = options.n_ctx if options.kv_unified else options.n_ctx // options.n_seq_max
    if not hparams.n_swa:
        return size, 0
    if options.swa_full:
        return size, size
    window = hparams.n_swa * (options.n_seq_max if options.kv_unified else 1) + options.n_ubatch
    return size, -(-min(size, window) // SWA_PAD) * SWA_PAD


def _check_tokens(shape: GraphShape, options: Options) -> None:
    """A reserved graph rounds its tokens up to whole sequences, and every sequence has at least one."""
    n_seqs = options.n_seq_max
    most = -(-max(options.n_ubatch, n_seqs) // n_seqs) * n_seqs
    if not 1 <= shape.n_tokens <= most or not 0 <= shape.n_outputs <= shape.n_tokens:
        raise InputError(
            f"a micro-batch of {shape.n_tokens} tokens with {shape.n_outputs} outputs: it has 1 to "
            f"{most} tokens (-ub), and no more outputs than tokens"
        )
    if shape.n_seqs * shape.n_seq_tokens != shape.n_tokens:
        raise InputError(
            f"{shape.n_seqs} sequences of {shape.n_seq_tokens} tokens are not the {shape.n_tokens} tokens of the "
            "micro-batch"
        )
    if not 1 <= shape.n_seqs_unq <= n_seqs:
        raise InputError(f"{shape.n_seqs_unq} different sequences in a micro-batch, -np allows 1 to {n_seqs}")
    if not shape.token and not shape.embd:
        raise InputError("a micro-batch has tokens, embeddings or both")
    for seq, row in shape.samplers:
        if not -1 <= row < shape.n_outputs:
            raise InputError(f"the sampler of sequence {seq} reads output {row} of {shape.n_outputs}")


def _check_memory(shape: GraphShape, c: Cparams, hparams: Hparams) -> None:
    """What the graph sees of the memory lies within it."""
    if hparams.recurrent:
        if not (shape.n_seqs <= shape.n_rs and shape.rs_head >= 0 and shape.rs_head + shape.n_rs <= c.n_seq_max):
            raise InputError(
                f"{shape.n_rs} recurrent states from {shape.rs_head} on for {shape.n_seqs} sequences: there are "
                f"{c.n_seq_max} states, and each sequence needs one"
            )
        if not -1 <= shape.rs_z < c.n_seq_max:
            raise InputError(f"recurrent state {shape.rs_z} is cleared, there are {c.n_seq_max}")
        return
    if not (shape.first_stream >= 0 and 1 <= shape.n_stream <= c.n_stream - shape.first_stream):
        raise InputError(f"KV streams {shape.first_stream} and {shape.n_stream - 1} more, there are {c.n_stream}")
    if shape.n_tokens % shape.n_stream:
        raise InputError(f"{shape.n_tokens} tokens are not equally many in each of {shape.n_stream} streams")
    for n_kv, size in ((shape.n_kv, c.n_ctx_seq), (shape.n_kv_swa, c.n_ctx_swa)):
        if size and not 1 <= n_kv <= size:
            raise InputError(f"n_kv {n_kv}: a cache of {size} cells has 1 to {size} of them to be seen")


def _check_cache_type(flag: str, dtype: DType, head: int) -> None:
    """llama.cpp looks only when flash attention is on; without it, it builds a graph whose heads overlap."""
    if head % dtype.block:
        raise InputError(f"{flag} {dtype.name}: heads of {head} elements are not whole blocks of {dtype.block}")


def _yarn(hparams: Hparams) -> tuple[float, float]:
    """(yarn_ext_factor, yarn_attn_factor), step by step in 32-bit floats."""
    attn_factor = 1.0
    ext_factor = 1.0 if hparams.rope_scaling == "yarn" else 0.0
    if ext_factor:
        factor = quotient(1.0, hparams.rope_freq_scale)
        tenth = as_float(as_float(0.1) * logarithm(factor))
        attn_factor = 1.0 if factor <= 1.0 else as_float(tenth + 1.0)
        attn_factor = as_float(attn_factor * quotient(1.0, as_float(1.0 + tenth)))
    return ext_factor, as_float(attn_factor * hparams.rope_attn_factor)
