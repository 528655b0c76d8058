"""What llama.cpp decides by itself about the options: rounding, limits, what it refuses (llama_context, common)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ..dtypes import DType
from ..errors import InputError
from .facts import CacheFacts
from .options import FlashAttn, GraphMode, Options

DEFAULT_CTX = 4096
MAX_SEQ = 256
"""LLAMA_MAX_SEQ."""
CTX_STEP = 256
"""n_ctx is rounded up to a multiple of this."""
MAX_CTX = 1 << 30
MAX_INT32 = (1 << 31) - 1
MAX_UBATCH = 1 << 24
"""Tokens of a graph; one of more has tensors whose bytes nobody can count."""


class Chosen(NamedTuple):
    """The options as llama.cpp uses them.

    Attributes:
        options: every default filled in; flash attention may still be AUTO, which is resolved on the graph.
        n_ctx_seq: cells of context per sequence.
        notes: what was changed, a sentence each.
    """

    options: Options
    n_ctx_seq: int
    notes: tuple[str, ...]


class Batch(NamedTuple):
    """The micro-batch of a reserve graph: tokens (a multiple of n_seqs), sequences, tokens with logits."""

    n_tokens: int
    n_seqs: int
    n_outputs: int


def choose(options: Options, facts: CacheFacts) -> Chosen:
    """Fill in the defaults, round and limit as llama.cpp does.

    Raises:
        InputError: llama.cpp refuses the combination, or a number is out of range.
    """
    notes: list[str] = []
    _check_numbers(options)
    wanted = options.n_ctx
    if wanted is None:
        wanted = min(DEFAULT_CTX, facts.n_ctx_train) if facts.n_ctx_train else DEFAULT_CTX
    elif wanted == 0:
        wanted = facts.n_ctx_train
        if not wanted:
            raise InputError("-c 0 asks for the model's own context, but the file does not say how long it is")
    flash = _flash(options, facts, notes)
    n_batch = min(wanted, options.n_batch) if facts.causal else options.n_batch
    n_ubatch = min(n_batch, options.n_ubatch or options.n_batch)
    if n_ubatch > MAX_UBATCH:
        raise InputError(f"-ub: a micro-batch of {n_ubatch} tokens, {MAX_UBATCH} are allowed")
    if n_ubatch < options.n_ubatch:
        notes.append(
            f"-ub {options.n_ubatch} is limited to {n_ubatch} by {'-b' if n_batch == options.n_batch else '-c'}"
        )
    if options.n_outputs is None and options.n_seq_max > n_batch:  # output_reserve asserts it
        raise InputError(
            f"-np {options.n_seq_max}: a batch has {n_batch} tokens (-b, -c), and each sequence needs one; "
            "llama.cpp stops there"
        )
    n_ctx, n_ctx_seq = _context(wanted, options, notes)
    if n_ctx_seq > facts.n_ctx_train > 0:
        notes.append(
            f"{n_ctx_seq} tokens per sequence are more than the {facts.n_ctx_train} the model was trained with"
        )
    filled = msgspec.structs.replace(
        options,
        n_ctx=n_ctx,
        n_batch=n_batch,
        n_ubatch=n_ubatch,
        n_seq_max=max(1, options.n_seq_max),
        flash_attn=flash,
    )
    return Chosen(filled, n_ctx_seq, tuple(notes))


def reserved(options: Options) -> tuple[int, int]:
    """Tokens and outputs of the prefill graph, as asked for or as llama.cpp reserves them (sched_reserve).

    Args:
        options: chosen ones.

    Raises:
        InputError: `n_tokens` or `n_outputs` do not fit the batch.
    """
    most = min(options.n_ctx or DEFAULT_CTX, options.n_ubatch)
    tokens = most if options.n_tokens is None else options.n_tokens
    if not 1 <= tokens <= most:
        raise InputError(f"{tokens} tokens do not fit in a micro-batch of 1 to {most} (-ub, -b, -c)")
    outputs = min(tokens, options.n_batch) if options.n_outputs is None else options.n_outputs
    if not 1 <= outputs <= tokens:
        raise InputError(f"{outputs} outputs of {tokens} tokens: llama.cpp reserves 1 to {tokens}")
    return tokens, outputs


def batch(options: Options, mode: GraphMode) -> Batch:
    """The micro-batch of a reserve graph (graph_reserve): whole sequences, so tokens are rounded up.

    Args:
        options: chosen ones.
        mode: prefill or decode.

    Raises:
        InputError: `n_tokens` or `n_outputs` do not fit the batch.
    """
    n_seqs = options.n_seq_max
    if mode is GraphMode.DECODE:
        return Batch(n_seqs, n_seqs, n_seqs)
    tokens, outputs = reserved(options)
    return Batch(-(-tokens // n_seqs) * n_seqs, n_seqs, outputs)


def _check_numbers(options: Options) -> None:
    if options.n_seq_max > MAX_SEQ:
        raise InputError(f"-np {options.n_seq_max}: n_seq_max must be <= {MAX_SEQ}")
    if options.n_ctx is not None and not 0 <= options.n_ctx <= MAX_CTX:
        raise InputError(f"-c {options.n_ctx} is not between 0 and {MAX_CTX}")
    for flag, value in (("-b", options.n_batch), ("-ub", options.n_ubatch)):
        if not 0 <= value <= MAX_INT32:
            raise InputError(f"{flag} {value} is not between 0 and {MAX_INT32}")
    if not options.n_batch:
        raise InputError("-b 0: a batch has at least one token")


def _flash(options: Options, facts: CacheFacts, notes: list[str]) -> FlashAttn:
    """The rules of llama_init_from_model about flash attention and quantised caches."""
    flash = options.flash_attn
    if facts.arch == "grok" and flash is not FlashAttn.OFF:
        notes.append("flash_attn is not compatible with Grok: off")
        flash = FlashAttn.OFF
    if facts.k_only and options.type_k != options.type_v:
        raise InputError(
            f"-ctk {options.type_k.name} and -ctv {options.type_v.name}: llama.cpp wants one type for both, as "
            f"{facts.arch} keeps K and V in one"
        )
    if options.type_v.quantized:
        if flash is FlashAttn.OFF:
            raise InputError(
                f"-ctv {options.type_v.name} with -fa off: llama.cpp says "
                "'quantized V cache requires flash_attn to be enabled'"
            )
        if flash is FlashAttn.AUTO:
            notes.append("flash attention is on: a quantised V cache requires it")
            flash = FlashAttn.ON
    if flash is not FlashAttn.OFF:
        _check_block("K", options.type_k, facts.head_k)
        _check_block("V", options.type_v, facts.head_v)
    return flash


def _check_block(which: str, dtype: DType, heads: tuple[int, ...]) -> None:
    for size in heads:
        if dtype.quantized and size % dtype.block:
            raise InputError(
                f"{which} cache type {dtype.name} with block size {dtype.block} does not divide "
                f"n_embd_head_{which.lower()}={size}: llama.cpp refuses it"
            )


def _context(wanted: int, options: Options, notes: list[str]) -> tuple[int, int]:
    """n_ctx and n_ctx_seq, rounded."""
    n_ctx = _pad(wanted)
    n_seqs = max(1, options.n_seq_max)
    if options.kv_unified:
        per_seq = n_ctx
    else:
        per_seq = _pad(n_ctx // n_seqs)
        if not per_seq:
            raise InputError(f"-c {wanted} over {n_seqs} sequences leaves none of it: n_ctx_seq == 0")
        n_ctx = per_seq * n_seqs
    if n_ctx != wanted:
        notes.append(f"n_ctx {wanted} becomes {n_ctx}: {per_seq} cells per sequence, in steps of {CTX_STEP}")
    return n_ctx, per_seq


def _pad(value: int) -> int:
    return -(-value // CTX_STEP) * CTX_STEP
