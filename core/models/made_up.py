"""Headers of models that nobody trained: an architecture, a few sizes and a type, for tests, examples and what-if."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..dtypes import DTYPES, DType
from ..gguf.header import Header
from ..gguf.read import parse_header
from ..gguf.write import Given, Row, header_bytes
from .build import MODELS, read_hparams
from .hparams import Hparams
from .weights import Weight, with_scales

_F32, _F16 = DTYPES["f32"], DTYPES["f16"]


class MadeUp(msgspec.Struct, frozen=True, kw_only=True):
    """What a made-up model is like; the sizes are as small as makes sense.

    Attributes:
        arch: one of MODELS.
        dtype: of the matrices; those whose rows are not whole blocks become f16, norms and routers are f32.
        n_layer: `block_count`.
        n_embd: `embedding_length`.
        n_ff: `feed_forward_length`.
        n_head: `attention.head_count`; of no use to a model without attention.
        n_head_kv: `attention.head_count_kv`; None for n_head.
        head_size: `attention.key_length` and `value_length`; None leaves them out: n_embd / n_head.
        n_vocab: `vocab_size`, without a tokenizer.
        n_ctx_train: `context_length`.
        n_expert: `expert_count`; 0 for a dense model.
        n_expert_used: `expert_used_count`.
        extra: further metadata, by key without the architecture in front.
        optional: names (without `blk.N.`) of the optional weights it has; None for what is usual.
    """

    arch: str = "llama"
    dtype: DType = _F16
    n_layer: int = 2
    n_embd: int = 64
    n_ff: int = 128
    n_head: int = 4
    n_head_kv: int | None = None
    head_size: int | None = None
    n_vocab: int = 256
    n_ctx_train: int = 4096
    n_expert: int = 0
    n_expert_used: int = 0
    extra: Mapping[str, Given] = {}
    optional: frozenset[str] | None = None


def made_up_metadata(model: MadeUp) -> dict[str, Given]:
    """The metadata of a made-up model."""
    keys: dict[str, Given] = {
        "vocab_size": model.n_vocab,
        "context_length": model.n_ctx_train,
        "embedding_length": model.n_embd,
        "block_count": model.n_layer,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    if model.arch in MODELS and not MODELS[model.arch].attention:
        keys.update(_recurrence(model.n_embd))
    else:
        keys.update({"feed_forward_length": model.n_ff, "attention.head_count": model.n_head})
    if model.n_head_kv is not None:
        keys["attention.head_count_kv"] = model.n_head_kv
    if model.head_size is not None:
        sizes = ("attention.key_length", "attention.value_length", "rope.dimension_count")
        keys.update(dict.fromkeys(sizes, model.head_size))
    if model.n_expert:
        keys.update(expert_count=model.n_expert, expert_used_count=model.n_expert_used)
    keys.update(model.extra)
    return {
        "general.architecture": model.arch,
        **{f"{model.arch}.{key}": value for key, value in keys.items()},
        "tokenizer.ggml.model": "no_vocab",
    }


def _recurrence(n_embd: int) -> dict[str, Given]:
    """Sizes of Mamba's own models."""
    return {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 2 * n_embd,
        "ssm.state_size": 16,
        "ssm.time_step_rank": max(1, n_embd // 16),
    }


def made_up(model: MadeUp) -> bytes:
    """The header of a made-up model, as bytes of a GGUF.

    Raises:
        InputError: no builder for the architecture, or sizes that do not fit together.
    """
    metadata = made_up_metadata(model)
    hparams = read_hparams(parse_header(header_bytes(metadata, []), "made-up model"))
    return header_bytes(metadata, weight_rows(hparams, model.dtype, model.optional))


def made_up_header(model: MadeUp) -> Header:
    """The same, read."""
    return parse_header(made_up(model), "made-up model")


def weight_rows(hparams: Hparams, dtype: DType, optional: frozenset[str] | None = None) -> list[Row]:
    """The tensor table of a model: what it must have, and optional weights by name (without `blk.N.`)."""
    architecture = MODELS[hparams.arch]
    wanted = architecture.usual if optional is None else optional
    known = with_scales(architecture.weights(hparams))
    chosen = [one for one in known if one.required or _short(one.name) in wanted]
    names = {one.name for one in chosen}
    return [(one.name, _dtype(one, dtype), one.ne) for one in chosen if one.is_loaded(names)]


def _short(name: str) -> str:
    """Without the block: `blk.3.attn_q.bias` is `attn_q.bias`."""
    return name.split(".", 2)[2] if name.startswith("blk.") else name


def _dtype(weight: Weight, dtype: DType) -> DType:
    """The type a quantiser would give it."""
    if len(weight.ne) == 1 or weight.name.endswith(("ffn_gate_inp.weight", "ssm_conv1d.weight", "ssm_a")):
        return _F32
    return dtype if weight.ne[0] % dtype.block == 0 else _F16
