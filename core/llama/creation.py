"""In which order llama.cpp makes the weights of a model, which is the order in which they lie in their buffers.

Facts of load_arch_tensors of each architecture (src/models/*.cpp) and of create_tensor_qkv: not the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterable

from .placement import Placed
from .weights import INPUT

_HEAD = ("token_embd.weight", "output_norm.weight", "output.weight", "output.bias")
"""Before the blocks; the embeddings a second time stand where the output is missing."""
_TIED = ("token_embd.weight", 2)

_QKV = "attn_qkv.weight attn_qkv.bias attn_q.weight attn_k.weight attn_v.weight attn_q.bias attn_k.bias attn_v.bias"
_ROPE = "rope_factors_long.weight rope_factors_short.weight rope_freqs.weight"
_FFN = "ffn_gate.weight ffn_down.weight ffn_up.weight"
_FFN_BIAS = "ffn_gate.bias ffn_down.bias ffn_up.bias"
_EXPERTS = "ffn_gate_exps.weight ffn_down_exps.weight ffn_up_exps.weight"
_DOWN_FIRST = "ffn_down_exps.weight ffn_gate_up_exps.weight ffn_gate_exps.weight ffn_up_exps.weight"
_SHARED = "ffn_gate_shexp.weight ffn_up_shexp.weight ffn_down_shexp.weight"
_KQ_NORM = "attn_k_norm.weight attn_q_norm.weight"
_ATTENTION = f"attn_norm.weight {_QKV} attn_output.weight"

_BLOCKS: dict[str, str] = {
    "llama": f"{_ATTENTION} attn_output.bias ffn_norm.weight {_ROPE} ffn_gate_inp.weight {_FFN} {_FFN_BIAS} "
    f"{_EXPERTS} {_SHARED}",
    "qwen2": f"{_ATTENTION} ffn_norm.weight {_FFN}",
    "qwen3": f"{_ATTENTION} {_KQ_NORM} ffn_norm.weight {_FFN}",
    "qwen3moe": f"{_ATTENTION} {_KQ_NORM} ffn_norm.weight ffn_gate_inp.weight {_EXPERTS}",
    "gemma3": f"{_ATTENTION} post_attention_norm.weight {_KQ_NORM} ffn_norm.weight ffn_gate.weight ffn_up.weight "
    "ffn_down.weight post_ffw_norm.weight",
    "phi3": f"{_ATTENTION} ffn_norm.weight ffn_down.weight ffn_up.weight {_ROPE}",
    "mamba": "attn_norm.weight ssm_in.weight ssm_conv1d.weight ssm_conv1d.bias ssm_x.weight ssm_dt.weight ssm_dt.bias "
    "ssm_a ssm_d ssm_out.weight",
    "deepseek2": "attn_norm.weight attn_q_a_norm.weight attn_kv_a_norm.weight attn_q_a.weight attn_q_b.weight "
    "attn_q.weight attn_kv_a_mqa.weight attn_k_b.weight attn_v_b.weight attn_kv_b.weight attn_output.weight "
    f"ffn_norm.weight {_FFN} ffn_gate_inp.weight exp_probs_b.bias {_DOWN_FIRST} ffn_gate_shexp.weight "
    "ffn_down_shexp.weight ffn_up_shexp.weight",
    "gpt-oss": f"attn_norm.weight post_attention_norm.weight {_QKV} attn_output.weight attn_sinks.weight "
    f"ffn_gate_inp.weight {_EXPERTS} attn_output.bias ffn_gate_inp.bias ffn_gate_exps.bias ffn_down_exps.bias "
    "ffn_up_exps.bias",
    "qwen3next": f"attn_norm.weight post_attention_norm.weight ssm_in.weight {_QKV} attn_output.weight "
    "attn_q_norm.weight attn_k_norm.weight attn_gate.weight ssm_conv1d.weight ssm_dt.bias ssm_a ssm_ba.weight "
    f"ssm_norm.weight ssm_out.weight ffn_gate_inp.weight {_DOWN_FIRST} ffn_gate_inp_shexp.weight {_SHARED}",
}
KNOWN = frozenset(_BLOCKS)
"""Architectures whose order is known; for others that of the file is taken."""

_SCALES = (".scale", ".input_scale")


def in_order_of_creation(arch: str, n_layer: int, weights: Iterable[Placed]) -> list[Placed]:
    """The weights as llama.cpp makes them: embeddings and output, block after block, then the scales of quants.

    Args:
        arch: `general.architecture`; with one that is not in `KNOWN` the order within a block is that of the file.
        n_layer: layers of the model.
        weights: all that are loaded, copies as well.
    """
    ranks = {name: rank for rank, name in enumerate(_BLOCKS.get(arch, "").split())}

    def key(numbered: tuple[int, Placed]) -> tuple[int, int, int, int]:
        number, one = numbered
        name = one.tensor.name
        if name.endswith(_SCALES):
            return 2, one.layer, 0, number
        if name.startswith("blk."):
            return 1, one.layer, ranks.get(name.split(".", 2)[2], len(ranks)), number
        if name in ranks:  # one in the file, loaded for each layer
            return 1, one.layer, ranks[name], number
        if (name, one.layer) == (_TIED[0], n_layer):
            return 0, _TIED[1], 0, number
        first = _HEAD.index(name) if name in _HEAD else 0 if one.layer == INPUT else len(_HEAD)
        return 0, first, 0, number

    return [one for _, one in sorted(enumerate(weights), key=key)]
