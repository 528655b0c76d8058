"""What llama_model::build_graph adds behind every architecture's own graph: pooling and samplers."""

from __future__ import annotations

from ..dtypes import DTYPES
from ..errors import InputError
from ..llama.options import Pooling
from ..ops import Lazy, argmax, cont, get_rows, mul_mat, n_elements, pad, reshape, soft_max, transpose, view
from ..tensor import Flag
from .graph import LlmGraph

_F32, _I32 = DTYPES["f32"], DTYPES["i32"]


def build_pooling(g: LlmGraph) -> None:
    """llm_graph_context::build_pooling: one embedding for each sequence, or one for each token.

    Raises:
        InputError: llama.cpp does not know the kind of pooling.
    """
    if not g.c.shape.embeddings or g.embd is None:
        return
    pooling = g.c.pooling
    if pooling not in tuple(Pooling):
        raise InputError(f"pooling_type {pooling}: llama.cpp stops at an unknown pooling type")
    if pooling == Pooling.NONE:
        cur = g.embd  # the norm itself gets the new name
    elif pooling == Pooling.MEAN or (pooling == Pooling.RANK and g.h.pooling_cls == Pooling.MEAN):
        g.inputs.append("llm_graph_input_mean")
        weights = g.input("mean", _F32, g.c.n_tokens, g.c.shape.n_seqs_unq)
        cur = mul_mat(cont(transpose(g.embd)), weights)
    else:
        g.inputs.append("llm_graph_input_cls")
        cur = get_rows(g.embd, g.input("cls", _I32, g.c.shape.n_seqs_unq))
    if pooling == Pooling.RANK:
        cur = _ranked(g, cur)
    g.cb(cur, "result_embd_pooled").flags |= Flag.OUTPUT
    g.ctx.expand(cur)


def _ranked(g: LlmGraph, cur: Lazy) -> Lazy:
    """The classifier of a reranker, as far as the architectures here have one."""
    classifier = g.weights.get("cls.output.weight", g.h.n_layer)
    if classifier is not None:
        cur = mul_mat(classifier, cur)
    return soft_max(cur) if g.h.arch == "qwen3" else cur


def build_sampling(g: LlmGraph) -> None:
    """llm_graph_context::build_sampling with greedy samplers: the largest logit of a row of outputs.

    A row of zeros is added so that a sampler without output has one to look at; its result is not computed.
    """
    samplers = g.c.shape.samplers
    if not samplers or g.logits is None:
        return
    g.inputs.append("llm_graph_input_sampling")
    rows = pad(g.logits, 0, 1, 0, 0)
    rows.flags |= Flag.OUTPUT
    seen: dict[int, int] = {}
    for seq, row in samplers:
        count = seen.setdefault(seq, 0)
        seen[seq] += 1
        logits = view(rows, (rows.ne[0],), (), max(row, 0) * rows.nb[1]).set_name(f"logits_seq_{seq}_{count}")
        logits.flags |= Flag.OUTPUT
        sampled = argmax(reshape(logits, n_elements(logits.ne))).set_name("greedy_argmax")
        if row >= 0:
            sampled.flags |= Flag.OUTPUT
        g.ctx.select([g.logits, sampled], int(row >= 0))
