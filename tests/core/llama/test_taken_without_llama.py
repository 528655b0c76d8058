"""A model opened by our own builder: pins, pipeline parallelism, automatic flash attention, memory, totals."""

import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import Given, header_bytes
from galloscope.core.llama.assemble import take
from galloscope.core.llama.backends import pipeline_conditions
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode, Options, Override, SplitMode
from galloscope.core.llama.placement import place_weights
from galloscope.core.llama.taken import Taken
from galloscope.core.llama.totals import Total, breakdown, totals
from galloscope.core.models.made_up import MadeUp, made_up_header
from galloscope.core.replay import replay
from galloscope.core.session import trace

BOTH = (GraphMode.PREFILL, GraphMode.DECODE)
ONE, TWO = (DeviceSpec("cuda"),), (DeviceSpec("cuda"), DeviceSpec("cuda"))
MODEL = made_up_header(MadeUp(n_layer=4, head_size=64, n_embd=256, n_ff=256))


def taken(**given: object) -> Taken:
    return take(MODEL, Options(**given), BOTH)  # type: ignore[arg-type]


def pinned(one: Taken, mode: int) -> dict[str, str]:
    problem = one.graphs[mode].problem
    return {
        tensor.name: problem.backends[tensor.pin].name
        for tensor in problem.requests[0].graph.tensors
        if tensor.pin >= 0
    }


def test_norms_are_pinned_with_few_tokens_or_everything_offloaded() -> None:
    partly = taken(devices=ONE, n_gpu_layers=2)
    assert pinned(partly, 0) == {}
    decode = pinned(partly, 1)
    assert decode["norm-0"] == decode["norm-2~2"] == "CPU"
    assert decode["norm-3"] == "CUDA0"
    assert len(decode) == 8, "two per layer; the output's norm belongs to no layer"
    assert set(pinned(taken(devices=TWO), 0).values()) == {"CUDA0", "CUDA1"}
    assert len(pinned(taken(n_ubatch=16, devices=ONE, n_gpu_layers=1), 0)) == 8


def test_attention_without_offloaded_cache_is_pinned_to_the_cpu() -> None:
    found = pinned(taken(devices=ONE, offload_kqv=False, flash_attn=FlashAttn.OFF), 0)
    assert {name for name, backend in found.items() if backend == "CPU"} >= {f"kqv_out-{il}" for il in range(4)}


@pytest.mark.parametrize(
    ("given", "broken"),
    [
        ({}, ""),
        ({"devices": ONE}, "more than one GPU"),
        ({"n_gpu_layers": 4}, "all layers and the output"),
        ({"split_mode": SplitMode.NONE}, "the split mode is layer"),
        ({"offload_kqv": False}, "the KV cache is offloaded"),
        ({"overrides": (Override("nothing", "CPU"),)}, "no tensor is moved"),
        ({"devices": (*TWO, DeviceSpec("blas"))}, "has events (not so: BLAS)"),
    ],
)
def test_conditions_of_pipeline_parallelism(given: dict[str, object], broken: str) -> None:
    options = Options(**{"devices": TWO, **given})  # type: ignore[arg-type]
    conditions = pipeline_conditions(place_weights(MODEL, options), options)
    fails = [what for what, holds in conditions if not holds]
    if not broken:
        assert fails == []
    else:
        assert any(broken in what for what in fails)
    copies = take(MODEL, options, BOTH).graphs[0].problem.config.n_copies
    assert copies == (1 if broken else 4)


def test_automatic_flash_attention() -> None:
    fits = taken(devices=ONE)
    assert fits.options.flash_attn is FlashAttn.ON
    assert "flash attention is on: the op runs on the device of its layer in every layer" in fits.notes
    assert taken(devices=ONE, offload_kqv=False).options.flash_attn is FlashAttn.ON, "the op still runs with its layer"
    small = take(made_up_header(MadeUp(head_size=16)), Options(devices=ONE), BOTH)
    assert small.options.flash_attn is FlashAttn.OFF
    (why,) = [note for note in small.notes if "flash" in note]
    assert why.startswith(
        "flash attention is off: layer 0 is assigned to device CUDA0, but the op to CPU (CUDA0 refuses"
    )
    assert "head size 16" in why


def test_flash_attention_that_turned_off_leaves_the_cache_as_it_was() -> None:
    """The cache is made before the look at the graph: V is not transposed, and an extra CONT per layer does it."""
    small = made_up_header(MadeUp(head_size=16))
    auto, off = (
        take(small, Options(devices=ONE, flash_attn=flash), BOTH[:1]).graphs[0].problem.requests[0].graph
        for flash in (FlashAttn.AUTO, FlashAttn.OFF)
    )
    assert any(tensor.name.startswith("v_cont") for tensor in auto.tensors)
    assert not any(tensor.name.startswith("v_cont") for tensor in off.tensors)


def test_memory_counts_every_buffer_once() -> None:
    found = taken(devices=ONE, n_gpu_layers=2, n_seq_max=2)
    rows = {row.buft: row for row in found.memory}
    assert set(rows) == {"CUDA0", "CUDA_Host", "CPU"}
    assert [row.device for row in found.memory] == ["CUDA0", "CPU", "CPU"]
    assert rows["CUDA_Host"].output == 2 * 256 * 4
    assert rows["CPU"].weights == 0
    assert rows["CPU"].kv == 3 * rows["CUDA0"].kv > 0
    assert sum(row.weights for row in rows.values()) >= sum(tensor.nbytes for tensor in MODEL.tensors)


def test_totals_per_device() -> None:
    found = taken(devices=(DeviceSpec("cuda", 1 << 20), DeviceSpec("cuda", 1 << 20)))
    states = [replay(trace(graph.problem).runs[0]) for graph in found.graphs]
    rows = totals(found, states)
    assert [(row.name, row.kind) for row in rows] == [("CUDA0", "device"), ("CUDA1", "device"), ("Host", "host")]
    first, _, host = rows
    sizes = [sum(buffer.chunks) for buffer in states[0].buffers]
    assert first.compute >= sizes[0] > 0
    assert first.total == first.weights + first.kv + first.compute
    assert first.free == (1 << 20) - first.total
    assert first.free < 0, "it does not fit"
    assert host.compute >= sizes[-1]
    assert host.free == host.memory - host.total - host.output  # type: ignore[operator]
    assert rows[0].as_json()["total"] == first.total
    with pytest.raises(InputError, match="is not a device"):
        totals(take(MODEL, Options(devices=(DeviceSpec("cudo"),)), BOTH), [])


def test_the_breakdown_is_laid_out_as_llama_cpp_prints_it() -> None:
    """The table in llama.cpp's tools/fit-params/README.md, with nothing unaccounted for."""
    mib = 1 << 20
    rows = [
        Total("CUDA0", "device", "RTX 4090", 24077 * mib, 17904 * mib, 384 * mib, 0, 898 * mib + 1000),
        Total("Host", "host", "CPU", 64 << 30, 58259 * mib, 0, 0, 12 * mib, 1000),
        Total("CPU_REPACK", "buffer_type", "CPU_REPACK", None, 7 * mib),
    ]
    assert breakdown(rows) == (
        "| memory breakdown [MiB] | total   free     self   model   context   compute    unaccounted |\n"
        "|   - CUDA0 (RTX 4090)   | 24077 = 4890 + (19186 = 17904 +     384 +     898) +           0 |\n"
        "|   - Host               |                 58271 = 58259 +       0 +      12                |\n"
        "|   - CPU_REPACK         |                     7 =     7 +       0 +       0                |"
    )


def test_an_architecture_without_a_builder() -> None:
    metadata: dict[str, Given] = {"general.architecture": "bloom", "bloom.block_count": 2}
    other = parse_header(header_bytes(metadata, [("token_embd.weight", DTYPES["f16"], (64, 10))]), "bloom")
    with pytest.raises(InputError, match="has no builder"):
        take(other, Options(), BOTH)
