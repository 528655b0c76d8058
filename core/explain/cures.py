"""What would bring an op back from the CPU: other options that the refusing device accepts, asked of its own rules."""

from __future__ import annotations

import msgspec

from ..devices.seen import Seen, seen_in
from ..dtypes import DTYPES, contiguous
from ..op import Op
from ..state import State
from .sentence import Sentence, count

_TYPES = ("f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "bf16")
"""Types of a KV cache, the better first."""


def cures(state: State) -> list[Sentence]:
    """A sentence for each device that refuses flash attention, if options would cure that.

    Each alternative is the refused op with other K and V, put to the same rule.
    """
    told = []
    last = len(state.backends) - 1
    for backend, one in enumerate(state.backends[:last]):
        refused = [t for t, b in state.refused if b == backend and state.tensors[t].op is Op.FLASH_ATTN_EXT]
        refused = [tensor for tensor in refused if state.backend_ids[tensor] == last]
        if not refused or not one.profile:
            continue
        ops = [seen_in(state.tensors, tensor, state.src[tensor], ()) for tensor in refused]
        flags = [
            f"-ctk {name} -ctv {name}"
            for name in _TYPES
            if all(not one.device.supports(_with_cache(op, name)) for op in ops)
        ]
        flags.append("-fa off" if all(_plain(op) for op in ops) else "-fa off with an unquantised V cache")
        told.append(
            Sentence(
                "cure",
                f"To bring {count(len(refused), 'FLASH_ATTN_EXT op')} back to **{one.name}**: {' or '.join(flags)}.",
                tensor=refused[0],
            )
        )
    return told


def _with_cache(op: Seen, name: str) -> Seen:
    """The op, its K and V of another type."""
    dtype = DTYPES[name]
    src = list(op.src)
    for slot in (1, 2):
        old = op.need(slot)
        if old.ne[0] % dtype.block:
            return op
        src[slot] = msgspec.structs.replace(old, dtype=dtype, nb=_strides(old, name))
    return msgspec.structs.replace(op, src=tuple(src))


def _strides(old: Seen, name: str) -> tuple[int, int, int, int]:
    """Strides in the same order of dimensions, scaled to the other type's rows."""
    dtype = DTYPES[name]
    plain_old, plain_new = contiguous(old.dtype, old.ne), contiguous(dtype, old.ne)
    row_old, row_new = plain_old[1], plain_new[1]
    n1, n2, n3 = (stride * row_new // row_old for stride in old.nb[1:])
    return dtype.size, n1, n2, n3


def _plain(op: Seen) -> bool:
    """Without flash attention llama.cpp takes no quantised V."""
    return not op.need(2).dtype.quantized
