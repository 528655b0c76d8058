"""A session's life as JSON: the record that real llama.cpp's hooks print (`llama-session-expect-1`, without graphs).

Written from the log alone. Addresses stand as lists on each micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..context import (
    OBJECT_SIZE,
    TENSOR_OVERHEAD,
    Pool,
    graph_overhead,
    sched_hash_slots,
    sched_pool_bytes,
)
from ..llama.addresses import Static
from ..replay import replay
from ..state import State
from .life import Life, PlanSeen, Reservation, StepSeen, UbatchSeen, fold
from .log import LifeLog
from .reserve import SAMPLER_NODES
from .reuse import PARAMS, inputs_agree
from .run_facts import RunFacts, plain_name
from .ubatch import Ubatch

SCHEMA = "llama-session-expect-1"
Row = list[Any]


def record(log: LifeLog) -> dict[str, Any]:
    """The record of a session."""
    recorder = _Recorder(log, fold(log))
    return recorder.head() | {"steps": list(recorder.steps())} | recorder.end()


def record_json(log: LifeLog) -> Iterator[bytes]:
    """The record as JSON, a call at a time: with the addresses of each micro-batch it may be larger than memory."""
    recorder, encode = _Recorder(log, fold(log)), msgspec.json.encode
    yield encode(recorder.head())[:-1] + b',"steps":['
    for number, step in enumerate(recorder.steps()):
        yield b"," * bool(number) + encode(step)
    end = encode(recorder.end())[1:-1]
    yield b"]" + (b"," + end if end else b"") + b"}"


class _Recorder:
    """Writes one record."""

    def __init__(self, log: LifeLog, life: Life) -> None:
        self.log, self.life = log, life
        self.setup = log.setup
        self.addresses: dict[int, dict[str, list[Row | None]]] = {}

    def head(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "name": self.log.script.name, "init": self.init()}

    def steps(self) -> Iterator[dict[str, Any]]:
        return map(self.step, self.life.steps)

    def end(self) -> dict[str, Any]:
        return {"abort": self.life.abort} if self.life.abort else {}

    def init(self) -> dict[str, Any]:
        setup, life = self.setup, self.life
        first = life.reservations[0] if life.reservations else None
        last = first.plans[-1].facts if first and first.plans else None
        pipeline = bool(life.conditions) and all(holds for _, holds in life.conditions)
        return {
            "backends": list(setup.backends),
            "bufts": list(setup.bufts),
            "effective": {"n_ctx": setup.options.n_ctx},
            "max_nodes": setup.max_nodes,
            "sched_hash_size": sched_hash_slots(setup.max_nodes),
            "n_copies": first.n_copies if first else 1,
            "pipeline_parallel": pipeline,
            "compute_sizes": list(last.compute_sizes) if last else [],
            "sched_context_buffer": sched_pool_bytes(setup.max_nodes),
            "tensor_overhead": TENSOR_OVERHEAD,
            "graph_overhead": graph_overhead(setup.max_nodes),
            "reserves": [] if first is None else self.reserves(first),
        }

    def reserves(self, reservation: Reservation) -> list[dict[str, Any]]:
        return [self.plan(plan) for plan in reservation.plans]

    def plan(self, plan: PlanSeen) -> dict[str, Any]:
        probe = plan.kind.value == "probe"
        made = {
            "n_tokens": plan.n_tokens,
            "n_seqs": plan.n_seqs,
            "n_outputs": plan.n_outputs,
            "split_only": probe,
            "ok": plan.ok,
            "buffers_moved": bool(plan.facts.buffers_made),
        }
        return made | self.graph(plan.facts, self.max_nodes(plan.shape.samplers))

    def graph(self, facts: RunFacts, max_nodes: int) -> dict[str, Any]:
        """What a reservation and a micro-batch tell alike about their graph."""
        pool = Pool(max_nodes, facts.n_nodes, facts.n_inputs)
        return {
            "n_nodes": facts.n_nodes,
            "n_leafs": facts.n_leafs,
            "n_splits": len(facts.splits),
            "splits": [list(split) for split in facts.splits],
            "sched_nodes": facts.sched_nodes,
            "sched_leafs": facts.sched_leafs,
            "compute_sizes": list(facts.compute_sizes),
            "pool": {
                "graph_size": max_nodes,
                "hash_size": pool.hash_slots,
                "n_nodes": facts.n_nodes,
                "n_leafs": facts.n_leafs,
                "objects": pool.objects,
                "used_bytes": pool.used,
                "graph_obj": [OBJECT_SIZE, graph_overhead(max_nodes) - OBJECT_SIZE, 1],
            },
            "inputs": [list(row) for row in facts.inputs],
        }

    def max_nodes(self, samplers: tuple[tuple[int, int], ...]) -> int:
        return self.setup.max_nodes + SAMPLER_NODES * len(samplers)

    def step(self, step: StepSeen) -> dict[str, Any]:
        life = self.life
        made: dict[str, Any] = {"ubatches": [self.ubatch(one) for one in life.ubatches[slice(*step.ubatches)]]}
        if step.ret is not None:
            made["ret"] = step.ret
        if step.reservations:
            made["reserves"] = [row for at in step.reservations for row in self.reserves(life.reservations[at])]
        if step.refused:
            made["refused"] = step.refused
        return made

    def ubatch(self, one: UbatchSeen) -> dict[str, Any]:
        facts = one.facts
        assert facts is not None
        made = {
            "ubatch": _ubatch(one.ubatch),
            "ok": one.status == 0,
            "reused": one.reused,
            "n_reused": one.n_reused,
            "can_reuse": self.can_reuse(one),
            "slot": int(one.shape.n_outputs > 0),
            "input_classes": list(self.log.runs[one.run].made.input_classes),
            "mem": self.mem(one),
            "n_copies": one.n_copies,
            "cur_copy": one.cur_copy,
            "next_copy": one.next_copy,
            "trace": self.trace(one, facts),
            "buffers_moved": one.moved,
            "addr": self.addr(one.run),
        }
        inputs = [list(row) for row in facts.sched_inputs]
        return made | self.graph(facts, self.max_nodes(one.shape.samplers)) | {"inputs": inputs}

    def can_reuse(self, one: UbatchSeen) -> dict[str, Any] | None:
        if not one.asked:
            return None
        agree = all(check.holds for check in one.checks if check.group == PARAMS)
        inputs = [[name, int(holds)] for name, holds in inputs_agree(one.checks)]
        return {"result": one.reused, "params_ok": agree, "inputs": inputs}

    def mem(self, one: UbatchSeen) -> dict[str, list[int]]:
        """The values that can_reuse, where it came to that, and the build asked for; equal ones in a row once."""
        seen, times = one.seen, int(bool(inputs_agree(one.checks))) + (not one.reused)
        cells = [n for n in (seen.n_kv, seen.n_kv_swa) if n]
        made: dict[str, list[int]] = {}
        if cells:
            made["n_kv"] = _collapsed(cells * times)
        if seen.n_rs:
            made |= {"n_rs": [seen.n_rs], "head": [seen.rs_head], "rs_z": [seen.rs_z]}
        return made

    def trace(self, one: UbatchSeen, facts: RunFacts) -> Row:
        made: Row = [["can_reuse", one.reused]] if one.asked else []
        if one.reused:
            return [*made, "synchronize"] if one.n_copies > 1 else made
        changed = facts.ids_changed
        made += ["reset", ["split", len(facts.splits), {"ids_changed": list(changed) if changed else None}]]
        ok, misfit = one.status != -2, facts.needs_realloc
        if changed:
            made.append(["reserve_n", ok])
        elif misfit is not None:
            row = [*misfit]
            if len(self.setup.backends) == 1:
                inside = [["reserve_n", ok]]
                made.append(["alloc_graph", ok, {"needs_realloc": row, "replanned": True, "inside": inside}])
                return made
            made.append(["alloc_graph", False, {"needs_realloc": row, "replanned": False}])
            made.append(["reserve_n", ok])
        if ok:
            made.append(["alloc_graph", True, {"needs_realloc": None, "replanned": False}])
        return made

    def addr(self, number: int) -> dict[str, list[Row | None]]:
        """[usage:buffer type, offset] of each node and leaf of the allocation graph; null for one without bytes."""
        found = self.addresses.get(number)
        if found is None:
            state = replay(self.log.runs[number].run)
            place = _Places(state, self.setup.static)
            found = self.addresses[number] = {
                "nodes": [place.of(node) for node, _ in state.alloc_nodes],
                "leafs": [place.of(leaf) for leaf, _ in state.alloc_leafs],
            }
        return found


class _Places:
    """Addresses of one run."""

    def __init__(self, state: State, static: Static) -> None:
        self.state, self.static = state, static

    def of(self, tensor: int) -> Row | None:
        one = self.state.tensors[tensor]
        if one.view_src >= 0:
            base = self.of(one.view_src)
            return None if base is None else [base[0], base[1] + one.view_offs]
        place = self.state.places.get(tensor)
        if place is not None:
            return [f"compute:{self.state.buffers[place.buffer].buft.name}", place.offset]
        buft = self.state.bufts[one.buft].name if one.buft >= 0 else ""
        static = self.static.get((plain_name(one.name), buft))
        return None if static is None else list(static)


def _collapsed(values: list[int]) -> list[int]:
    return [value for at, value in enumerate(values) if not at or value != values[at - 1]]


def _ubatch(ubatch: Ubatch) -> dict[str, Any]:
    return {
        "equal_seqs": int(ubatch.equal_seqs),
        "n_tokens": ubatch.n_tokens,
        "n_seq_tokens": ubatch.n_seq_tokens,
        "n_seqs": ubatch.n_seqs,
        "n_seqs_unq": ubatch.n_seqs_unq,
        "token": ubatch.token,
        "embd": ubatch.embd,
        "seq_id_unq": list(ubatch.seq_id_unq),
        "pos": list(ubatch.pos),
        "out": [int(out) for out in ubatch.out],
        "seq": [list(ids) for ids in ubatch.seq],
    }
