"""Memories by example: where tokens go, what a graph sees, what is pending."""

import pytest

from galloscope.core.decode.batch import Batch, Token
from galloscope.core.decode.memory.cells import Window
from galloscope.core.decode.memory.hybrid import HybridMemory
from galloscope.core.decode.memory.iswa import IswaCache
from galloscope.core.decode.memory.kv_cache import KvCache
from galloscope.core.decode.memory.make import make_memory
from galloscope.core.decode.memory.memory import Memory, Plan, Seen, Update
from galloscope.core.decode.memory.recurrent import RecurrentMemory
from galloscope.core.decode.process_end import ProcessEnd
from galloscope.core.errors import InputError
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import header_bytes
from galloscope.core.llama.options import Options
from galloscope.tests.core.decode.headers import header_of


def batch(memory: Memory, seqs: tuple[tuple[int, ...], ...], count: int = 1) -> Batch:
    tokens = [Token(one, memory.seq_pos_max(one[0]) + 1 + i, True) for one in seqs for i in range(count)]
    return Batch(tuple(tokens))


def decode(memory: Memory, *seqs: int | tuple[int, ...], count: int = 1, n_ubatch: int = 512) -> list[Seen] | str:
    """Decode tokens of each sequence; what each micro-batch sees, or why there is no slot."""
    sets = tuple(one if isinstance(one, tuple) else (one,) for one in seqs)
    plan = memory.init_batch(batch(memory, sets, count), n_ubatch, False)
    if not isinstance(plan, Plan):
        return plan
    return [memory.apply(ubatch, slot) for ubatch, slot in zip(plan.ubatches, plan.slots, strict=True)]


def cells_of(memory: Memory, *seqs: int, count: int = 1) -> list[int]:
    """The cells that the next tokens of one stream would get."""
    plan = memory.init_batch(batch(memory, tuple((seq,) for seq in seqs), count), 512, False)
    assert isinstance(plan, Plan)
    slot = plan.slots[0]
    cells: list[int] = slot.cells[0].tolist()  # type: ignore[attr-defined]
    return cells


def test_what_is_seen_grows_in_steps_of_256_up_to_the_cache() -> None:
    memory = KvCache(600, 1)
    seen = decode(memory, 0, count=600, n_ubatch=200)
    assert [one.n_kv for one in seen] == [256, 512, 600]  # type: ignore[union-attr]


def test_holes_are_filled_and_the_search_goes_on_at_the_head() -> None:
    memory = KvCache(64, 1)
    decode(memory, 0, count=40)
    memory.seq_rm(0, 5, 8)
    assert cells_of(memory, 0, count=5) == [5, 6, 7, 40, 41]
    decode(memory, 0, count=2)
    assert cells_of(memory, 0) == [7]


def test_a_search_begins_anew_when_enough_cells_before_the_head_are_free() -> None:
    memory = KvCache(64, 1)
    decode(memory, 0, 1, count=20)
    memory.seq_rm(0, 0, 20)  # the head goes back to 0, then to the end
    decode(memory, 1, count=24)
    memory.seq_rm(1, -1, -1)
    decode(memory, 1, count=1)
    assert cells_of(memory, 1) == [1]


def test_a_full_cache_says_what_is_free_and_keeps_what_it_has() -> None:
    memory = KvCache(16, 1)
    decode(memory, 0, count=10)
    assert decode(memory, 0, count=7) == "no cells for the 7 tokens of the batch: free are 6 of 16 in kv"
    assert memory.seq_pos_max(0) == 9
    assert isinstance(decode(memory, 0, count=6), list)


def test_each_stream_has_cells_of_its_own() -> None:
    memory = KvCache(256, 4)
    assert decode(memory, 1, 2, count=3) == [Seen(n_kv=256, first_stream=1, n_stream=2)]
    assert memory.used() == [
        ("kv stream 0", 0, 256), ("kv stream 1", 3, 256), ("kv stream 2", 3, 256), ("kv stream 3", 0, 256)
    ]  # fmt: skip
    assert "of its own" in str(decode(memory, (0, 3)))


def test_a_copy_in_one_stream_is_done_at_once() -> None:
    memory = KvCache(64, 1)
    decode(memory, 0, count=10)
    memory.seq_cp(0, 1, 2, 6)
    assert (memory.seq_pos_min(1), memory.seq_pos_max(1)) == (2, 5)
    assert memory.update() == Update()
    memory.seq_rm(0, -1, -1)
    assert memory.used() == [("kv", 4, 64)]


def test_a_copy_between_streams_is_pending_until_the_update() -> None:
    memory = KvCache(64, 3)
    decode(memory, 0, count=10)
    memory.seq_cp(0, 2, -1, -1)
    assert memory.seq_pos_max(2) == 9
    memory.clear()
    assert memory.update() == Update(copies=((0, 2),))
    assert memory.update() == Update()
    with pytest.raises(ProcessEnd, match="full KV buffers"):
        memory.seq_cp(0, 2, 1, 5)


def test_changed_positions_are_pending_until_their_graph_was_computed() -> None:
    memory = KvCache(64, 1)
    decode(memory, 0, count=20)
    memory.seq_rm(0, 0, 8)
    memory.seq_add(0, 8, -1, -8)
    assert (memory.seq_pos_min(0), memory.seq_pos_max(0)) == (0, 11)
    assert memory.update(aborted=True) == Update(True, (), ("kv",))
    assert memory.update() == Update(True, (), ("kv",))
    assert memory.update() == Update()


def test_without_rope_changed_positions_need_no_graph() -> None:
    memory = KvCache(64, 1, rope=False)
    decode(memory, 0, count=4)
    memory.seq_add(0, 0, -1, 5)
    assert memory.update() == Update(True)


def test_positions_that_would_be_below_0_leave_their_cells() -> None:
    memory = KvCache(64, 1)
    decode(memory, 0, count=6)
    memory.seq_add(0, 0, -1, -4)
    assert (memory.seq_pos_min(0), memory.seq_pos_max(0)) == (0, 1)
    assert memory.used() == [("kv", 2, 64)]
    assert cells_of(memory, 0) == [0]


@pytest.mark.parametrize("call", [lambda m: m.seq_rm(3, -1, -1), lambda m: m.seq_add(-1, 0, 1, 1)])
def test_a_sequence_that_does_not_exist_ends_the_process(call: object) -> None:
    with pytest.raises(ProcessEnd, match="no sequence"):
        call(KvCache(64, 3))  # type: ignore[operator]


def test_a_window_overwrites_what_it_no_longer_sees_and_all_before() -> None:
    memory = IswaCache(64, 8, 1, True, Window(4))
    decode(memory, 0, count=8)
    assert memory.used() == [("kv", 8, 64), ("kv_swa", 8, 8)]
    decode(memory, 0)
    # 5 and later are seen by position 8; cell 0 was overwritten, and nothing older than it is left
    assert (memory.seq_pos_min(0), memory.seq_pos_max(0)) == (1, 8)
    assert memory.used() == [("kv", 9, 64), ("kv_swa", 8, 8)]


def test_a_chunk_overwrites_only_what_lies_before_it() -> None:
    assert [Window(4, chunked=True).limit(pos) for pos in (3, 4, 7, 8)] == [-1, 3, 3, 7]
    assert [Window(4).limit(pos) for pos in (3, 4, 7)] == [-1, 0, 3]


def test_looking_for_slots_may_already_cost_a_window_old_positions() -> None:
    """Only overwritten cells are put back after the search, as in llama_kv_cache::prepare."""
    memory = IswaCache(64, 8, 1, True, Window(2))
    decode(memory, 0, count=12, n_ubatch=4)
    memory.seq_add(0, 0, -1, 1)  # the head goes to cell 0, which holds position 9; cells 4 to 7 hold 5 to 8
    assert (memory.seq_pos_min(0), memory.used()[1]) == (5, ("kv_swa", 8, 8))
    assert isinstance(memory.init_batch(batch(memory, ((0,),)), 4, False), Plan)
    assert (memory.seq_pos_min(0), memory.used()[1]) == (9, ("kv_swa", 4, 8))


def test_a_window_that_finds_no_simple_slot_is_asked_equally() -> None:
    memory = IswaCache(256, 4, 1, True, Window(4))
    plan = memory.init_batch(batch(memory, ((0,), (1,)), 2), 4, False)
    assert isinstance(plan, Plan)
    assert not plan.ubatches[0].equal_seqs
    memory = IswaCache(256, 16, 1, False, Window(4))
    plan = memory.init_batch(batch(memory, ((0,),), 2), 4, False)
    assert isinstance(plan, Plan)
    assert plan.ubatches[0].equal_seqs


def test_a_new_state_is_zeroed_once() -> None:
    memory = RecurrentMemory(4)
    assert decode(memory, 0) == [Seen(n_rs=1, rs_head=0, rs_z=0)]
    assert decode(memory, 0) == [Seen(n_rs=1, rs_head=0, rs_z=-1)]
    assert decode(memory, 0, 1) == [Seen(n_rs=2, rs_head=0, rs_z=1)]


def test_a_state_cannot_go_back_but_a_sequence_can_be_forgotten() -> None:
    memory = RecurrentMemory(2)
    decode(memory, 0, count=5)
    assert not memory.seq_rm(0, 3, -1)
    assert not memory.seq_rm(-1, -1, -1)
    assert memory.seq_pos_max(0) == 4
    assert memory.seq_rm(0, -1, -1)
    assert memory.seq_pos_max(0) == -1


def test_a_state_goes_back_once_where_copies_are_kept() -> None:
    memory = RecurrentMemory(2, n_rs_seq=2)
    decode(memory, 0, count=5)
    assert not memory.seq_rm(0, 2, -1)
    assert memory.seq_rm(0, 3, -1)
    assert memory.seq_pos_max(0) == 2
    assert not memory.seq_rm(0, 2, -1)
    decode(memory, 0)
    assert memory.seq_rm(0, 3, -1)


def test_a_shared_state_is_copied_before_it_changes() -> None:
    memory = RecurrentMemory(3)
    decode(memory, 0, count=4)
    memory.seq_cp(0, 2, -1, -1)
    assert memory.used() == [("rs", 1, 3)]
    decode(memory, 2)
    assert memory.used() == [("rs", 2, 3)]
    assert (memory.seq_pos_max(0), memory.seq_pos_max(2)) == (3, 4)


def test_a_hybrid_forgets_in_both_parts_or_in_none() -> None:
    memory = HybridMemory(KvCache(64, 1), RecurrentMemory(2))
    decode(memory, 0, count=5)
    assert not memory.seq_rm(0, 3, -1)
    assert memory.used() == [("kv", 5, 64), ("rs", 1, 2)]
    assert memory.seq_rm(0, -1, -1)
    assert memory.used() == [("kv", 0, 64), ("rs", 0, 2)]
    assert memory.full() == Seen(n_kv=64, n_rs=2, rs_head=0, rs_z=0)


def test_tokens_of_several_sequences_end_a_hybrid_with_streams() -> None:
    memory = HybridMemory(KvCache(64, 2), RecurrentMemory(2))
    with pytest.raises(ProcessEnd, match="no stream"):
        memory.init_batch(batch(memory, ((0, 1),)), 16, True)


@pytest.mark.parametrize(
    ("model", "given", "kind", "full"),
    [
        ("llama.gguf", {}, "kv", Seen(n_kv=256, n_stream=4)),
        ("llama.gguf", {"kv_unified": True}, "kv", Seen(n_kv=1024)),
        ("phi3.gguf", {}, "kv", Seen(n_kv=256, n_stream=4)),
        ("deepseek2.gguf", {}, "kv", Seen(n_kv=256, n_stream=4)),
        ("gemma3.gguf", {}, "kv_iswa", Seen(n_kv=256, n_kv_swa=256, n_stream=4)),
        ("gemma3.gguf", {"kv_unified": True}, "kv_iswa", Seen(n_kv=1024, n_kv_swa=256)),
        ("gemma3.gguf", {"kv_unified": True, "swa_full": True}, "kv_iswa", Seen(n_kv=1024, n_kv_swa=1024)),
        ("gptoss.gguf", {"kv_unified": True}, "kv_iswa", Seen(n_kv=1024, n_kv_swa=256)),
        ("mamba.gguf", {}, "recurrent", Seen(n_rs=4, rs_z=0)),
        ("qwen3next.gguf", {"kv_unified": True}, "hybrid", Seen(n_kv=1024, n_rs=4, rs_z=0)),
    ],
)
def test_the_memory_of_a_model(model: str, given: dict[str, bool], kind: str, full: Seen) -> None:
    memory = make_memory(header_of(model), Options(n_ctx=1024, n_ubatch=32, n_seq_max=4, **given))  # type: ignore[arg-type]
    assert (memory.kind, memory.full()) == (kind, full)


@pytest.mark.parametrize(("arch", "reason"), [("bert", "has no memory"), ("deepseek4", "of its own kind")])
def test_models_without_a_memory_that_is_known(arch: str, reason: str) -> None:
    header = parse_header(header_bytes({"general.architecture": arch}, []), arch)
    with pytest.raises(InputError, match=reason):
        make_memory(header, Options(n_ctx=256))


@pytest.mark.parametrize("given", [{"n_ctx": 0}, {"n_ctx": 1 << 40}, {"n_ctx": 256, "n_seq_max": 300}])
def test_sizes_are_checked_before_memory_is_taken(given: dict[str, int]) -> None:
    with pytest.raises(InputError, match="expected 1 to"):
        make_memory(header_of("llama.gguf"), Options(**given))  # type: ignore[arg-type]
