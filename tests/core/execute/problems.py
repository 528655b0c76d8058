"""Models that nobody trained, on as many simulated devices as wanted."""

from functools import cache

import msgspec

from galloscope.core.dtypes import DTYPES
from galloscope.core.execute.runnable import runnable
from galloscope.core.graph import Problem
from galloscope.core.llama.assemble import take
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode, Options
from galloscope.core.models.made_up import MadeUp, made_up_header

MODELS_MADE = {
    "llama": MadeUp(arch="llama", n_head_kv=2),
    "llama q8_0": MadeUp(arch="llama", dtype=DTYPES["q8_0"]),
    "mixtral": MadeUp(arch="llama", n_expert=4, n_expert_used=2),
    "qwen2": MadeUp(arch="qwen2", n_head_kv=2),
    "qwen3": MadeUp(arch="qwen3", n_head_kv=2, head_size=32),
    "qwen3moe": MadeUp(
        arch="qwen3moe", n_head_kv=2, head_size=32, n_expert=8, n_expert_used=2,
        extra={"expert_feed_forward_length": 64},
    ),
    "gemma3": MadeUp(
        arch="gemma3", n_head_kv=2, head_size=32, n_layer=7, n_ff=64, extra={"attention.sliding_window": 32}
    ),
    "phi3": MadeUp(arch="phi3", extra={"rope.dimension_count": 16}),
}  # fmt: skip


@cache
def problem_of(
    model: str, gpus: int, copies: int, mode: GraphMode = GraphMode.PREFILL, flash: bool = False, batches: int = 1
) -> Problem:
    """A reserve graph of a made-up model and its run.

    Args:
        model: key of `MODELS_MADE`.
        gpus: simulated CUDA devices beside the CPU.
        copies: of each split input.
        mode: prefill of 8 tokens, or decode.
        flash: flash attention.
        batches: how often it runs.
    """
    options = Options(
        devices=(DeviceSpec("cuda"),) * gpus,
        n_ctx=256,
        n_ubatch=8,
        flash_attn=FlashAttn.ON if flash else FlashAttn.OFF,
        n_gpu_layers=None if copies > 1 else 2,
    )
    problem = take(made_up_header(MODELS_MADE[model]), options, [mode]).graphs[0].problem
    config = msgspec.structs.replace(problem.config, n_copies=copies)
    return runnable(msgspec.structs.replace(problem, config=config), batches)
