"""Hyperparameters that decide about memory, read from a header as llama.cpp reads them (load_hparams)."""

from __future__ import annotations

import msgspec

from ..errors import InputError
from ..gguf.header import Header
from ..gguf.values import LazyArray
from .probe import Facts
from .weights import layer_count, trunk_layers

MAX_NUMBER = (1 << 31) - 1
"""Larger hyperparameters are nonsense: llama.cpp keeps them in 32 bits."""
MAX_UINT32 = (1 << 32) - 1

_SWA_PATTERN = {"gemma3": 6, "gpt-oss": 2, "gemma2": 2, "cohere2": 4}
"""Architectures with window layers, and how many layers make one pattern when the file does not say (load_swa_pattern).

The last of each pattern has full attention."""
_NO_WINDOW = frozenset({"llama", "qwen2", "qwen3", "qwen3moe", "qwen2moe", "phi3", "mamba", "mamba2"})
"""Architectures that ignore a sliding window in the file."""
_PLAIN = frozenset({"llama", "qwen2", "qwen3", "qwen3moe", "qwen2moe", "phi3", "gemma2", "gemma3"})
"""Architectures that keep K and V and nothing else, whatever other keys the file has."""
RECURRENT = frozenset({"mamba", "mamba2"})
"""Purely recurrent architectures whose state is described here."""
_HYBRID = {"qwen3next": 4}
"""Architectures of which some layers are recurrent: each layer but every so-manieth (full_attention_interval)."""
_MLA = frozenset({"deepseek2"})
"""Architectures with a compressed KV cache, which keeps K alone."""


class CacheFacts(msgspec.Struct, frozen=True):
    """What the sizes of caches follow from; lists are per layer of the trunk.

    Attributes:
        arch: general.architecture.
        n_ctx_train: context length of the model.
        k_width: elements of K per token.
        v_width: elements of V per token.
        head_k: elements of a K head.
        head_v: elements of a V head.
        window: tokens of the sliding window, 0 for none.
        windowed: which layers have it.
        recurrent: which layers keep a recurrent state and no KV.
        recurrent_r: elements of the convolution state per sequence and layer, 0 for attention models.
        recurrent_s: elements of the recurrent state.
        k_only: the cache keeps K alone (MLA).
        n_vocab: tokens of the vocabulary.
        causal: a token sees only earlier ones.
    """

    arch: str
    n_ctx_train: int
    k_width: tuple[int, ...]
    v_width: tuple[int, ...]
    head_k: tuple[int, ...]
    head_v: tuple[int, ...]
    window: int
    windowed: tuple[bool, ...]
    recurrent: tuple[bool, ...]
    recurrent_r: int
    recurrent_s: int
    k_only: bool
    n_vocab: int
    causal: bool

    @property
    def n_layer(self) -> int:
        """Layers of the trunk."""
        return len(self.k_width)


def number(header: Header, key: str, default: int | None = None, most: int = MAX_NUMBER) -> int:
    """The whole number under `<architecture>.<key>`.

    Raises:
        InputError: it is not there and has no default, or is no whole number from 0 to `most`.
    """
    value = header.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise InputError(
            f"{header.architecture}.{key} is {value!r}, expected a whole number: the file is no model llama.cpp loads"
        )
    return value


def per_layer(header: Header, key: str, count: int, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """One number for each layer: a scalar counts for all (get_key_or_arr).

    Raises:
        InputError: it is not there and has no default, or an array of another length or with nonsense in it.
    """
    value = header.get(key)
    if value is None and default is not None:
        return default
    if isinstance(value, LazyArray):
        value = value.read(count + 1)
    if not isinstance(value, tuple):
        return (number(header, key),) * count
    if len(value) != count:
        raise InputError(
            f"{header.architecture}.{key} has {len(value)} entries for {count} layers: the file is no model "
            "llama.cpp loads"
        )
    for one in value:
        if not isinstance(one, int) or not 0 <= one <= MAX_NUMBER:
            raise InputError(f"{header.architecture}.{key} holds {one!r}, expected whole numbers per layer")
    return tuple(one for one in value if isinstance(one, int))


def probe_facts(header: Header) -> Facts:
    """What the tests of weights need; keys that an architecture does not have count as 0."""
    count = layer_count(header)
    none = (0,) * count
    n_head = per_layer(header, "attention.head_count", count, none)
    n_embd = number(header, "embedding_length", 0)
    width = n_embd // n_head[0] if n_head[0] else 0
    return Facts(
        n_embd=n_embd,
        n_head=n_head[0],
        n_embd_head_v=number(header, "attention.value_length", width),
        n_expert_used=max(per_layer(header, "expert_used_count", count, none)),
        ssm_d_state=number(header, "ssm.state_size", 0),
        ssm_d_inner=number(header, "ssm.inner_size", 0),
        ssm_n_group=number(header, "ssm.group_count", 0),
    )


def vocabulary(header: Header) -> int:
    """Tokens of the vocabulary: the token list's length, or the key for a model without one (llama_vocab::load)."""
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, (tuple, LazyArray)):
        return len(tokens)
    return number(header, "vocab_size", 0)


def cache_facts(header: Header) -> CacheFacts:
    """What the caches follow from.

    Raises:
        InputError: the architecture keeps more than K and V per layer, which only llama.cpp itself knows the size of.
    """
    arch, count, trunk = header.architecture, layer_count(header), trunk_layers(header)
    mla = header.get("attention.key_length_mla") is not None
    if arch not in RECURRENT | _PLAIN | _HYBRID.keys() and (
        header.get("ssm.state_size") is not None or "rwkv" in arch or arch == "lfm2"
    ):
        raise _unknown(arch, "a recurrent state beside its KV cache")
    if arch not in RECURRENT | _PLAIN | _MLA and mla:
        raise _unknown(arch, "a compressed KV cache")
    if arch in RECURRENT:
        no = (0,) * trunk
        return _facts(header, no, no, no, no, recurrent=(True,) * trunk)
    n_head = per_layer(header, "attention.head_count", count)
    n_head_kv = per_layer(header, "attention.head_count_kv", count, n_head)
    n_embd = number(header, "embedding_length")
    width = n_embd // n_head[0] if n_head[0] else 0
    window, windowed = _window(header, trunk)
    full_k, full_v = number(header, "attention.key_length", width), number(header, "attention.value_length", width)
    swa_k = number(header, "attention.key_length_swa", full_k)
    swa_v = number(header, "attention.value_length_swa", full_v)
    head_k = tuple(swa_k if swa else full_k for swa in windowed)
    head_v = tuple(swa_v if swa else full_v for swa in windowed)
    k_width = tuple(k * heads for k, heads in zip(head_k, n_head_kv, strict=False))
    v_width = tuple(v * heads for v, heads in zip(head_v, n_head_kv, strict=False))
    return _facts(
        header, k_width, v_width, head_k, head_v, window, windowed, _recurrent(header, trunk), arch in _MLA and mla
    )


def _facts(
    header: Header,
    k_width: tuple[int, ...],
    v_width: tuple[int, ...],
    head_k: tuple[int, ...],
    head_v: tuple[int, ...],
    window: int = 0,
    windowed: tuple[bool, ...] = (),
    recurrent: tuple[bool, ...] = (),
    k_only: bool = False,
) -> CacheFacts:
    r, s = _state(header) if any(recurrent) else (0, 0)
    return CacheFacts(
        arch=header.architecture,
        n_ctx_train=number(header, "context_length", most=MAX_UINT32),
        k_width=k_width,
        v_width=v_width,
        head_k=head_k,
        head_v=head_v,
        window=window,
        windowed=windowed or (False,) * len(k_width),
        recurrent=recurrent or (False,) * len(k_width),
        recurrent_r=r,
        recurrent_s=s,
        k_only=k_only,
        n_vocab=vocabulary(header),
        causal=header.get("attention.causal") is not False,
    )


def _recurrent(header: Header, trunk: int) -> tuple[bool, ...]:
    """Which layers of a hybrid are recurrent (is_recr)."""
    arch = header.architecture
    if arch not in _HYBRID:
        return ()
    given = header.get("attention.recurrent_layers")
    if given is not None:
        given = given.read(trunk) if isinstance(given, LazyArray) else given
        listed = given if isinstance(given, tuple) else (given,) * trunk
        return tuple(bool(one) for one in (*listed, *(False,) * trunk)[:trunk])
    every = number(header, "full_attention_interval", _HYBRID[arch])
    if not every:
        raise InputError(f"{arch}.full_attention_interval is 0: the file is no model llama.cpp loads")
    return tuple((layer + 1) % every != 0 for layer in range(trunk))


def _state(header: Header) -> tuple[int, int]:
    """Elements of the two parts of a recurrent state (n_embd_r, n_embd_s)."""
    inner, state = number(header, "ssm.inner_size"), number(header, "ssm.state_size")
    kernel, groups = number(header, "ssm.conv_kernel"), number(header, "ssm.group_count", 0)
    return max(kernel - 1, 0) * (inner + 2 * groups * state), state * inner


def _window(header: Header, trunk: int) -> tuple[int, tuple[bool, ...]]:
    """Window and windowed layers.

    Raises:
        InputError: a window whose layers only llama.cpp's own code knows.
    """
    arch = header.architecture
    window = 0 if arch in _NO_WINDOW else number(header, "attention.sliding_window", 0)
    if not window:
        return 0, (False,) * trunk
    if arch not in _SWA_PATTERN:
        raise _unknown(arch, "a sliding window")
    pattern = header.get("attention.sliding_window_pattern")
    if isinstance(pattern, LazyArray):
        pattern = pattern.read(trunk)
    if isinstance(pattern, tuple):  # a short one leaves the last layers without a window
        return window, tuple(bool(one) for one in (*pattern, *(False,) * trunk)[:trunk])
    every = number(header, "attention.sliding_window_pattern", _SWA_PATTERN[arch])
    return window, tuple(every == 0 or layer % every < every - 1 for layer in range(trunk))


def _unknown(arch: str, what: str) -> InputError:
    return InputError(
        f"architecture {arch!r} has {what}, whose size only llama.cpp itself knows: "
        "pip install xllamacpp==2026.10.11549 (Linux, x86-64)"
    )
