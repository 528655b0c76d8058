"""What llama.cpp makes of the options before it builds a graph (llama_context's constructor)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ..dtypes import DType
from ..errors import InputError
from ..llama.choices import Batch, batch
from ..llama.options import FlashAttn, GraphMode, Options
from ..ops import as_float, logarithm, quotient
from .hparams import Hparams


class Ubatch(NamedTuple):
    """The micro-batch of a graph that is run, of one sequence, in place of one that is reserved.

    Attributes:
        n_tokens: tokens in it.
        n_outputs: of those, tokens whose logits are computed; may be 0.
        n_kv: cells of the cache that attention sees (llama_kv_cache::get_n_kv).
        n_kv_swa: the same of the cache of window layers.
    """

    n_tokens: int
    n_outputs: int
    n_kv: int
    n_kv_swa: int


class Cparams(msgspec.Struct, frozen=True):
    """llama_cparams and the micro-batch of one graph.

    Attributes:
        n_ctx_seq: cells of context of one sequence.
        n_ubatch: tokens of a micro-batch.
        n_seq_max: sequences.
        n_stream: separate KV caches: 1 when unified, else one per sequence.
        flash_attn: the graph uses FLASH_ATTN_EXT.
        v_trans: the V cache is transposed: flash attention was off when the cache was made. Automatic flash attention
            that turns out to be off leaves it untransposed.
        type_k: element type of the K cache.
        type_v: element type of the V cache.
        swa_full: window layers keep the whole context.
        rope_freq_base: base of the rope frequencies.
        rope_freq_scale: scale of the positions.
        yarn_ext_factor: 1 with YaRN, else 0.
        yarn_attn_factor: magnitude of the rotated values.
        n_ctx_orig_yarn: context length of the training.
        n_tokens: tokens in the graph, a multiple of n_seqs.
        n_seqs: sequences in the graph.
        n_outputs: tokens whose logits are computed.
        n_kv: cells of the cache that attention sees; None for all, as at reserve.
        n_kv_swa: the same of the cache of window layers.
    """

    n_ctx_seq: int
    n_ubatch: int
    n_seq_max: int
    n_stream: int
    flash_attn: bool
    v_trans: bool
    type_k: DType
    type_v: DType
    swa_full: bool
    rope_freq_base: float
    rope_freq_scale: float
    yarn_ext_factor: float
    yarn_attn_factor: float
    n_ctx_orig_yarn: int
    n_tokens: int
    n_seqs: int
    n_outputs: int
    n_kv: int | None = None
    n_kv_swa: int | None = None


def context_params(
    hparams: Hparams, options: Options, mode: GraphMode, flash: bool, ubatch: Ubatch | None = None
) -> Cparams:
    """The parameters of the context and of one of its graphs.

    Args:
        hparams: of the model.
        options: chosen ones (`core.llama.choices.choose`): defaults filled in, sizes rounded. `flash_attn` as asked
            for: with AUTO the V cache is laid out as for flash attention on.
        mode: prefill or decode.
        flash: whether the graph uses flash attention; what AUTO was resolved to.
        ubatch: what is run; None for the graph that is reserved.

    Raises:
        InputError: `n_tokens` or `n_outputs` do not fit the batch, or a cache type the heads.
    """
    if options.n_ctx is None:
        raise InputError("the context size is open: options must be chosen before a graph is built")
    _check_cache_type("-ctk", options.type_k, hparams.n_embd_head_k)
    _check_cache_type("-ctv", options.type_v, hparams.n_embd_head_v)
    ext_factor, attn_factor = _yarn(hparams)
    tokens = batch(options, mode) if ubatch is None else _run_batch(options, ubatch)
    return Cparams(
        n_ctx_seq=options.n_ctx if options.kv_unified else options.n_ctx // options.n_seq_max,
        n_ubatch=options.n_ubatch,
        n_seq_max=options.n_seq_max,
        n_stream=1 if options.kv_unified else options.n_seq_max,
        flash_attn=flash,
        v_trans=options.flash_attn is FlashAttn.OFF,
        type_k=options.type_k,
        type_v=options.type_v,
        swa_full=options.swa_full,
        rope_freq_base=hparams.rope_freq_base,
        rope_freq_scale=1.0 if hparams.rope_scaling == "none" else hparams.rope_freq_scale,
        yarn_ext_factor=ext_factor,
        yarn_attn_factor=attn_factor,
        n_ctx_orig_yarn=hparams.n_ctx_orig_yarn or hparams.n_ctx_train,
        n_tokens=tokens.n_tokens,
        n_seqs=tokens.n_seqs,
        n_outputs=tokens.n_outputs,
        n_kv=ubatch.n_kv if ubatch else None,
        n_kv_swa=ubatch.n_kv_swa if ubatch else None,
    )


def _run_batch(options: Options, ubatch: Ubatch) -> Batch:
    if options.n_seq_max > 1:
        raise InputError(f"-np {options.n_seq_max}: graphs are run for one sequence only, leave -np out")
    if not 1 <= ubatch.n_tokens <= options.n_ubatch or not 0 <= ubatch.n_outputs <= ubatch.n_tokens:
        raise InputError(
            f"a micro-batch of {ubatch.n_tokens} tokens with {ubatch.n_outputs} outputs: it has 1 to "
            f"{options.n_ubatch} tokens (-ub), and no more outputs than tokens"
        )
    return Batch(ubatch.n_tokens, 1, ubatch.n_outputs)


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
