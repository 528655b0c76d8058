"""Memories under random calls against the plain restatement: slots, what graphs see, and every cell behind it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.decode.batch import Batch, Token
from galloscope.core.decode.memory.cells import Window
from galloscope.core.decode.memory.hybrid import HybridMemory
from galloscope.core.decode.memory.iswa import IswaCache
from galloscope.core.decode.memory.kv_cache import KvCache
from galloscope.core.decode.memory.memory import Memory, Plan, Seen
from galloscope.core.decode.memory.recurrent import RecurrentMemory
from galloscope.core.decode.positions import check_batch
from galloscope.core.decode.process_end import ProcessEnd
from galloscope.core.decode.split import hash_order
from galloscope.core.decode.ubatch import Ubatch
from galloscope.tests.core.decode import restated_split as plain
from galloscope.tests.core.decode.restated_memory import Cache, Dies, Piece, Row

N_SEQ = 3
SIZES = st.sampled_from([9, 24, 300])
SEQ = st.integers(0, N_SEQ - 1)
POS = st.sampled_from([-1, -1, 0, 1, 3, 8, 40])
TOKENS = st.one_of(st.integers(1, 5), st.sampled_from([12, 60, 270]))
SETS = st.one_of(SEQ.map(lambda seq: (seq,)), st.lists(SEQ, min_size=1, max_size=3, unique=True).map(tuple))
DECODE = st.tuples(
    st.just("decode"),
    st.lists(st.tuples(SETS, TOKENS), min_size=1, max_size=3),
    st.booleans(),  # tokens of the groups in turn
    st.integers(1, 70),  # n_ubatch
    st.booleans(),  # every token is an output
    st.one_of(st.none(), st.none(), st.integers(0, 3)),  # the micro-batch that is aborted
)
CALLS = st.lists(
    st.one_of(
        DECODE,
        DECODE,
        st.tuples(st.just("seq_rm"), st.integers(-1, N_SEQ - 1), POS, POS),
        st.tuples(st.just("seq_cp"), SEQ, SEQ, POS, POS),
        st.tuples(st.just("seq_add"), SEQ, POS, POS, st.integers(-5, 5)),
        st.tuples(st.just("update"), st.booleans()),
        st.tuples(st.just("clear")),
    ),
    min_size=1,
    max_size=14,
)


def tokens_of(memory: Memory, groups: list[tuple[tuple[int, ...], int]], in_turn: bool) -> tuple[Token, ...]:
    """Groups that go on where their sequences end."""
    following = {seq: memory.seq_pos_max(seq) + 1 for seq in range(N_SEQ)}
    parts = []
    for seqs, count in groups:
        start = following[seqs[0]]
        following |= dict.fromkeys(seqs, start + count)
        parts.append([Token(seqs, start + i, i == count - 1) for i in range(count)])
    if in_turn:
        parts = [[part[i] for part in parts if i < len(part)] for i in range(max(map(len, parts)))]
    return tuple(token for part in parts for token in part)


def row_of(token: Token) -> Row:
    return Row(hash_order(token.seq), token.pos, token.out)


def piece_of(ubatch: Ubatch) -> Piece:
    rows = tuple(map(Row, ubatch.seq, ubatch.pos, ubatch.out))
    return Piece(rows, ubatch.n_seqs, ubatch.equal_seqs)


def asked(seen: Seen) -> dict[str, list[int]]:
    """What a graph sees, as the restatement says it."""
    found: dict[str, list[int]] = {}
    if seen.n_kv:
        found["n_kv"] = [n for n in (seen.n_kv, seen.n_kv_swa) if n]
    if seen.n_rs:
        found |= {"n_rs": [seen.n_rs], "head": [seen.rs_head], "rs_z": [seen.rs_z]}
    return found


def same_cells(mine: KvCache, other: Cache) -> None:
    for stream, cells in enumerate(mine._streams):
        plain_cells = other.cells[stream]
        assert cells._pos.tolist() == [cell.pos for cell in plain_cells]
        assert [set(cells._sets.members(who)) for who in cells._who.tolist()] == [cell.seqs for cell in plain_cells]
        assert cells.head == other.heads[stream]
        assert cells.shifted == other.has_shift[stream]
        assert cells.used == sum(cell.pos >= 0 for cell in plain_cells)
        assert cells.top == max((i + 1 for i, cell in enumerate(plain_cells) if cell.pos >= 0), default=0)


def same(mine: Memory, other: Any) -> None:
    for seq in range(N_SEQ):
        assert (mine.seq_pos_min(seq), mine.seq_pos_max(seq)) == (other.pos_min(seq), other.pos_max(seq))
    attention = mine._attention if isinstance(mine, HybridMemory) else mine
    if isinstance(attention, KvCache):
        same_cells(attention, other.cache)
    if isinstance(attention, IswaCache):
        same_cells(attention._base, other.cache)
        same_cells(attention._window, other.swa)
    states = mine._recurrent if isinstance(mine, HybridMemory) else mine
    if isinstance(states, RecurrentMemory):
        got = [(one.pos, one.source, one.seqs, one.tail) for one in states._states]
        assert got == [(one.pos, one.src, one.seqs, one.tail) for one in other.states.cells]
        assert (states._head, states._used) == (other.states.head, other.states.used)


def decode(mine: Memory, other: Any, call: tuple[Any, ...]) -> None:
    _, groups, in_turn, n_ubatch, all_out, aborted = call
    batch = Batch(tokens_of(mine, groups, in_turn))
    if check_batch(batch, mine, N_SEQ):
        return
    assert (mine.update() != (False, (), ())) == other.update(False)
    try:
        plan = mine.init_batch(batch, n_ubatch, all_out)
    except ProcessEnd:
        assert isinstance(mine, HybridMemory)
        assert mine.n_stream > 1
        assert all_out
        assert any(len(token.seq) > 1 for token in batch.tokens)
        mine.clear()
        other.clear()
        return
    placed = other.place([row_of(token) for token in batch.tokens], n_ubatch, all_out)
    assert isinstance(plan, Plan) == (placed is not None)
    if not isinstance(plan, Plan):
        return
    assert [piece_of(ubatch) for ubatch in plan.ubatches] == [piece for piece, _ in placed]
    for number, (ubatch, slot, (piece, place)) in enumerate(zip(plan.ubatches, plan.slots, placed, strict=True)):
        assert asked(mine.apply(ubatch, slot)) == other.apply(piece, place)
        same(mine, other)
        if number == aborted:
            starts: dict[int, int] = {}
            for seqs, pos in zip(ubatch.seq, ubatch.pos, strict=True):
                starts[seqs[0]] = min(pos, starts.get(seqs[0], pos))
            for seq in sorted(starts):
                assert mine.seq_rm(seq, starts[seq], -1) == other.seq_rm(seq, starts[seq], -1)
            return


def compare(mine: Memory, other: Any, calls: list[tuple[Any, ...]]) -> None:
    for call in calls:
        kind, args = call[0], call[1:]
        if kind == "decode":
            decode(mine, other, call)
        elif kind == "seq_cp":
            try:
                other.seq_cp(*args)
            except Dies:
                with pytest.raises(ProcessEnd):
                    mine.seq_cp(*args)
                return
            mine.seq_cp(*args)
        elif kind == "update":
            assert (mine.update(*args) != (False, (), ())) == other.update(*args)
        else:
            assert getattr(mine, kind)(*args) == getattr(other, kind)(*args)
        same(mine, other)


@given(SIZES, st.booleans(), CALLS)
def test_kv_cache(size: int, unified: bool, calls: list[tuple[Any, ...]]) -> None:
    n_stream = 1 if unified else N_SEQ
    compare(KvCache(size, n_stream), plain.Attention(size, n_stream), calls)


@given(SIZES, st.integers(1, 30), st.integers(1, 12), st.booleans(), CALLS)
def test_window_cache(size: int, small: int, window: int, unified: bool, calls: list[tuple[Any, ...]]) -> None:
    n_stream = 1 if unified else N_SEQ
    mine = IswaCache(size, min(size, small), n_stream, unified, Window(window))
    compare(mine, plain.Window(size, min(size, small), n_stream, unified, window), calls)


@given(CALLS)
def test_recurrent(calls: list[tuple[Any, ...]]) -> None:
    compare(RecurrentMemory(N_SEQ), plain.Stateful(N_SEQ), calls)


@given(SIZES, st.booleans(), CALLS)
def test_hybrid(size: int, unified: bool, calls: list[tuple[Any, ...]]) -> None:
    n_stream = 1 if unified else N_SEQ
    mine = HybridMemory(KvCache(size, n_stream), RecurrentMemory(N_SEQ))
    compare(mine, plain.Hybrid(size, n_stream, N_SEQ), calls)
