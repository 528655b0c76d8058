"""The splits of a batch, by example and by their laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.decode.batch import Batch, Token
from galloscope.core.decode.process_end import ProcessEnd
from galloscope.core.decode.split import Splitter, hash_order
from galloscope.core.decode.ubatch import Ubatch


def batch(*groups: tuple[int | tuple[int, ...], int]) -> Batch:
    """Groups of (sequence or several, tokens), each from position 0."""
    tokens = []
    for seq, count in groups:
        seqs = seq if isinstance(seq, tuple) else (seq,)
        tokens += [Token(seqs, pos, False) for pos in range(count)]
    return Batch(tuple(tokens))


def places(ubatches: tuple[Ubatch, ...] | None) -> list[list[tuple[int, int]]]:
    """(first sequence, position) of each token, by micro-batch."""
    assert ubatches is not None
    return [[(seqs[0], pos) for seqs, pos in zip(u.seq, u.pos, strict=True)] for u in ubatches]


def test_simple_takes_tokens_as_they_come() -> None:
    ubatches = Splitter(batch((0, 3), (1, 2))).all(lambda rest: rest.simple(2))
    assert places(ubatches) == [[(0, 0), (0, 1)], [(0, 2), (1, 0)], [(1, 1)]]
    assert ubatches is not None
    assert [(u.equal_seqs, u.n_seqs, u.n_seq_tokens, u.seq_id_unq) for u in ubatches] == [
        (False, 2, 1, (0,)),
        (False, 2, 1, (0, 1)),
        (False, 1, 1, (1,)),
    ]


def test_equal_gives_each_sequence_the_same_number_and_sorts_by_sequence() -> None:
    ubatches = Splitter(batch((0, 1), (1, 7), (2, 3))).all(lambda rest: rest.equal(16, True))
    assert places(ubatches) == [
        [(0, 0), (1, 0), (2, 0)],
        [(1, 1), (1, 2), (2, 1), (2, 2)],
        [(1, 3), (1, 4), (1, 5), (1, 6)],
    ]
    assert ubatches is not None
    assert [(u.n_seqs, u.n_seq_tokens) for u in ubatches] == [(3, 1), (2, 2), (1, 4)]


def test_a_sequence_out_of_turn_waits_for_a_sequential_split_only() -> None:
    sequential = Splitter(batch((0, 1), (2, 1))).all(lambda rest: rest.equal(16, True))
    free = Splitter(batch((0, 1), (2, 1))).all(lambda rest: rest.equal(16, False))
    assert places(sequential) == [[(0, 0)], [(2, 0)]]
    assert places(free) == [[(0, 0), (2, 0)]]


def test_every_sequence_gets_a_token_although_the_micro_batch_is_smaller() -> None:
    ubatches = Splitter(batch((0, 2), (1, 2), (2, 2), (3, 2))).all(lambda rest: rest.equal(2, True))
    assert places(ubatches) == [
        [(0, 0), (1, 0), (2, 0)],
        [(0, 1), (1, 1), (2, 1)],
        [(3, 0), (3, 1)],
    ]


def test_coupled_sequences_are_one_set_and_cannot_be_sequential() -> None:
    coupled = batch(((0, 1), 2), (2, 2))
    assert Splitter(coupled).all(lambda rest: rest.equal(16, True)) is None
    ubatches = Splitter(coupled).all(lambda rest: rest.equal(16, False))
    assert ubatches is not None
    assert [(u.n_seqs, u.seq) for u in ubatches] == [(2, ((1, 0), (1, 0), (2,), (2,)))]


def test_overlapping_sets_follow_each_other() -> None:
    ubatches = Splitter(batch(((0, 1), 1), (0, 1), (1, 1))).all(lambda rest: rest.equal(16, False))
    assert ubatches is not None
    assert [u.seq for u in ubatches] == [((1, 0),), ((0,), (1,))]


def test_by_sequence_a_set_may_shrink_but_not_grow() -> None:
    ubatches = Splitter(batch(((0, 1), 1), (0, 1), (1, 1), (0, 1))).all(lambda rest: rest.seq(16))
    assert ubatches is not None
    assert [u.seq for u in ubatches] == [((1, 0), (0,), (0,)), ((1,),)]
    assert all((u.n_seqs, u.equal_seqs) == (1, True) for u in ubatches)


@pytest.mark.parametrize(
    ("counts", "n_ubatch", "tail", "sizes"),
    [
        ((10,), 8, 3, [7, 3]),  # 8 would leave 2
        ((11,), 8, 3, [8, 3]),
        ((9, 5), 8, 3, [4, 5, 5]),  # the second would leave 1 and waits, then the first goes to its end
        ((5, 5), 8, 3, [5, 5]),  # neither: the first goes alone, to its end
        ((5, 5), 8, 0, [8, 2]),
    ],
)
def test_the_last_tokens_of_a_sequence_stay_together(
    counts: tuple[int, ...], n_ubatch: int, tail: int, sizes: list[int]
) -> None:
    given_batch = batch(*enumerate(counts))
    ubatches = Splitter(given_batch).all(lambda rest: rest.equal(n_ubatch, True, tail))
    assert ubatches is not None
    assert [u.n_tokens for u in ubatches] == sizes


def test_a_tail_that_no_micro_batch_can_hold_ends_the_process() -> None:
    with pytest.raises(ProcessEnd, match="4 > 4"):
        Splitter(batch((0, 9))).equal(4, True, 4)


@pytest.mark.parametrize(
    ("seqs", "order"),
    [
        ((3,), (3,)),
        ((0, 1), (1, 0)),
        ((1, 0), (0, 1)),
        ((0, 1, 2, 3), (3, 2, 1, 0)),
        ((2, 2, 0), (0, 2)),
        ((0, 1, 13, 2), (2, 1, 13, 0)),  # 13 shares a bucket with 0
        ((13, 0, 26, 39, 1), (1, 39, 26, 0, 13)),
        (tuple(range(14)), (13, *range(13))),  # the 14th makes the set grow, which turns it around
        (tuple(range(20)), (19, 18, 17, 16, 15, 14, 13, *range(13))),
    ],
)
def test_ids_arrive_in_the_order_of_a_hash_set(seqs: tuple[int, ...], order: tuple[int, ...]) -> None:
    """As llama.cpp b11549 hands them on when it is built with libstdc++."""
    assert hash_order(seqs) == order


TOKENS = st.lists(
    st.builds(
        Token,
        st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True).map(tuple),
        st.integers(0, 99),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
)
SPLITS = {
    "simple": lambda rest, n: rest.simple(n),
    "equal": lambda rest, n: rest.equal(n, False),
    "seq": lambda rest, n: rest.seq(n),
}


@given(TOKENS, st.integers(1, 12), st.sampled_from(sorted(SPLITS)))
def test_every_token_is_in_one_micro_batch_and_those_of_a_set_keep_their_order(
    tokens: list[Token], n_ubatch: int, how: str
) -> None:
    numbered = [token._replace(pos=i) for i, token in enumerate(tokens)]
    ubatches = Splitter(Batch(tuple(numbered))).all(lambda rest: SPLITS[how](rest, n_ubatch))
    assert ubatches is not None
    order = [pos for u in ubatches for pos in u.pos]
    assert sorted(order) == list(range(len(tokens)))
    for u in ubatches:
        assert u.n_tokens == u.n_seqs * u.n_seq_tokens
        assert u.n_tokens <= n_ubatch or (how == "equal" and u.n_seq_tokens == 1)
        assert u.out == tuple(tokens[pos].out for pos in u.pos)
        assert [set(seqs) for seqs in u.seq] == [set(tokens[pos].seq) for pos in u.pos]
    for seqs in {frozenset(token.seq) for token in tokens}:
        mine = [pos for pos in order if frozenset(tokens[pos].seq) == seqs]
        assert mine == sorted(mine)
