"""The splits of a batch into micro-batches (llama_batch_allocr)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from .batch import Batch
from .process_end import ProcessEnd
from .ubatch import Ubatch

COUPLED = "a token belongs to several sequences, which cannot be when each sequence has a KV stream of its own"
"""Why a sequential split of a batch with coupled sequences is refused (LLAMA_MAX_SEQ sequences share one with -kvu)."""


class Splitter:
    """A batch of which parts have been taken already; each split takes the next micro-batch, None at the end.

    Attributes:
        n_used: tokens taken.
    """

    def __init__(self, batch: Batch) -> None:
        """Nothing is taken yet; the batch must have passed `check_batch`."""
        self._batch = batch
        self._seqs = [hash_order(token.seq) for token in batch.tokens]
        self._sets = [_bits(token.seq) for token in batch.tokens]
        self._places: dict[int, list[int]] = {}  # the tokens of each set of sequences, in order
        for index, one in enumerate(self._sets):
            self._places.setdefault(one, []).append(index)
        self._coupled = any(len(seqs) > 1 for seqs in self._seqs)
        self.reset()

    def reset(self) -> None:
        """Take everything back (split_reset)."""
        self.n_used = 0
        self._used = [False] * len(self._sets)
        self._first = 0

    def all(self, take: Callable[[Splitter], Ubatch | None]) -> tuple[Ubatch, ...] | None:
        """All micro-batches of a new split of the whole batch, None when it cannot be split that way."""
        self.reset()
        found: list[Ubatch] = []
        while (ubatch := take(self)) is not None:
            found.append(ubatch)
        return tuple(found) if self.n_used == len(self._sets) else None

    def simple(self, n_ubatch: int) -> Ubatch | None:
        """The next tokens as they come, whatever their sequences (split_simple)."""
        first = self._next_unused()
        if first is None:
            return None
        taken = range(first, min(first + max(n_ubatch, 1), len(self._sets)))
        for index in taken:
            self._take(index)
        return self._ubatch(list(taken), len(taken), False)

    def equal(self, n_ubatch: int, sequential: bool, n_keep_tail: int = 0) -> Ubatch | None:
        """Equally many tokens of each sequence set that does not overlap the others (split_equal).

        Args:
            n_ubatch: tokens at most, but each set gets one.
            sequential: only sequences that follow each other; coupled ones are refused.
            n_keep_tail: that many last tokens of a sequence stay together, 0 for no care.

        Raises:
            ProcessEnd: a micro-batch cannot hold such a tail.
        """
        if n_keep_tail and n_ubatch <= n_keep_tail:
            raise ProcessEnd(f"n_ubatch > n_keep_tail fails: {n_ubatch} > {n_keep_tail} (n_rs_seq + 1)")
        if sequential and self._coupled:
            return None
        sets = self._disjoint(n_ubatch, sequential)
        if not sets:
            return None
        queues = [self._places[one] for one in sets]
        at = [next(i for i, index in enumerate(queue) if not self._used[index]) for queue in queues]
        left = min(len(queue) - start for queue, start in zip(queues, at, strict=True))
        rounds = max(1, min(left, n_ubatch // len(sets)))
        taken = [queue[start : start + rounds] for queue, start in zip(queues, at, strict=True)]
        if n_keep_tail:
            taken = self._keep_tails(taken, queues, at, n_ubatch, n_keep_tail)
        order = [index for part in taken for index in part]
        for index in order:
            self._take(index)
        return self._ubatch(order, len(taken), True)

    def seq(self, n_ubatch: int) -> Ubatch | None:
        """Tokens whose sequences are a part of those of the one before (split_seq)."""
        first = self._next_unused()
        if first is None:
            return None
        order = [first]
        now = self._sets[first]
        for index in range(first + 1, len(self._sets)):
            if len(order) >= n_ubatch:
                break
            if not self._used[index] and now & self._sets[index] == self._sets[index]:
                order.append(index)
                now = self._sets[index]
        for index in order:
            self._take(index)
        return self._ubatch(order, 1, True)

    def _disjoint(self, n_ubatch: int, sequential: bool) -> list[int]:
        """The sequence sets that take part in an equal split, in the order of their first unused tokens."""
        sets: list[int] = []
        taken, last = 0, -1
        for index in range(self._next_unused() or 0, len(self._sets)):
            one = self._sets[index]
            if self._used[index] or taken & one:
                continue
            first = self._seqs[index][0]
            if sequential and sets and first != last + 1:
                continue
            sets.append(one)
            taken |= one
            last = first
            if len(sets) > n_ubatch:
                break
        return sets

    def _keep_tails(
        self, taken: list[list[int]], queues: list[list[int]], at: list[int], n_ubatch: int, tail: int
    ) -> list[list[int]]:
        """What stays of an equal split when no sequence may leave fewer than `tail` tokens for later, but for none."""
        kept = 0
        for part, queue, start in zip(taken, queues, at, strict=True):
            if 0 < len(queue) - start - len(part) < tail:
                break
            kept += 1
        if kept:
            return taken[:kept]
        left = len(queues[0]) - at[0]
        return [queues[0][at[0] :]] if left <= n_ubatch else [queues[0][at[0] : len(queues[0]) - tail]]

    def _next_unused(self) -> int | None:
        while self._first < len(self._used) and self._used[self._first]:
            self._first += 1
        return self._first if self._first < len(self._used) else None

    def _take(self, index: int) -> None:
        self._used[index] = True
        self.n_used += 1

    def _ubatch(self, order: list[int], n_seqs: int, equal_seqs: bool) -> Ubatch:
        tokens = [self._batch.tokens[index] for index in order]
        return Ubatch(
            equal_seqs=equal_seqs,
            n_seq_tokens=len(order) // n_seqs,
            n_seqs=n_seqs,
            seq_id_unq=tuple(sorted({seq for token in tokens for seq in token.seq})),
            token=not self._batch.embd,
            embd=self._batch.embd,
            pos=tuple(token.pos for token in tokens),
            seq=tuple(self._seqs[index] for index in order),
            out=tuple(token.out for token in tokens),
        )


def _bits(seqs: tuple[int, ...]) -> int:
    bits = 0
    for seq in seqs:
        bits |= 1 << seq
    return bits


@lru_cache(maxsize=4096)
def hash_order(seqs: tuple[int, ...]) -> tuple[int, ...]:
    """The ids of a token in llama.cpp's order: that of a std::unordered_set, a list in which each bucket lies together.

    A new id comes to the front of its bucket, or of everything when its bucket is empty; so [0, 1] becomes [1, 0].
    When the set grows, its list is put into more buckets from front to back in the same way.
    """
    order: list[int] = []
    buckets = 13
    for seq in seqs:
        if seq in order:
            continue
        if len(order) == buckets:
            buckets = _BUCKETS[buckets]
            old, order = order, []
            for one in old:
                _insert(order, one, buckets)
        _insert(order, seq, buckets)
    return tuple(order)


_BUCKETS = {13: 29, 29: 59, 59: 127, 127: 257}
"""Numbers of buckets as libstdc++ grows them; 256 sequences are the most there are."""


def _insert(order: list[int], seq: int, buckets: int) -> None:
    at = next((i for i, one in enumerate(order) if one % buckets == seq % buckets), 0)
    order.insert(at, seq)
