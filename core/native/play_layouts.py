"""What of llama.cpp b11549 is needed to play a session and to look at each micro-batch; `layouts` has the rest.

Calls between functions of the shared object go through its table of addresses, which can be written: that is how each
decision is seen where it is made (`detour`). The table's slots belong to this one build, as all layouts here do.
"""

from __future__ import annotations

import ctypes as C
from typing import Any

from .layouts import BOOL, GET_SCHED, GRAPH_RESERVE, I32, PTR, SIZE, U32

PROCESS_UBATCH = (
    "_ZN13llama_context14process_ubatchERK12llama_ubatch14llm_graph_typeP22llama_memory_context_iR11ggml_status"
)
OUTPUT_RESERVE = "_ZN13llama_context14output_reserveEi"
MEMORY_UPDATE = "_ZN13llama_context13memory_updateEb"
CAN_REUSE = "_ZN16llm_graph_result9can_reuseERK16llm_graph_params"
SET_INPUTS = "_ZN16llm_graph_result10set_inputsEPK12llama_ubatch"
BUILD_GRAPH = "_ZNK11llama_model11build_graphERK16llm_graph_params"
LOAD_DATA = (
    "_ZN18llama_model_loader13load_all_dataEP12ggml_contextRSt13unordered_mapIjP19ggml_backend_bufferSt4hashIjE"
    "St8equal_toIjESaISt4pairIKjS4_EEEPSt6vectorISt10unique_ptrI11llama_mlockSt14default_deleteISH_EESaISK_EEPFbfPvESO_"
)

SLOTS: dict[str, tuple[int, tuple[Any, ...]]] = {
    PROCESS_UBATCH: (0x1869848, (PTR, PTR, PTR, I32, PTR, PTR)),
    OUTPUT_RESERVE: (0x1869888, (U32, PTR, I32)),
    MEMORY_UPDATE: (0x18601B0, (BOOL, PTR, BOOL)),
    CAN_REUSE: (0x1864230, (BOOL, PTR, PTR)),
    SET_INPUTS: (0x18644F0, (None, PTR, PTR)),
    BUILD_GRAPH: (0x18683D8, (PTR, PTR, PTR)),
    LOAD_DATA: (0x18667E8, (BOOL, PTR, PTR, PTR, PTR, PTR, PTR)),
    GRAPH_RESERVE: (0x1863888, (PTR, PTR, U32, U32, U32, PTR, BOOL, PTR)),
    "ggml_backend_sched_reset": (0x1862AD8, (None, PTR)),
    "ggml_backend_sched_synchronize": (0x1866778, (None, PTR)),
    "ggml_backend_sched_split_graph": (0x1860C38, (None, PTR, PTR)),
    "ggml_backend_sched_graph_compute_async": (0x1861F80, (I32, PTR, PTR)),
    "ggml_gallocr_reserve_n": (0x1866590, (BOOL, PTR, PTR, PTR, PTR)),
    "ggml_gallocr_alloc_graph": (0x1867138, (BOOL, PTR, PTR)),
}
"""Function -> (offset of its slot from the start of the shared object, result and arguments)."""
ANCHOR = PROCESS_UBATCH, 0xBBF4E0
"""A function and where it lies in the shared object: the difference is where that was loaded."""

COMPUTED, ABORTED = 0, 1
"""enum ggml_status."""


class Ubatch(C.Structure):
    """`llama_ubatch`."""

    _fields_ = [
        ("equal_seqs", U32),
        ("n_tokens", U32),
        ("n_seq_tokens", U32),
        ("n_seqs", U32),
        ("n_seqs_unq", U32),
        ("n_pos", U32),
        ("token", PTR),
        ("embd", PTR),
        ("state", PTR),
        ("pos", PTR),
        ("n_seq_id", PTR),
        ("seq_id", PTR),
        ("seq_id_unq", PTR),
        ("seq_idx", PTR),
        ("output", PTR),
    ]


class GraphParams:
    """Byte offsets in `llm_graph_params`, which holds whole copies of the settings of model and context."""

    EMBEDDINGS, CAUSAL, WARMUP = 0x8D60, 0x8D63, 0x8D71
    UBATCH = 0x8DD0
    SCHED = UBATCH + 17 * 8
    MEMORY = UBATCH + 21 * 8
    SAMPLERS = UBATCH + 25 * 8
    N_OUTPUTS = UBATCH + 31 * 8
    RESULT = UBATCH + 36 * 8


class GraphResult:
    """Byte offsets in `llm_graph_result`: a vector of inputs, the ggml_context, the graph."""

    INPUTS, CONTEXT, GRAPH, MAX_NODES = 0xB0, 0xE0, 0x100, 0x108


class Perf(C.Structure):
    """`llama_perf_context_data`."""

    _fields_ = [("times", C.c_double * 4), ("n_p_eval", I32), ("n_eval", I32), ("n_reused", I32)]


class SamplerParams(C.Structure):
    """`llama_sampler_chain_params`."""

    _fields_ = [("no_perf", BOOL)]


KV, WINDOW, RECURRENT = "22llama_kv_cache_context", "27llama_kv_cache_iswa_context", "30llama_memory_recurrent_context"
HYBRID, HYBRID_WINDOW = "27llama_memory_hybrid_context", "32llama_memory_hybrid_iswa_context"
"""Classes of llama_memory_context_i."""
N_KV = f"_ZNK{KV}8get_n_kvEv"
BASE, SWA = f"_ZNK{WINDOW}8get_baseEv", f"_ZNK{WINDOW}7get_swaEv"
N_RS, HEAD, RS_Z = f"_ZNK{RECURRENT}8get_n_rsEv", f"_ZNK{RECURRENT}8get_headEv", f"_ZNK{RECURRENT}8get_rs_zEv"
PARTS = {
    HYBRID: (f"_ZNK{HYBRID}8get_attnEv", f"_ZNK{HYBRID}8get_recrEv"),
    HYBRID_WINDOW: (f"_ZNK{HYBRID_WINDOW}8get_attnEv", f"_ZNK{HYBRID_WINDOW}8get_recrEv"),
}
"""The functions that give the attention and the recurrent part."""

SIZES = {Ubatch: 96, Perf: 48, SamplerParams: 1}
"""Bytes of each struct; a test compares."""

PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "ggml_used_mem": (SIZE, PTR),
    "ggml_backend_sched_get_buffer_size": (SIZE, PTR, PTR),
    "llama_n_ctx_seq": (U32, PTR),
    "llama_memory_clear": (None, PTR, BOOL),
    "llama_memory_seq_rm": (BOOL, PTR, I32, I32, I32),
    "llama_memory_seq_cp": (None, PTR, I32, I32, I32, I32),
    "llama_memory_seq_add": (None, PTR, I32, I32, I32, I32),
    "llama_memory_seq_pos_min": (I32, PTR, I32),
    "llama_memory_seq_pos_max": (I32, PTR, I32),
    "llama_set_embeddings": (None, PTR, BOOL),
    "llama_set_causal_attn": (None, PTR, BOOL),
    "llama_set_warmup": (None, PTR, BOOL),
    "llama_set_adapter_cvec": (I32, PTR, PTR, SIZE, I32, I32, I32),
    "llama_set_sampler": (BOOL, PTR, I32, PTR),
    "llama_sampler_chain_default_params": (SamplerParams,),
    "llama_sampler_chain_init": (PTR, SamplerParams),
    "llama_sampler_chain_add": (None, PTR, PTR),
    "llama_sampler_init_greedy": (PTR,),
    "llama_synchronize": (None, PTR),
    "llama_perf_context": (Perf, PTR),
    "llama_model_n_embd_inp": (I32, PTR),
    GET_SCHED: (PTR, PTR),
    N_KV: (U32, PTR),
    BASE: (PTR, PTR),
    SWA: (PTR, PTR),
    N_RS: (U32, PTR),
    HEAD: (U32, PTR),
    RS_Z: (I32, PTR),
    **{name: (PTR, PTR) for pair in PARTS.values() for name in pair},
}
