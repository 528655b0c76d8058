"""The facts of a header: sums that can be checked by hand, numbers per layer, values of a wrong type."""

from collections.abc import Mapping
from typing import Any

import pytest

from galloscope.core.dtypes import DTYPES, F32
from galloscope.core.gguf.facts import Facts, Rope, TypeShare, facts
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.values import F64, U64
from galloscope.core.gguf.write import Typed, header_bytes


def known(metadata: Mapping[str, Any], tensors: Any = (), architecture: str = "llama") -> Facts:
    """Facts of a header whose keys are the architecture's, but those of ``general`` and ``tokenizer``."""
    entries: dict[str, Any] = {"general.architecture": architecture}
    for key, value in metadata.items():
        entries[key if key.startswith(("general.", "tokenizer.")) else f"{architecture}.{key}"] = value
    return facts(parse_header(header_bytes(entries, tensors), "x"))


def test_a_mixture_of_experts() -> None:
    """Qwen3 30B A3B, as its public configuration has it."""
    got = known(
        {
            "general.name": "Qwen3 30B A3B",
            "block_count": 48,
            "context_length": 40960,
            "embedding_length": 2048,
            "feed_forward_length": 6144,
            "attention.head_count": 32,
            "attention.head_count_kv": 4,
            "attention.key_length": 128,
            "attention.value_length": 128,
            "expert_count": 128,
            "expert_used_count": 8,
            "expert_feed_forward_length": 768,
            "rope.freq_base": 1e6,
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.tokens": [str(i) for i in range(3000)],
        },
        architecture="qwen3moe",
    )
    assert (got.architecture, got.name, got.layers, got.context_length) == ("qwen3moe", "Qwen3 30B A3B", 48, 40960)
    assert (got.embedding, got.heads, got.kv_heads, got.key_length, got.value_length) == (2048, 32, 4, 128, 128)
    assert (got.experts, got.experts_used, got.experts_shared, got.expert_feed_forward) == (128, 8, None, 768)
    assert (got.feed_forward, got.vocabulary, got.tokenizer, got.rope) == (6144, 3000, "gpt2", Rope(freq_base=1e6))


def test_types_by_bytes() -> None:
    q4, q6 = DTYPES["q4_K"], DTYPES["q6_K"]
    got = known({}, [("a", F32, (256,)), ("b", q4, (256, 10)), ("c", q6, (256, 10)), ("d", q4, (256, 20))])
    assert got.parameters == 256 * 41
    assert got.bytes == 1024 + 30 * 144 + 10 * 210
    assert got.bits_per_weight == pytest.approx(8 * 7444 / 10496)
    assert got.mix == (
        TypeShare("q4_K", 2, 7680, 4320, 4320 / 7444),
        TypeShare("q6_K", 1, 2560, 2100, 2100 / 7444),
        TypeShare("f32", 1, 256, 1024, 1024 / 7444),
    )


def test_numbers_per_layer() -> None:
    got = known(
        {
            "attention.head_count": [8, 8, 8],
            "attention.head_count_kv": [1, 2, 0],
            "feed_forward_length": [64, 64, 128],
            "attention.sliding_window_pattern": [True, True, False],
            "embedding_length": 64,
        }
    )
    assert (got.heads, got.kv_heads, got.feed_forward) == (8, (1, 2, 0), (64, 64, 128))
    assert got.sliding_window_pattern == (1, 1, 0)
    assert got.key_length == got.value_length == 8


def test_what_llama_cpp_assumes() -> None:
    got = known({"attention.head_count": [4, 16], "embedding_length": 64})
    assert (got.kv_heads, got.key_length, got.value_length) == ((4, 16), 4, 4)
    assert known({"attention.head_count": 4}).key_length is None
    assert known({"attention.head_count": 0, "embedding_length": 64}).key_length is None


def test_where_the_vocabulary_is_found() -> None:
    table = [("token_embd.weight", F32, (4, 77))]
    assert known({}).vocabulary is None
    assert known({}, table).vocabulary == 77
    assert known({"vocab_size": 78}, table).vocabulary == 78
    assert known({"vocab_size": 78, "tokenizer.ggml.tokens": ["a"]}, table).vocabulary == 1


def test_rope_scaling() -> None:
    got = known(
        {
            "rope.freq_base": Typed(F64, 5e5),
            "rope.dimension_count": 64,
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 4.0,
            "rope.scaling.original_context_length": 8192,
        }
    )
    assert got.rope == Rope(5e5, 64, "yarn", 4.0, 8192)


def test_values_of_a_wrong_type_count_as_absent() -> None:
    got = known(
        {
            "general.name": 7,
            "block_count": "many",
            "context_length": 1.5,
            "embedding_length": True,
            "attention.head_count": ["a"],
            "attention.head_count_kv": [],
            "feed_forward_length": [1.5],
            "rope.freq_base": "x",
            "tokenizer.ggml.model": [1],
            "tokenizer.ggml.tokens": "x",
            "expert_count": Typed(U64, 2**64 - 1),
        }
    )
    assert got.experts == 2**64 - 1
    empty = facts(parse_header(header_bytes({"general.architecture": "llama"}, []), "x"))
    for name in Facts.__struct_fields__:
        if name != "experts":
            assert getattr(got, name) == getattr(empty, name), name


def test_a_file_without_architecture() -> None:
    got = facts(parse_header(header_bytes({"general.type": "imatrix"}, []), "x"))
    assert (got.architecture, got.layers, got.parameters, got.bits_per_weight, got.mix) == ("", None, 0, 0.0, ())
