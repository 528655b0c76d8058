"""From a written step to a batch, and what llama_decode refuses about a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from .batch import Batch, Token
from .script import Group, Step


class Positions(Protocol):
    """Where sequences begin and end: the part of a memory that batches are checked against."""

    def seq_pos_min(self, seq: int) -> int:
        """The smallest position of a sequence, -1 when it is empty."""

    def seq_pos_max(self, seq: int) -> int:
        """The largest position of a sequence, -1 when it is empty."""


def batch_of(step: Step, memory: Positions, embeddings: bool) -> Batch:
    """The batch of a decode step.

    Args:
        step: a decode.
        memory: positions go on after its last ones, unless the step says otherwise.
        embeddings: the context gives embeddings, so every token is an output.
    """
    goes_on: dict[int, int] = {}
    parts: list[list[Token]] = []
    last: list[bool] = []  # of each part: its last token is the batch's last one unless logits are given
    groups = step.decode or ()
    for group in groups:
        first = group.seqs[0]
        start = group.pos
        if start is None:
            start = goes_on[first] if first in goes_on else memory.seq_pos_max(first) + 1
        for seq in group.seqs:
            goes_on[seq] = start + group.n
        outputs = group.logits or step.logits
        parts.append(
            [Token(group.seqs, _int32(start + i), embeddings or _output(outputs, i, group)) for i in range(group.n)]
        )
        last.append(outputs == "default")
    order = list(_interleaved(parts) if step.interleave else _in_turn(parts))
    tokens = [parts[part][i] for part, i in order]
    if order and last[order[-1][0]]:
        tokens[-1] = tokens[-1]._replace(out=True)
    return Batch(tuple(tokens), step.input == "embd")


def _int32(position: int) -> int:
    """As llama_pos keeps it: what comes after the largest is the smallest."""
    return (position + (1 << 31)) % (1 << 32) - (1 << 31)


def _output(outputs: str, index: int, group: Group) -> bool:
    """Whether a token of a group is an output, without the last one of the batch under `default`."""
    if outputs == "last":
        return index == group.n - 1
    return outputs == "all" or (outputs == "first" and index == 0)


def _in_turn(parts: list[list[Token]]) -> Iterator[tuple[int, int]]:
    for part, tokens in enumerate(parts):
        for i in range(len(tokens)):
            yield part, i


def _interleaved(parts: list[list[Token]]) -> Iterator[tuple[int, int]]:
    for i in range(max(map(len, parts), default=0)):
        for part, tokens in enumerate(parts):
            if i < len(tokens):
                yield part, i


def check_batch(batch: Batch, memory: Positions, n_seq_max: int) -> str:
    """Why llama_decode returns -1 for a batch, "" when it begins (llama_batch_allocr::init, in its order)."""
    if not batch.tokens:
        return "the batch has no tokens"
    for index, token in enumerate(batch.tokens):
        for seq in token.seq:
            if not 0 <= seq < n_seq_max:
                return f"token {index} is of sequence {seq}, but the context has sequences 0 to {n_seq_max - 1}"
    return _gap(batch, memory) or _diverged(batch, memory) or _falling(batch)


def _gap(batch: Batch, memory: Positions) -> str:
    """Positions that do not go on after the memory's, or that leave one out."""
    positions: dict[int, set[int]] = {}
    for token in batch.tokens:
        for seq in token.seq:
            positions.setdefault(seq, set()).add(token.pos)
    for seq, found in sorted(positions.items()):
        low, high, last = min(found), max(found), memory.seq_pos_max(seq)
        if last >= 0 and low != last + 1:
            return f"sequence {seq} begins at position {low} in the batch, but its last one in the memory is {last}"
        if high - low + 1 > len(found):
            return f"sequence {seq} has positions {low} to {high} in the batch, but not all of them"
    return ""


def _diverged(batch: Batch, memory: Positions) -> str:
    """Sequences that share a token, although the memory holds different positions of them."""
    pairs = {(one, other) for token in batch.tokens for one in token.seq for other in token.seq if one < other}
    for one, other in sorted(pairs):
        spans = [(memory.seq_pos_min(seq), memory.seq_pos_max(seq)) for seq in (one, other)]
        if spans[0] != spans[1]:
            return (
                f"sequences {one} and {other} share a token of the batch, but the memory holds positions "
                f"{_span(spans[0])} of the one and {_span(spans[1])} of the other"
            )
    return ""


def _span(span: tuple[int, int]) -> str:
    return "no" if span[1] < 0 else f"{span[0]} to {span[1]}"


def _falling(batch: Batch) -> str:
    """A sequence whose positions go back."""
    reached: dict[int, int] = {}
    for index, token in enumerate(batch.tokens):
        for seq in token.seq:
            if token.pos < reached.get(seq, -1):
                return f"sequence {seq} goes back from position {reached[seq]} to {token.pos} at token {index}"
            reached[seq] = token.pos
    return ""
