"""Every recorded session, played: decisions and plans are those of the real llama.cpp, addresses included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from galloscope.core.decode.record import record
from galloscope.core.decode.session import play
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.recordings import NAMES, recording, script_of

INIT = (
    "backends", "bufts", "effective", "max_nodes", "sched_hash_size", "n_copies", "pipeline_parallel", "compute_sizes",
    "sched_context_buffer", "tensor_overhead", "graph_overhead",
)  # fmt: skip
RESERVE = (
    "n_tokens", "n_seqs", "n_outputs", "split_only", "ok", "n_nodes", "n_leafs", "splits", "sched_nodes", "sched_leafs",
    "pool", "compute_sizes", "inputs",
)  # fmt: skip
UBATCH = (
    "ubatch", "ok", "reused", "n_reused", "can_reuse", "slot", "input_classes", "mem", "n_copies", "cur_copy",
    "next_copy", "trace", "splits", "sched_nodes", "sched_leafs", "pool", "compute_sizes", "inputs",
)  # fmt: skip


WORDS = ("reserve_n", "inside", "synchronize", '["node"', '["n_nodes"')
"""In a trace."""


def differences(got: Any, wanted: Any, where: str) -> Iterator[str]:
    """Where a value is not the recorded one."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            yield from differences(got.get(key), value, f"{where}.{key}")
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for at, (one, other) in enumerate(zip(got, wanted, strict=True)):
            yield from differences(one, other, f"{where}[{at}]")
    elif got != wanted or type(got) is not type(wanted):
        yield f"{where}: {got} is not {wanted}"


def picked(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: row[key] for key in keys if key in row}


@pytest.mark.parametrize("name", NAMES)
def test_the_session_goes_as_recorded(name: str) -> None:
    wanted = recording(name)
    script = script_of(name)
    got = json.loads(json.dumps(record(play(script, header_of(script.model)))))
    assert "abort" not in got
    found = list(differences(got["init"], picked(wanted["init"], INIT), "init"))
    reserves = [picked(row, RESERVE) for row in wanted["init"]["reserves"]]
    found += differences(got["init"]["reserves"], reserves, "init.reserves")
    assert len(got["steps"]) == len(wanted["steps"]) > 0
    before = wanted["init"]["compute_sizes"]
    for at, (made, step) in enumerate(zip(got["steps"], wanted["steps"], strict=True)):
        where = f"steps[{at}]"
        found += differences(made.get("ret"), step.get("ret"), f"{where}.ret")
        if "reserves" in step:
            rows = [picked(row, RESERVE) for row in step["reserves"]]
            found += differences(made["reserves"], rows, f"{where}.reserves")
        assert len(made["ubatches"]) == len(step["ubatches"])
        for number, (one, row) in enumerate(zip(made["ubatches"], step["ubatches"], strict=True)):
            here = f"{where}.ubatches[{number}]"
            found += differences(one, picked(row, UBATCH), here)
            found += differences(one["addr"], wanted["address_sets"][row["addr"]], f"{here}.addr")
            # Recorded is whether the base address changed. A buffer that is made anew because it grew may by chance
            # come to lie where the old one was.
            grew = row["compute_sizes"] != before
            assert one["buffers_moved"] == (row["buffers_moved"] or grew), here
            before = row["compute_sizes"]
    assert not found, found[:5]


def test_the_recordings_show_what_they_are_kept_for() -> None:
    """Each mechanism is in at least one of them, so that the test above is not empty."""
    seen = set()
    for name in NAMES:
        for step in recording(name)["steps"]:
            seen |= {f"ret {step.get('ret')}"} | ({"reserve"} if step.get("reserves") else set())
            for one in step["ubatches"]:
                words = json.dumps(one["trace"])
                seen |= {
                    word for word in ("reserve_n", "inside", "synchronize", '["node"', '["n_nodes"') if word in words
                }
                seen |= {f"copy {one['cur_copy']}", f"reused {one['reused']}", f"moved {one['buffers_moved']}"}
    assert {"ret -1", "ret 0", "reserve", "reserve_n", "inside", "synchronize", "copy 3", "reused True"} <= seen
    assert {"moved True", '["n_nodes"', '["node"'} <= seen
