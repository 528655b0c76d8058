"""CUDA: an NVIDIA GPU as ggml-cuda shows it to llama.cpp."""

from __future__ import annotations

from ..op import Op
from .batches import MIN_BATCH, big_batches
from .cuda_attention import ADA, converted_kv
from .cuda_rules import RULES
from .profile import Profile


def _reads(device: Profile, own: str, buft: str, host: bool) -> bool:
    """ggml_backend_cuda_device_supports_buft: its own memory; an integrated GPU reads pinned host memory too."""
    return buft == own or (bool(device.named["integrated"]) and buft == device.host_buft)


CUDA = Profile(
    name="cuda",
    title="CUDA",
    backend="CUDA",
    type="gpu",
    memory=24 << 30,
    source="ggml_backend_cuda_device_supports_op, _supports_buft, _offload_op, _get_props, "
    "ggml_backend_cuda_buffer_type_get_alloc_size (ggml-cuda.cu) and ggml_cuda_get_best_fattn_kernel (fattn.cu), "
    "ggml 0.25.3",
    rules=RULES,
    align=128,
    pad_quant=512,
    host_buft="CUDA_Host",
    own_sources=True,
    is_async=True,
    has_events=True,
    named={"cc": ADA, "offload_min_batch": MIN_BATCH, "fa_all_quants": 0, "fa_convert": 1, "integrated": 0},
    units={
        "cc": "compute capability times 100 (890: RTX 40 series; 610: GTX 10 series)",
        "offload_min_batch": "rows from which on an op of a weight in host memory is taken over "
        "(GGML_OP_OFFLOAD_MIN_BATCH)",
        "fa_all_quants": "1: built with all flash attention kernels (GGML_CUDA_FA_QUANTS=all)",
        "fa_convert": "1: K and V without a kernel for their types are converted to f16, as in ggml 0.25.3; "
        "0: refused, as in b10819 and earlier",
        "integrated": "1: the GPU shares the memory of the host",
    },
    takes=big_batches,
    extra={Op.FLASH_ATTN_EXT: converted_kv},
    reads=_reads,
    simplified=(
        "The rules are those of ggml 0.25.3; b11549 is slightly newer.",
        "A release build for NVIDIA is assumed: CUDA 11.7 or later (TOP_K and ARGSORT of any width), flash attention "
        "compiled in, K and V pairs f16, bf16, q4_0 and q8_0; ROCm and MUSA differ.",
        "Pinned host memory and copies between GPUs are taken to be available (no GGML_CUDA_NO_PINNED, "
        "GGML_CUDA_NO_PEER_COPY).",
        "graph_optimize (concurrent streams), fusion of ops and CUDA graphs are not simulated.",
        "Memory that the driver, cuBLAS and ggml-cuda's own pool take at run time is not counted.",
        "fa_convert=0 changes which types are refused, not which kernel is preferred.",
    ),
)
