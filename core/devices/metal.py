"""Metal: what ggml-metal supports, takes over and needs, for a Mac with an Apple GPU.

Source: ggml_backend_metal_device_* and ggml_backend_metal_buffer_type_* in ggml-metal.cpp, ggml_metal_device_init and
ggml_metal_device_supports_op in ggml-metal-device.m, ggml_metal_op_*_extra_* in ggml-metal-ops.cpp; ggml 0.25.3.
"""

from __future__ import annotations

from ..op import Op
from .batches import MIN_BATCH, big_batches
from .metal_matrix import SCRATCH
from .metal_rules import RULES, bfloat
from .profile import Profile
from .seen import Seen


def takes(op: Seen, device: Profile) -> str:
    """Only big matrix products are taken over (ggml_backend_metal_device_offload_op)."""
    if op.op not in (Op.MUL_MAT, Op.MUL_MAT_ID):
        return f"{op.op}: Metal takes over only MUL_MAT and MUL_MAT_ID"
    return big_batches(op, device)


def reads(device: Profile, own: str, buft: str, host: bool) -> bool:
    """The three buffer types of the same GPU, no host memory (ggml_backend_metal_device_supports_buft)."""
    return buft in (own, f"{own}_Private", f"{own}_Mapped")


METAL = Profile(
    name="metal",
    title="Metal",
    backend="MTL",
    type="gpu",
    # What a Mac with 64 GB reports: recommendedMaxWorkingSetSize and maxBufferLength.
    memory=48 << 30,
    max_size=36 << 30,
    source="ggml_metal_device_supports_op, ggml_backend_metal_device_offload_op, "
    "ggml_backend_metal_buffer_type_get_alloc_size (ggml 0.25.3)",
    rules=RULES,
    first=bfloat,
    takes=takes,
    extra=SCRATCH,
    reads=reads,
    align=32,
    is_async=True,
    has_events=True,
    named={
        "simdgroup_mm": 1,
        "simdgroup_reduction": 1,
        "bfloat": 1,
        "threadgroup_memory": 32 << 10,
        "offload_min_batch": MIN_BATCH,
    },
    units={
        "simdgroup_mm": "simdgroup matrix multiplication (Apple7, that is M1, or newer)",
        "simdgroup_reduction": "simdgroup reduction (Apple7 or Metal 3)",
        "bfloat": "bfloat (Apple6 or Metal 3)",
        "threadgroup_memory": "bytes of threadgroup memory (maxThreadgroupMemoryLength)",
        "offload_min_batch": "rows that a matrix product of host weights needs to be taken over "
        "(GGML_OP_OFFLOAD_MIN_BATCH)",
    },
    simplified=(
        "Metal's graph_optimize is not simulated: it reorders nodes so that more run at once, and keeps the inputs of "
        "fused expert sums alive longer.",
        "Fusion is not simulated: every node counts.",
        "One buffer type per GPU, as on unified memory: weights that are mapped from the file (MTL0_Mapped) count "
        "under MTL0, and a GPU with its own memory (MTL0_Private) is not distinguished.",
        "The defaults are those of an M1 Max with 64 GB; other GPUs differ in memory, max_size and the abilities that "
        "are limits here.",
    ),
)
