"""Vulkan: what ggml-vulkan supports, takes over and needs, for a discrete GPU with a current driver.

Source: ggml_backend_vk_device_* and ggml_backend_vk_buffer_type_* in ggml-vulkan.cpp, where ggml_vk_get_device reads
the limits from the driver; ggml 0.25.3.
"""

from __future__ import annotations

from .batches import MIN_BATCH, big_batches
from .profile import Profile
from .vulkan_rules import RULES, fits

VULKAN = Profile(
    name="vulkan",
    title="Vulkan",
    backend="Vulkan",
    type="gpu",
    memory=16 << 30,
    source="ggml_backend_vk_device_supports_op, ggml_backend_vk_device_offload_op, "
    "ggml_backend_vk_buffer_type_get_alignment, ggml_backend_vk_buffer_type_get_max_size (ggml 0.25.3)",
    rules=RULES,
    first=fits,
    takes=big_batches,
    align=16,
    max_size=1 << 30,
    host_buft="Vulkan_Host",
    is_async=True,
    has_events=True,
    named={
        "max_buffer_size": 4 << 30,
        "max_storage_range": (4 << 30) - 1,
        "shader_64bit_indexing": 0,
        "buffer_device_address": 1,
        "shared_memory": 48 << 10,
        "workgroup_size": 1024,
        "subgroup_size": 32,
        "subgroup_basic": 1,
        "subgroup_arithmetic": 1,
        "subgroup_shuffle": 1,
        "subgroup_vote": 1,
        "subgroup_full": 1,
        "vulkan_memory_model": 1,
        "fp16": 1,
        "coopmat2": 0,
        "offload_min_batch": MIN_BATCH,
    },
    units={
        "max_buffer_size": "bytes of the largest buffer (maxBufferSize, or maxMemoryAllocationSize where that is "
        "missing): no tensor may be larger",
        "max_storage_range": "bytes that a kernel can address in a tensor (maxStorageBufferRange)",
        "shader_64bit_indexing": "64-bit indices in kernels (VK_EXT_shader_64bit_indexing): max_storage_range no "
        "longer counts",
        "buffer_device_address": "addresses in kernels (bufferDeviceAddress and shaderInt64): max_storage_range does "
        "not count for IM2COL",
        "shared_memory": "bytes of shared memory of a workgroup (maxComputeSharedMemorySize)",
        "workgroup_size": "threads of a workgroup (maxComputeWorkGroupInvocations)",
        "subgroup_size": "lanes of a subgroup",
        "subgroup_basic": "basic subgroup operations",
        "subgroup_arithmetic": "subgroup arithmetic",
        "subgroup_shuffle": "subgroup shuffles",
        "subgroup_vote": "subgroup votes",
        "subgroup_full": "full subgroups (computeFullSubgroups)",
        "vulkan_memory_model": "the Vulkan memory model",
        "fp16": "16-bit floats in kernels",
        "coopmat2": "VK_NV_cooperative_matrix2",
        "offload_min_batch": "rows that an op with host weights needs to be taken over (GGML_OP_OFFLOAD_MIN_BATCH)",
    },
    simplified=(
        "Vulkan's graph_optimize is not simulated: it reorders nodes so that more of them can be fused or run at once.",
        "Fusion is not simulated: every node counts.",
        "align is minStorageBufferOffsetAlignment, which drivers set between 4 and 256; Vulkan_Host has "
        "minMemoryMapAlignment in llama.cpp, and the CPU's alignment here.",
        "max_size is what llama.cpp asks for at once, 1 GiB unless GGML_VK_SUBALLOCATION_BLOCK_SIZE says otherwise.",
        "The shared memory of MUL_MAT_ID is counted for kernels without matrix cores.",
        "An integrated GPU, which llama.cpp uses only when there is no other, is not distinguished.",
    ),
)
