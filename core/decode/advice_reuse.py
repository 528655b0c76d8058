"""Suggestions about rebuilds: conditions of re-use that failed although they need not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..explain.sentence import count
from .advice import Facts, Suggestion, said, times
from .life import Life, StepSeen, UbatchSeen
from .reasons import n_kv_step


def _disabled(facts: Facts) -> Iterator[Suggestion]:
    ubatches = facts.life.ubatches
    hits = [one for one in facts.of("disabled") if one.number and ubatches[one.number - 1].shape == one.shape]
    yield from said(
        "disabled",
        hits,
        f"{times(hits)} of the same shape as the one before, and rebuilt all the same: unset "
        "`LLAMA_GRAPH_REUSE_DISABLE`.",
    )


def _outputs(facts: Facts) -> Iterator[Suggestion]:
    slots = facts.of("slot")
    before = {one.number: facts.life.ubatches[one.number - 1] for one in slots if one.number}
    same = [one for one in slots if one.number in before and _but_outputs(one, before[one.number])]
    alike = facts.only(facts.of("n_outputs"), "n_outputs") + same
    hits = sorted((one for one in alike if _flags_differ(facts.life, one)), key=lambda one: one.number)
    yield from said(
        "n_outputs",
        hits,
        f"{times(hits)} unlike the one before in the number of outputs alone: keep the `logits` flags of a batch "
        "constant for each kind of batch (always the last token, or always all).",
    )


def _flags_differ(life: Life, one: UbatchSeen) -> bool:
    """The caller asked for other outputs; not so where a batch with the usual ones was cut into ubatches."""
    step = life.steps[one.step]
    before = life.steps[life.ubatches[one.number - 1].step]
    if step is before:
        return False
    whole = all(last - first == 1 for first, last in (step.ubatches, before.ubatches))
    return whole or _asked(life, step).isdisjoint(_asked(life, before))


def _asked(life: Life, step: StepSeen) -> set[str]:
    """Which tokens of a batch may have been flagged, by their number."""
    ubatches = life.ubatches[slice(*step.ubatches)]
    outputs = sum(one.ubatch.n_outputs for one in ubatches)
    tokens = sum(one.ubatch.n_tokens for one in ubatches)
    sequences = len({seq for one in ubatches for seq in one.ubatch.seq_id_unq})
    kinds = {"none": 0, "all": tokens, "one of each sequence": sequences}
    return {kind for kind, number in kinds.items() if number == outputs} or {"some"}


def _but_outputs(one: UbatchSeen, before: UbatchSeen) -> bool:
    a, b = one.shape, before.shape
    return all(
        getattr(a, name) == getattr(b, name) for name in a.__struct_fields__ if name not in ("n_outputs", "samplers")
    )


def _lengths(facts: Facts) -> Iterator[Suggestion]:
    """Batches of several tokens, one after the other, of other lengths; a prompt before single tokens is as it is."""
    ubatches = facts.life.ubatches
    hits = [
        one for one in facts.of("n_tokens") if one.ubatch.n_tokens > 1 and ubatches[one.number - 1].ubatch.n_tokens > 1
    ]
    yield from said(
        "n_tokens",
        hits,
        f"{times(hits)} of several tokens after another of another length, each a rebuild: batches of equal length "
        "(drafts padded to one length, prompts cut at multiples of `-ub`) re-use the graph while they follow each "
        "other.",
    )


def _sequences(facts: Facts) -> Iterator[Suggestion]:
    hits = facts.of("n_seqs")
    yield from said(
        "n_seqs",
        hits,
        f"{times(hits)} rebuilt because sequences came or went: graphs are re-used while the same number of "
        "sequences decodes together, so start and finish slots in groups where that is possible.",
        saves=0,
    )
    context = facts.log.script.context
    ids = facts.only(facts.of("seq_ids"), "seq_id_unq")
    if not context.kv_unified and facts.log.setup.options.n_seq_max > 1 and all(one.shape.n_rs == 0 for one in ids):
        yield from said(
            "kv_unified",
            ids,
            f"{times(ids)} unlike the one before in the ids of their sequences alone: with `--kv-unified` all "
            "sequences share one KV stream, and which of them take part is no condition (attention then sees the "
            "cells of all).",
        )


def _cut(facts: Facts) -> Iterator[Suggestion]:
    """Separate streams: one ubatch holds equally many tokens of sequences whose ids follow one another."""
    options = facts.log.setup.options
    if facts.log.script.context.kv_unified or options.n_seq_max == 1:
        return
    decodes, rebuilt = 0, []
    for step in facts.life.steps:
        ubatches = facts.life.ubatches[slice(*step.ubatches)]
        if len(ubatches) > 1 and sum(one.ubatch.n_tokens for one in ubatches) <= options.n_ubatch:
            decodes += 1
            rebuilt += [one for one in ubatches if not one.reused and one.shape.n_rs == 0]
    yield from said(
        "cut",
        rebuilt,
        f"**{count(decodes, 'decode')}** small enough for one ubatch and cut into several, {times(rebuilt)} of "
        "them rebuilt: with a KV stream for each sequence, a ubatch takes equally many tokens of sequences whose ids "
        "follow one another. `--kv-unified` takes the batch as it is; else fill the lowest free slot first, so that "
        "ids have no gaps.",
    )


def _n_kv(facts: Facts) -> Iterator[Suggestion]:
    hits = facts.of("n_kv")
    grown = [one for one in hits if (n_kv_step(one) or 0) > 0]
    share = f"{100 * len(hits) / len(facts.life.ubatches):.1f} % of all" if hits else ""
    yield from said(
        "n_kv",
        grown,
        f"{times(hits)} ({share}) rebuilt because n_kv changed: a growing context costs one rebuild each 256 "
        "cells, which no flag avoids; it is the price of not computing attention over the whole cache.",
        saves=0,
    )


def _modes(facts: Facts) -> Iterator[Suggestion]:
    for key, call in (
        ("embeddings", "`llama_set_embeddings`"),
        ("causal_attn", "`llama_set_causal_attn`"),
        ("input", "token ids and embeddings as input"),
    ):
        hits = facts.only(facts.of(key), key, "n_outputs")
        yield from said(
            key,
            hits,
            f"{times(hits)} rebuilt because {call} switched to and fro: a context of its own for each kind "
            "re-uses both graphs, or do all of one kind in a row.",
        )


def _pooling(facts: Facts) -> Iterator[Suggestion]:
    hits = facts.of("never")
    kinds = sorted({check.group for one in hits for check in one.checks if check.name == "can_reuse"})
    yield from said(
        "pooling",
        hits,
        f"{times(hits)} with equal parameters, rebuilt because {', '.join(f'`{kind}`' for kind in kinds)} "
        "never allows re-use: with `--pooling none` the graph has no such input (pool the rows yourself), and fewer, "
        "larger batches mean fewer rebuilds.",
    )


def _recurrent(facts: Facts) -> Iterator[Suggestion]:
    hits = facts.of("recurrent")
    yield from said(
        "recurrent",
        hits,
        f"{times(hits)} rebuilt because recurrent states began or moved: the first token of a sequence starts "
        "from a zeroed state and the second does not, which no flag avoids; begin several sequences in one batch to "
        "share it.",
        saves=0,
    )


REUSE_RULES: tuple[Callable[[Facts], Iterator[Suggestion]], ...] = (
    _disabled, _outputs, _lengths, _sequences, _cut, _n_kv, _modes, _pooling, _recurrent,
)  # fmt: skip
"""Each looks for its evidence."""
