"""What people ask about a model first, from its header: sizes, types, layers, heads, experts, context.

Defaults are those of llama-model.cpp (`llama_model_base::load_hparams`): as many KV heads as heads, heads as long as
the embedding divided by their number.
"""

from __future__ import annotations

import msgspec

from .header import Header
from .values import LazyArray, Value

PerLayer = int | tuple[int, ...] | None
"""One number for all layers, one for each where they differ, None where the header has none."""


class TypeShare(msgspec.Struct, frozen=True):
    """What the tensors of one type take.

    Attributes:
        name: of the ggml_type.
        tensors: how many.
        elements: how many.
        bytes: of data.
        share: of the bytes of all tensors, 0 to 1.
    """

    name: str
    tensors: int
    elements: int
    bytes: int
    share: float


class Rope(msgspec.Struct, frozen=True):
    """Rotary position embedding, as written in the header.

    Attributes:
        freq_base: ``rope.freq_base``.
        dimensions: ``rope.dimension_count``.
        scaling: ``rope.scaling.type``: none, linear, yarn, longrope.
        factor: ``rope.scaling.factor``.
        original_context: ``rope.scaling.original_context_length``, in tokens.
    """

    freq_base: float | None = None
    dimensions: int | None = None
    scaling: str | None = None
    factor: float | None = None
    original_context: int | None = None


class Facts(msgspec.Struct, frozen=True):
    """The facts; None where the header does not say.

    Attributes:
        architecture: ``general.architecture``; empty where there is none.
        name: ``general.name``; empty where there is none.
        parameters: elements of all tensors.
        bytes: of data of all tensors, without padding.
        bits_per_weight: 8 * bytes / parameters, as llama.cpp prints it (BPW); 0 without tensors.
        mix: per type, the most bytes first.
        layers: ``block_count``.
        context_length: tokens the model was trained for.
        embedding: length of a token's embedding.
        heads, kv_heads: attention heads.
        key_length, value_length: elements per head.
        feed_forward: length of the feed-forward layer.
        experts, experts_used, experts_shared: number per layer.
        expert_feed_forward: length of an expert's feed-forward layer.
        sliding_window: tokens.
        sliding_window_pattern: every how many layers one has full attention, or a flag per layer.
        vocabulary: tokens.
        tokenizer: ``tokenizer.ggml.model``.
        rope: rotary position embedding.
    """

    architecture: str
    name: str
    parameters: int
    bytes: int
    bits_per_weight: float
    mix: tuple[TypeShare, ...]
    layers: int | None
    context_length: int | None
    embedding: int | None
    heads: PerLayer
    kv_heads: PerLayer
    key_length: int | None
    value_length: int | None
    feed_forward: PerLayer
    experts: int | None
    experts_used: int | None
    experts_shared: int | None
    expert_feed_forward: int | None
    sliding_window: int | None
    sliding_window_pattern: PerLayer
    vocabulary: int | None
    tokenizer: str | None
    rope: Rope


def facts(header: Header) -> Facts:
    """The facts of a header; values of a wrong type count as absent."""
    get = header.get
    elements, size = sum(one.elements for one in header.tensors), sum(one.nbytes for one in header.tensors)
    embedding, heads = _integer(get("embedding_length")), _per_layer(get("attention.head_count"))
    most_heads = max(heads) if isinstance(heads, tuple) else heads
    head_length = embedding // most_heads if embedding and most_heads and most_heads > 0 else None
    kv_heads = _per_layer(get("attention.head_count_kv"))
    keys, values = _integer(get("attention.key_length")), _integer(get("attention.value_length"))
    return Facts(
        architecture=header.architecture,
        name=_text(header.metadata.get("general.name")) or "",
        parameters=elements,
        bytes=size,
        bits_per_weight=8 * size / elements if elements else 0.0,
        mix=_mix(header, size),
        layers=_integer(get("block_count")),
        context_length=_integer(get("context_length")),
        embedding=embedding,
        heads=heads,
        kv_heads=heads if kv_heads is None else kv_heads,
        key_length=head_length if keys is None else keys,
        value_length=head_length if values is None else values,
        feed_forward=_per_layer(get("feed_forward_length")),
        experts=_integer(get("expert_count")),
        experts_used=_integer(get("expert_used_count")),
        experts_shared=_integer(get("expert_shared_count")),
        expert_feed_forward=_integer(get("expert_feed_forward_length")),
        sliding_window=_integer(get("attention.sliding_window")),
        sliding_window_pattern=_per_layer(get("attention.sliding_window_pattern")),
        vocabulary=_vocabulary(header),
        tokenizer=_text(header.metadata.get("tokenizer.ggml.model")),
        rope=Rope(
            freq_base=_number(get("rope.freq_base")),
            dimensions=_integer(get("rope.dimension_count")),
            scaling=_text(get("rope.scaling.type")),
            factor=_number(get("rope.scaling.factor")),
            original_context=_integer(get("rope.scaling.original_context_length")),
        ),
    )


def _mix(header: Header, size: int) -> tuple[TypeShare, ...]:
    sums: dict[str, list[int]] = {}
    for one in header.tensors:
        row = sums.setdefault(one.dtype.name, [0, 0, 0])
        row[0] += 1
        row[1] += one.elements
        row[2] += one.nbytes
    shares = [TypeShare(name, count, elements, taken, taken / size) for name, (count, elements, taken) in sums.items()]
    return tuple(sorted(shares, key=lambda share: (-share.bytes, share.name)))


def _vocabulary(header: Header) -> int | None:
    """Tokens of the tokenizer, else ``vocab_size``, else rows of the token embedding."""
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, (tuple, LazyArray)):
        return len(tokens)
    said = _integer(header.get("vocab_size"))
    if said is not None:
        return said
    return next((one.ne[1] for one in header.tensors if one.name == "token_embd.weight"), None)


def _integer(value: Value | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Value | None) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: Value | None) -> str | None:
    return value if isinstance(value, str) else None


def _per_layer(value: Value | None) -> PerLayer:
    """Numbers per layer; one where they are equal."""
    if isinstance(value, tuple):
        numbers = tuple(int(one) for one in value if isinstance(one, int))
        if not numbers or len(numbers) != len(value):
            return None
        return numbers[0] if len(set(numbers)) == 1 else numbers
    return _integer(value)
