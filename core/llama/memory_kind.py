"""Which memory llama.cpp gives an architecture (llama_model::create_memory), and its sliding window."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InputError
from ..gguf.header import Header
from .facts import number
from .weights import trunk_layers

RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
"""A state per sequence and no cache (llm_arch_is_recurrent)."""
HYBRID = frozenset({
    "jamba", "falcon-h1", "plamo2", "granitehybrid", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "qwen3next",
    "kimi-linear", "bailingmoe3", "kimi-k3", "qwen35", "qwen35moe", "minimax-01",
})  # fmt: skip
"""Both (llm_arch_is_hybrid)."""
NONE = frozenset({
    "bert", "jina-bert-v2", "jina-bert-v3", "nomic-bert", "nomic-bert-moe", "neo-bert", "eurobert", "wavtokenizer-dec",
    "modern-bert", "gemma-embedding", "dream", "llada", "llada-moe", "rnd1",
})  # fmt: skip
"""No memory at all: every batch is encoded anew."""
OTHER = frozenset({"minimax-m3", "glm-dsa", "deepseek32", "glm5-next", "hy_v4", "dots3note", "deepseek4", "dflash",
                   "qwen4exp"})  # fmt: skip
"""A memory with an indexer or compressed states, which is not described here."""
NO_ROPE = frozenset({
    "gpt2", "gptj", "mpt", "refact", "bloom", "jamba", "jais", "nemotron_h", "nemotron_h_moe", "kimi-linear", "kimi-k3",
})  # fmt: skip
"""A KV cache but no RoPE: changed positions need no graph (llama_model_rope_type)."""

_MUST_SAY = frozenset({
    "exaone-moe", "gemma3n", "step35", "muse-glimmer", "gpt-oss", "spark2_5", "cohere2moe", "cohere2", "gemma4",
    "granite_swa", "mimo2", "maple",
})  # fmt: skip
"""Architectures with a window in every file."""
_MAY_SAY = frozenset({"olmo2", "plamo3", "lfm2", "gemma3", "laguna", "mellum", "afmoe"})
"""Architectures with a window if the file has one."""
_DEFAULT = 4096
"""The window of gemma2 and the large exaone4 unless the file says another, and of any smallthinker with one."""
_CHUNK = 8192
"""The chunk of llama4, whatever the file says unless it says 0."""
_LARGE_EXAONE4 = 64
"""Layers of the one exaone4 with a window."""


class MemoryKind(NamedTuple):
    """The memory of a model.

    Attributes:
        attention: it has a KV cache.
        recurrent: it has recurrent states.
        window: tokens of the sliding window, 0 for none.
        chunked: the window is a chunk that all its tokens share.
        rope: positions are rotated into K.
    """

    attention: bool
    recurrent: bool
    window: int = 0
    chunked: bool = False
    rope: bool = True


def memory_kind(header: Header) -> MemoryKind:
    """Which memory a model has.

    Raises:
        InputError: none, or one that is not described here.
    """
    arch = header.architecture
    if arch in NONE:
        raise InputError(f"architecture {arch!r} has no memory: llama.cpp encodes each batch anew, there is no session")
    if arch in OTHER:
        raise InputError(f"architecture {arch!r} has a memory of its own kind, which is not described here")
    if arch in RECURRENT:
        return MemoryKind(False, True)
    return MemoryKind(True, arch in HYBRID, _window(header), arch == "llama4", arch not in NO_ROPE)


def _window(header: Header) -> int:
    """Tokens of the sliding window as load_arch_hparams reads it, 0 for none; other architectures ignore the key."""
    arch, key = header.architecture, "attention.sliding_window"
    if arch in _MUST_SAY:
        return number(header, key)
    if arch in _MAY_SAY:
        return number(header, key, 0)
    if arch == "gemma2" or (arch == "exaone4" and trunk_layers(header) == _LARGE_EXAONE4):
        return number(header, key, _DEFAULT)
    if arch == "smallthinker":
        return _DEFAULT if number(header, key, 0) else 0
    if arch == "llama4":
        return _CHUNK if number(header, key, _CHUNK) else 0
    return 0
