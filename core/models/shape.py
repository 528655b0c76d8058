"""What decides the shape of one graph: everything that llama.cpp looks at while it builds it, and nothing else."""

from __future__ import annotations

from enum import Enum

import msgspec


class Purpose(str, Enum):
    """What a graph is built for."""

    DECODE = "decode"
    SHIFT = "shift"
    SHIFT_SWA = "shift_swa"


class GraphShape(msgspec.Struct, frozen=True, kw_only=True):
    """One graph of a context; equal shapes give equal graphs, so it is also the key of every cache of graphs.

    Attributes:
        purpose: a micro-batch, or the shift of K after positions were changed (build_graph_shift): of the cache, or of
            the cache of window layers, which is a graph of its own. A shift is of all cells; nothing else counts then.
        n_tokens: tokens of the micro-batch.
        n_seqs: sequences in it; with a simple split every token is one (llama_ubatch::n_seqs).
        n_seq_tokens: tokens of each of them.
        n_seqs_unq: different sequences in it; one result each when they are pooled.
        equal_seqs: it came from an equal split or is reserved.
        n_outputs: tokens whose results are computed; may be 0.
        token: it has token ids.
        embd: it has embeddings.
        embeddings: the context gives embeddings (cparams.embeddings): pooling is part of the graph.
        causal: attention is causal (cparams.causal_attn).
        warmup: every expert is used (cparams.warmup).
        n_kv: cells of the cache that attention sees; 0 without one.
        n_kv_swa: the same of the cache of window layers; 0 without one.
        first_stream: the first KV stream it reads.
        n_stream: how many it reads.
        n_rs: states that a recurrent memory takes part with; 0 without one.
        rs_head: the first of them.
        rs_z: the state that is zeroed, -1 for none.
        probe_flash: with flash attention whatever the context settles on: the probe that settles it.
        samplers: sequences with a sampler that runs in the graph, and the output row of each; -1 for none. All are
            greedy.
    """

    purpose: Purpose = Purpose.DECODE
    n_tokens: int = 1
    n_seqs: int = 1
    n_seq_tokens: int = 1
    n_seqs_unq: int = 1
    equal_seqs: bool = True
    n_outputs: int = 1
    token: bool = True
    embd: bool = False
    embeddings: bool = False
    causal: bool = True
    warmup: bool = False
    n_kv: int = 0
    n_kv_swa: int = 0
    first_stream: int = 0
    n_stream: int = 1
    n_rs: int = 0
    rs_head: int = 0
    rs_z: int = -1
    probe_flash: bool = False
    samplers: tuple[tuple[int, int], ...] = ()
