"""What the builders make of headers: hyperparameters, weights, made-up models, sentences."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.values import F64, U64
from galloscope.core.gguf.write import Given, Row, Typed, header_bytes
from galloscope.core.llama.choices import choose
from galloscope.core.llama.facts import cache_facts
from galloscope.core.llama.options import FlashAttn, GraphMode, Options
from galloscope.core.models import MODELS, Built, build, read_hparams
from galloscope.core.models.built import WeightUse
from galloscope.core.models.cparams import reserved_shape
from galloscope.core.models.made_up import MadeUp, made_up_header, made_up_metadata, weight_rows
from galloscope.core.models.names import unique_names
from galloscope.core.models.shape import GraphShape
from galloscope.core.models.weights import with_scales
from galloscope.core.op import Op

GEMMA = MadeUp(arch="gemma3", n_layer=7, extra={"attention.sliding_window": 32})


def made(header: Header, options: Options | None = None, **more: object) -> Built:
    """A prefill graph with flash attention."""
    options = options or Options(n_ctx=512, n_ubatch=32, flash_attn=FlashAttn.ON)
    chosen = choose(options, cache_facts(header)).options
    return build(header, chosen, prefill(header, chosen), flash=True, **more)  # type: ignore[arg-type]


def prefill(header: Header, chosen: Options) -> GraphShape:
    return reserved_shape(read_hparams(header), chosen, GraphMode.PREFILL)


def header_with(changes: dict[str, Given | None], rows: list[Row] | None = None) -> Header:
    """A small model's header with other metadata (None takes a key out), or other tensors."""
    metadata: dict[str, Given | None] = dict(made_up_metadata(MadeUp()))
    metadata |= {f"llama.{key}": value for key, value in changes.items()}
    given = {key: value for key, value in metadata.items() if value is not None}
    if rows is None:
        rows = weight_rows(read_hparams(made_up_header(MadeUp())), DTYPES["f16"])
    return parse_header(header_bytes(given, rows), "changed model")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"block_count": None}, "key llama.block_count is missing"),
        ({"block_count": 0}, "0 layers, llama.cpp takes 1 to 512"),
        ({"block_count": 100000}, "100000 layers, llama.cpp takes 1 to 512"),
        ({"block_count": "two"}, "llama.block_count: must be an integer"),
        ({"block_count": Typed(U64, 2)}, "llama.block_count: has type u64, llama.cpp reads it as u32 only"),
        ({"rope.freq_base": Typed(F64, 1e4)}, "llama.rope.freq_base: has type f64, llama.cpp reads it as f32 only"),
        ({"pooling_type": True}, "llama.pooling_type: must be an integer"),
        ({"rope.scaling.finetuned": 0.5}, "llama.rope.scaling.finetuned: must be true or false"),
        ({"classifier.output_labels": [1, 2]}, "classifier.output_labels: must be an array of strings, not arr.u32."),
        ({"attention.head_count": [4.0, 4.0]}, "attention.head_count: must be u32, i32 or bool in an array"),
        ({"feed_forward_length": [128] * 513}, "has 513 entries, llama.cpp takes up to 512"),
        ({"embedding_length": 2**40}, "must be an integer from 0 to"),
        ({"attention.head_count": 0}, "attention.head_count: must be at least 1"),
        ({"attention.head_count": [4, 2]}, "differs from layer to layer, which only the real llama.cpp builds"),
        ({"attention.head_count": [4]}, "has 1 entries for 2 layers"),
        ({"attention.layer_norm_rms_epsilon": None}, "layer_norm_rms_epsilon is missing"),
        ({"attention.layer_norm_rms_epsilon": 1}, "must be a floating point number"),
        ({"attention.causal": 1}, "must be true or false"),
        ({"rope.scaling.type": "ntk"}, "llama.cpp knows none, linear, yarn, longrope"),
        ({"rope.scaling.type": 3}, "must be a string"),
        ({"rope.dimension_count": 8}, "is 8, heads have 16 elements"),
        ({"expert_count": 4}, "0 of 4 experts are used"),
        ({"expert_count": 4, "expert_used_count": 5}, "5 of 4 experts are used"),
        ({"expert_count": 5000, "expert_used_count": 2}, "5000 experts, llama.cpp takes up to 1024"),
        ({"expert_count": 4, "expert_used_count": 2, "expert_group_count": 3}, "do not divide 4 experts"),
        ({"attention.head_count_kv": 0}, "attention without heads, or with empty ones"),
        ({"attention.value_length": 0}, "attention without heads, or with empty ones"),
        ({"classifier.activation": "swish"}, "classifier.activation: unknown, llama.cpp knows gelu, silu, tanh"),
        ({"nextn_predict_layers": 1}, "need the real llama.cpp"),
        ({"vocab_size": None}, "key llama.vocab_size is missing"),
    ],
)
def test_metadata_that_make_no_model(changes: dict[str, Given | None], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_hparams(header_with(changes))


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("tokenizer.ggml.model", None, "key tokenizer.ggml.model is missing"),
        ("tokenizer.ggml.model", 1, "key tokenizer.ggml.model: has type u32, llama.cpp reads it as str only"),
        ("general.name", 1, "key general.name: has type u32"),
        ("general.file_type", "f16", "key general.file_type: has type str, llama.cpp reads it as u32 only"),
    ],
)
def test_general_metadata_that_llama_cpp_refuses(key: str, value: Given | None, sentence: str) -> None:
    metadata: dict[str, Given | None] = {**made_up_metadata(MadeUp()), key: value}
    given = {name: one for name, one in metadata.items() if one is not None}
    with pytest.raises(InputError, match=sentence):
        read_hparams(parse_header(header_bytes(given, []), "changed model"))


@pytest.mark.parametrize(
    "unread",
    [
        {"attention.sliding_window": 8.0},
        {"attention.key_length_mla": 16},
        {"ssm.state_size": 16},
        {"rope.scale_linear": 1, "rope.scaling.factor": 2.0},
        {"rope.freq_base_swa": 1},
        {"attention.key_length_swa": 32},
        {"attention.head_count_kv": [True, True], "attention.head_count": 4},
    ],
)
def test_what_llama_cpp_does_not_read_may_be_anything(unread: dict[str, Given | None]) -> None:
    rows = None
    if "attention.head_count_kv" in unread:
        rows = weight_rows(read_hparams(header_with(unread, [])), DTYPES["f16"])
    assert made(header_with(unread, rows)).graph.tensors[-1].name == "result_output"


def test_arrays_of_equal_entries_are_one_number() -> None:
    header = header_with({"attention.head_count": [4, 4], "feed_forward_length": [128, 128]})
    assert made(header).graph == made(made_up_header(MadeUp())).graph


def test_the_vocabulary_is_the_tokenizers() -> None:
    metadata = made_up_metadata(MadeUp()) | {"tokenizer.ggml.tokens": ["a", "b", "c"]}
    header = parse_header(header_bytes(metadata, []), "with tokens")
    assert read_hparams(header).n_vocab == 3


def test_the_window_pattern_is_six_unless_the_file_says_otherwise() -> None:
    assert read_hparams(made_up_header(GEMMA)).is_swa == (True,) * 5 + (False, True)
    flags = [True, False, False, True, True, False, True]
    pattern = {"attention.sliding_window": 32, "attention.sliding_window_pattern": flags}
    other = msgspec.structs.replace(GEMMA, extra=pattern)
    assert read_hparams(made_up_header(other)).is_swa == tuple(flags)


def test_a_short_window_pattern_leaves_the_last_layers_without() -> None:
    pattern = {"attention.sliding_window": 32, "attention.sliding_window_pattern": [True, False, True]}
    header = made_up_header(msgspec.structs.replace(GEMMA, extra=pattern))
    assert read_hparams(header).is_swa == cache_facts(header).windowed == (True, False, True, *(False,) * 4)


def test_other_heads_in_windowed_layers_need_llama_cpp() -> None:
    extra = {"attention.sliding_window": 32, "attention.key_length_swa": 32}
    with pytest.raises(InputError, match=r"another head size in windowed layers needs the real llama\.cpp"):
        read_hparams(made_up_header(msgspec.structs.replace(GEMMA, extra=extra)))


def test_a_window_that_no_layer_has() -> None:
    extra = {"attention.sliding_window": 32, "attention.sliding_window_pattern": 1}
    with pytest.raises(InputError, match="no layer is windowed"):
        made(made_up_header(msgspec.structs.replace(GEMMA, extra=extra)))


def test_a_missing_weight() -> None:
    rows = [row for row in weight_rows(read_hparams(made_up_header(MadeUp())), DTYPES["f16"]) if "ffn_up" not in row[0]]
    with pytest.raises(InputError, match=r"tensor 'blk.0.ffn_up.weight' is missing, architecture 'llama' needs it"):
        made(header_with({}, rows))


def test_a_weight_of_another_shape() -> None:
    with pytest.raises(
        InputError, match=r"tensor 'token_embd.weight' is \[64, 256\], the metadata ask for \[64, 300\]"
    ):
        made(header_with({"vocab_size": 300}))


def test_a_weight_that_the_architecture_has_not() -> None:
    rows = weight_rows(read_hparams(made_up_header(MadeUp())), DTYPES["f16"])
    with pytest.raises(InputError, match=r"tensor 'blk.0.atn_q.bias': .* has no such weight .*'blk.0.attn_q.bias'"):
        made(header_with({}, [*rows, ("blk.0.atn_q.bias", DTYPES["f32"], (64,))]))


@pytest.mark.parametrize("arch", ["deepseek2", "lama", "mamba2"])
def test_an_architecture_without_builder_says_which_have_one(arch: str) -> None:
    header = parse_header(header_bytes({"general.architecture": arch}, []), "other")
    with pytest.raises(
        InputError, match=r"has no builder.*llama, qwen2, qwen3, qwen3moe, gemma3, phi3, mamba.*pip install xllamacpp"
    ):
        read_hparams(header)


def test_a_file_that_is_no_language_model() -> None:
    with pytest.raises(InputError, match=r"general\.architecture is missing"):
        read_hparams(parse_header(header_bytes({}, []), "empty"))


@pytest.mark.parametrize("flag", ["type_k", "type_v"])
def test_cache_types_must_fit_the_heads(flag: str) -> None:
    header = made_up_header(MadeUp(head_size=80))
    options = Options(n_ctx=512, flash_attn=FlashAttn.OFF)
    chosen = choose(options, cache_facts(header)).options
    changed = msgspec.structs.replace(chosen, **{flag: DTYPES["q8_0"]})
    with pytest.raises(InputError, match="heads of 80 elements are not whole blocks of 32"):
        build(header, changed, prefill(header, changed), flash=False)


def test_options_must_be_chosen_first() -> None:
    with pytest.raises(InputError, match="options must be chosen"):
        prefill(made_up_header(MadeUp()), Options())


def test_automatic_flash_attention_that_is_off_leaves_v_as_for_on() -> None:
    header = made_up_header(MadeUp())
    chosen = choose(Options(n_ctx=512), cache_facts(header)).options
    assert chosen.flash_attn is FlashAttn.AUTO
    built = build(header, chosen, prefill(header, chosen), flash=False)
    names = [tensor.name for tensor in built.graph.tensors]
    assert "v_cont-0" in names
    off = msgspec.structs.replace(chosen, flash_attn=FlashAttn.OFF)
    asked = build(header, off, prefill(header, off), flash=False)
    assert "v_cont-0" not in [tensor.name for tensor in asked.graph.tensors]


def test_a_weight_loaded_into_two_places_is_two_leafs() -> None:
    tied = msgspec.structs.replace(MadeUp(n_layer=4), optional=frozenset({"rope_freqs.weight"}))
    header = made_up_header(tied)

    def where(use: WeightUse) -> str:
        return "GPU" if use.layer >= 2 else "CPU"

    once, twice = made(header), made(header, where=where)
    assert len(twice.graph.tensors) == len(once.graph.tensors) + 2
    uses = {use for use in twice.weights.values() if use.name in ("token_embd.weight", "rope_freqs.weight")}
    assert uses == {
        WeightUse("token_embd.weight", -1),
        WeightUse("token_embd.weight", 4),
        WeightUse("rope_freqs.weight", 0),
        WeightUse("rope_freqs.weight", 2),
    }
    assert "token_embd.weight~2" in [tensor.name for tensor in twice.graph.tensors]


@pytest.mark.parametrize("arch", MODELS)
def test_the_weights_of_a_made_up_model_are_those_of_its_graph(arch: str) -> None:
    n_expert = 4 if arch == "qwen3moe" else 0
    header = made_up_header(MadeUp(arch=arch, n_expert=n_expert, n_expert_used=n_expert // 2))
    built = made(header)
    assert {use.name for use in built.weights.values()} == {info.name for info in header.tensors}
    known = {weight.name for weight in with_scales(MODELS[arch].weights(read_hparams(header)))}
    assert {info.name for info in header.tensors} <= known
    assert built.arch == arch


def test_rows_that_are_not_whole_blocks_become_f16() -> None:
    header = made_up_header(MadeUp(dtype=DTYPES["q4_K"], n_embd=256, n_ff=128))
    types = {info.name: info.dtype.name for info in header.tensors}
    assert types["blk.0.ffn_up.weight"] == "q4_K"
    assert types["blk.0.ffn_down.weight"] == "f16"
    assert types["blk.0.attn_norm.weight"] == "f32"


def test_window_layers_have_a_smaller_cache_unless_told_otherwise() -> None:
    header = made_up_header(GEMMA)
    sizes = {}
    for full in (False, True):
        options = Options(n_ctx=4096, n_ubatch=32, flash_attn=FlashAttn.ON, swa_full=full)
        built = made(header, options)
        sizes[full] = {il: built.graph.tensors[leaf].ne[1] for leaf, il in built.caches.items()}
    assert sizes[False] == {il: 4096 if il == 5 else 256 for il in range(7)}
    assert set(sizes[True].values()) == {4096}


def test_unique_names_never_end_like_the_schedulers_own() -> None:
    names = unique_names(["a", "a", "a~2", "b (view)", "", "x" * 63, "x" * 63, 'q"#\\', "t\n"])
    assert names[:5] == ["a", "a~2", "a~2~2", "b (view)~2", "unnamed"]
    assert names[6] == "x" * 61 + "~2"
    assert names[7:] == ["q___", "t_"]


def test_a_model_of_235b_has_the_experts_of_all_its_layers() -> None:
    model = MadeUp(
        arch="qwen3moe",
        dtype=DTYPES["q4_K"],
        n_layer=94,
        n_embd=4096,
        n_ff=12288,
        n_head=64,
        n_head_kv=4,
        head_size=128,
        n_vocab=151936,
        n_ctx_train=40960,
        n_expert=128,
        n_expert_used=8,
        extra={"expert_feed_forward_length": 1536},
    )
    built = made(made_up_header(model), Options(n_ctx=32768, flash_attn=FlashAttn.ON))
    operations = [tensor for tensor in built.graph.tensors if tensor.op is not Op.NONE]
    assert sum(tensor.op is Op.MUL_MAT_ID for tensor in operations) == 3 * 94
    assert sum(tensor.nbytes for i, tensor in enumerate(built.graph.tensors) if i in built.weights) > 120 << 30


COUNTS = st.sampled_from((0, 1, 2, 3, 4, 7, 32, 64, 2**31 - 1, 2**31, 2**64 - 1))
FLOATS = st.sampled_from((0.0, -1.0, 1e-45, 3e38, float("inf"), float("nan"), 1e-5, 8.0))
KEYS: dict[str, st.SearchStrategy[Given]] = {
    **{key.split(".", 1)[1]: COUNTS for key in made_up_metadata(MadeUp()) if key.startswith("llama.")},
    **dict.fromkeys(("attention.head_count_kv", "attention.key_length", "attention.value_length"), COUNTS),
    **dict.fromkeys(("rope.dimension_count", "rope.scaling.original_context_length"), COUNTS),
    **dict.fromkeys(("expert_count", "expert_used_count", "expert_group_count", "expert_group_used_count"), COUNTS),
    **dict.fromkeys(("expert_feed_forward_length", "attention.sliding_window"), COUNTS),
    **dict.fromkeys(("attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.scaling.factor"), FLOATS),
    **dict.fromkeys(("rope.scaling.attn_factor", "rope.freq_base_swa", "final_logit_softcapping"), FLOATS),
    "rope.scaling.type": st.sampled_from(("none", "linear", "yarn", "longrope", "ntk")),
    "attention.causal": st.booleans(),
    "attention.sliding_window_pattern": COUNTS | st.lists(st.booleans(), min_size=1, max_size=3),
}
ANY = st.one_of(COUNTS, FLOATS, st.just(""), st.just(True), st.lists(st.integers(0, 3), min_size=1, max_size=3))


@st.composite
def changed_keys(draw: Callable[[st.SearchStrategy[Any]], Any]) -> dict[str, Given]:
    """Some keys with values that are mostly of the right type."""
    keys = draw(st.lists(st.sampled_from(sorted(KEYS)), max_size=4, unique=True))
    return {key: draw(ANY if draw(st.integers(0, 9)) == 0 else KEYS[key]) for key in keys}


@given(st.sampled_from(sorted(MODELS)), changed_keys())
@settings(max_examples=150, deadline=None)
def test_any_metadata_make_a_graph_or_a_sentence(arch: str, changes: dict[str, Given]) -> None:
    if changes.get("block_count") in (32, 64):
        changes["block_count"] = 4
    metadata = made_up_metadata(MadeUp(arch=arch, extra=changes))
    try:
        hparams = read_hparams(parse_header(header_bytes(metadata, []), "fuzzed"))
        header = parse_header(header_bytes(metadata, weight_rows(hparams, DTYPES["f16"])), "fuzzed")
        built = made(header)
    except InputError:
        event("a sentence")
        return
    event("a graph")
    assert built.graph.tensors[-1].name == "result_output"
