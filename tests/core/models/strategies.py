"""Models and options that no recorded graph has."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode, Options
from galloscope.core.models import MODELS
from galloscope.core.models.made_up import MadeUp

Draw = Callable[[st.SearchStrategy[Any]], Any]

QKV_BIASES = frozenset(f"attn_{part}.bias" for part in "qkv")
OPTIONAL: dict[str, tuple[frozenset[str], ...]] = {
    "llama": (
        QKV_BIASES,
        frozenset({"attn_output.bias"}),
        frozenset({"ffn_gate.bias", "ffn_up.bias", "ffn_down.bias"}),
        frozenset({"rope_freqs.weight"}),
        frozenset({"rope_factors_long.weight", "rope_factors_short.weight"}),
        frozenset({"attn_qkv.weight"}),
    ),
    "qwen2": (QKV_BIASES, frozenset({"output.bias"}), frozenset({"attn_qkv.weight", "attn_qkv.bias"})),
    "qwen3": (QKV_BIASES, frozenset({"cls.output.weight"})),
    "qwen3moe": (QKV_BIASES,),
    "gemma3": (QKV_BIASES,),
    "phi3": (
        frozenset({"rope_factors_long.weight", "rope_factors_short.weight"}),
        frozenset({"attn_qkv.bias"}),
        QKV_BIASES,
    ),
    "mamba": (frozenset({"ssm_in.scale", "ssm_out.scale"}),),
}
"""Groups of weights that a file of an architecture may have or not."""

SCALES = (
    frozenset({"attn_q.scale", "attn_k.scale", "attn_v.scale", "attn_qkv.scale"}),
    frozenset({"attn_output.scale", "attn_output.input_scale"}),
    frozenset({"ffn_up.scale", "ffn_down.scale", "ffn_gate.scale"}),
    frozenset({"ffn_up_exps.scale", "ffn_down_exps.scale", "ffn_gate_exps.scale", "ffn_up_exps.input_scale"}),
)
"""Factors that belong to matrices of type nvfp4, but are read with any."""

NARROW = ("qwen2", "phi3")
"""Architectures whose heads together are as wide as the embedding."""

CACHE_TYPES = ("f16", "f16", "bf16", "f32", "q8_0", "q4_0", "q5_1")
WEIGHT_TYPES = ("f16", "bf16", "q8_0", "q4_0", "f32")


def _rope(draw: Draw) -> dict[str, Any]:
    """Settings of the rope."""
    keys: dict[str, Any] = {}
    if draw(st.booleans()):
        keys["rope.freq_base"] = draw(st.sampled_from((500000.0, 1e6, 10000.5)))
    scaling = draw(st.sampled_from((None, None, "none", "linear", "yarn", "longrope")))
    if scaling is not None:
        keys["rope.scaling.type"] = scaling
        keys["rope.scaling.factor"] = draw(st.sampled_from((1.0, 2.0, 8.0, 32.0, 40.0, 3.7)))
        if draw(st.booleans()):
            keys["rope.scaling.attn_factor"] = draw(st.sampled_from((1.0, 1.19, 0.5)))
    if draw(st.booleans()):
        keys["rope.scaling.original_context_length"] = draw(st.sampled_from((128, 2048, 8192)))
    return keys


def _experts(draw: Draw, arch: str) -> tuple[int, int, dict[str, Any]]:
    if not (arch == "qwen3moe" or (arch == "llama" and draw(st.booleans()))):
        return 0, 0, {}
    n_expert = draw(st.sampled_from((2, 3, 8, 12)))
    n_used = draw(st.integers(1, min(n_expert, 4)))
    keys: dict[str, Any] = {}
    if arch == "qwen3moe" and draw(st.booleans()):
        keys["expert_feed_forward_length"] = draw(st.sampled_from((32, 96)))
    if n_expert in (8, 12) and draw(st.booleans()):
        keys.update(expert_group_count=4, expert_group_used_count=draw(st.integers(1, 3)))
    return n_expert, n_used, keys


def _window(draw: Draw, n_layer: int) -> dict[str, Any]:
    """Gemma 3's sliding window: none, or one with the pattern left out, a number, or a flag per layer."""
    if draw(st.integers(0, 4)) == 0:
        return {}
    keys: dict[str, Any] = {"attention.sliding_window": draw(st.sampled_from((16, 300, 1024)))}
    pattern = draw(st.sampled_from((None, 2, 3, "flags")))
    if pattern == "flags":
        flags = [draw(st.booleans()) for _ in range(n_layer)]
        keys["attention.sliding_window_pattern"] = [*flags[:-1], True]
    elif pattern is not None:
        keys["attention.sliding_window_pattern"] = pattern
    if draw(st.booleans()):
        keys["rope.freq_base_swa"] = 12345.0
    return keys


@st.composite
def models(draw: Draw, arch: str) -> MadeUp:
    """A model of an architecture."""
    n_layer = draw(st.integers(1, 4))
    n_head_kv = draw(st.sampled_from((1, 2, 3)))
    n_head = n_head_kv * draw(st.integers(1, 4))
    head = draw(st.sampled_from((16, 32, 64, 80, 128, 256)))
    wide = arch not in NARROW and draw(st.booleans())
    n_expert, n_used, extra = _experts(draw, arch)
    extra |= _rope(draw)
    if arch == "gemma3":
        extra |= _window(draw, n_layer)
        if draw(st.booleans()):
            extra["final_logit_softcapping"] = 30.0
    if arch == "mamba":
        extra |= {"ssm.state_size": draw(st.sampled_from((8, 16))), "ssm.dt_b_c_rms": draw(st.booleans())}
        extra |= {"ssm.conv_kernel": draw(st.integers(1, 4)), "ssm.time_step_rank": draw(st.integers(1, 9))}
    optional = MODELS[arch].usual - (frozenset() if draw(st.booleans()) else {"output.weight"})
    for group in (*OPTIONAL[arch], *SCALES):
        if draw(st.integers(0, 2)) == 0:
            optional |= group
    if arch == "phi3" and draw(st.integers(0, 3)) == 0:
        optional -= {"attn_qkv.weight"}
    if n_expert and arch == "llama" and draw(st.integers(0, 4)) == 0:
        optional -= {"ffn_gate_exps.weight"}
    return MadeUp(
        arch=arch,
        dtype=DTYPES[draw(st.sampled_from(WEIGHT_TYPES))],
        n_layer=n_layer,
        n_embd=draw(st.sampled_from((64, 96))) if wide else head * n_head,
        n_ff=draw(st.sampled_from((64, 160))),
        n_head=n_head,
        n_head_kv=n_head_kv,
        head_size=head if wide else None,
        n_vocab=draw(st.sampled_from((32, 300))),
        n_ctx_train=draw(st.sampled_from((512, 4096))),
        n_expert=n_expert,
        n_expert_used=n_used,
        extra=extra,
        optional=optional,
    )


@st.composite
def questions(draw: Draw) -> tuple[Options, tuple[GraphMode, ...]]:
    """Options that change a graph, with up to two GPUs, and the graphs wanted."""
    n_ubatch = draw(st.sampled_from((8, 33, 512)))
    flash = draw(st.sampled_from(FlashAttn))
    n_tokens = draw(st.none() | st.integers(1, 8))
    n_seq = draw(st.sampled_from((1, 1, 2, 3)))
    options = Options(
        devices=(DeviceSpec("cuda"),) * draw(st.integers(0, 2)),
        n_gpu_layers=draw(st.none() | st.integers(0, 4)),
        n_ctx=draw(st.sampled_from((None, 100, 700, 2048))),
        n_batch=draw(st.sampled_from((2048, 64))),
        n_ubatch=n_ubatch,
        n_seq_max=n_seq,
        flash_attn=flash,
        type_k=DTYPES[draw(st.sampled_from(CACHE_TYPES))],
        type_v=DTYPES[draw(st.sampled_from(("f16", "f32") if flash is FlashAttn.OFF else CACHE_TYPES))],
        swa_full=draw(st.booleans()),
        kv_unified=draw(st.booleans()),
        n_tokens=n_tokens,
        n_outputs=draw(st.none() | st.just(1)),
    )
    return options, (GraphMode.PREFILL, GraphMode.DECODE)
