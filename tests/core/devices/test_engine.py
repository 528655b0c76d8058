"""Backends that follow a profile: in graph JSON, in the scheduler's answers and in the plan's sizes."""

import json
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from galloscope.core.check.checker import check
from galloscope.core.devices.cuda import CUDA
from galloscope.core.devices.known import DEVICES
from galloscope.core.errors import InputError
from galloscope.core.events import Decline, Refuse
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.files.graph_write import dump_graph
from galloscope.core.graph import BufferType, Problem
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.tests import strategies
from galloscope.tests.core.engine import run_engine

CUDA_AND_CPU: list[dict[str, Any]] = [{"name": "CUDA0", "profile": "cuda"}, {"name": "CPU", "profile": "cpu"}]


def attention(kv: str, backends: list[dict[str, Any]], **sched: Any) -> dict[str, Any]:
    """One attention over a cache on the first device: head size 256, 8 heads over 4 KV heads."""
    first = backends[0].get("buft") or backends[0]["name"]
    tensors: list[dict[str, Any]] = [
        {"name": "inp", "ne": [2048, 64], "flags": ["input"]},
        {"name": "wq", "type": "q4_K", "ne": [2048, 2048], "weight_of": first},
        {"name": "mask", "type": "f16", "ne": [512, 64], "flags": ["input"]},
        {"name": "Qcur", "op": "MUL_MAT", "src": ["wq", "inp"], "ne": [2048, 64]},
        {"name": "Q3", "op": "RESHAPE", "src": ["Qcur"], "ne": [256, 8, 64]},
        {"name": "q", "op": "PERMUTE", "src": ["Q3"], "op_params": [0, 2, 1, 3]},
        {"name": "o", "op": "FLASH_ATTN_EXT", "src": ["q", "k", "v", "mask"], "ne": [256, 8, 64]},
        {"name": "flat", "op": "RESHAPE", "src": ["o"], "ne": [2048, 64]},
        {"name": "out", "op": "MUL_MAT", "src": ["wq", "flat"], "ne": [2048, 64], "flags": ["output"]},
    ]
    for name in "kv":
        tensors += [
            {"name": f"cache_{name}", "type": kv, "ne": [256, 512, 4], "alloc_in": first},
            {"name": name, "op": "VIEW", "src": [f"cache_{name}"]},
        ]
    return {"backends": backends, "tensors": tensors, "outputs": ["out"], "sched": {"compute": False, **sched}}


def solve(document: dict[str, Any]) -> tuple[Problem, State]:
    problem = parse_graph(json.dumps(document).encode())
    run = trace(problem).runs[-1]
    state = replay(run)
    assert state.abort is None
    assert check(state) == []
    return problem, state


def at(state: State, name: str) -> int:
    return state.names.index(name)


def test_attention_that_the_gpu_can_run_stays_there() -> None:
    _, state = solve(attention("q8_0", CUDA_AND_CPU))
    assert [split.backend for split in state.splits] == [0]
    assert not state.refused


def test_attention_that_the_gpu_refuses_runs_on_the_cpu_with_the_reason() -> None:
    _, state = solve(attention("iq4_nl", CUDA_AND_CPU))
    assert [split.backend for split in state.splits] == [0, 1, 0]
    assert state.refused[at(state, "o"), 0] == (
        "CUDA0 refuses FLASH_ATTN_EXT: head size 256 with K iq4_nl is not in the kernel table"
    )


def test_older_builds_by_a_limit() -> None:
    old: list[dict[str, Any]] = [{**CUDA_AND_CPU[0], "limits": {"fa_convert": 0}}, CUDA_AND_CPU[1]]
    assert len(solve(attention("q5_1", old))[1].splits) == 3
    assert len(solve(attention("q5_1", CUDA_AND_CPU))[1].splits) == 1


def test_the_plan_has_room_for_the_converted_cache() -> None:
    _, state = solve(attention("q8_0", CUDA_AND_CPU))
    out = state.lifetimes[at(state, "o")]
    assert out.size == 256 * 8 * 64 * 4 + 2 * (2 * 256 * 512 * 4)
    _, plain = solve(attention("f16", CUDA_AND_CPU))
    assert plain.lifetimes[at(plain, "o")].size == 256 * 8 * 64 * 4


def test_declared_refusals_come_on_top() -> None:
    picky = [{**CUDA_AND_CPU[0], "types_except": ["q8_0"]}, CUDA_AND_CPU[1]]
    _, state = solve(attention("q8_0", picky))
    assert state.refused[at(state, "o"), 0] == "CUDA0 does not support type q8_0 (source k)"


def offloaded(rows: int, backend: dict[str, Any]) -> State:
    tensors = [
        {"name": "x", "ne": [256, rows], "flags": ["input"]},
        {"name": "w", "type": "q4_0", "ne": [256, 128], "weight_of": "CPU"},
        {"name": "y", "op": "MUL_MAT", "src": ["w", "x"], "ne": [128, rows], "flags": ["output"]},
    ]
    backends = [backend, {"name": "CPU", "profile": "cpu"}]
    return solve({"backends": backends, "tensors": tensors, "outputs": ["y"], "sched": {"compute": False}})[1]


def test_offload_by_the_profile() -> None:
    gpu = {"name": "CUDA0", "profile": "cuda"}
    assert offloaded(32, gpu).splits[0].backend == 0
    few = offloaded(31, gpu)
    assert few.splits[0].backend == 1
    assert few.declined[at(few, "y"), 0] == (
        "CUDA0 does not take over MUL_MAT: a batch of 31 is below the offload minimum of 32"
    )
    assert offloaded(31, {**gpu, "offload_min_batch": 8}).splits[0].backend == 0
    assert offloaded(512, {**gpu, "offload": []}).splits[0].backend == 1


def test_another_gpus_weight_is_refused() -> None:
    two = [{"name": f"CUDA{i}", "profile": "cuda"} for i in (0, 1)] + [{"name": "CPU", "profile": "cpu"}]
    tensors = [
        {"name": "x", "ne": [64, 4], "flags": ["input"], "pin": "CUDA0"},
        {"name": "a", "op": "SCALE", "src": ["x"], "pin": "CUDA0"},
        {"name": "w", "ne": [64], "alloc_in": "CUDA1"},
        {"name": "y", "op": "ADD", "src": ["a", "w"], "flags": ["output"]},
    ]
    _, state = solve({"backends": two, "tensors": tensors, "outputs": ["y"], "sched": {"compute": False}})
    assert state.refused[at(state, "y"), 0] == (
        "CUDA0 refuses ADD: source 1 lies in CUDA1, the memory of another CUDA device"
    )


def test_what_a_profile_fills_in() -> None:
    document = attention("f16", CUDA_AND_CPU)
    document["bufts"] = [{"name": "CUDA_Host", "host": True}, {"name": "CPU_REPACK"}]
    problem = parse_graph(json.dumps(document).encode())
    gpu, cpu = problem.backends
    names = [buft.name for buft in problem.bufts]
    own = problem.bufts[gpu.buft]
    assert own == BufferType.of(CUDA, "CUDA0")
    assert (own.align, own.pad_quant, own.host, own.max_size) == (128, 512, False, None)
    assert (gpu.type, gpu.is_async, gpu.has_events, cpu.is_async) == ("gpu", True, True, False)
    assert [names[i] for i in sorted(gpu.supports_buft)] == ["CUDA0"]
    assert [names[i] for i in sorted(cpu.supports_buft)] == ["CUDA_Host", "CPU_REPACK", "CPU"]
    assert parse_graph(dump_graph(problem)) == problem


def test_blas_lies_in_the_cpus_memory() -> None:
    backends = [{"name": "BLAS", "profile": "blas"}, {"name": "CPU", "profile": "cpu"}]
    problem = parse_graph(json.dumps(attention("f16", [{**backends[0], "buft": "CPU"}, backends[1]])).encode())
    assert [buft.name for buft in problem.bufts] == ["CPU"]
    assert [backend.type for backend in problem.backends] == ["accel", "cpu"]


def test_explicit_keys_override_the_profile() -> None:
    own = {"align": 64, "max_size": 1 << 20, "pad_quant": 0, "async": False, "events": False, "type": "igpu"}
    backends: list[dict[str, Any]] = [{**CUDA_AND_CPU[0], "limits": {"cc": 610}, **own}, CUDA_AND_CPU[1]]
    problem = parse_graph(json.dumps(attention("f16", backends)).encode())
    gpu, buft = problem.backends[0], problem.bufts[0]
    assert (buft.align, buft.max_size, buft.pad_quant) == (64, 1 << 20, 0)
    assert (gpu.type, gpu.is_async, gpu.has_events) == ("igpu", False, False)
    assert gpu.limits == buft.limits == {"align": 64, "max_size": 1 << 20, "pad_quant": 0, "cc": 610}
    assert gpu.device.named["cc"] == 610
    assert parse_graph(dump_graph(problem)) == problem


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"profile": "cdua"}, "backends: 'CUDA0': 'cdua' is not a device (did you mean 'cuda'?)"),
        ({"limits": {"cc": 750}}, "backends: 'CUDA0': limits belong to a profile"),
        ({"profile": "cuda", "limits": {"ccc": 1}}, "'ccc' is not a limit of it (did you mean 'cc'?)"),
        ({"profile": "cuda", "align": 100}, "align=100 is not a power of two up to 2^30"),
        ({"profile": "cuda", "align": 0}, "align=0 is not a power of two up to 2^30"),
        ({"profile": "cuda", "max_size": -1}, "max_size=-1 is not between 0 and 2^53"),
        ({"profile": "cuda", "limits": {"cc": "x"}}, "backends"),
        ({"profile": "metal", "offload_min_batch": 1 << 60}, "offload_min_batch=1152921504606846976 is not between"),
        ({"profile": "cpu", "offload_min_batch": 4}, "'offload_min_batch' is not a limit of it"),
        ({"profile": ["cuda"]}, "backends"),
    ],
)
def test_bad_profiles(keys: dict[str, Any], says: str) -> None:
    document = attention("f16", [{"name": "CUDA0", **keys}, {"name": "CPU"}])
    with pytest.raises(InputError) as error:
        parse_graph(json.dumps(document).encode())
    assert says in str(error.value)


def test_an_op_without_its_source_is_refused_not_a_crash() -> None:
    document = attention("f16", CUDA_AND_CPU)
    for tensor in document["tensors"]:
        if tensor["name"] == "o":
            tensor["src"] = ["q"]
    _, state = solve(document)
    assert state.refused[at(state, "o"), 0] == "CUDA0 refuses FLASH_ATTN_EXT: its source 1 is missing"


def test_an_op_pinned_without_its_source_ends_like_the_process_would() -> None:
    document = attention("f16", CUDA_AND_CPU)
    for tensor in document["tensors"]:
        if tensor["name"] == "o":
            tensor.update(src=["q"], pin="CUDA0")
    run = trace(parse_graph(json.dumps(document).encode())).runs[-1]
    assert run.abort == "CUDA0 reads through a null pointer: FLASH_ATTN_EXT: its source 1 is missing"


@given(strategies.graphs(), st.data())
def test_any_graph_on_any_profiles(document: strategies.Document, data: st.DataObject) -> None:
    for backend in document.get("backends") or ():
        if data.draw(st.booleans()):
            backend["profile"] = data.draw(st.sampled_from(sorted(DEVICES)))
            backend.pop("offload_min_batch", None)
    try:
        problem = parse_graph(json.dumps(document).encode())
    except InputError as error:
        event(f"input error: {error}"[:60])
        return
    assert parse_graph(dump_graph(problem)) == problem
    for ended in run_engine(problem):
        state = replay(ended.run)
        assert [tuple(src) for src in ended.columns.src] == state.src
        for one in ended.run.events:
            if isinstance(one, (Refuse, Decline)):
                assert problem.backends[one.backend].name in one.reason
