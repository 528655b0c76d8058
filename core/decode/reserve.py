"""sched_reserve: which graphs a context plans before the first batch, and when it does so again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from ..models.shape import GraphShape
from .events import Reserve
from .memory.memory import Seen

PROBES = 3
"""Fused ops of DeepSeek V4's hyper-connections: asked for with every model (resolve_fused_ops)."""
SAMPLER_NODES = 3
"""Nodes that llama.cpp counts for a chain with one sampler in the graph (llama_sampler_backend_n_nodes)."""
ONE_SEQUENCE = frozenset({"kimi-linear", "minimax-01"})
"""Architectures whose last plan is for one sequence: their graph is larger then."""


class Asked(NamedTuple):
    """One call of graph_reserve."""

    kind: Reserve
    n_tokens: int
    n_seqs: int
    n_outputs: int
    probe_flash: bool = False


class Sizes(NamedTuple):
    """What the worst cases follow from.

    Attributes:
        n_ctx: cells of all sequences.
        n_ubatch: tokens of a micro-batch.
        n_seq_max: sequences.
        n_outputs_max: outputs of a micro-batch.
        arch: general.architecture.
    """

    n_ctx: int
    n_ubatch: int
    n_seq_max: int
    n_outputs_max: int
    arch: str

    @property
    def worst(self) -> Asked:
        """The prefill graph."""
        n_tokens = min(self.n_ctx, self.n_ubatch)
        return Asked(Reserve.PREFILL, n_tokens, self.n_seq_max, min(n_tokens, self.n_outputs_max))


def probes(sizes: Sizes, flash_auto: bool) -> Iterator[Asked]:
    """Graphs that are only split, once in the life of a context: which device would run a fused op?"""
    n = sizes.n_seq_max
    if flash_auto:
        yield Asked(Reserve.PROBE, n, n, n, probe_flash=True)
    for _ in range(PROBES):
        yield Asked(Reserve.PROBE, n, n, n)


def plans(sizes: Sizes) -> Iterator[Asked]:
    """Prefill first, so that buffers are made once; decode; and prefill again, whose plan is left in force."""
    n, worst = sizes.n_seq_max, sizes.worst
    yield worst
    yield Asked(Reserve.DECODE, n, n, n)
    yield worst._replace(n_seqs=1) if sizes.arch in ONE_SEQUENCE else worst


def reserve_shape(
    asked: Asked, seen: Seen, samplers: tuple[int, ...], *, embeddings: bool, causal: bool, warmup: bool
) -> GraphShape:
    """The graph that graph_reserve builds: whole sequences, so tokens are rounded up.

    Args:
        asked: as passed.
        seen: all of the memory.
        samplers: sequences with a sampler in the graph, sorted.
        embeddings: the context gives embeddings.
        causal: attention is causal.
        warmup: the context warms up.
    """
    n_seqs = asked.n_seqs
    n_seq_tokens = -(-asked.n_tokens // n_seqs)
    return GraphShape(
        n_tokens=n_seq_tokens * n_seqs,
        n_seqs=n_seqs,
        n_seq_tokens=n_seq_tokens,
        n_seqs_unq=n_seqs,
        n_outputs=asked.n_outputs,
        embeddings=embeddings,
        causal=causal,
        warmup=warmup,
        probe_flash=asked.probe_flash,
        samplers=_rows(asked.n_outputs, n_seqs, n_seq_tokens, samplers),
        **seen._asdict(),
    )


def _rows(n_outputs: int, n_seqs: int, n_seq_tokens: int, samplers: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """(sequence, output row): sequences with a sampler get their outputs first (ubatch_prepare_reserve)."""
    if not samplers:
        return ()
    with_sampler = [seq for seq in samplers if 0 <= seq < n_seqs]
    output = [seq * n_seq_tokens for seq in with_sampler][:n_outputs]
    others = (seq * n_seq_tokens + at for at in range(n_seq_tokens) for seq in range(n_seqs) if seq not in with_sampler)
    output.extend(islice(others, n_outputs - len(output)))
    rows = {token: row for row, token in enumerate(sorted(output))}
    return tuple((seq, rows.get(seq * n_seq_tokens, -1) if seq in with_sampler else -1) for seq in samplers)
