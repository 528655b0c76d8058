"""Headers of made-up models whose architectures have no builder: placement and caches need none."""

from galloscope.core.dtypes import DTYPES, DType
from galloscope.core.gguf.write import Given, Row, header_bytes

F32, F16 = DTYPES["f32"], DTYPES["f16"]
Weights = list[tuple[str, DType, tuple[int, ...]]]


def model(arch: str, keys: dict[str, Given], rows: Weights) -> bytes:
    metadata: dict[str, Given] = {
        "general.architecture": arch,
        **{f"{arch}.{key}": value for key, value in keys.items()},
        "tokenizer.ggml.model": "no_vocab",
    }
    tensors: list[Row] = [(name, F32 if len(ne) == 1 else dtype, ne) for name, dtype, ne in rows]
    return header_bytes(metadata, tensors)


def mamba(n_layer: int = 3) -> bytes:
    d, inner, state, rank, kernel, vocab = 64, 128, 16, 8, 4, 256
    keys: dict[str, Given] = {
        "vocab_size": vocab,
        "context_length": 4096,
        "embedding_length": d,
        "block_count": n_layer,
        "feed_forward_length": 0,
        "attention.head_count": 0,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "ssm.conv_kernel": kernel,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": rank,
    }
    rows: Weights = [("token_embd.weight", F16, (d, vocab)), ("output_norm.weight", F32, (d,))]
    for il in range(n_layer):
        p = f"blk.{il}."
        rows += [
            (f"{p}attn_norm.weight", F32, (d,)),
            (f"{p}ssm_in.weight", F16, (d, 2 * inner)),
            (f"{p}ssm_conv1d.weight", F32, (kernel, inner)),
            (f"{p}ssm_conv1d.bias", F32, (inner,)),
            (f"{p}ssm_x.weight", F16, (inner, rank + 2 * state)),
            (f"{p}ssm_dt.weight", F32, (rank, inner)),
            (f"{p}ssm_dt.bias", F32, (inner,)),
            (f"{p}ssm_a", F32, (state, inner)),
            (f"{p}ssm_d", F32, (inner,)),
            (f"{p}ssm_out.weight", F16, (inner, d)),
        ]
    return model("mamba", keys, rows)


def gpt_oss(
    n_layer: int = 3, d: int = 64, head: int = 64, heads: int = 4, kv: int = 2, experts: int = 4, used: int = 2,
    ff: int = 64, vocab: int = 256, window: int = 32, dtype: DType = F16,
) -> bytes:  # fmt: skip
    keys: dict[str, Given] = {
        "vocab_size": vocab,
        "context_length": 131072,
        "embedding_length": d,
        "block_count": n_layer,
        "feed_forward_length": ff,
        "attention.head_count": heads,
        "attention.head_count_kv": kv,
        "attention.key_length": head,
        "attention.value_length": head,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.sliding_window": window,
        "rope.dimension_count": head,
        "rope.freq_base": 150000.0,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 32.0,
        "rope.scaling.original_context_length": 4096,
        "expert_count": experts,
        "expert_used_count": used,
        "expert_feed_forward_length": ff,
    }
    rows: Weights = [
        ("token_embd.weight", F16, (d, vocab)),
        ("output_norm.weight", F32, (d,)),
        ("output.weight", F16, (d, vocab)),
    ]
    for il in range(n_layer):
        p = f"blk.{il}."
        rows += [
            (f"{p}attn_norm.weight", F32, (d,)),
            (f"{p}attn_q.weight", F16, (d, heads * head)),
            (f"{p}attn_k.weight", F16, (d, kv * head)),
            (f"{p}attn_v.weight", F16, (d, kv * head)),
            (f"{p}attn_q.bias", F32, (heads * head,)),
            (f"{p}attn_k.bias", F32, (kv * head,)),
            (f"{p}attn_v.bias", F32, (kv * head,)),
            (f"{p}attn_output.weight", F16, (heads * head, d)),
            (f"{p}attn_output.bias", F32, (d,)),
            (f"{p}post_attention_norm.weight", F32, (d,)),
            (f"{p}attn_sinks.weight", F32, (heads,)),
            (f"{p}ffn_gate_inp.weight", F32, (d, experts)),
            (f"{p}ffn_gate_exps.weight", dtype, (d, ff, experts)),
            (f"{p}ffn_up_exps.weight", dtype, (d, ff, experts)),
            (f"{p}ffn_down_exps.weight", dtype, (ff, d, experts)),
            (f"{p}ffn_gate_inp.bias", F32, (experts,)),
            (f"{p}ffn_gate_exps.bias", F32, (ff, experts)),
            (f"{p}ffn_up_exps.bias", F32, (ff, experts)),
            (f"{p}ffn_down_exps.bias", F32, (d, experts)),
        ]
    return model("gpt-oss", keys, rows)


OTHERS = {"mamba": mamba, "gpt-oss": gpt_oss}
