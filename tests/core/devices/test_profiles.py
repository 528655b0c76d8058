"""All profiles: limits, names, the text of a device, the committed listing, and that a refusal is a sentence."""

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.devices.batches import batch_size
from galloscope.core.devices.known import DEVICES, device, device_names
from galloscope.core.devices.seen import MissingSource, Seen, see, seen_in, signature
from galloscope.core.devices.spec import bytes_word, device_text, parse_bytes, parse_device
from galloscope.core.dtypes import DTYPES, contiguous
from galloscope.core.errors import InputError
from galloscope.core.llama.options import DeviceSpec
from galloscope.core.op import EXPANDING_OPS, Op
from galloscope.core.tensor import Tensor

LISTING = json.loads((Path(__file__).parents[2] / "golden" / "devices" / "supports_op.json").read_text())
NAMES = sorted(DEVICES)
REAL = [name for name in NAMES if name != "gpu"]
"""Those that stand for something; the made-up GPU was read from nowhere."""


@pytest.mark.parametrize("name", REAL)
def test_every_op_that_supports_op_names_is_ruled_on_or_left_out(name: str) -> None:
    profile = DEVICES[name]
    known = {op.value for op in (*profile.rules, *profile.left_out)}
    assert sorted(set(LISTING["ops"][name]) - known) == []
    assert sorted(known - set(LISTING["ops"][name])) == [], "named by no case label"
    assert not set(profile.rules) & set(profile.left_out)


@pytest.mark.parametrize("name", REAL)
def test_a_profile_says_where_it_comes_from(name: str) -> None:
    profile = DEVICES[name]
    assert profile.name == name
    assert LISTING["functions"][name].partition(" ")[0] in profile.source
    assert LISTING["ggml"] in profile.source
    assert set(profile.units) == set(profile.named)
    if profile.type not in ("cpu", "accel"):
        assert any("graph_optimize" in one for one in profile.simplified)
        assert any("fusion" in one.lower() for one in profile.simplified)
    assert all(one.endswith(".") for one in profile.simplified)
    for rule in (profile.first, *profile.rules.values()):
        asks = (rule.__doc__ or "").partition("\n")[0]
        assert re.fullmatch(r"\w\S* .*\.", asks), f"{rule.__name__} does not say what it asks of an op"
        assert not re.match(r"GGML_|[A-Z0-9_]{3,}[,.:;]", asks), f"{rule.__name__} says which ops, not what it asks"
    assert set(profile.extra) <= EXPANDING_OPS, "ggml lets no other result grow"


SHAPES = st.tuples(st.integers(0, 300), st.integers(0, 70), st.integers(0, 4), st.integers(0, 3))


@st.composite
def seens(draw: st.DrawFn) -> Seen:
    """Any op over up to six sources, some of them missing."""

    def one(op: Op, src: tuple[Seen | None, ...], params: tuple[int, ...]) -> Seen:
        dtype = DTYPES[draw(st.sampled_from(sorted(DTYPES)))]
        ne = draw(SHAPES)
        nb = contiguous(dtype, ne)
        if draw(st.booleans()):
            nb = (nb[1], nb[0], nb[2], nb[3])
        return see(op, dtype.name, ne, *src, nb=nb, params=params)

    src = tuple(one(Op.NONE, (), ()) if draw(st.booleans()) else None for _ in range(draw(st.integers(0, 6))))
    params = tuple(draw(st.lists(st.sampled_from((0, 1, -1, 2, 10, 0x3F800000)), max_size=6)))
    return one(draw(st.sampled_from(list(Op))), src, params)


@pytest.mark.parametrize("name", NAMES)
@given(seen=seens())
def test_an_answer_is_one_sentence_about_the_op_and_always_the_same(name: str, seen: Seen) -> None:
    profile = DEVICES[name]
    for answer, again in (
        (profile.supports(seen), profile.supports(seen)),
        (profile.offload(seen), profile.offload(seen)),
    ):
        assert answer == again
        if answer:
            assert re.fullmatch(rf"{seen.op.value}( [A-Z_0-9]+| number -?\d+)?: \S.*[^.\s]", answer), answer
            assert len(answer) < 250
    with contextlib.suppress(MissingSource):
        assert profile.alloc_size(seen) >= seen.nbytes


@given(seen=seens())
def test_the_made_up_gpu_runs_every_op_and_takes_over_what_is_big_enough(seen: Seen) -> None:
    gpu = DEVICES["gpu"]
    assert gpu.supports(seen) == ""
    assert (gpu.offload(seen) == "") == (batch_size(seen) >= 32)
    assert not gpu.extra


def test_the_made_up_gpu_says_that_it_is() -> None:
    gpu = DEVICES["gpu"]
    assert "made-up" in gpu.title
    assert any("no real GPU" in one for one in gpu.simplified)
    assert device_names([gpu, gpu]) == ["GPU0", "GPU1"]
    assert (gpu.align, gpu.pad_quant, gpu.host_buft, gpu.is_async, gpu.has_events) == (128, 512, "GPU_Host", True, True)
    q8 = see(Op.NONE, "q8_0", (96, 4))
    assert gpu.alloc_size(q8) - q8.nbytes == (512 - 96) // 32 * 34
    assert gpu.supports_buft("GPU0", "GPU0", host=False)
    assert not gpu.supports_buft("GPU0", "GPU1", host=False)
    assert not gpu.supports_buft("GPU0", "GPU_Host", host=True)


def test_names_count_per_kind() -> None:
    kinds = [DEVICES[name] for name in ("cuda", "cuda", "vulkan", "cuda", "blas", "cpu")]
    assert device_names(kinds) == ["CUDA0", "CUDA1", "Vulkan0", "CUDA2", "BLAS", "CPU"]


def test_limits_override_and_leave_the_registered_profile_alone() -> None:
    changed = device(DeviceSpec("cuda", 8 << 30, {"align": 256, "max_size": 4 << 30, "cc": 750}))
    assert (changed.memory, changed.align, changed.max_size, changed.named["cc"]) == (8 << 30, 256, 4 << 30, 750)
    assert changed.changed == {"align": 256, "max_size": 4 << 30, "cc": 750}
    plain = DEVICES["cuda"]
    assert (plain.align, plain.max_size, plain.named["cc"]) == (128, None, 890)
    assert device(DeviceSpec("cuda", limits={"align": 128})).changed == {}, "what is given may be the default"
    assert device(DeviceSpec("cuda", limits={"cc": 750})) is device(DeviceSpec("cuda", limits={"cc": 750}))


def test_no_largest_size_is_said_with_0() -> None:
    bounded = DEVICES["vulkan"]
    assert bounded.max_size is not None
    endless = device(DeviceSpec("vulkan", limits={"max_size": 0}))
    assert endless.max_size is None
    assert endless.changed == {"max_size": 0}


@pytest.mark.parametrize(
    ("text", "memory", "limits"),
    [
        ("cuda", None, {}),
        ("cuda:24GiB", 24 << 30, {}),
        ("cuda:24gib", 24 << 30, {}),
        ("cuda:8000 MB", 8 * 10**9, {}),
        ("cuda:1.5GiB", 3 << 29, {}),
        ("cuda:1000B", 1000, {}),
        ("cuda:0B", 0, {}),
        ("cpu:align=64", None, {"align": 64}),
        ("cuda:24GiB:align=256,max_size=4GiB", 24 << 30, {"align": 256, "max_size": 4 << 30}),
    ],
)
def test_text_of_a_device(text: str, memory: int | None, limits: dict[str, int]) -> None:
    spec = parse_device(text)
    assert (spec.memory, spec.limits) == (memory, limits)
    assert parse_device(device_text(spec)) == spec


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cdua", "'cdua' is not a device (did you mean 'cuda'?); known: cpu, cuda, metal, vulkan, blas, gpu"),
        ("", "'' is not a device; known:"),
        ("cuda:24Gig", "'Gig' is not a unit (did you mean 'GiB'?)"),
        ("cuda:-1GiB", "'-1GiB' is not a number of bytes such as 24GiB"),
        ("cuda:lots", "'lots' is not a number of bytes"),
        ("cuda:", "'' is not a number of bytes"),
        ("cuda:8", "8 is a number of bytes; say 8GiB or 8MiB"),
        ("cuda:0.3", "'0.3' is not a whole number of bytes up to 2^53"),
        ("cuda:9999999TiB", "'9999999TiB' is not a whole number of bytes up to 2^53"),
        ("cuda:1GiB:algin=64", "'algin' is not a limit of it (did you mean 'align'?); known: align, cc,"),
        ("cuda:1GiB:align=100", "align=100 is not a power of two up to 2^30"),
        ("cuda:1GiB:align", "'align' is not LIMIT=VALUE, such as align=256"),
        ("cuda:1GiB:align=", "'align=' is not LIMIT=VALUE"),
        ("cuda:1GiB:align=64,align=128", "align is given twice"),
        ("cuda:1GiB:pad_quant=2GiB", "pad_quant=2147483648 is not between 0 and 2^30 elements"),
        ("cuda:1GiB:align=64:cc=750", "expected NAME[:MEMORY][:LIMIT=VALUE,...]"),
    ],
)
def test_text_that_is_no_device(text: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        parse_device(text)
    assert says in str(error.value)


@given(st.integers(0, 1 << 53))
def test_bytes_are_written_exactly(size: int) -> None:
    assert parse_bytes(bytes_word(size), "test") == size


def _layer(first: int, name: str) -> list[Tensor]:
    f16 = DTYPES["f16"]
    ne = (64, 32, 1, 1)
    base = Tensor(f"cache_{name}", Op.NONE, f16, ne, contiguous(f16, ne), (), 4096, buft=0)
    view = Tensor(f"view_{name}", Op.VIEW, f16, ne, contiguous(f16, ne), (first,), 4096, view_src=first)
    out = Tensor(f"out_{name}", Op.ADD, f16, ne, contiguous(f16, ne), (first + 1, first), 4096)
    return [base, view, out]


def test_layers_ask_the_same_question() -> None:
    graph = [*_layer(0, "0"), *_layer(3, "1")]
    assert signature(graph, 2) == signature(graph, 5)
    assert signature(graph, 1) != signature(graph, 2)
    seen = seen_in(graph, 2, graph[2].src, [("CPU", "cpu", True)])
    view, base = seen.need(0), seen.need(1)
    assert view.owner == base.owner
    assert (view.is_view, view.buft, base.is_view, base.buft) == (True, "", False, "CPU")
    assert seen.source(7) is None
    with pytest.raises(MissingSource, match="ADD: its source 2 is missing"):
        seen.need(2)


def test_sharing_of_storage_is_part_of_the_question() -> None:
    graph = [*_layer(0, "0"), *_layer(3, "1")]
    mixed = Tensor("mixed", Op.ADD, graph[2].dtype, graph[2].ne, graph[2].nb, (1, 3), 4096)
    assert signature([*graph, mixed], 6) != signature(graph, 2)


def test_params_are_words_or_floats() -> None:
    seen = see(Op.SCALE, "f32", (4,), params=[1.5, -2])
    assert (seen.param_f32(0), seen.param(1), seen.param(9)) == (1.5, -2, 0)
