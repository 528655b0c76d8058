"""Hyperparameters of a model, read from its GGUF metadata as llama.cpp reads them (llama_model_base::load_hparams)."""

from __future__ import annotations

from typing import NoReturn

import msgspec

from ..errors import InputError, nearest
from ..gguf.header import Header
from ..gguf.values import LazyArray
from ..llama.options import Pooling
from ..ops import as_float, quotient

MAX_LAYERS = 512
MAX_EXPERTS = 1024
"""LLAMA_MAX_LAYERS, LLAMA_MAX_EXPERTS."""

MAX_SIZE = 1 << 31
"""A count above this is no hyperparameter of a model that any llama.cpp loads; it would only make numbers overflow."""

UINT32 = 1 << 32
"""Numbers that nothing is multiplied with may be any that llama.cpp reads."""

CLASSIFIERS = ("gelu", "silu", "tanh")
"""LLM_CLS_ACT_TYPES."""

HEADS_SWA = ("attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa")
"""Sizes of the heads of windowed layers, where those differ from the others."""

ROPE_SCALINGS = ("none", "linear", "yarn", "longrope")


class Hparams(msgspec.Struct, frozen=True):
    """llama_hparams, as far as the builders need it; floats are 32-bit ones.

    Attributes:
        arch: `general.architecture`.
        n_vocab: tokens of the vocabulary.
        n_ctx_train: `context_length`.
        n_embd: `embedding_length`.
        n_layer: `block_count`.
        n_ff: `feed_forward_length`.
        n_head: `attention.head_count`.
        n_head_kv: `attention.head_count_kv`.
        n_embd_head_k: `attention.key_length`.
        n_embd_head_v: `attention.value_length`.
        n_rot: `rope.dimension_count`.
        rms_eps: `attention.layer_norm_rms_epsilon`.
        rope_freq_base: `rope.freq_base`.
        rope_freq_scale: 1 / `rope.scaling.factor`.
        rope_scaling: `rope.scaling.type`, one of ROPE_SCALINGS.
        rope_attn_factor: `rope.scaling.attn_factor`.
        n_ctx_orig_yarn: `rope.scaling.original_context_length`.
        causal: `attention.causal`.
        n_expert: `expert_count`.
        n_expert_used: `expert_used_count`.
        n_expert_groups: `expert_group_count`.
        n_group_used: `expert_group_used_count`.
        n_ff_exp: `expert_feed_forward_length`; 0 when the architecture does not read it or the file has none.
        n_swa: `attention.sliding_window`; 0 where attention has no window.
        is_swa: per layer, whether its attention is windowed.
        rope_freq_base_swa: `rope.freq_base_swa`.
        attention_scale: factor of QK.
        final_logit_softcap: `final_logit_softcapping`; 0 for none.
        n_cls_out: labels of a classifier head.
        pooling: `pooling_type`, any number.
        pooling_cls: `classifier.pooling_type`, what a reranker pools by.
        ssm_d_conv: `ssm.conv_kernel`, columns of the convolution.
        ssm_d_inner: `ssm.inner_size`, channels; 0 for a model without recurrence.
        ssm_d_state: `ssm.state_size`, elements of the state of a channel.
        ssm_dt_rank: `ssm.time_step_rank`, elements that the time steps are projected from.
        ssm_dt_b_c_rms: `ssm.dt_b_c_rms`, norms without weights on time steps, B and C.
    """

    arch: str
    n_vocab: int
    n_ctx_train: int
    n_embd: int
    n_layer: int
    n_ff: int
    n_head: int
    n_head_kv: int
    n_embd_head_k: int
    n_embd_head_v: int
    n_rot: int
    rms_eps: float
    rope_freq_base: float = 10000.0
    rope_freq_scale: float = 1.0
    rope_scaling: str = "linear"
    rope_attn_factor: float = 1.0
    n_ctx_orig_yarn: int = 0
    causal: bool = True
    n_expert: int = 0
    n_expert_used: int = 0
    n_expert_groups: int = 0
    n_group_used: int = 0
    n_ff_exp: int = 0
    n_swa: int = 0
    is_swa: tuple[bool, ...] = ()
    rope_freq_base_swa: float = 10000.0
    attention_scale: float = 0.0
    final_logit_softcap: float = 0.0
    n_cls_out: int = 1
    pooling: int = Pooling.NONE
    pooling_cls: int = Pooling.UNSPECIFIED
    ssm_d_conv: int = 0
    ssm_d_inner: int = 0
    ssm_d_state: int = 0
    ssm_dt_rank: int = 0
    ssm_dt_b_c_rms: bool = False

    @property
    def recurrent(self) -> bool:
        """The model keeps states in place of a KV cache."""
        return self.ssm_d_inner > 0

    @property
    def n_embd_r(self) -> int:
        """Elements of the convolution state of a sequence."""
        return max(self.ssm_d_conv - 1, 0) * self.ssm_d_inner

    @property
    def n_embd_s(self) -> int:
        """Elements of the recurrent state of a sequence."""
        return self.ssm_d_state * self.ssm_d_inner

    @property
    def n_embd_k_gqa(self) -> int:
        """Elements of K per token."""
        return self.n_embd_head_k * self.n_head_kv

    @property
    def n_embd_v_gqa(self) -> int:
        """Elements of V per token."""
        return self.n_embd_head_v * self.n_head_kv


class Keys:
    """The metadata of one model, asked for by llama.cpp's keys without the architecture in front.

    llama.cpp takes a value only in the one type that it expects (GGUFMeta::GKV): a u64 is no u32, however small.
    """

    def __init__(self, header: Header) -> None:
        """Of a header."""
        self.header = header
        self.arch = header.architecture

    def refuse(self, key: str, why: str) -> NoReturn:
        """Raise the sentence about a key."""
        raise InputError(f"key {self.arch}.{key}: {why}")

    def has(self, key: str) -> bool:
        """Whether the file says something about it."""
        return self.header.get(key) is not None

    def integer(self, key: str, default: int | None = None, size: int = MAX_SIZE) -> int:
        """A count below `size`; without a default it must be there."""
        value = self.header.get(key)
        if value is None:
            if default is None:
                hint = nearest(f"{self.arch}.{key}", self.header.metadata)
                raise InputError(f"key {self.arch}.{key} is missing, a model of this architecture needs it{hint}")
            return default
        if type(value) is not int or not 0 <= value < size:
            self.refuse(key, f"must be an integer from 0 to {size - 1}, not {_shown(value)}")
        self._typed(key, "u32")
        return value

    def array(self, key: str) -> tuple[int, ...] | None:
        """The entries of an array as llama.cpp copies them (get_arr); None where the value is no array."""
        value = self.header.get(key)
        if not isinstance(value, (tuple, LazyArray)):
            return None
        kind = self.header.types[f"{self.arch}.{key}"]
        if kind not in ("arr[u32]", "arr[i32]", "arr[bool]"):
            self.refuse(key, f"must be u32, i32 or bool in an array, not {kind}")
        if len(value) > MAX_LAYERS:
            self.refuse(key, f"has {len(value)} entries, llama.cpp takes up to {MAX_LAYERS}")
        items = value.read() if isinstance(value, LazyArray) else value
        return tuple(item & 0xFFFFFFFF for item in items if isinstance(item, int))

    def same_in_all(self, key: str, n_layer: int, default: int | None = None) -> int:
        """A count that may be an array with one entry per layer; entries that differ need the real llama.cpp."""
        items = self.array(key)
        if items is None:
            return self.integer(key, default)
        if len(items) != n_layer:
            self.refuse(key, f"has {len(items)} entries for {n_layer} layers")
        first = items[0]
        if first >= MAX_SIZE:
            self.refuse(key, f"must hold integers from 0 to {MAX_SIZE - 1}")
        if any(item != first for item in items):
            self.refuse(key, "differs from layer to layer, which only the real llama.cpp builds: install the wheel")
        return first

    def number(self, key: str, default: float | None = None) -> float:
        """A 32-bit float."""
        value = self.header.get(key)
        if value is None:
            if default is None:
                raise InputError(f"key {self.arch}.{key} is missing, a model of this architecture needs it")
            return default
        if type(value) is not float:
            self.refuse(key, f"must be a floating point number, not {_shown(value)}")
        self._typed(key, "f32")
        return as_float(value)

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self.header.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            self.refuse(key, f"must be a string, not {_shown(value)}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """A boolean."""
        value = self.header.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(key, f"must be true or false, not {_shown(value)}")
        return value

    def _typed(self, key: str, wanted: str) -> None:
        kind = self.header.types[f"{self.arch}.{key}"]
        if kind != wanted:
            self.refuse(key, f"has type {kind}, llama.cpp reads it as {wanted} only")


def _shown(value: object) -> str:
    return f"an array of {len(value)}" if isinstance(value, (tuple, LazyArray)) else repr(value)


def common_hparams(keys: Keys, attention: bool = True) -> Hparams:
    """What every architecture reads.

    Args:
        keys: of the model.
        attention: the architecture has attention, and its heads at least one element.

    Raises:
        InputError: a key is missing, of the wrong type, or llama.cpp would assert on its value.
    """
    n_embd = keys.integer("embedding_length")
    n_layer = keys.integer("block_count")
    if not 0 < n_layer <= MAX_LAYERS:
        keys.refuse("block_count", f"{n_layer} layers, llama.cpp takes 1 to {MAX_LAYERS}")
    if keys.integer("nextn_predict_layers", 0):
        keys.refuse("nextn_predict_layers", "layers for the token after next need the real llama.cpp")
    scaling = keys.text("rope.scaling.type", "linear")
    if scaling not in ROPE_SCALINGS:
        keys.refuse("rope.scaling.type", f"unknown, llama.cpp knows {', '.join(ROPE_SCALINGS)}")
    factor = keys.number("rope.scaling.factor" if keys.has("rope.scaling.factor") else "rope.scale_linear", 0.0)
    n_ctx_train = keys.integer("context_length", None, UINT32)
    _without_effect(keys)
    n_head, n_head_kv, n_embd_head_k, n_embd_head_v, n_rot = _heads(keys, n_embd, n_layer) if attention else (0,) * 5
    found = Hparams(
        arch=keys.arch,
        n_vocab=_n_vocab(keys),
        n_ctx_train=n_ctx_train,
        n_embd=n_embd,
        n_layer=n_layer,
        n_ff=keys.same_in_all("feed_forward_length", n_layer, 0),
        n_head=n_head,
        n_head_kv=n_head_kv,
        n_embd_head_k=n_embd_head_k,
        n_embd_head_v=n_embd_head_v,
        n_rot=n_rot,
        rms_eps=keys.number("attention.layer_norm_rms_epsilon"),
        rope_freq_base=keys.number("rope.freq_base", 10000.0),
        rope_freq_scale=quotient(1.0, factor) if factor else 1.0,
        rope_scaling=scaling,
        rope_attn_factor=keys.number("rope.scaling.attn_factor", 1.0),
        n_ctx_orig_yarn=keys.integer("rope.scaling.original_context_length", n_ctx_train, UINT32),
        causal=keys.flag("attention.causal", True),
        is_swa=(False,) * n_layer,
        n_cls_out=_n_labels(keys),
        pooling=_pooling(keys, "pooling_type", Pooling.NONE),
        pooling_cls=_pooling(keys, "classifier.pooling_type", Pooling.UNSPECIFIED),
    )
    return msgspec.structs.replace(found, **_experts(keys, n_layer))


def _heads(keys: Keys, n_embd: int, n_layer: int) -> tuple[int, int, int, int, int]:
    """Heads of Q, of K and V, elements of a K head, of a V head, and those that rope turns."""
    n_head = keys.same_in_all("attention.head_count", n_layer, 0)
    if not n_head:
        keys.refuse("attention.head_count", "must be at least 1")
    n_embd_head_k = keys.integer("attention.key_length", n_embd // n_head)
    n_embd_head_v = keys.integer("attention.value_length", n_embd // n_head)
    n_rot = keys.integer("rope.dimension_count", n_embd_head_k)
    n_head_kv = keys.same_in_all("attention.head_count_kv", n_layer, n_head)
    if not n_embd_head_k or not n_embd_head_v or not n_head_kv:
        keys.refuse("attention.head_count_kv", "attention without heads, or with empty ones, needs the real llama.cpp")
    return n_head, n_head_kv, n_embd_head_k, n_embd_head_v, n_rot


def _pooling(keys: Keys, key: str, default: Pooling) -> int:
    """An enum llama_pooling_type, whatever number it is; -1 is written as a large u32."""
    number = keys.integer(key, default % UINT32, UINT32)
    return number - UINT32 if number > UINT32 // 2 else number


def _without_effect(keys: Keys) -> None:
    """Keys that change no graph of these architectures; llama.cpp refuses the file all the same if they are wrong."""
    for key in ("embedding_length_out", *HEADS_SWA):
        keys.integer(key, 0, UINT32)
    keys.flag("rope.scaling.finetuned", False)
    keys.number("rope.scaling.alpha", 0.0)
    if keys.text("classifier.activation", "tanh") not in CLASSIFIERS:
        keys.refuse("classifier.activation", f"unknown, llama.cpp knows {', '.join(CLASSIFIERS)}")
    types = keys.header.types
    for key, wanted in (("general.name", "str"), ("general.file_type", "u32"), ("tokenizer.ggml.model", "str")):
        if types.get(key, wanted) != wanted:
            raise InputError(f"key {key}: has type {types[key]}, llama.cpp reads it as {wanted} only")
    if "tokenizer.ggml.model" not in types:
        raise InputError("key tokenizer.ggml.model is missing, llama.cpp loads no model without it")


def _experts(keys: Keys, n_layer: int) -> dict[str, int]:
    """The counts of experts, checked as llama.cpp asserts them."""
    n_expert = keys.integer("expert_count", 0)
    n_used = keys.same_in_all("expert_used_count", n_layer, 0)
    groups, used = keys.integer("expert_group_count", 0), keys.integer("expert_group_used_count", 0)
    if n_expert > MAX_EXPERTS:
        keys.refuse("expert_count", f"{n_expert} experts, llama.cpp takes up to {MAX_EXPERTS}")
    if n_used > n_expert or (n_expert and not n_used):
        keys.refuse("expert_used_count", f"{n_used} of {n_expert} experts are used")
    if groups and (groups >= n_expert or (groups > 1 and (n_expert % groups or not 0 < used < groups))):
        keys.refuse("expert_group_count", f"{groups} groups, {used} of them used, do not divide {n_expert} experts")
    return {"n_expert": n_expert, "n_expert_used": n_used, "n_expert_groups": groups, "n_group_used": used}


def _n_vocab(keys: Keys) -> int:
    """Tokens of the vocabulary: the tokenizer's list, or `vocab_size` for a model without one."""
    tokens = keys.header.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, (tuple, LazyArray)):
        return len(tokens)
    return keys.integer("vocab_size")


def _n_labels(keys: Keys) -> int:
    labels = keys.header.get("classifier.output_labels")
    if not isinstance(labels, (tuple, LazyArray)):
        return 1
    kind = keys.header.types[f"{keys.arch}.classifier.output_labels"]
    if kind != "arr[str]":
        keys.refuse("classifier.output_labels", f"must be an array of strings, not {kind}")
    return len(labels) or 1
