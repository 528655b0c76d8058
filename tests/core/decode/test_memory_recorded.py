"""Batches, splits and memories against every recorded session: what each micro-batch is and what its graph sees."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from galloscope.core.decode.batch import Batch
from galloscope.core.decode.memory.kv_cache import KvCache, Slot
from galloscope.core.decode.memory.make import make_memory
from galloscope.core.decode.memory.memory import Memory, Seen
from galloscope.core.decode.positions import batch_of, check_batch
from galloscope.core.decode.script import Script, Step
from galloscope.core.decode.ubatch import Ubatch
from galloscope.core.llama.choices import choose
from galloscope.core.llama.facts import cache_facts
from galloscope.core.llama.options import FlashAttn, Options
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.recordings import NAMES, recording, script_of

SEARCH = re.compile(r"find_slot: stream\[(\d+)\], n = +(\d+), used = +(\d+), head = +(\d+), size = +(\d+)")


def options_of(script: Script) -> Options:
    """The options as llama.cpp uses them."""
    given = script.context
    options = Options(
        n_ctx=given.n_ctx,
        n_batch=given.n_batch if given.n_batch is not None else given.n_ubatch,
        n_ubatch=given.n_ubatch,
        n_seq_max=given.n_seq_max,
        kv_unified=given.kv_unified,
        swa_full=given.swa_full,
        flash_attn=FlashAttn(given.flash_attn),
    )
    return choose(options, cache_facts(header_of(script.model))).options


class Player:
    """Plays the steps of a script on a memory, as llama_decode does but without graphs."""

    def __init__(self, script: Script) -> None:
        self.options = options_of(script)
        self.memory: Memory = make_memory(header_of(script.model), self.options)
        self.embeddings = script.context.embeddings

    def play(self, step: Step) -> tuple[int | bool | None, list[tuple[Ubatch, Seen]]]:
        """What the call returns, and its micro-batches."""
        if step.kind == "decode":
            return self.decode(batch_of(step, self.memory, self.embeddings))
        if step.seq_rm:
            return self.memory.seq_rm(*step.seq_rm), []
        if step.seq_cp:
            self.memory.seq_cp(*step.seq_cp)
        if step.seq_add:
            self.memory.seq_add(*step.seq_add)
        if step.clear:
            self.memory.clear()
        if step.set_embeddings is not None:
            self.embeddings = step.set_embeddings
        return None, []

    def decode(self, batch: Batch) -> tuple[int, list[tuple[Ubatch, Seen]]]:
        if check_batch(batch, self.memory, self.options.n_seq_max):
            return -1, []
        self.memory.update()
        plan = self.memory.init_batch(batch, self.options.n_ubatch, self.embeddings)
        if isinstance(plan, str):
            return 1, []
        return 0, [(u, self.memory.apply(u, slot)) for u, slot in zip(plan.ubatches, plan.slots, strict=True)]


def calls(script: Script) -> Iterator[Step]:
    return (step for step in script.steps for _ in range(step.repeat))


def written(ubatch: Ubatch) -> dict[str, Any]:
    """A micro-batch as it is recorded."""
    record: dict[str, Any] = msgspec.to_builtins(ubatch)
    return record | {
        "equal_seqs": int(ubatch.equal_seqs),
        "n_tokens": ubatch.n_tokens,
        "n_seqs_unq": ubatch.n_seqs_unq,
        "out": [int(out) for out in ubatch.out],
        "seq": [list(seqs) for seqs in ubatch.seq],
        "seq_id_unq": list(ubatch.seq_id_unq),
        "pos": list(ubatch.pos),
    }


def collapsed(values: list[int]) -> list[int]:
    return [value for i, value in enumerate(values) if i == 0 or value != values[i - 1]]


def asked(seen: Seen, inputs_compared: bool, rebuilt: bool) -> dict[str, list[int]]:
    """Values as they were asked of the memory: when inputs are compared, and when the graph is built."""
    times = int(inputs_compared) + int(rebuilt)
    found: dict[str, list[int]] = {}
    if seen.n_kv:
        found["n_kv"] = collapsed([n for n in (seen.n_kv, seen.n_kv_swa) if n] * times)
    if seen.n_rs:
        found |= {"n_rs": [seen.n_rs], "head": [seen.rs_head], "rs_z": [seen.rs_z]}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_micro_batches_and_what_they_see(name: str) -> None:
    script, record = script_of(name), recording(name)
    player = Player(script)
    steps = list(calls(script))
    assert len(steps) == len(record["steps"])
    for step, want in zip(steps, record["steps"], strict=True):
        ret, got = player.play(step)
        if step.decode or step.seq_rm:
            assert ret == want["ret"], step
        assert len(got) == len(want["ubatches"]), step
        for (ubatch, seen), recorded in zip(got, want["ubatches"], strict=True):
            assert written(ubatch) == recorded["ubatch"]
            compared = recorded["can_reuse"] is not None and bool(recorded["can_reuse"]["inputs"])
            assert asked(seen, compared, not recorded["reused"]) == recorded["mem"]


@pytest.mark.parametrize("name", NAMES)
def test_cells_before_each_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """llama.cpp logs the stream, its last used cell, its used cells and its head whenever it looks for cells."""
    searches: list[tuple[int, ...]] = []
    find = KvCache._find

    def watched(self: KvCache, ubatch: Ubatch) -> Slot | None:
        for seq in ubatch.seq_id_unq:
            stream = seq if self.n_stream > 1 else 0
            cells = self._streams[stream]
            searches.append((stream, cells.top, cells.used, cells.head, cells.size))
        return find(self, ubatch)

    monkeypatch.setattr(KvCache, "_find", watched)
    player = Player(script_of(name))
    for step, want in zip(calls(script_of(name)), recording(name)["steps"], strict=True):
        searches.clear()
        player.play(step)
        logged = [SEARCH.match(line) for line in want.get("log", [])]
        assert searches == [tuple(map(int, found.groups())) for found in logged if found]
