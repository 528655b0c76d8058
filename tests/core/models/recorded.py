"""The models behind the recorded llama.cpp graphs in tests/golden/llama, and the options they were captured with."""

import re
from collections.abc import Iterator

import msgspec

from galloscope.core.dtypes import DTYPES
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import Row, header_bytes
from galloscope.core.graph import Problem
from galloscope.core.llama.choices import choose
from galloscope.core.llama.facts import cache_facts
from galloscope.core.llama.options import FlashAttn, GraphMode, Options
from galloscope.core.models.built import WeightUse, Where
from galloscope.core.models.made_up import MadeUp, made_up_metadata
from galloscope.core.tensor import Tensor
from galloscope.tests.corpora import GOLDEN, graph_path

TINY = MadeUp(head_size=16, n_head_kv=2)
HEADS_OF_32 = MadeUp(head_size=32, n_head_kv=2)
MODELS: dict[str, MadeUp] = {
    "llama": TINY,
    "llama_q8": TINY,
    "llama_q4_tied": TINY,
    "llama_ropefreqs": TINY,
    "llama_4l": msgspec.structs.replace(TINY, n_layer=4),
    "llama70b_q4k": MadeUp(n_layer=80, n_embd=8192, n_ff=28672, n_head=64, n_head_kv=8, n_vocab=128256),
    "mixtral": msgspec.structs.replace(TINY, n_expert=4, n_expert_used=2),
    "qwen2": msgspec.structs.replace(TINY, arch="qwen2"),
    "qwen3": msgspec.structs.replace(HEADS_OF_32, arch="qwen3"),
    "qwen3moe": msgspec.structs.replace(
        HEADS_OF_32,
        arch="qwen3moe",
        n_expert=8,
        n_expert_used=2,
        extra={"expert_feed_forward_length": 64},
    ),
    "gemma3": MadeUp(
        arch="gemma3",
        n_layer=3,
        n_head_kv=1,
        head_size=32,
        extra={"attention.sliding_window": 32, "attention.sliding_window_pattern": 2},
    ),
    "gemma3-270m": MadeUp(
        arch="gemma3",
        n_layer=18,
        n_embd=640,
        n_ff=2048,
        n_head_kv=1,
        head_size=256,
        n_vocab=262144,
        n_ctx_train=32768,
        extra={
            "attention.sliding_window": 512,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "rope.freq_base": 1e6,
        },
    ),
    "phi3": MadeUp(arch="phi3"),
    "mamba": MadeUp(arch="mamba", extra={"ssm.time_step_rank": 8}),
}
"""By the beginning of the case's name."""

OPTIONS: dict[str, dict[str, object]] = {
    "seq4uni": {"kv_unified": True},
    "kvq8": {"type_k": DTYPES["q8_0"], "type_v": DTYPES["q8_0"]},
    "out1": {"n_outputs": 1},
}
"""By what else the name says."""

CASES = sorted(
    path.name.split(".graph")[0]
    for path in (GOLDEN / "llama").glob("*.graph.json.gz")
    if path.name.startswith(tuple(MODELS))
)


def model_of(case: str) -> MadeUp:
    """The model a case was captured from."""
    return MODELS[max((name for name in MODELS if case.startswith(f"{name}-")), key=len)]


def problem_of(case: str) -> Problem:
    return parse_graph(graph_path(case).read_bytes())


def question_of(case: str, about: str, header: Header) -> tuple[Options, GraphMode, bool]:
    """Options, mode and flash attention of a case."""
    numbers = {name: int(re.search(pattern, about)[1]) for name, pattern in _ABOUT.items()}  # type: ignore[index]
    flash = "flash attention on" in about
    mode = GraphMode.DECODE if "decode" in about else GraphMode.PREFILL
    further = next((given for part, given in OPTIONS.items() if part in case), {})
    options = Options(
        n_ctx=numbers["n_ctx"],
        n_seq_max=numbers["n_seqs"],
        n_ubatch=512 if "270m" in case or "70b" in case else 32,
        flash_attn=FlashAttn.ON if flash else FlashAttn.OFF,
    )
    options = msgspec.structs.replace(options, **further)
    return choose(options, cache_facts(header)).options, mode, flash


_ABOUT = {"n_ctx": r"n_ctx (\d+)", "n_seqs": r"of (\d+) sequence"}


def weights_of(problem: Problem) -> Iterator[Tensor]:
    return (tensor for tensor in problem.requests[0].graph.tensors if tensor.is_weight)


def header_of(case: str, problem: Problem) -> Header:
    """A header with the model's metadata and the weights that the recorded graph has."""
    rows: dict[str, Row] = {}
    for tensor in weights_of(problem):
        name = tensor.name.split("~")[0]
        rows[name] = (name, tensor.dtype, tensor.ne)
    return parse_header(header_bytes(made_up_metadata(model_of(case)), list(rows.values())), case)


def where_of(problem: Problem) -> Where:
    """Where the capture's llama.cpp loaded its weights, as far as a weight that it loaded more than once tells.

    Embeddings used as output lie apart; what each layer loads lies where the layer's cache does.
    """
    tensors = problem.requests[0].graph.tensors
    twice = {tensor.name.split("~")[0] for tensor in weights_of(problem) if "~" in tensor.name}
    caches = {tensor.layer: tensor.buft for tensor in tensors if re.fullmatch(r"cache_k_l\d+", tensor.name)}

    def where(use: WeightUse) -> object:
        if use.name not in twice:
            return None
        return use.layer if use.name == "token_embd.weight" else caches[use.layer]

    return where
