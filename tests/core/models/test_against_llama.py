"""Builders against the real llama.cpp, asked in the same run, over models and options that no recorded graph has."""

import pytest
from hypothesis import Phase, event, given, note, settings
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import Given
from galloscope.core.graph import Graph
from galloscope.core.llama.choices import choose
from galloscope.core.llama.facts import cache_facts
from galloscope.core.llama.options import FlashAttn, GraphMode, Options
from galloscope.core.models import MODELS, build, read_hparams
from galloscope.core.models.build import one_place
from galloscope.core.models.built import Where
from galloscope.core.models.cparams import reserved_shape
from galloscope.core.models.made_up import MadeUp, made_up
from galloscope.core.native.capture import available, capture
from galloscope.tests.core.models.recorded import where_of
from galloscope.tests.core.models.same_graph import differences
from galloscope.tests.core.models.strategies import models, questions

pytestmark = pytest.mark.skipif(bool(available()), reason=available())


def ours(header: Header, options: Options, mode: GraphMode, flash: bool, where: Where = one_place) -> Graph:
    chosen = choose(options, cache_facts(header)).options
    return build(header, chosen, reserved_shape(read_hparams(header), chosen, mode), flash, where).graph


@pytest.mark.parametrize("scaling", ["linear", "yarn"])
@pytest.mark.parametrize(
    "extra",
    [
        *({"rope.scaling.factor": factor} for factor in (float("nan"), float("inf"), 0.0, -2.0, 1e-30, 1e-45)),
        {"rope.freq_base": float("nan")},
        {"rope.scaling.original_context_length": 2**31},
        {"context_length": 2**32 - 1},
        {"embedding_length_out": 2**32 - 1, "classifier.activation": "gelu", "pooling_type": 77},
    ],
)
def test_numbers_that_no_model_has_make_llamas_graph(extra: dict[str, Given], scaling: str) -> None:
    source = made_up(MadeUp(extra={**extra, "rope.scaling.type": scaling}))
    options = Options(n_ctx=256, n_ubatch=32, flash_attn=FlashAttn.ON)
    (taken,) = capture(source, options, [GraphMode.PREFILL]).graphs
    mine = ours(parse_header(source, "made-up model"), options, GraphMode.PREFILL, True, where_of(taken.problem))
    assert differences(mine, taken.problem.requests[0].graph) == []


@pytest.mark.parametrize("arch", MODELS)
@given(data=st.data())
@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.target])
def test_builder_makes_llamas_graph(arch: str, data: st.DataObject) -> None:
    model = data.draw(models(arch))
    options, modes = data.draw(questions())
    source = made_up(model)
    header = parse_header(source, "made-up model")
    if (
        MODELS[arch].attention
        and options.type_k.quantized
        and read_hparams(header).n_embd_head_k % options.type_k.block
    ):
        with pytest.raises(InputError, match=r"-ctk|K cache type"):  # with -fa off llama.cpp does not look
            ours(header, options, modes[0], options.flash_attn is not FlashAttn.OFF)
        return
    try:
        taken = capture(source, options, modes)
    except InputError as error:
        event("llama.cpp refuses")
        note(str(error))
        with pytest.raises(InputError):
            ours(header, options, modes[0], options.flash_attn is not FlashAttn.OFF)
        return
    event("built")
    for mode, graph in zip(modes, taken.graphs, strict=True):
        where = where_of(graph.problem)
        mine = ours(header, options, mode, taken.options.flash_attn is FlashAttn.ON, where)
        assert differences(mine, graph.problem.requests[0].graph) == []
