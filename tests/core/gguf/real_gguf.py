"""Ask the real gguf.cpp about files, in a process of its own: an assert ends it.

    python real_gguf.py FOLDER

For each file of the folder, in the order of their names, one line of JSON: what `gguf_init_from_file` made of it, or
null where it refused.
"""

import ctypes as C
import json
import sys
from pathlib import Path
from typing import Any

from galloscope.benchmarks import ggml_abi

ARRAY, STRING = 9, 8


class Params(C.Structure):
    """``gguf_init_params``."""

    _fields_ = [("no_alloc", C.c_bool), ("ctx", C.c_void_p)]


def library() -> C.CDLL:
    real = ggml_abi.load()
    P, I = C.c_void_p, C.c_int64  # noqa: E741 (short names for a table)
    table: dict[str, tuple[Any, ...]] = {
        "gguf_init_from_file": (P, C.c_char_p, Params),
        "gguf_free": (None, P),
        "gguf_get_version": (C.c_uint32, P),
        "gguf_get_alignment": (C.c_size_t, P),
        "gguf_get_data_offset": (C.c_size_t, P),
        "gguf_get_n_kv": (I, P),
        "gguf_get_key": (C.c_char_p, P, I),
        "gguf_get_kv_type": (C.c_int, P, I),
        "gguf_get_arr_type": (C.c_int, P, I),
        "gguf_get_arr_n": (C.c_size_t, P, I),
        "gguf_get_val_str": (C.c_char_p, P, I),
        "gguf_get_n_tensors": (I, P),
        "gguf_get_tensor_name": (C.c_char_p, P, I),
        "gguf_get_tensor_offset": (C.c_size_t, P, I),
        "gguf_get_tensor_type": (C.c_int, P, I),
        "gguf_get_tensor_size": (C.c_size_t, P, I),
    }
    for name, (result, *arguments) in table.items():
        function = getattr(real, name)
        function.restype, function.argtypes = result, arguments
    return real


def read(real: C.CDLL, path: Path) -> dict[str, Any] | None:
    context = real.gguf_init_from_file(str(path).encode(), Params(True, None))
    if not context:
        return None
    entries = []
    for i in range(real.gguf_get_n_kv(context)):
        kind = real.gguf_get_kv_type(context, i)
        inner = [real.gguf_get_arr_type(context, i), real.gguf_get_arr_n(context, i)] if kind == ARRAY else None
        value = real.gguf_get_val_str(context, i).decode("utf-8", "replace") if kind == STRING else None
        entries.append([real.gguf_get_key(context, i).decode("utf-8", "replace"), kind, inner, value])
    tensors = [
        [
            real.gguf_get_tensor_name(context, i).decode("utf-8", "replace"),
            real.gguf_get_tensor_type(context, i),
            real.gguf_get_tensor_offset(context, i),
            real.gguf_get_tensor_size(context, i),
        ]
        for i in range(real.gguf_get_n_tensors(context))
    ]
    answer = {
        "version": real.gguf_get_version(context),
        "alignment": real.gguf_get_alignment(context),
        "data_offset": real.gguf_get_data_offset(context),
        "entries": entries,
        "tensors": tensors,
    }
    real.gguf_free(context)
    return answer


if __name__ == "__main__":
    gguf = library()
    for file in sorted(Path(sys.argv[1]).iterdir()):
        print(json.dumps(read(gguf, file)), flush=True)
