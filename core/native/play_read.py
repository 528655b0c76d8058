"""Reading llama.cpp's own structs while it plays: micro-batches, what a graph is made for, what became of it."""

from __future__ import annotations

import ctypes as C
import struct
from typing import Any

from ..decode.memory.memory import Seen
from ..decode.ubatch import Ubatch
from ..models.shape import GraphShape
from . import layouts as abi
from . import play_layouts as more
from .asking import TYPES
from .dump import pointers
from .memory import class_name
from .play_messages import Facts
from .refused import Refused

INPUT = 1
"""GGML_TENSOR_FLAG_INPUT."""
_TREE_NODE = struct.Struct("<4QixxxxQ")
"""A node of a std::map<int, pointer>: colour, parent, left, right, key, value."""
_SAMPLERS_MOST = 256


def read_ubatch(address: int) -> Ubatch:
    """A `llama_ubatch`."""
    raw = more.Ubatch.from_address(address)
    n = raw.n_tokens
    counts = _numbers(raw.n_seq_id, n)
    ids = pointers(raw.seq_id, n)
    return Ubatch(
        equal_seqs=bool(raw.equal_seqs),
        n_seq_tokens=raw.n_seq_tokens,
        n_seqs=raw.n_seqs,
        seq_id_unq=_numbers(raw.seq_id_unq, raw.n_seqs_unq),
        token=bool(raw.token),
        embd=bool(raw.embd),
        pos=_numbers(raw.pos, n),
        seq=tuple(_numbers(one, count) for one, count in zip(ids, counts, strict=True)),
        out=tuple(map(bool, C.string_at(raw.output, n))),
    )


class Reader:
    """Reads with the library's own functions.

    Attributes:
        unified: one KV stream for all sequences.
    """

    def __init__(self, library: C.CDLL, unified: bool) -> None:
        """`unified`: as the context was asked for."""
        self._library, self._unified = library, unified

    def shape(self, params: int) -> GraphShape:
        """What `llm_graph_params` ask for.

        Raises:
            Refused: the memory is of a class that is not understood.
        """
        at = more.GraphParams
        ubatch = read_ubatch(params + at.UBATCH)
        seen = self._memory(abi.PTR.from_address(params + at.MEMORY).value or 0)
        if (seen.n_kv or seen.n_kv_swa) and not self._unified:
            seen = seen._replace(first_stream=min(ubatch.seq_id_unq), n_stream=ubatch.n_seqs_unq)
        return GraphShape(
            n_tokens=ubatch.n_tokens,
            n_seqs=ubatch.n_seqs,
            n_seq_tokens=ubatch.n_seq_tokens,
            n_seqs_unq=ubatch.n_seqs_unq,
            equal_seqs=ubatch.equal_seqs,
            n_outputs=abi.U32.from_address(params + at.N_OUTPUTS).value,
            token=ubatch.token,
            embd=ubatch.embd,
            embeddings=abi.BOOL.from_address(params + at.EMBEDDINGS).value,
            causal=abi.BOOL.from_address(params + at.CAUSAL).value,
            warmup=abi.BOOL.from_address(params + at.WARMUP).value,
            samplers=_samplers(params + at.SAMPLERS, ubatch),
            **seen._asdict(),
        )

    def _memory(self, context: int) -> Seen:
        """What a graph asks a llama_memory_context_i for, but for the streams."""
        if not context:
            return Seen()
        kind = class_name(context)
        if kind in more.PARTS:
            attention, recurrent = (self._memory(self._ask(name, context)) for name in more.PARTS[kind])
            return attention._replace(n_rs=recurrent.n_rs, rs_head=recurrent.rs_head, rs_z=recurrent.rs_z)
        if kind == more.KV:
            return Seen(n_kv=self._ask(more.N_KV, context))
        if kind == more.WINDOW:
            base, window = self._ask(more.BASE, context), self._ask(more.SWA, context)
            return Seen(n_kv=self._ask(more.N_KV, base), n_kv_swa=self._ask(more.N_KV, window))
        if kind == more.RECURRENT:
            n_rs, head, rs_z = (self._ask(name, context) for name in (more.N_RS, more.HEAD, more.RS_Z))
            return Seen(n_rs=n_rs, rs_head=head, rs_z=rs_z)
        raise Refused(f"the memory of this model ({kind.lstrip('0123456789')}) is not understood here")

    def _ask(self, name: str, this: int) -> int:
        return int(getattr(self._library, name)(this))

    def facts(self, sched: abi.Sched, graph: abi.Graph, result: int) -> Facts:
        """A graph that the scheduler has split; `result` is its llm_graph_result, 0 where it has none of its own."""
        library, used = self._library, 0
        classes: tuple[str, ...] = ()
        if result:
            context = abi.PTR.from_address(result + more.GraphResult.CONTEXT).value
            used, classes = library.ggml_used_mem(context), input_classes(result)
        size, address = library.ggml_backend_sched_get_buffer_size, C.addressof(sched)
        splits = (abi.Split * sched.n_splits).from_address(sched.splits)
        return Facts(
            n_nodes=graph.n_nodes,
            n_leafs=graph.n_leafs,
            sched_nodes=sched.graph.n_nodes,
            sched_leafs=sched.graph.n_leafs,
            splits=tuple((one.backend, one.start, one.end, one.n_inputs) for one in splits),
            compute_sizes=tuple(size(address, sched.backends[i]) for i in range(sched.n_backends)),
            inputs=_inputs(graph),
            input_classes=classes,
            graph_size=graph.size,
            used_bytes=used,
            galloc_hash_size=abi.Gallocr.from_address(sched.galloc).hash_set.size,
        )


def input_classes(result: int) -> tuple[str, ...]:
    """The class of each input object of an `llm_graph_result`: `llm_graph_input_pos`."""
    first, last = (abi.SIZE * 2).from_address(result + more.GraphResult.INPUTS)
    return tuple(class_name(one).lstrip("0123456789") for one in pointers(first, (last - first) // 8))


def changed_ids(sched: abi.Sched) -> tuple[str, int, int, int] | None:
    """The first node or leaf that lies in another buffer type than at its place in the split before."""
    bufts = list(sched.bufts)
    for what, count, now, before in (
        ("node", sched.graph.n_nodes, sched.node_backend_ids, sched.prev_node_backend_ids),
        ("leaf", sched.graph.n_leafs, sched.leaf_backend_ids, sched.prev_leaf_backend_ids),
    ):
        old, new = _numbers(before, count), _numbers(now, count)
        for at, (a, b) in enumerate(zip(old, new, strict=True)):
            if a != b and bufts[a] != bufts[b]:
                return what, at, a, b
    return None


def _inputs(graph: abi.Graph) -> tuple[tuple[str, str, int, int, int, int], ...]:
    found = []
    for address in pointers(graph.leafs, graph.n_leafs):
        fields = abi.TENSOR.unpack(C.string_at(address, abi.TENSOR.size))
        if fields[_FLAGS] & INPUT:
            name = fields[_NAME].split(b"\0", 1)[0].decode("utf-8", "replace")
            found.append((name, TYPES[fields[0]].name, *fields[2:6]))
    return tuple(found)


_FLAGS, _NAME = 27, 41
"""Positions in an unpacked tensor."""


def _samplers(header: int, ubatch: Ubatch) -> tuple[tuple[int, int], ...]:
    """(sequence, output row) of each sampler of a std::map; -1 where the sequence has no output."""
    _, _, root, _, _, count = (C.c_uint64 * 6).from_address(header)
    if not count:
        return ()
    found, todo = [], [root]
    while todo:
        node = todo.pop()
        if node:
            _, _, left, right, seq, _ = _TREE_NODE.unpack(C.string_at(node, _TREE_NODE.size))
            found.append(seq)
            todo += [left, right]
    if len(found) != count or count > _SAMPLERS_MOST:
        raise Refused("llama.cpp's table of samplers is not laid out as expected")
    first = [ids[0] for ids, out in zip(ubatch.seq, ubatch.out, strict=True) if out]
    rows = {seq: row for row, seq in enumerate(first)}
    return tuple((seq, rows.get(seq, -1)) for seq in sorted(found))


def _numbers(address: Any, n: int) -> tuple[int, ...]:
    return tuple((abi.I32 * n).from_address(address)) if address and n else ()
