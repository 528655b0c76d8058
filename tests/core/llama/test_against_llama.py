"""The real llama.cpp, in the same run: weights, memory, pins, copies and flash attention decided as we say."""

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.read import parse_header
from galloscope.core.llama.assemble import take
from galloscope.core.llama.caches import caches
from galloscope.core.llama.choices import choose
from galloscope.core.llama.facts import cache_facts
from galloscope.core.llama.memory import memory_rows
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode, Options, Override, SplitMode
from galloscope.core.llama.placement import place_weights
from galloscope.core.llama.taken import GraphTaken, Taken
from galloscope.core.models import MODELS
from galloscope.core.models.made_up import MadeUp, made_up
from galloscope.core.native.capture import available, capture
from galloscope.core.native.verify import differences
from galloscope.core.session import trace
from galloscope.tests.core.llama.other_models import OTHERS

pytestmark = pytest.mark.skipif(bool(available()), reason=f"the real llama.cpp cannot be asked: {available()}")

BOTH = (GraphMode.PREFILL, GraphMode.DECODE)


def handed_over(graph: GraphTaken) -> dict[str, object]:
    """What llama.cpp hands to ggml beside the ops themselves, by names."""
    problem = graph.problem
    bufts = [buft.name for buft in problem.bufts]
    tensors = problem.requests[0].graph.tensors
    return {
        "lies": {t.name: (bufts[t.buft], t.is_weight) for t in tensors if t.buft >= 0},
        "pins": {t.name: problem.backends[t.pin].name for t in tensors if t.pin >= 0},
        "copies": problem.config.n_copies,
        "bufts": problem.bufts,
        "backends": problem.backends,
    }


def compare(data: bytes, options: Options) -> None:
    try:
        theirs: Taken | str = capture(data, options, BOTH)
    except InputError as error:
        theirs = str(error)
    try:
        ours: Taken | str = take(parse_header(data, "made up"), options, BOTH)
    except InputError as error:
        ours = str(error)
    if isinstance(theirs, str) or isinstance(ours, str):
        if isinstance(theirs, str) and "cannot run the operation" in theirs:
            assert not isinstance(ours, str)
            assert any(trace(graph.problem).runs[0].abort for graph in ours.graphs)
            return
        assert isinstance(theirs, str), ours
        assert isinstance(ours, str), theirs
        return
    assert ours.options.flash_attn is theirs.options.flash_attn
    same = ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_gpu_layers")
    assert [getattr(ours.options, name) for name in same] == [getattr(theirs.options, name) for name in same]
    assert ours.weights == theirs.weights
    assert ours.memory == theirs.memory
    for mine, real in zip(ours.graphs, theirs.graphs, strict=True):
        assert handed_over(mine) == handed_over(real)
        assert real.decided is not None
        assert differences(trace(mine.problem), real.decided) == []


HEADS = {"llama": 64, "qwen2": 64, "qwen3": 32, "qwen3moe": 128, "gemma3": 256, "phi3": 64}


@st.composite
def models(draw: st.DrawFn) -> MadeUp:
    arch = draw(st.sampled_from(sorted(HEADS)))
    extra: dict[str, int] = {}
    experts = 8 if arch == "qwen3moe" or (arch == "llama" and draw(st.booleans())) else 0
    if arch == "gemma3":
        extra = {
            "attention.sliding_window": draw(st.sampled_from([32, 700])),
            "attention.sliding_window_pattern": draw(st.sampled_from([2, 6])),
        }
    if arch == "qwen3moe":
        extra = {"expert_feed_forward_length": 256}
    usual = MODELS[arch].usual
    optional = draw(st.sampled_from([usual, usual - {"output.weight"}, usual | {"rope_freqs.weight"}]))
    return MadeUp(
        arch=arch,
        n_layer=draw(st.integers(1, 6)),
        n_embd=256,
        n_ff=512,
        n_head_kv=4 if arch == "phi3" else draw(st.sampled_from([1, 2, 4])),
        head_size=HEADS[arch],
        n_vocab=draw(st.sampled_from([100, 777])),
        dtype=DTYPES[draw(st.sampled_from(["f16", "bf16", "q8_0", "q4_K", "q6_K", "iq4_xs", "tq1_0", "f32"]))],
        n_expert=experts,
        n_expert_used=2 if experts else 0,
        extra=extra,
        optional=optional,
    )


GPU = st.builds(
    DeviceSpec,
    st.sampled_from(["cuda", "cuda", "cuda", "vulkan", "metal"]),
    st.sampled_from([None, 8 << 30, 11 << 30]),
    st.sampled_from([{}, {}, {"align": 256}]),
)
OVERRIDE = st.builds(
    Override,
    st.sampled_from(["exps", "attn", r"blk\.[02]\.", "ffn_(up|down)", "token_embd", "output", "norm", "[[:digit:]]1"]),
    st.sampled_from(["CPU", "CPU", "CUDA0"]),
)


@st.composite
def questions(draw: st.DrawFn) -> Options:
    gpus = draw(st.lists(GPU, max_size=3))
    overrides = draw(st.just([]) | st.lists(OVERRIDE, max_size=2))
    assume(any(gpu.profile == "cuda" for gpu in gpus) or all(one.buft == "CPU" for one in overrides))
    blas = [DeviceSpec("blas")] if draw(st.integers(0, 5)) == 0 else []
    shares = st.sampled_from([0.0, 1.0, 2.5])
    n_seq_max = draw(st.sampled_from([1, 1, 2, 4]))
    return Options(
        devices=(*gpus, *blas),
        n_ctx=draw(st.sampled_from([None, 256, 1000])),
        n_batch=draw(st.sampled_from([2048, 60])),
        n_ubatch=draw(st.sampled_from([512, 48, 12])),
        n_seq_max=n_seq_max,
        flash_attn=draw(st.sampled_from(FlashAttn)),
        type_k=DTYPES[draw(st.sampled_from(["f16", "f16", "q8_0", "q5_1"]))],
        type_v=DTYPES[draw(st.sampled_from(["f16", "f16", "q8_0"]))],
        n_gpu_layers=draw(st.none() | st.integers(0, 8)),
        split_mode=draw(st.sampled_from([SplitMode.LAYER, SplitMode.LAYER, SplitMode.NONE])),
        main_gpu=draw(st.integers(0, max(len(gpus) - 1, 0))),
        tensor_split=tuple(draw(st.just([]) | st.lists(shares, min_size=len(gpus), max_size=len(gpus)))),
        overrides=tuple(overrides),
        n_cpu_moe=draw(st.sampled_from([0, 0, 2])),
        offload_kqv=draw(st.sampled_from([True, True, False])),
        op_offload=draw(st.booleans()),
        no_host=draw(st.booleans()),
        swa_full=draw(st.booleans()),
        kv_unified=draw(st.booleans()),
        repack=draw(st.booleans()),
    )


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(models(), questions())
def test_everything_before_the_scheduler_is_decided_as_llama_cpp_does(model: MadeUp, options: Options) -> None:
    compare(made_up(model), options)


SCENARIOS = {
    "cpu": Options(),
    "one gpu": Options(devices=(DeviceSpec("cuda"),)),
    "partly": Options(devices=(DeviceSpec("cuda"),), n_gpu_layers=2),
    "two gpus": Options(devices=(DeviceSpec("cuda"),) * 2),
    "uneven gpus": Options(devices=(DeviceSpec("cuda", 8 << 30), DeviceSpec("cuda", 24 << 30))),
    "experts on the cpu": Options(devices=(DeviceSpec("cuda"),) * 2, n_cpu_moe=2),
    "no kv offload": Options(devices=(DeviceSpec("cuda"),), offload_kqv=False, flash_attn=FlashAttn.OFF),
    "quantised v": Options(devices=(DeviceSpec("cuda"),), type_v=DTYPES["q8_0"]),
    "repacked": Options(repack=True),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(name: str) -> None:
    model = MadeUp(
        arch="qwen3moe", n_layer=4, n_embd=256, n_ff=512, head_size=128, n_expert=8, n_expert_used=2,
        dtype=DTYPES["q4_K"], extra={"expert_feed_forward_length": 256},
    )  # fmt: skip
    compare(made_up(model), msgspec.structs.replace(SCENARIOS[name], n_ctx=512))


@pytest.mark.parametrize("arch", OTHERS)
@pytest.mark.parametrize("name", ["cpu", "partly", "two gpus", "experts on the cpu"])
def test_architectures_without_a_builder(arch: str, name: str) -> None:
    data = OTHERS[arch]()
    options = msgspec.structs.replace(SCENARIOS[name], n_ctx=512, n_seq_max=2)
    theirs = capture(data, options, BOTH[1:])
    header = parse_header(data, arch)
    facts = cache_facts(header)
    chosen = choose(options, facts)
    placement = place_weights(header, chosen.options)
    assert placement.by_name() == theirs.weights
    kept = caches(facts, chosen, placement.machine, placement.layers)
    assert memory_rows(placement, kept, facts, chosen) == theirs.memory
