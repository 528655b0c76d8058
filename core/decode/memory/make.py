"""The memory of a model under given options (llama_model::create_memory)."""

from __future__ import annotations

from ...errors import InputError
from ...gguf.header import Header
from ...llama.caches import window_cells
from ...llama.memory_kind import memory_kind
from ...llama.options import Options
from .cells import Window
from .hybrid import HybridMemory
from .iswa import IswaCache
from .kv_cache import MAX_SEQ, KvCache
from .memory import Memory
from .recurrent import RecurrentMemory

_MOST_CELLS = 1 << 26
"""More cells than this are no session that anybody plays: they would take gigabytes here, too."""


def make_memory(header: Header, options: Options, *, n_rs_seq: int = 0) -> Memory:
    """An empty memory.

    Args:
        header: of the model.
        options: as llama.cpp uses them: n_ctx is the total of all sequences, rounded.
        n_rs_seq: positions that a recurrent sequence can go back.

    Raises:
        InputError: the model has no memory or one that is not described here, or the sizes are out of range.
    """
    kind = memory_kind(header)
    n_seq_max, total = options.n_seq_max, options.n_ctx or 0
    if not 1 <= n_seq_max <= MAX_SEQ:
        raise InputError(f"n_seq_max is {n_seq_max}, expected 1 to {MAX_SEQ}")
    if not 1 <= total <= _MOST_CELLS:
        raise InputError(f"n_ctx is {total}, expected 1 to {_MOST_CELLS} cells")
    recurrent = RecurrentMemory(n_seq_max, n_rs_seq) if kind.recurrent else None
    if not kind.attention:
        assert recurrent is not None
        return recurrent
    n_stream = 1 if options.kv_unified else n_seq_max
    full = total // n_stream
    attention: KvCache | IswaCache
    if kind.window:
        size = window_cells(full, kind.window, options)
        window = Window(kind.window, kind.chunked)
        attention = IswaCache(full, size, n_stream, options.kv_unified, window, kind.rope)
    else:
        attention = KvCache(full, n_stream, rope=kind.rope)
    return attention if recurrent is None else HybridMemory(attention, recurrent)
