"""Where weights and caches lie inside their buffers: as recorded, and never two in one place."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.decode.script import ContextGiven, DeviceGiven, ModelGiven, Script
from galloscope.core.decode.script_options import script_options
from galloscope.core.decode.setup import make_setup
from galloscope.core.llama.addresses import static_addresses, static_buffers
from galloscope.core.llama.caches import Cache, caches
from galloscope.core.llama.choices import choose
from galloscope.core.llama.facts import cache_facts
from galloscope.core.llama.options import DeviceSpec, Options
from galloscope.core.llama.placement import Placement, place_weights
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.recordings import NAMES, recording, script_of, ubatches
from galloscope.tests.corpora import GOLDEN

MODELS = [
    *("llama", "llama_4l", "llama_q4_tied", "llama_q8", "llama_ropefreqs", "mixtral", "qwen2", "qwen3", "qwen3moe"),
    *("gemma3", "phi3", "mamba", "deepseek2", "gptoss", "qwen3next"),
]


PROBED: list[dict[str, Any]] = json.loads((GOLDEN / "addresses.json").read_text(encoding="utf-8"))
"""Leafs of reserved graphs of the real llama.cpp b11549 on made-up GPUs, weights read: (name, buffer type, offset)."""


@pytest.mark.parametrize("name", NAMES)
def test_weights_and_caches_lie_where_llama_cpp_put_them(name: str) -> None:
    script, record = script_of(name), recording(name)
    static = make_setup(script, header_of(script.model))[0].static
    told = {(one["graph"], one["addr"]) for one in ubatches(name) if one.get("addr") is not None}
    found = {
        (leaf[1], address[0].partition(":")[2]): (address[0], address[1])
        for graph, addresses in told
        for leaf, address in zip(
            record["graphs"][graph]["leafs"], record["address_sets"][addresses]["leafs"], strict=True
        )
        if address and not address[0].startswith("compute")
    }
    assert found
    assert {key: static.get(key) for key in found} == found


@pytest.mark.parametrize("case", PROBED, ids=lambda case: f"{case['model']}-{case['gpus']}")
def test_other_models_lie_as_llama_cpp_b11549_laid_them(case: dict[str, Any]) -> None:
    script = Script(
        context=ContextGiven(
            n_ctx=case["n_ctx"],
            n_ubatch=case["n_ubatch"],
            n_seq_max=case["n_seq_max"],
            swa_full=case["swa_full"],
        ),
    )
    options = msgspec.structs.replace(
        script_options(script, (DeviceSpec("gpu"),) * case["gpus"]), n_gpu_layers=case["n_gpu_layers"]
    )
    placement, kept, windowed = loaded(case["model"].removesuffix(".gguf"), options)
    static = static_addresses(static_buffers(header_of(case["model"]).architecture, placement, kept, windowed))
    told = {(name, buft): offset for name, buft, offset in case["leafs"]}
    assert {key: static[key][1] for key in told} == told


def loaded(model: str, options: Options) -> tuple[Placement, list[Cache], tuple[bool, ...]]:
    header = header_of(f"{model}.gguf")
    facts = cache_facts(header)
    chosen = choose(options, facts)
    placement = place_weights(header, chosen.options)
    return placement, caches(facts, chosen, placement.machine, placement.layers), facts.windowed


@given(
    st.sampled_from(MODELS),
    st.integers(0, 3),
    st.integers(0, 6),
    st.sampled_from([0, 1 << 14, 1 << 17]),
    st.sampled_from([32, 128, 1024]),
    st.integers(1, 3),
)
def test_nothing_overlaps(model: str, gpus: int, layers: int, max_size: int, align: int, n_seqs: int) -> None:
    spec = DeviceSpec("gpu", limits={"max_size": max_size, "align": align})
    options = Options(devices=(spec,) * gpus, n_gpu_layers=layers, n_ctx=768, n_ubatch=32, n_seq_max=n_seqs)
    placement, kept, windowed = loaded(model, options)
    arch = header_of(f"{model}.gguf").architecture
    buffers = static_buffers(arch, placement, kept, windowed)
    static = static_addresses(buffers)
    sizes = {(one.tensor.name, one.buft): one.size for one in placement.weights if one.place and one.size}
    sizes.update({(one.name, one.place.name): one.size for one in kept})
    assert static.keys() == sizes.keys()
    assert sum(len(one.members) for one in buffers) == len(sizes)
    caches_of = {one.name: (one.recurrent, not one.recurrent and windowed[one.layer]) for one in kept}
    for one in buffers:
        ends = [offset + sizes[name, one.buft] for name, offset in one.members]
        assert all(end <= offset for end, (_, offset) in zip(ends, one.members[1:], strict=False))
        assert ends[-1] <= one.size
        kinds = {caches_of.get(name) for name, _ in one.members}
        assert len(kinds) == 1, "weights, caches and states have buffers of their own"
        assert one.usage == ("weights" if kinds == {None} else "any")
        if one.buft.startswith("GPU") and one.buft != "GPU_Host":
            assert all(offset % align == 0 for _, offset in one.members)
            assert not max_size or one.size <= max_size or len(one.members) == 1
        else:
            assert one.size - ends[-1] < 32, "nothing is cut where there is no largest size"
    whole = [one for one in buffers if not one.buft.startswith("GPU") or one.buft == "GPU_Host"]
    assert len({(one.buft, caches_of.get(one.members[0][0])) for one in whole}) == len(whole)


def test_a_largest_buffer_begins_again_at_0() -> None:
    devices = (DeviceGiven(name="GPU0", max_size=40_000),)
    script = Script(model="llama.gguf", devices=devices, context=ContextGiven())
    static = make_setup(script, header_of("llama.gguf"))[0].static
    order = ["output_norm.weight", "output.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight"]
    assert [static[name, "GPU0"][1] for name in order] == [0, 256, 33024, 0]


def test_the_order_is_llama_cpps_and_not_that_of_the_file() -> None:
    header = header_of("llama.gguf")
    turned = msgspec.structs.replace(header, tensors=header.tensors[::-1])
    script = script_of("llama-basic")
    assert make_setup(script, turned)[0].static == make_setup(script, header)[0].static


def test_tied_embeddings_lie_a_second_time_where_the_output_would() -> None:
    devices = (DeviceGiven(name="GPU0"),)
    script = Script(model="gemma3.gguf", devices=devices, model_params=ModelGiven(n_gpu_layers=99))
    static = make_setup(script, header_of("gemma3.gguf"))[0].static
    assert static["token_embd.weight", "GPU_Host"] == ("weights:GPU_Host", 0)
    assert static["token_embd.weight", "GPU0"] == ("weights:GPU0", static["output_norm.weight", "GPU0"][1] + 256)
