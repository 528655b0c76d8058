"""What llama.cpp makes of a script: the `init` of every recording, and sentences for what cannot be."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.context import sched_hash_slots, sched_pool_bytes
from galloscope.core.decode.native_graphs import NativeGraphs
from galloscope.core.decode.script import ContextGiven, DeviceGiven, ModelGiven, Script
from galloscope.core.decode.setup import Setup, make_setup
from galloscope.core.errors import InputError
from galloscope.core.native.capture import available
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.recordings import NAMES, recording, script_of

TWO = (DeviceGiven(name="GPU0"), DeviceGiven(name="GPU1"))


def script(
    model: str = "llama_4l.gguf",
    devices: tuple[DeviceGiven, ...] = (),
    model_params: ModelGiven | None = None,
    **context: Any,
) -> Script:
    return Script(
        model=model, devices=devices, model_params=model_params or ModelGiven(), context=ContextGiven(**context)
    )


def made(of: Script) -> Setup:
    return make_setup(of, header_of(of.model))[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_context_is_that_of_the_recording(name: str) -> None:
    init, setup = recording(name)["init"], made(script_of(name))
    assert list(setup.backends) == init["backends"]
    assert list(setup.bufts) == init["bufts"]
    assert setup.options.n_ctx == init["effective"]["n_ctx"]
    assert setup.max_nodes == init["max_nodes"]
    assert sched_hash_slots(setup.max_nodes) == init["sched_hash_size"]
    assert setup.problem.config.n_copies == init["n_copies"]
    assert all(holds for _, holds in setup.conditions) == init["pipeline_parallel"]
    flash = any(op == "FLASH_ATTN_EXT" for graph in recording(name)["graphs"] for op, *_ in graph["nodes"])
    assert setup.flash == flash
    assert setup.flash_auto == (script_of(name).context.flash_attn == "auto")


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("gpu1-llama", 0),
        ("gpu2-ngl4", 1),
        ("gpu2-nokqv", 3),
        ("gpu2-override", 4),
        ("gpu2-noasync", 5),
    ],
)
def test_the_condition_that_turns_pipeline_parallelism_off(name: str, failed: int) -> None:
    assert [number for number, (_, holds) in enumerate(made(script_of(name)).conditions) if not holds] == [failed]


def test_sizes_are_rounded_and_limited() -> None:
    setup = made(script(n_ctx=1000, n_seq_max=3, n_batch=2000, n_ubatch=4000))
    assert (setup.options.n_ctx, setup.n_ctx_seq) == (3 * 512, 512)
    assert (setup.options.n_batch, setup.options.n_ubatch, setup.n_outputs_max) == (1000, 1000, 1000)
    assert setup.notes[0] == "context.n_ubatch 4000 is limited to 1000 by context.n_ctx"
    assert made(script(n_ctx=0)).options.n_ctx == 4096, "the model's own"
    assert made(script(n_ubatch=64)).options.n_batch == 64, "n_batch is n_ubatch where it is left out"
    assert made(script(n_outputs_max=4)).n_outputs_max == 4
    assert made(script(kv_unified=True, n_ctx=1000, n_seq_max=3)).n_ctx_seq == 1024


def test_states_that_can_be_rolled_back_are_none_where_the_model_cannot() -> None:
    assert made(script("mamba.gguf", n_rs_seq=2)).n_rs_seq == 0


def test_pooling_is_asked_for_or_the_models_own() -> None:
    assert made(script()).pooling == 0
    assert made(script(pooling_type=3)).pooling == 3
    header = header_of("llama.gguf")
    for told, used in ((2, 2), (0xFFFFFFFF, 0)):
        metadata = {**header.metadata, "llama.pooling_type": told}
        own = msgspec.structs.replace(header, metadata=metadata, types={**header.types, "llama.pooling_type": "u32"})
        assert make_setup(script("llama.gguf"), own)[0].pooling == used


def test_a_device_is_what_the_script_says() -> None:
    devices = (
        DeviceGiven(name="A0", alignment=256, max_size=1 << 20, alloc_limit=5 << 20),
        DeviceGiven(name="B7", profile="vulkan", host_buffer=False, async_events=False),
        DeviceGiven(name="GPU9", host_buffer=False),
    )
    setup = made(script(devices=devices))
    assert setup.backends == ("A0", "B7", "GPU9", "CPU")
    assert setup.bufts == ("A0", "B7", "GPU9", "A_Host")
    first = setup.problem.bufts[0]
    assert (first.align, first.max_size, setup.problem.bufts[3].host) == (256, 1 << 20, True)
    assert setup.alloc_limits == {"A0": 5 << 20}
    assert [one.profile for one in setup.problem.backends] == ["gpu", "vulkan", "gpu", "cpu"]
    assert [one.is_async for one in setup.problem.backends] == [True, False, True, False]
    assert setup.conditions[5] == ("every device but the CPU is asynchronous and has events (not so: B7)", False)
    alone = made(script(devices=devices[2:]))
    assert alone.bufts == ("GPU9", "CPU"), "the CPU computes in its own memory without a pinned buffer"


def test_split_mode_none_uses_the_first_device_alone() -> None:
    setup = made(script(devices=TWO, model_params=ModelGiven(split_mode="none")))
    assert setup.backends == ("GPU0", "CPU")
    assert [holds for _, holds in setup.conditions] == [False, True, False, True, True, True]


@pytest.mark.parametrize("text", ["blk.3.ffn_up.weight", "blk.3.ffn_up -> CPU", "nothing, ffn_up->CPU"])
def test_an_override_puts_weights_into_the_memory_of_the_cpu(text: str) -> None:
    setup = made(script(devices=TWO, model_params=ModelGiven(tensor_override=text)))
    assert ("blk.3.ffn_up.weight", "GPU_Host") in setup.static
    assert ("blk.3.ffn_down.weight", "GPU1") in setup.static


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (script(n_seq_max=300), "context.n_seq_max 300: n_seq_max must be <= 256"),
        (script(n_batch=0, n_ubatch=0), "context.n_batch and context.n_ubatch are 0"),
        (script(type_k="q9"), "context.type_k is 'q9', no type of a cache"),
        (script(type_v="q8_0"), "context.type_v q8_0 with context.flash_attn off: llama.cpp says"),
        (script(type_k="q8_0", flash_attn="on"), "K cache type q8_0 with block size 32 does not divide"),
        (script(n_seq_max=8, n_batch=4), "context.n_seq_max 8: a batch has 4 tokens"),
        (script(pooling_type=9), "context.pooling_type is 9"),
        (script(devices=TWO[:1] * 2), "devices[1].name is 'GPU0': every device has a name of its own"),
        (script(devices=(DeviceGiven(name="CPU"),)), "devices[0].name is 'CPU'"),
        (script(devices=(DeviceGiven(name="X", profile="cdua"),)), "devices[0].profile is 'cdua', no GPU (did you"),
        (script(devices=(DeviceGiven(name="X", profile="blas"),)), "devices[0].profile is 'blas', no GPU"),
        (script(devices=(DeviceGiven(name="X", alignment=3),)), "align=3 is not a power of two"),
        (
            script(devices=(DeviceGiven(name="GPU0", alloc_limit=300_000),)),
            "GPU0: a buffer of 329,984 bytes for weights is more than its alloc_limit of 300,000",
        ),
        (script(model_params=ModelGiven(tensor_override="ffn ->")), "model_params.tensor_override: 'ffn ->' is not"),
        (
            script(model_params=ModelGiven(tensor_override="ffn -> GPU7"), devices=TWO),
            "model_params.tensor_override ffn=GPU7: unknown buffer type (did you mean",
        ),
        (script(model_params=ModelGiven(tensor_override="(")), "("),
    ],
)
def test_what_cannot_be_is_said_in_the_words_of_the_script(of: Script, says: str) -> None:
    with pytest.raises(InputError) as error:
        made(of)
    assert says in str(error.value)


@given(
    st.builds(
        ContextGiven,
        n_ctx=st.integers(0, 5000),
        n_batch=st.none() | st.integers(1, 600),
        n_ubatch=st.integers(0, 600),
        n_seq_max=st.integers(0, 300),
        kv_unified=st.booleans(),
        flash_attn=st.sampled_from(["off", "on", "auto"]),
        offload_kqv=st.booleans(),
        type_v=st.sampled_from(["f16", "q8_0"]),
    ),
    st.integers(0, 3),
    st.none() | st.integers(0, 6),
)
def test_any_context_is_made_or_refused_with_a_sentence(context: ContextGiven, gpus: int, layers: int | None) -> None:
    of = Script(
        model="llama_4l.gguf",
        context=context,
        devices=tuple(DeviceGiven(name=f"GPU{number}") for number in range(gpus)),
        model_params=ModelGiven(n_gpu_layers=layers),
    )
    try:
        setup = made(of)
    except InputError:
        return
    options = setup.options
    assert options.n_ctx is not None
    assert options.n_ctx % 256 == 0
    assert 1 <= options.n_ubatch <= options.n_batch
    assert setup.n_ctx_seq * (1 if options.kv_unified else options.n_seq_max) == options.n_ctx
    assert len(setup.backends) == len(setup.bufts) == gpus + 1
    assert setup.problem.config.n_copies == (4 if all(holds for _, holds in setup.conditions) else 1)
    assert {buft for _, buft in setup.static} <= {one.name for one in setup.problem.bufts}


@pytest.mark.skipif(bool(available()), reason=f"the real llama.cpp cannot be asked: {available()}")
@pytest.mark.parametrize("flash", ["off", "auto"])
@pytest.mark.parametrize("model", ["gptoss.gguf", "deepseek2.gguf", "qwen3next.gguf"])
def test_a_model_without_a_builder_is_set_up_as_llama_cpp_does(model: str, flash: str) -> None:
    of = script(model, TWO, n_ctx=900, n_ubatch=16, n_seq_max=2, swa_full=False, flash_attn=flash)
    setup, source = make_setup(of, header_of(model))
    assert isinstance(source, NativeGraphs)
    played = source.played
    assert (setup.options.n_ctx, setup.n_ctx_seq) == (played.n_ctx, played.n_ctx_seq)
    assert sched_hash_slots(setup.max_nodes) == played.sched_hash_size
    assert sched_pool_bytes(setup.max_nodes) == played.sched_context_buffer
    assert setup.flash == (flash == "auto")
    problem = source.graph(played.shapes[0]).problem
    assert (setup.problem.bufts, setup.problem.backends) == (problem.bufts, problem.backends)
    assert source.static == {key: setup.static[key] for key in source.static}
