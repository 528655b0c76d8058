"""Graphs of every shape against the real llama.cpp, which plays sessions that are not recorded, field by field."""

from typing import Any

import msgspec
import pytest

from galloscope.core.decode.native_graphs import NativeGraphs
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.script_options import script_options
from galloscope.core.llama.assemble import graph_maker
from galloscope.core.models.made_up import MadeUp, made_up_header
from galloscope.core.models.shape import Purpose
from galloscope.core.native.capture import available
from galloscope.tests.core.models.recorded import MODELS
from galloscope.tests.core.models.same_graph import differences

pytestmark = pytest.mark.skipif(bool(available()), reason=available())

CLASSIFIER = msgspec.structs.replace(MODELS["qwen3"], optional=frozenset({"output.weight", "cls.output.weight"}))
MEAN_RANK = msgspec.structs.replace(MODELS["llama"], extra={"pooling_type": 4, "classifier.pooling_type": 1})
WIDE = msgspec.structs.replace(MODELS["qwen2"], n_embd=256, head_size=None)
FACTORS = msgspec.structs.replace(MODELS["llama"], optional=frozenset({"output.weight", "rope_freqs.weight"}))
FOUR = {"n_ctx": 1024, "n_ubatch": 16, "n_seq_max": 4}
UNIFIED = {**FOUR, "kv_unified": True}
Steps = list[dict[str, Any]]
SHIFTED: Steps = [
    {"decode": [{"seq": 0, "n": 9}]},
    {"seq_rm": [0, 0, 4]},
    {"seq_add": [0, 4, -1, -4]},
    {"decode": [{"seq": 0}]},
]
UNEVEN: Steps = [
    {"decode": [{"seq": 0, "n": 3}, {"seq": 1, "n": 2}, {"seq": 2, "n": 4}, {"seq": 3, "n": 1}]},
    {"decode": [{"seq": 0, "n": 2}, {"seq": 2, "n": 2}]},
    {"decode": [{"seq": 1}, {"seq": 3}]},
    {"decode": [{"seq": 3}, {"seq": 0}]},
    {"seq_rm": [1, -1, -1]},
    {"decode": [{"seq": 1, "n": 2}, {"seq": 2, "n": 2}]},
    {"decode": [{"seq": 2, "n": 3}]},
]
APART: Steps = [{"decode": [{"seq": seq, "n": 2}]} for seq in (0, 2, 1, 3)]
APART += [{"decode": [{"seq": 0}, {"seq": 1}]}, {"decode": [{"seq": 2}, {"seq": 3}]}, {"decode": [{"seq": 0}]}]
"""Sequences that follow one another whose states do not."""
POOLED: Steps = [
    {"decode": [{"seq": 0, "n": 3}, {"seq": 1, "n": 2}, {"seq": 2, "n": 4}]},
    {"clear": True},
    {"decode": [{"seq": 1, "n": 5}]},
]
WARMED: Steps = [{"set_warmup": True}, {"decode": [{"n": 2}]}, {"set_warmup": False}, {"decode": [{"n": 2}]}]
SAMPLED: Steps = [{"set_sampler": 0}, {"set_sampler": 2}, *UNEVEN[:2]]
GIVEN: Steps = [{"decode": [{"n": 4}], "input": "embd"}, {"decode": [{"n": 4}], "logits": "none"}]


def embedded(pooling: int) -> dict[str, Any]:
    return {**UNIFIED, "embeddings": True, "pooling_type": pooling}


CASES: dict[str, tuple[MadeUp, dict[str, Any], Steps]] = {
    "warmup": (MODELS["mixtral"], {}, WARMED),
    "warmup of qwen3moe": (MODELS["qwen3moe"], {}, WARMED),
    "shift": (FACTORS, {"flash_attn": "on"}, SHIFTED),
    "shift of streams": (MODELS["phi3"], FOUR, SHIFTED),
    "shift of a window": (MODELS["gemma3"], {"n_ctx": 1024, "swa_full": True}, SHIFTED),
    "shift of a quantised cache": (WIDE, {"flash_attn": "on", "type_k": "q8_0"}, SHIFTED),
    "states": (MODELS["mamba"], FOUR, UNEVEN),
    "states apart": (MODELS["mamba"], FOUR, APART),
    "embeddings of states": (MODELS["mamba"], {**FOUR, "embeddings": True}, UNEVEN[:2]),
    "streams": (MODELS["qwen3"], FOUR, UNEVEN),
    "window streams": (MODELS["gemma3"], {**FOUR, "flash_attn": "on"}, UNEVEN),
    "samplers": (MODELS["llama"], UNIFIED, SAMPLED),
    "embeddings": (MODELS["gemma3"], UNIFIED, GIVEN),
    "no pooling": (MODELS["llama"], embedded(-1), POOLED),
    "mean": (MODELS["qwen2"], embedded(1), POOLED),
    "last": (MODELS["phi3"], embedded(3), POOLED),
    "rank": (CLASSIFIER, embedded(4), POOLED),
    "rank by mean": (MEAN_RANK, embedded(-1), POOLED),
}


@pytest.mark.parametrize("name", CASES)
def test_every_graph_of_a_session_is_llamas(name: str) -> None:
    model, context, steps = CASES[name]
    document = {"schema": "llama-session-1", "name": name, "model": "made-up.gguf", "context": context, "steps": steps}
    script = parse_script(msgspec.json.encode(document), name)
    header = made_up_header(model)
    real = NativeGraphs(header, script)
    maker = graph_maker(header, script_options(script, ()))
    flash = script.context.flash_attn == "on"
    shapes = real.played.shapes
    for shape in shapes:
        theirs, mine = real.graph(shape), maker.graph(shape, flash)
        assert differences(mine.problem.requests[0].graph, theirs.problem.requests[0].graph) == []
        assert mine.input_classes == theirs.input_classes
    assert len(shapes) >= 3
    assert any(shape.purpose is not Purpose.DECODE for shape in shapes) == ("shift" in name)
