"""May the active graph be used again?

First llm_graph_params::allow_reuse is asked, then can_reuse of each input object (llm_graph_input_i).
Every condition that llama.cpp asks is answered with both values. Where it stops at the first that fails inside of one
group, the others of that group are answered too: they cost nothing and explain more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..models.shape import GraphShape
from .events import Check
from .ubatch import Ubatch

PARAMS = "params"
"""The group of llm_graph_params::allow_reuse."""
PREFIX = "llm_graph_input_"


class Params(NamedTuple):
    """What a graph was made for, or is asked for now.

    Attributes:
        ubatch: the micro-batch.
        shape: of its graph; tells what is seen of the memory.
        samplers: (sequence, which sampler) of those that run in the graph; another sampler has another number.
    """

    ubatch: Ubatch
    shape: GraphShape
    samplers: tuple[tuple[int, int], ...]


Answer = tuple[str, object, object]
"""Name, value of the active graph, value now; they agree when they are equal."""


def check(active: Params, now: Params, input_classes: Sequence[str]) -> Iterator[Check]:
    """Every condition in llama.cpp's order; inputs are asked only where the parameters agree, and then all of them.

    Args:
        active: of the active graph.
        now: of the micro-batch.
        input_classes: of the active graph's inputs, in their order.
    """
    agree = True
    for name, before, after, holds in _params(active, now):
        agree = agree and holds
        yield Check(PARAMS, name, _text(before), _text(after), holds)
    if not agree:
        return
    for kind in input_classes:
        conditions = CONDITIONS.get(kind.removeprefix(PREFIX))
        if conditions is None:
            yield Check(kind, "can_reuse", "never", "never", False)
            continue
        for name, before, after in conditions(active.shape, now.shape):
            yield Check(kind, name, _text(before), _text(after), before == after)


def _params(active: Params, now: Params) -> Iterator[tuple[str, object, object, bool]]:
    """allow_reuse: name, before, after, whether it holds."""
    a, b = active.ubatch, now.ubatch
    shape = True
    for name, before, after in (
        ("equal_seqs", a.equal_seqs, b.equal_seqs),
        ("n_tokens", a.n_tokens, b.n_tokens),
        ("n_seq_tokens", a.n_seq_tokens, b.n_seq_tokens),
        ("n_seqs", a.n_seqs, b.n_seqs),
        ("n_seqs_unq", a.n_seqs_unq, b.n_seqs_unq),
    ):
        shape = shape and before == after
        yield name, before, after, before == after
    same_kind = not (a.token or b.token) or not (a.embd or b.embd) or all((a.token, b.token, a.embd, b.embd))
    yield "input", _input(a), _input(b), same_kind
    if shape and same_kind and a.equal_seqs:
        yield "seq_id_unq", a.seq_id_unq, b.seq_id_unq, a.seq_id_unq == b.seq_id_unq
    yield "n_outputs", active.shape.n_outputs, now.shape.n_outputs, active.shape.n_outputs == now.shape.n_outputs
    yield "samplers", active.samplers, now.samplers, active.samplers == now.samplers
    if now.samplers and a.n_tokens == b.n_tokens:
        yield "output", a.out, b.out, a.out == b.out
        first = tuple(ids[0] for ids in a.seq), tuple(ids[0] for ids in b.seq)
        yield "seq_id", *first, first[0] == first[1]
    for name, before, after in (
        ("embeddings", active.shape.embeddings, now.shape.embeddings),
        ("causal_attn", active.shape.causal, now.shape.causal),
    ):
        yield name, before, after, before == after


def _input(ubatch: Ubatch) -> str:
    return "both" if ubatch.token and ubatch.embd else "tokens" if ubatch.token else "embeddings"


def _embd(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    if b.token:
        yield "tokens.ne0", a.n_tokens, b.n_tokens
    if b.embd:
        yield "embd.ne1", a.n_tokens, b.n_tokens


def _pos(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    yield "pos.ne0", a.n_tokens, b.n_tokens


def _out_ids(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    yield "n_outputs", a.n_outputs, b.n_outputs


def _attention(a: GraphShape, b: GraphShape, n_kv: tuple[int, int], suffix: str = "") -> Iterator[Answer]:
    """k_idxs and the mask (can_reuse_kq_mask); v_idxs are not asked."""
    yield f"k_idxs{suffix}.ne0", a.n_tokens, b.n_tokens
    mask = f"kq_mask{suffix}"
    yield f"{mask}.ne0", *n_kv
    yield f"{mask}.ne1", a.n_tokens // a.n_stream, b.n_tokens // b.n_stream
    yield f"{mask}.ne3", a.n_stream, b.n_stream


def _attn_kv(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    return _attention(a, b, (a.n_kv, b.n_kv))


def _attn_kv_iswa(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    """Each cache only where its tensors have memory: where some layer uses it."""
    if a.n_kv:
        yield from _attention(a, b, (a.n_kv, b.n_kv))
    if a.n_kv_swa:
        yield from _attention(a, b, (a.n_kv_swa, b.n_kv_swa), "_swa")


def _rs(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    yield "s_copy.ne0", a.n_rs, b.n_rs
    yield "s_copy_main.ne0", a.n_seqs, b.n_seqs
    yield "s_copy_extra.ne0", a.n_rs - a.n_seqs, b.n_rs - b.n_seqs
    yield "head", a.rs_head, b.rs_head
    yield "rs_z", a.rs_z, b.rs_z


def _hybrid(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    yield from _attn_kv(a, b)
    yield from _rs(a, b)


def _hybrid_iswa(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    yield from _attn_kv_iswa(a, b)
    yield from _rs(a, b)


def _sampling(a: GraphShape, b: GraphShape) -> Iterator[Answer]:
    """The map of samplers, which the parameters compared already."""
    yield "samplers", tuple(seq for seq, _ in a.samplers), tuple(seq for seq, _ in b.samplers)


CONDITIONS: dict[str, Callable[[GraphShape, GraphShape], Iterator[Answer]]] = {
    "embd": _embd,
    "pos": _pos,
    "out_ids": _out_ids,
    "attn_kv": _attn_kv,
    "attn_k": _attn_kv,
    "attn_kv_iswa": _attn_kv_iswa,
    "attn_k_iswa": _attn_kv_iswa,
    "rs": _rs,
    "mem_hybrid": _hybrid,
    "mem_hybrid_k": _hybrid,
    "mem_hybrid_iswa": _hybrid_iswa,
    "sampling": _sampling,
}
"""Class of an input, without its prefix -> its own conditions. All others never allow re-use (llm_graph_input_i)."""


def inputs_agree(checks: Sequence[Check]) -> list[tuple[str, bool]]:
    """(class, agrees) of each input object that was asked, in order."""
    found: list[tuple[str, bool]] = []
    for one in checks:
        if one.group == PARAMS:
            continue
        if found and found[-1][0] == one.group:
            found[-1] = (one.group, found[-1][1] and one.holds)
        else:
            found.append((one.group, one.holds))
    return found


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return _runs([_text(one) for one in value])
    return str(value)


MOST_SHOWN = 24


def _runs(words: list[str]) -> str:
    """A list as people read it; a long one is cut."""
    more = f", ... {len(words)} in all" if len(words) > MOST_SHOWN else ""
    return f"[{', '.join(words[:MOST_SHOWN])}{more}]"
