"""What llama.cpp loads from a GGUF: each weight, the layer it belongs to and the op that decides where it may lie.

Facts of LLM_TENSOR_NAMES and LLM_TENSOR_INFOS (llama-arch.cpp) as rules by name, so that any architecture is covered:
`blk.N.` is layer N; what is looked up by row belongs to the input; all else outside the blocks to the output. A weight
is tested with its op: the one it is a source of in the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..errors import InputError
from ..gguf.header import Header, TensorInfo
from ..op import Op

INPUT = -1
"""The layer number of what is loaded for the input; what is loaded for the output has the number of layers."""

MAX_LAYERS = 512
"""LLAMA_MAX_LAYERS."""

_BLOCK = re.compile(r"(?:blk|enc\.blk|dec\.blk|posnet|convnext)\.(\d{1,9})\.(.+)", re.ASCII)
_SUFFIX = re.compile(r"\.(weight|bias|scale|input_scale|lora_a|lora_b)$")

_INPUT_WEIGHTS = frozenset(
    {"token_embd", "position_embd", "token_types", "per_layer_token_embd", "masked_embd_centroids"}
    | {"masked_embd_ordering"}
)
_FIRST_LAYER = frozenset(
    {"token_embd_norm", "per_layer_model_proj", "per_layer_proj_norm", "hrm.z_l_init", "conv1d", "nextn.pre_projection"}
)
"""Weights without a block number that llama.cpp gives to layer 0."""
PER_LAYER_COPIES = frozenset({"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"})
"""One weight in the file, loaded once for each layer (TENSOR_DUPLICATED)."""

_GET_ROWS = (
    "token_embd position_embd token_types per_layer_token_embd attn_compressor_ape attn_rel_b indexer_compressor_ape "
    "ffn_gate_tid2eid nextn.embed_tokens d2t markov_w1 selector_predecessor selector_successor"
)
_ADD = (
    "hc_attn_base hc_ffn_base output_hc_base hrm.z_l_init exp_probs_b exp_probs_b_vl time_mix_lerp_w time_mix_lerp_k "
    "time_mix_lerp_v time_mix_lerp_r time_mix_lerp_g time_mix_lerp_fused time_mix_decay time_mix_w0 time_mix_a0 "
    "time_mix_v0"
)
_MUL = (
    "hc_attn_scale hc_ffn_scale output_hc_scale ssm_d ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v attn_res_score "
    "ffn_res_score output_res_score time_mix_lerp_x time_mix_ln channel_mix_lerp_k channel_mix_lerp_r time_mix_k_k "
    "time_mix_k_a time_mix_r_k layer_output_scale altup_correct_scale attn_conv_base ffn_conv_base gamma"
)
_OPS: dict[str, Op] = {
    **dict.fromkeys(_GET_ROWS.split(), Op.GET_ROWS),
    **dict.fromkeys(_ADD.split(), Op.ADD),
    **dict.fromkeys(_MUL.split(), Op.MUL),
    **dict.fromkeys(("rope_freqs", "rope_factors_long", "rope_factors_short"), Op.ROPE),
    **dict.fromkeys(("ple_conv1d", "ssm_conv1d", "shortconv.conv"), Op.SSM_CONV),
    **dict.fromkeys(("conv1d", "conv1", "conv2", "dw"), Op.IM2COL),
    **dict.fromkeys(("masked_embd_centroids", "masked_embd_ordering", "cross_attn_rel_b"), Op.NONE),
    "attn_sinks": Op.SCALE,
    "ffn.act": Op.DIV,
    "ssm_a": Op.SSM_SCAN,
    "time_mix_first": Op.RWKV_WKV6,
}
"""Ops that neither follow from a `norm` or `exps` in the name (MUL, MUL_MAT_ID) nor are MUL_MAT."""

_NO_OUTPUT = frozenset(
    {"bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "modern-bert", "eurobert"}
    | {"llama-embed", "wavtokenizer-dec", "clip"}
)
"""Encoders: no output matrix, so their token embedding is not loaded a second time."""


class Load(NamedTuple):
    """One weight loaded for one place.

    Attributes:
        tensor: the row of the tensor table.
        layer: `INPUT`, a layer, or the number of layers for the output.
        op: what it is tested with; NONE for a weight that llama.cpp does not load at all.
        copy: it has been loaded before (TENSOR_DUPLICATED) and takes no room where it already lies.
    """

    tensor: TensorInfo
    layer: int
    op: Op
    copy: bool = False


@lru_cache(maxsize=8192)
def _split(name: str) -> tuple[int, str, str]:
    """Block number (-1 for none), name without block and suffix, suffix."""
    found = _BLOCK.fullmatch(name)
    block, rest = (int(found[1]), found[2]) if found else (-1, name)
    suffix = _SUFFIX.search(rest)
    return (block, rest[: suffix.start()], suffix[1]) if suffix else (block, rest, "")


def op_of(tensor: TensorInfo) -> Op:
    """The op that the weight is tested with (llm_tensor_info_for, and the bias rule of create_tensor)."""
    _, base, suffix = _split(tensor.name)
    op = _OPS.get(base)
    if op is None:
        op = Op.MUL if "norm" in base else Op.MUL_MAT_ID if "exps" in base else Op.MUL_MAT
    if suffix == "bias":
        return Op.ADD_ID if op is Op.MUL_MAT_ID else Op.ADD
    if op is Op.SSM_SCAN and tensor.ne[1] == 1:
        return Op.MUL  # delta-net models: LLM_TENSOR_SSM_A_NOSCAN
    return op


def is_left_out(tensor: TensorInfo, trunk: int) -> bool:
    """It belongs to the blocks behind the trunk, for multi-token prediction: skipped unless asked for (load_mtp)."""
    return _split(tensor.name)[0] >= trunk


def layer_of(tensor: TensorInfo, arch: str, n_layer: int) -> int:
    """`INPUT`, a layer, or `n_layer` for the output.

    Raises:
        InputError: its block number is not below the model's number of layers.
    """
    block, base, _ = _split(tensor.name)
    if block >= 0:
        if block >= n_layer:
            raise InputError(
                f"tensor {tensor.name!r} belongs to block {block}, but {arch}.block_count says {n_layer}: "
                "the file is not a model that llama.cpp loads"
            )
        return block
    if base in _INPUT_WEIGHTS:
        return INPUT
    if base == "token_embd_norm" and arch in ("lfm2", "lfm2moe"):
        return n_layer  # the output norm under a wrong name
    return 0 if base in _FIRST_LAYER or tensor.name in PER_LAYER_COPIES else n_layer


def layer_count(header: Header) -> int:
    """hparams.n_layer_all.

    Raises:
        InputError: the file does not say, or says something impossible.
    """
    count = header.get("block_count")
    if not isinstance(count, int) or isinstance(count, bool) or not 0 < count <= MAX_LAYERS:
        raise InputError(
            f"{header.architecture or 'the header'}: block_count is {count!r}, a model that llama.cpp loads has 1 to "
            f"{MAX_LAYERS} layers"
        )
    return count


def trunk_layers(header: Header) -> int:
    """hparams.n_layer(): the layers without those for multi-token prediction; all of them where there is no trunk."""
    n_layer = layer_count(header)
    extra = header.get("nextn_predict_layers")
    return n_layer - extra if isinstance(extra, int) and 0 < extra < n_layer else n_layer


def loads(header: Header) -> Iterator[Load]:
    """Everything that llama.cpp loads, one per place: the table in file order, then the copies."""
    arch, n_layer = header.architecture, layer_count(header)
    trunk = trunk_layers(header)
    names = set()
    embedding = None
    for tensor in header.tensors:
        names.add(tensor.name)
        if tensor.name == "token_embd.weight":
            embedding = tensor
        op = Op.NONE if is_left_out(tensor, trunk) else op_of(tensor)
        yield Load(tensor, layer_of(tensor, arch, n_layer), op)
        if tensor.name in PER_LAYER_COPIES:
            for layer in range(1, trunk):
                yield Load(tensor, layer, Op.ROPE, copy=True)
    if embedding is not None and "output.weight" not in names and arch not in _NO_OUTPUT:
        yield Load(embedding, n_layer, Op.MUL_MAT, copy=True)
