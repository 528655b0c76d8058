"""What one architecture is to the builders, and parts of the weight lists that several share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .graph import LlmGraph
from .hparams import Hparams, Keys
from .weights import Weight, optional


class Architecture(NamedTuple):
    """One architecture.

    Attributes:
        name: `general.architecture`.
        title: what people call the models.
        rope_type: GGML_ROPE_TYPE_* (llama_model_rope_type).
        hparams: the hyperparameters this architecture reads, after the common ones (load_arch_hparams).
        weights: the tensors it loads (load_arch_tensors).
        build: its graph (build_arch_graph).
        usual: optional weights (names without `blk.N.`) that its models mostly have.
        attention: it has attention heads; without, it keeps recurrent states in place of a KV cache.
    """

    name: str
    title: str
    rope_type: int
    hparams: Callable[[Hparams, Keys], Hparams]
    weights: Callable[[Hparams], list[Weight]]
    build: Callable[[LlmGraph], None]
    usual: frozenset[str] = frozenset({"output.weight"})
    attention: bool = True


def embedding_weights(h: Hparams) -> list[Weight]:
    """Embeddings, output norm and output; without an output matrix the embeddings serve once more."""
    return [
        Weight("token_embd.weight", (h.n_embd, h.n_vocab)),
        Weight("output_norm.weight", (h.n_embd,)),
        optional("output.weight", h.n_embd, h.n_vocab),
        optional("output.scale", 1),
        optional("output.input_scale", 1),
    ]


def attention_weights(h: Hparams, il: int, n_embd_q: int, n_embd_k: int, n_embd_v: int) -> list[Weight]:
    """create_tensor_qkv and the output projection: one matrix or three, biases if the file has them."""
    p = f"blk.{il}."
    fused, fused_bias = f"{p}attn_qkv.weight", f"{p}attn_qkv.bias"
    n_qkv = n_embd_q + n_embd_k + n_embd_v
    parts = (("q", n_embd_q), ("k", n_embd_k), ("v", n_embd_v))
    return [
        Weight(f"{p}attn_norm.weight", (h.n_embd,)),
        Weight(fused, (h.n_embd, n_qkv), required=False),
        Weight(fused_bias, (n_qkv,), required=False, only_with=fused),
        *(Weight(f"{p}attn_{part}.weight", (h.n_embd, n), unless=fused) for part, n in parts),
        *(Weight(f"{p}attn_{part}.bias", (n,), required=False, unless=fused_bias) for part, n in parts),
        Weight(f"{p}attn_output.weight", (n_embd_q, h.n_embd)),
    ]


def qk_norm_weights(h: Hparams, il: int) -> list[Weight]:
    """Norms of the heads of Q and K."""
    return [Weight(f"blk.{il}.attn_{part}_norm.weight", (h.n_embd_head_k,)) for part in "qk"]


def ffn_weights(h: Hparams, il: int) -> list[Weight]:
    """Norm, gate, up and down."""
    p = f"blk.{il}."
    return [
        Weight(f"{p}ffn_norm.weight", (h.n_embd,)),
        Weight(f"{p}ffn_gate.weight", (h.n_embd, h.n_ff)),
        Weight(f"{p}ffn_down.weight", (h.n_ff, h.n_embd)),
        Weight(f"{p}ffn_up.weight", (h.n_embd, h.n_ff)),
    ]


def moe_weights(h: Hparams, il: int, n_ff: int, gate_required: bool = True) -> list[Weight]:
    """Norm, router and experts."""
    p = f"blk.{il}."
    return [
        Weight(f"{p}ffn_norm.weight", (h.n_embd,)),
        Weight(f"{p}ffn_gate_inp.weight", (h.n_embd, h.n_expert)),
        Weight(f"{p}ffn_gate_exps.weight", (h.n_embd, n_ff, h.n_expert), gate_required),
        Weight(f"{p}ffn_down_exps.weight", (n_ff, h.n_embd, h.n_expert)),
        Weight(f"{p}ffn_up_exps.weight", (h.n_embd, n_ff, h.n_expert)),
    ]


def as_read(h: Hparams, keys: Keys) -> Hparams:
    """For architectures without keys of their own."""
    return h
