"""GPU: the made-up device of the recorded captures and sessions. No hardware is like it: it runs every op.

It shows what ggml's scheduler and allocator do with several devices when no refusal is in the way.
"""

from __future__ import annotations

from .batches import MIN_BATCH, big_batches
from .profile import Profile, anything

GPU = Profile(
    name="gpu",
    title="made-up GPU",
    backend="GPU",
    type="gpu",
    memory=24 << 30,
    source="no device: ggml-cuda's alignment, padding, pinned host memory and offload rule "
    "(ggml_backend_cuda_device_offload_op, ggml 0.25.3) around a supports_op that always says yes",
    rules={},
    other=anything,
    align=128,
    pad_quant=512,
    host_buft="GPU_Host",
    is_async=True,
    has_events=True,
    named={"offload_min_batch": MIN_BATCH},
    units={"offload_min_batch": "rows from which on an op of a weight in host memory is taken over"},
    takes=big_batches,
    simplified=(
        "It is made up: it runs every op on every type, which no real GPU does.",
        "It reads no memory but its own, and no kernel of it needs scratch behind a result.",
        "graph_optimize and fusion do not exist on it.",
    ),
)
