"""The suggestion to reserve logits for fewer tokens: tried out, and made only where it makes buffers smaller."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..errors import InputError
from ..explain.sentence import count, name
from ..text import bytes_text
from .advice import Facts, Suggestion
from .events import Reserve
from .life import Reservation, fold
from .session import play

LEAST_SHARE = 100
"""Less than one part of so many is not worth a word: the input that lists the outputs shrinks always."""


def worst_case(facts: Facts) -> Iterator[Suggestion]:
    """Logits are reserved for every token of a micro-batch, and most sessions read one row."""
    used = max((one.ubatch.n_outputs for one in facts.life.ubatches), default=0)
    reservations = facts.life.reservations
    context = facts.log.script.context
    if not used or not reservations or context.n_outputs_max or context.embeddings:
        return
    reserved = max((plan.n_outputs for plan in reservations[0].plans if plan.kind is Reserve.PREFILL), default=0)
    most = max(used, facts.log.setup.options.n_seq_max)
    if most >= reserved:
        return
    before, after = _sizes(reservations[0]), _tried(facts, most)
    if before is None or after is None or LEAST_SHARE * (sum(before) - sum(after)) < sum(before):
        return  # most often another tensor makes the peak
    rows = [row for row in zip(facts.log.setup.bufts, before, after, strict=True) if row[1] or row[2]]
    listed = ", ".join(f"{name(buft)} {bytes_text(old)} → {bytes_text(new)}" for buft, old, new in rows)
    yield Suggestion(
        "n_outputs_max",
        f"The worst case has **{count(reserved, 'output')}**, and no ubatch had more than **{used:,}**: "
        f"`n_outputs_max = {most}` (llama_context_params) reserves logits for so many, and the compute buffers are "
        f"made smaller ({listed}); more in one ubatch would end the process.",
    )


def _sizes(one: Reservation) -> tuple[int, ...] | None:
    """Bytes of each compute buffer once a context is made, None where its plans could not all be."""
    return one.plans[-1].facts.compute_sizes if one.plans and one.plans[-1].ok else None


def _tried(facts: Facts, most: int) -> tuple[int, ...] | None:
    """The same with fewer outputs: the context is made once more, and decodes nothing."""
    script = facts.log.script
    context = msgspec.structs.replace(script.context, n_outputs_max=most)
    try:
        log = play(msgspec.structs.replace(script, context=context, steps=()), facts.log.setup.header)
    except InputError:
        return None  # a graph that only the real llama.cpp builds, which is not there a second time
    life = fold(log)
    return _sizes(life.reservations[0]) if life.reservations and not life.abort else None
