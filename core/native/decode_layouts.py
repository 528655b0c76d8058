"""What of llama.cpp b11549 is needed to decode tokens and to look on; `layouts` has the rest."""

from __future__ import annotations

import ctypes as C
from typing import Any

from .layouts import BOOL, I32, I64, PTR

LOAD_MODE_MMAP = 1
"""Weights are mapped from the file: no copy, and no memory of the process."""
OVERRIDE_INT, OVERRIDE_TEXT = 0, 3
"""enum llama_model_kv_override_type."""


class Override(C.Structure):
    """`llama_model_kv_override` with a number; a list of them ends with an empty key."""

    _fields_ = [("kind", I32), ("key", C.c_char * 128), ("number", I64), ("rest", C.c_char * 120)]


class TextOverride(C.Structure):
    """`llama_model_kv_override` with a text."""

    _fields_ = [("kind", I32), ("key", C.c_char * 128), ("_", I32), ("text", C.c_char * 128)]


class Batch(C.Structure):
    """`llama_batch`."""

    _fields_ = [
        ("n_tokens", I32),
        ("token", PTR),
        ("embd", PTR),
        ("pos", PTR),
        ("n_seq_id", PTR),
        ("seq_id", PTR),
        ("logits", PTR),
    ]


EVAL_CALLBACK = C.CFUNCTYPE(BOOL, PTR, BOOL, PTR)
"""`ggml_backend_sched_eval_callback`: tensor, is it a question, user data."""

SIZES = {Override: 264, TextOverride: 264, Batch: 56}
"""Bytes of each struct; a test compares."""

PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "llama_decode": (I32, PTR, Batch),
    "llama_get_logits_ith": (PTR, PTR, I32),
    "llama_model_get_vocab": (PTR, PTR),
    "llama_vocab_n_tokens": (I32, PTR),
}
