"""A script under options: every flag, what a script cannot say, batches that keep their room, sizes as in stats."""

from typing import Any

import msgspec
import pytest

from galloscope.core.decode.events import Reserve
from galloscope.core.decode.from_options import is_causal, under_options
from galloscope.core.decode.life import fold
from galloscope.core.decode.presets import PRESETS, make_preset
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.script import DeviceGiven, Script
from galloscope.core.decode.session import play
from galloscope.core.decode.write import write_script
from galloscope.core.errors import InputError
from galloscope.core.llama.arguments import read_command, read_given
from galloscope.core.llama.flags import FLAGS
from galloscope.core.llama.open import Origin, open_model
from galloscope.core.llama.options import GraphMode
from galloscope.core.llama.totals import compute_sizes
from galloscope.core.replay import replay
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.played import MODELS, script

STEPS = "[{decode: [{n: 100}]}, {decode: [{n: 1}], repeat: 3}]"


def under(line: str, own: Script | None = None, causal: bool = True) -> Script:
    given, unknown = read_given(line)
    assert not unknown
    return under_options(make_preset("chat", "llama_4l.gguf", 4) if own is None else own, given, causal=causal)


def changed(line: str, own: Script | None = None) -> dict[str, Any]:
    """What differs from the script's own, by key; the sentence about it left out."""
    before = make_preset("chat", "llama_4l.gguf", 4) if own is None else own
    after = under(line, before)
    found: dict[str, Any] = {} if after.devices == before.devices else {"devices": after.devices}
    for part in ("context", "model_params"):
        old, new = getattr(before, part), getattr(after, part)
        found |= {key: getattr(new, key) for key in new.__struct_fields__ if getattr(new, key) != getattr(old, key)}
    assert after.steps == before.steps
    return found


CASES: dict[str, dict[str, Any]] = {
    "-c 8192": {"n_ctx": 8192},
    "-c 0": {"n_ctx": 0},
    "-b 256": {"n_batch": 256},
    "-ub 512": {"n_ubatch": 512, "n_batch": 2048},
    "-ub 64 -b 128": {"n_ubatch": 64, "n_batch": 128},
    "-np 4": {"n_seq_max": 4},
    "-kvu": {"kv_unified": True},
    "-fa off": {"flash_attn": "off"},
    "-ctk q8_0 -ctv q4_0": {"type_k": "q8_0", "type_v": "q4_0"},
    "--swa-full": {"swa_full": True},
    "-nkvo": {"offload_kqv": False},
    "--no-op-offload": {"op_offload": False},
    "-ngl 7": {"n_gpu_layers": 7},
    "-sm none": {"split_mode": "none"},
    "-ot exps=CPU,up=CUDA0": {"tensor_override": "exps -> CPU, up -> CUDA0"},
    "-ncmoe 2": {"tensor_override": r"blk\.(0|1)\.ffn_(up|down|gate|gate_up)_(ch|)exps -> CPU"},
    "-ncmoe 0 -nr -kvo -mg 1": {},
    "--device cuda": {"devices": (DeviceGiven(name="CUDA0", profile="cuda", memory_mib=24576),)},
    "--device cuda:8GiB:align=512,max_size=1GiB --device cuda --device vulkan:2GiB --device cpu": {
        "devices": (
            DeviceGiven(name="CUDA0", profile="cuda", memory_mib=8192, alignment=512, max_size=1 << 30),
            DeviceGiven(name="CUDA1", profile="cuda", memory_mib=24576),
            DeviceGiven(name="Vulkan0", profile="vulkan", memory_mib=2048),
        )
    },
}


@pytest.mark.parametrize("line", CASES)
def test_only_what_is_given_changes(line: str) -> None:
    assert changed(line) == CASES[line]


def test_the_other_way_too() -> None:
    own = script(STEPS, n_ubatch=128, kv_unified=True, offload_kqv=False, op_offload=False, flash_attn="on")
    told = changed("-no-kvu -kvo --op-offload -fa auto", own)
    assert told == {"kv_unified": False, "offload_kqv": True, "op_offload": True, "flash_attn": "auto"}


def test_devices_none_takes_them_away() -> None:
    assert under("-dev none", make_preset("offload", "a.gguf", 4)).devices == ()


def test_experts_go_behind_the_patterns_of_the_script() -> None:
    own = script(STEPS, "llama", 'model_params: {tensor_override: "up"}', n_ubatch=128)
    assert under("-ncmoe 1", own).model_params.tensor_override.startswith("up -> CPU, blk")
    assert under("-ncmoe 1 -ot down=CPU", own).model_params.tensor_override.startswith("down -> CPU, blk")


def test_every_flag_of_the_table_is_used_refused_or_about_graphs() -> None:
    named = {field for line in CASES for field in read_given(line)[0]}
    refused = {"tensor_split", "main_gpu", "no_host", "repack"}
    assert named | refused | {"n_tokens", "n_outputs"} == {flag.field for flag in FLAGS}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-ts 3,1", "-ts 3,1: a session divides layers by the memory of the devices"),
        ("-sm none -mg 1", "-mg 1: with -sm none a session uses the first device"),
        ("--no-host", "host_buffer: false"),
        ("--repack", "leave it out"),
        ("--device blas", "--device blas: a session has GPUs and the CPU"),
        ("--device cpu:4GiB", "takes the CPU as it is"),
        ("--device cuda:1000KB", "whole MiB"),
        ("--device cuda:1GiB:pad_quant=256", "leave out pad_quant"),
        ("-ot 'a->b=CPU'", "holds no comma"),
        ("-c 4194304", "under -c 4194304: context.n_ctx: 4194304 is not"),
        ("-np 300", "context.n_seq_max"),
        ("-c 64", "-c 64: steps[0] decodes 100 tokens at once"),
        ("-b 64", "say -b 100 or more"),
    ],
)
def test_what_a_script_cannot_say_is_one_sentence(line: str, words: str) -> None:
    with pytest.raises(InputError) as told:
        under(line)
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_the_script_says_under_what_it_is_played() -> None:
    assert under("-fa on -c 8192 --n-tokens 7").about == f"{PRESETS['chat'].teaches} Under -c 8192 -fa on."
    assert under("-ngl 99").about.endswith("Under -ngl 99. No --device is named: all layers are on the CPU.")
    assert under("--n-tokens 7") == make_preset("chat", "llama_4l.gguf", 4)
    assert len(under(" ".join(f"-ot {k}{'x' * 90}=CPU" for k in range(20))).about) < 800


def test_it_can_be_written_down_with_many_experts() -> None:
    made = under("-ncmoe 128 -c 4096 --device cuda -ngl all")
    assert parse_script(write_script(made), "x") == made


def test_room_for_a_batch_is_kept() -> None:
    own = script("[{decode: [{n: 3000}]}]", n_ctx=4096, n_ubatch=4096)
    assert changed("-ub 128", own) == {"n_ubatch": 128, "n_batch": 3000}
    with pytest.raises(InputError, match=r"-b 2048: steps.0. decodes 3,000 tokens at once"):
        under("-ub 128 -b 2048", own)


def test_a_script_that_ends_in_an_assertion_still_does() -> None:
    own = script("[{decode: [{n: 100}]}]", n_ubatch=32)
    assert changed("-fa on", own) == {"flash_attn": "on"}
    log = play(under("-fa on", own), header_of("llama.gguf"))
    assert log.abort == "GGML_ASSERT(n_tokens_all <= cparams.n_batch) failed"


def test_without_causal_attention_a_batch_is_one_ubatch() -> None:
    own = script("[{decode: [{n: 100}], logits: all}]", n_ubatch=128, n_ctx=128, embeddings=True)
    header = header_of("llama.gguf")
    sees_all = msgspec.structs.replace(header, metadata={**header.metadata, "llama.attention.causal": False})
    assert (is_causal(header), is_causal(sees_all), is_causal(header_of("bert.gguf"))) == (True, False, False)
    with pytest.raises(InputError, match=r"-ub 64: .* say -ub 100 or more"):
        under("-ub 64", own, causal=False)
    assert under("-c 64", own, causal=False).context.n_ctx == 64
    assert play(under("-c 64", own, causal=False), sees_all).abort == ""


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("line", ["-c 512 -ub 16", "-c 8192 -fa off --device cuda -ngl 2 -np 1"])
def test_no_preset_ends_in_an_assertion(name: str, line: str) -> None:
    own = make_preset(name, "gemma3.gguf", 4)
    log = play(under(line, own), header_of("gemma3.gguf"))
    assert log.abort == ""
    assert log.setup.options.n_ubatch == (read_given(line)[0].get("n_ubatch", own.context.n_ubatch))


@pytest.mark.parametrize(
    "line",
    [
        "-c 1024 -ub 128",
        "-c 1024 -ub 256 -fa off",
        "-c 2048 -ub 64 -fa on -np 4",
        "-c 2048 -ub 64 -np 4 -kvu",
        "-c 2048 -ub 512 --device cuda:1GiB -ngl 2",
        "-c 2048 -ub 512 --device cuda:1GiB --device vulkan:1GiB",
        "-c 2048 -ub 512 --device cuda:1GiB -ngl 2 --no-op-offload",
        "-c 2048 -ub 512 --device cuda:1GiB -nkvo -ot ffn_up=CPU",
        "-c 2048 -ub 512 --device gpu:1GiB -ngl 3 -fa off",
    ],
)
@pytest.mark.parametrize("model", ["llama_4l", "gemma3"])
def test_the_reserved_sizes_are_those_of_stats(model: str, line: str) -> None:
    name = f"{model}.gguf"
    options, _ = read_command(line)
    opened = open_model(MODELS / name, name, options, (GraphMode.PREFILL,), Origin.BUILDER)
    wanted, _ = compute_sizes([replay(one.session.runs[0]) for one in opened.graphs])
    log = play(under(line, make_preset("chat", name, 4)), header_of(name))
    plans = fold(log).reservations[0].plans
    found = next(one for one in plans if one.kind is Reserve.PREFILL and one.facts.reserved)
    sizes = dict(zip(log.setup.bufts, found.facts.compute_sizes, strict=True))
    assert {buft: size for buft, size in sizes.items() if size} == {b: size for b, size in wanted.items() if size}
    assert any(wanted.values())


def test_the_line_that_it_tells_gives_the_same_again() -> None:
    line = "-c 8192 -ub 256 -ngl 3 --device cuda:8GiB -fa on -ctk q8_0 -kvu"
    made = under(line)
    again = under(made.about.rpartition("Under ")[2].removesuffix("."))
    assert again == made
