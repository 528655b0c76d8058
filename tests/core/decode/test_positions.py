"""From a written step to a batch, and which batches llama_decode refuses."""

import re
from typing import Any

import msgspec
import pytest

from galloscope.core.decode.batch import Batch, Token
from galloscope.core.decode.positions import batch_of, check_batch
from galloscope.core.decode.script import Group, Step


class Held:
    """A memory that holds positions by sequence."""

    def __init__(self, **spans: tuple[int, int]) -> None:
        self.spans = {int(name[1:]): span for name, span in spans.items()}

    def seq_pos_min(self, seq: int) -> int:
        return self.spans.get(seq, (-1, -1))[0]

    def seq_pos_max(self, seq: int) -> int:
        return self.spans.get(seq, (-1, -1))[1]


def decode(*groups: dict[str, Any], **more: Any) -> Step:
    return Step(decode=tuple(msgspec.convert(group, Group) for group in groups), **more)


def places(batch: Batch) -> list[tuple[tuple[int, ...], int]]:
    return [(token.seq, token.pos) for token in batch.tokens]


def test_positions_go_on_after_the_memory_and_within_the_batch() -> None:
    step = decode({"seq": 0, "n": 2}, {"seq": 1}, {"seq": 0})
    assert places(batch_of(step, Held(s0=(3, 6)), False)) == [((0,), 7), ((0,), 8), ((1,), 0), ((0,), 9)]


def test_a_given_position_counts_and_the_next_group_goes_on_there() -> None:
    step = decode({"seq": 0, "pos": 20, "n": 2}, {"seq": 0})
    assert places(batch_of(step, Held(s0=(0, 6)), False)) == [((0,), 20), ((0,), 21), ((0,), 22)]


def test_several_sequences_go_on_after_the_first_of_them() -> None:
    step = decode({"seq": [1, 0], "n": 2}, {"seq": 0})
    assert places(batch_of(step, Held(s0=(0, 2), s1=(0, 9)), False)) == [((1, 0), 10), ((1, 0), 11), ((0,), 12)]


def test_groups_in_turn() -> None:
    step = decode({"seq": 0, "n": 3}, {"seq": 1, "n": 1}, interleave=True)
    assert places(batch_of(step, Held(), False)) == [((0,), 0), ((1,), 0), ((0,), 1), ((0,), 2)]


@pytest.mark.parametrize(
    ("logits", "flags"),
    [("last", "010001"), ("first", "101000"), ("all", "111111"), ("none", "000000"), ("default", "000001")],
)
def test_outputs_of_each_group(logits: Any, flags: str) -> None:
    step = decode({"seq": 0, "n": 2}, {"seq": 1, "n": 4}, logits=logits)
    tokens = batch_of(step, Held(), False).tokens
    assert "".join(str(int(token.out)) for token in tokens) == flags
    assert all(token.out for token in batch_of(step, Held(), True).tokens)


def test_a_group_says_its_own_outputs() -> None:
    step = decode({"seq": 0, "n": 2, "logits": "none"}, {"seq": 1, "n": 2}, logits="all")
    assert [token.out for token in batch_of(step, Held(), False).tokens] == [False, False, True, True]


def test_embeddings_in_place_of_tokens() -> None:
    assert batch_of(decode({"seq": 0}, input="embd"), Held(), False).embd
    assert not batch_of(decode({"seq": 0}), Held(), False).embd


def batch(*tokens: tuple[tuple[int, ...] | int, int]) -> Batch:
    return Batch(tuple(Token(seq if isinstance(seq, tuple) else (seq,), pos, True) for seq, pos in tokens))


GOOD = {
    "begin anywhere": (Held(), batch((0, 5), (0, 6))),
    "go on": (Held(s0=(0, 4)), batch((0, 5))),
    "twice the same position": (Held(s0=(0, 4)), batch((0, 5), (0, 5), (0, 6))),
    "coupled alike": (Held(s0=(0, 4), s1=(0, 4)), batch(((0, 1), 5))),
    "coupled with two others": (Held(), batch(((0, 1), 0), ((1, 2), 1))),
}
BAD = {
    "no tokens": (Held(), batch(), "no tokens"),
    "an id too large": (Held(), batch((0, 0), (4, 0)), "token 1 is of sequence 4, .* 0 to 3"),
    "an id below 0": (Held(), batch((-1, 0)), "token 0 is of sequence -1"),
    "a gap after the memory": (Held(s0=(0, 4)), batch((0, 6)), "begins at position 6 .* is 4"),
    "a position again": (Held(s0=(0, 4)), batch((0, 4)), "begins at position 4"),
    "a gap in the batch": (Held(), batch((2, 0), (2, 2)), "sequence 2 has positions 0 to 2 .* not all"),
    "positions that fall": (Held(), batch((0, 1), (0, 0)), "goes back from position 1 to 0 at token 1"),
    "coupled and different": (Held(s0=(0, 4)), batch(((0, 1), 5)), "positions 0 to 4 of the one and no of the other"),
    "coupled and as far": (Held(s0=(0, 4), s1=(2, 4)), batch(((1, 0), 5)), "0 to 4 of the one and 2 to 4"),
}


@pytest.mark.parametrize("name", GOOD)
def test_batches_that_begin(name: str) -> None:
    memory, given = GOOD[name]
    assert check_batch(given, memory, 4) == ""


@pytest.mark.parametrize("name", BAD)
def test_batches_that_are_refused(name: str) -> None:
    memory, given, reason = BAD[name]
    assert re.search(reason, check_batch(given, memory, 4))
