"""The structs and exported symbols of llama.cpp b11549 (ggml 0.26.0, x86-64) that are read, written or called.

Everything here belongs to one build of the wheel and is checked by `library.load` before anything is captured. A wrong
offset reads nonsense, so another build is refused and not tried.
"""

from __future__ import annotations

import ctypes as C
import struct
from typing import Any

WHEEL_VERSION = "2026.10.11549"
BUILD = "b11549"
BUILD_ID = bytes.fromhex("8aedfa31af1c52fe94168556eb93295be603e89e")
"""NT_GNU_BUILD_ID of the shared object in the wheel."""
GGML_VERSION = "0.26.0"

I32, U32, I64, SIZE, PTR, BOOL, TEXT = C.c_int32, C.c_uint32, C.c_int64, C.c_size_t, C.c_void_p, C.c_bool, C.c_char_p

TENSOR = struct.Struct("<i4xQ4q4Qi16ii10QQQQ64sQ8x")
"""ggml_tensor: type, buffer, ne x4, nb x4, op, op_params, flags, src x10, view_src, view_offs, data, name, extra."""
TENSOR_OVERHEAD = TENSOR.size + 32
"""ggml_tensor_overhead: a tensor and the ggml_object in front of it."""
TENSOR_FIELDS = struct.Struct("<i4q4Qi16ii")
"""What decides about support, cut out of a tensor: type, ne, nb, op, op_params, flags."""
BUFFER_AT, OP_AT, SOURCES_AT, NAME_AT = 8, 80, 152, 256
TENSOR_SOURCES = struct.Struct("<12Q")
"""src x10, view_src, view_offs."""
FLAG_COMPUTE = 16
"""GGML_TENSOR_FLAG_COMPUTE: set by ggml_build_forward_expand on all that a root reaches."""
BUFFER_BUFT_AT = 0x58
"""ggml_backend_buffer.buft, behind its interface of eleven functions."""


def _pointers(names: str) -> list[tuple[str, Any]]:
    return [(name, PTR) for name in names.split()]


def _bools(names: str) -> list[tuple[str, Any]]:
    return [(name, BOOL) for name in names.split()]


class ModelParams(C.Structure):
    """`llama_model_params`."""

    _fields_ = [
        *_pointers("devices tensor_buft_overrides"),
        ("n_gpu_layers", I32),
        ("split_mode", I32),
        ("load_mode", I32),
        ("lazy_mode", I32),
        ("main_gpu", I32),
        *_pointers("tensor_split progress_callback progress_callback_user_data kv_overrides"),
        *_bools("vocab_only check_tensors use_extra_bufts no_host no_alloc load_mtp"),
    ]


class ContextParams(C.Structure):
    """`llama_context_params`."""

    _fields_ = [
        ("n_ctx", U32),
        ("n_batch", U32),
        ("n_ubatch", U32),
        ("n_seq_max", U32),
        ("n_rs_seq", U32),
        ("n_outputs_max", U32),
        ("n_outputs_max_per_seq", U32),
        ("n_threads", I32),
        ("n_threads_batch", I32),
        ("ctx_type", I32),
        ("rope_scaling_type", I32),
        ("pooling_type", I32),
        ("attention_type", I32),
        ("flash_attn_type", I32),
        ("rope_freq_base", C.c_float),
        ("rope_freq_scale", C.c_float),
        ("yarn_ext_factor", C.c_float),
        ("yarn_attn_factor", C.c_float),
        ("yarn_beta_fast", C.c_float),
        ("yarn_beta_slow", C.c_float),
        ("yarn_orig_ctx", U32),
        ("defrag_thold", C.c_float),
        *_pointers("cb_eval cb_eval_user_data"),
        ("type_k", I32),
        ("type_v", I32),
        ("moe_cache_size", C.c_uint64),
        *_pointers("abort_callback abort_callback_data"),
        *_bools("embeddings offload_kqv no_perf op_offload swa_full kv_unified"),
        ("samplers", PTR),
        ("n_samplers", SIZE),
        ("ctx_other", PTR),
    ]


class BuftOverride(C.Structure):
    """`llama_model_tensor_buft_override`; a list of them ends with an empty one."""

    _fields_ = [("pattern", TEXT), ("buft", PTR)]


class HashSet(C.Structure):
    """`ggml_hash_set`: slots, a bit per used slot, the tensors."""

    _fields_ = [("size", SIZE), ("used", PTR), ("keys", PTR)]


class Graph(C.Structure):
    """`ggml_cgraph`."""

    _fields_ = [
        ("size", I32),
        ("n_nodes", I32),
        ("n_leafs", I32),
        *_pointers("nodes grads grad_accs leafs use_counts"),
        ("visited", HashSet),
        ("order", I32),
        ("uid", C.c_uint64),
    ]


class Split(C.Structure):
    """`ggml_backend_sched_split`."""

    _fields_ = [
        ("backend", I32),
        ("start", I32),
        ("end", I32),
        ("inputs", PTR),
        ("n_inputs", I32),
        ("inputs_capacity", I32),
        ("graph", Graph),
    ]


class Sched(C.Structure):
    """`ggml_backend_sched`."""

    _fields_ = [
        *_bools("is_reset is_alloc"),
        ("n_backends", I32),
        ("backends", PTR * 16),
        ("bufts", PTR * 16),
        ("galloc", PTR),
        ("hash_set", HashSet),
        *_pointers("hv_tensor_backend_ids hv_tensor_copies node_backend_ids leaf_backend_ids"),
        *_pointers("prev_node_backend_ids prev_leaf_backend_ids"),
        ("graph", Graph),
        ("splits", PTR),
        ("n_splits", I32),
        ("splits_capacity", I32),
        ("n_copies", I32),
        ("cur_copy", I32),
        ("next_copy", I32),
        ("events", PTR * 64),
        ("graph_inputs", PTR),
        ("n_graph_inputs", I32),
        ("graph_inputs_capacity", I32),
        *_pointers("ctx callback_eval callback_eval_user_data copy_callback copy_callback_user_data context_buffer"),
        ("context_buffer_size", SIZE),
        ("op_offload", BOOL),
        ("debug", I32),
        ("debug_realloc", I32),
        ("debug_graph_size", I32),
        ("debug_prev_graph_size", I32),
    ]


class TensorAlloc(C.Structure):
    """`tensor_alloc`: where the plan puts a tensor; buffer -1 for a view or an external tensor."""

    _fields_ = [("buffer", I32), ("_", I32), ("chunk", I32), ("offset", SIZE), ("size_max", SIZE)]


class NodeAlloc(C.Structure):
    """`node_alloc`."""

    _fields_ = [("dst", TensorAlloc), ("src", TensorAlloc * 10)]


class Gallocr(C.Structure):
    """`ggml_gallocr`."""

    _fields_ = [
        *_pointers("bufts buffers tallocs"),
        ("n_buffers", I32),
        ("hash_set", HashSet),
        *_pointers("hash_values node_allocs"),
        ("n_nodes", I32),
        ("leaf_allocs", PTR),
        ("n_leafs", I32),
    ]


class DynTallocr(C.Structure):
    """`ggml_dyn_tallocr`."""

    _fields_ = [("alignment", SIZE), ("max_chunk_size", SIZE), ("chunks", PTR * 16), ("n_chunks", I32)]


class Chunk(C.Structure):
    """`tallocr_chunk`."""

    _fields_ = [("free_blocks", (SIZE * 2) * 256), ("n_free_blocks", I32), ("max_size", SIZE)]


class BufferType(C.Structure):
    """`ggml_backend_buffer_type`; older headers lack the two `_n` entries."""

    _fields_ = _pointers("name alloc alloc_n alignment max_size alloc_size alloc_size_n is_host device context")


class BufferInterface(C.Structure):
    """`ggml_backend_buffer_i`."""

    _fields_ = _pointers("free base init_tensor memset set get set_2d get_2d copy clear reset")


class Backend(C.Structure):
    """`ggml_backend`."""

    _fields_ = _pointers(
        "guid name free set_async get_async set_2d_async get_2d_async copy_async synchronize plan_create plan_free "
        "plan_update plan_compute graph_compute event_record event_wait graph_optimize device context"
    )


class Device(C.Structure):
    """`ggml_backend_device`."""

    _fields_ = _pointers(
        "name description memory type props init_backend buffer_type host_buffer_type buffer_from_host_ptr supports_op "
        "supports_buft offload_op event_new event_free event_synchronize reg context"
    )


class Registry(C.Structure):
    """`ggml_backend_reg`."""

    _fields_ = [("api_version", I32), *_pointers("name device_count device proc_address context")]


REGISTRY_API_VERSION = 3


class DeviceProps(C.Structure):
    """`ggml_backend_dev_props`."""

    _fields_ = [
        ("name", TEXT),
        ("description", TEXT),
        ("memory_free", SIZE),
        ("memory_total", SIZE),
        ("type", I32),
        ("device_id", TEXT),
        *_bools("is_async host_buffer buffer_from_host_ptr events mmap_support"),
    ]


DEVICE_TYPES = {"cpu": 0, "gpu": 1, "igpu": 2, "accel": 3}
"""enum ggml_backend_dev_type."""
USAGE_WEIGHTS = 1
"""GGML_BACKEND_BUFFER_USAGE_WEIGHTS."""

SIZES = {
    ModelParams: 80, ContextParams: 168, Graph: 96, Split: 128, Sched: 0x438, TensorAlloc: 32, NodeAlloc: 352,
    BufferType: 0x50, Device: 17 * 8, Backend: 19 * 8,
}  # fmt: skip
"""Bytes of each struct as b11549 has them; a test compares."""
OFFSETS = {
    (Sched, "galloc"): 0x108, (Sched, "hash_set"): 0x110, (Sched, "graph"): 0x158, (Sched, "splits"): 0x1B8,
    (Sched, "n_copies"): 0x1C8, (Sched, "graph_inputs"): 0x3D8, (Sched, "op_offload"): 0x420,
    (ContextParams, "moe_cache_size"): 112, (ModelParams, "kv_overrides"): 64,
}  # fmt: skip
"""Byte offsets that the sizes alone do not prove."""

GRAPH_RESERVE = "_ZN13llama_context13graph_reserveEjjjPK22llama_memory_context_ibPm"
GET_SCHED = "_ZNK13llama_context9get_schedEv"
MEMORY_BREAKDOWN = "_Z26llama_get_memory_breakdownPK13llama_context"
TENSOR_MAP = "_Z29llama_internal_get_tensor_mapPK11llama_model"
RECURRENT_BREAKDOWN = "_ZNK22llama_memory_recurrent16memory_breakdownEv"
RECURRENT_CLASS = "22llama_memory_recurrent"
RECURRENT_PART = {
    "19llama_memory_hybrid": "_ZNK19llama_memory_hybrid12get_mem_recrEv",
    "23llama_memory_hybrid_idx": "_ZNK19llama_memory_hybrid12get_mem_recrEv",
    "24llama_memory_hybrid_iswa": "_ZNK24llama_memory_hybrid_iswa12get_mem_recrEv",
}
"""Classes of llama_memory_i with a recurrent part, and the function that gives it."""
INIT_FULL_SLOT = 3
"""llama_memory_i: two destructors, init_batch, init_full."""
DELETE_SLOT = 1
"""llama_memory_context_i: the deleting destructor (Itanium C++ ABI)."""

LOG_CALLBACK = C.CFUNCTYPE(None, I32, TEXT, PTR)

PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "ggml_version": (TEXT,),
    "ggml_tensor_overhead": (SIZE,),
    "ggml_op_name": (TEXT, I32),
    "ggml_type_name": (TEXT, I32),
    "ggml_type_size": (SIZE, I32),
    "ggml_blck_size": (I64, I32),
    "ggml_backend_buffer_init": (PTR, PTR, BufferInterface, PTR, SIZE),
    "ggml_backend_buffer_get_usage": (I32, PTR),
    "ggml_backend_buffer_get_base": (PTR, PTR),
    "ggml_backend_buffer_get_type": (PTR, PTR),
    "ggml_backend_buft_name": (TEXT, PTR),
    "ggml_backend_buft_get_alignment": (SIZE, PTR),
    "ggml_backend_buft_get_max_size": (SIZE, PTR),
    "ggml_backend_buft_get_alloc_size": (SIZE, PTR, PTR),
    "ggml_backend_buft_is_host": (BOOL, PTR),
    "ggml_backend_buft_get_device": (PTR, PTR),
    "ggml_backend_buft_alloc_buffer": (PTR, PTR, SIZE),
    "ggml_backend_cpu_buffer_type": (PTR,),
    "ggml_backend_dev_by_type": (PTR, I32),
    "ggml_backend_dev_name": (TEXT, PTR),
    "ggml_backend_dev_buffer_type": (PTR, PTR),
    "ggml_backend_name": (TEXT, PTR),
    "ggml_backend_get_device": (PTR, PTR),
    "ggml_backend_supports_buft": (BOOL, PTR, PTR),
    "ggml_backend_device_register": (None, PTR),
    "ggml_gallocr_reserve_n_size": (None, PTR, PTR, PTR, PTR, PTR),
    "llama_backend_init": (None,),
    "llama_log_set": (None, LOG_CALLBACK, PTR),
    "llama_model_default_params": (ModelParams,),
    "llama_context_default_params": (ContextParams,),
    "llama_model_load_from_file": (PTR, TEXT, ModelParams),
    "llama_init_from_model": (PTR, PTR, ContextParams),
    "llama_get_memory": (PTR, PTR),
    "llama_model_desc": (I32, PTR, C.c_char_p, SIZE),
    "llama_n_ctx": (U32, PTR),
    "llama_n_batch": (U32, PTR),
    "llama_n_ubatch": (U32, PTR),
    "llama_n_seq_max": (U32, PTR),
    GRAPH_RESERVE: (PTR, PTR, U32, U32, U32, PTR, BOOL, PTR),
    GET_SCHED: (PTR, PTR),
    MEMORY_BREAKDOWN: (PTR, PTR, PTR),
    TENSOR_MAP: (PTR, PTR),
    RECURRENT_BREAKDOWN: (PTR, PTR, PTR),
    **dict.fromkeys(RECURRENT_PART.values(), (PTR, PTR)),
}
"""Result and arguments of everything that is called; a C++ result in memory is a hidden first argument."""
