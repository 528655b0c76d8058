"""The evidence that suggestions stand on: which micro-batches fail what, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..explain.sentence import Sentence, count
from .events import Why
from .life import Life, UbatchSeen
from .log import LifeLog


class Suggestion(NamedTuple):
    """One piece of advice.

    Attributes:
        topic: short and stable.
        markup: sentences as in `core.explain.sentence`: the evidence, then the cure.
        saves: micro-batches that would not have been rebuilt or planned anew, 0 where only memory is saved.
        ubatch: number of the first of the evidence, -1 for none.
    """

    topic: str
    markup: str
    saves: int = 0
    ubatch: int = -1

    @property
    def sentence(self) -> Sentence:
        """For whoever shows sentences."""
        return Sentence(self.topic, self.markup)


class Facts(NamedTuple):
    """A session and the kind of reason of each of its micro-batches."""

    log: LifeLog
    life: Life
    keys: list[str]

    def of(self, *keys: str) -> list[UbatchSeen]:
        """The micro-batches that were rebuilt for one of these reasons."""
        return [one for one, key in zip(self.life.ubatches, self.keys, strict=True) if key in keys]

    def only(self, ubatches: Iterable[UbatchSeen], *names: str) -> list[UbatchSeen]:
        """Those that fail no other condition than these, and see as much of the memory as the one before."""
        return [one for one in ubatches if self._failed(one) <= set(names) and self._same_memory(one)]

    @staticmethod
    def _failed(one: UbatchSeen) -> set[str]:
        return {check.name for check in one.checks if not check.holds}

    def _same_memory(self, one: UbatchSeen) -> bool:
        if one.why is Why.INPUT or not one.number:
            return True  # inputs were asked
        before, now = self.life.ubatches[one.number - 1].shape, one.shape
        parts = ("n_kv", "n_kv_swa", "n_rs", "rs_head", "rs_z")
        return all(getattr(before, part) == getattr(now, part) for part in parts)


def said(topic: str, hits: list[UbatchSeen], markup: str, saves: int | None = None) -> Iterator[Suggestion]:
    """A suggestion where there is something to point at."""
    if hits:
        yield Suggestion(topic, markup, len(hits) if saves is None else saves, hits[0].number)


def times(hits: list[UbatchSeen]) -> str:
    """How many, as a sentence begins with it."""
    return f"**{count(len(hits), 'ubatch', 'ubatches')}**"
