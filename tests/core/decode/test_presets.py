"""Presets: every one is a script that any model plays, and shows what it says it shows."""

import pytest

from galloscope.core.decode.life import Life, fold
from galloscope.core.decode.presets import PRESETS, make_preset
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.session import play
from galloscope.core.decode.summary import Summary, summary
from galloscope.core.decode.write import write_script
from galloscope.core.errors import InputError
from galloscope.core.gguf.read import read_header
from galloscope.tests.core.decode.played import MODELS


def life_of(name: str, model: str) -> Life:
    return fold(play(make_preset(name, f"{model}.gguf", 2), read_header(MODELS / f"{model}.gguf")))


def reasons(total: Summary) -> dict[str, int]:
    return {one.key: one.count for one in total.reasons}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("model", ["llama", "gemma3", "mamba", "qwen3moe"])
def test_every_model_plays_it_to_its_end(name: str, model: str) -> None:
    life = life_of(name, model)
    assert life.abort == ""
    assert life.ubatches
    assert not [step.refused for step in life.steps if step.refused]


@pytest.mark.parametrize("name", PRESETS)
def test_it_can_be_written_down(name: str) -> None:
    script = make_preset(name, "x.gguf", 4)
    assert parse_script(write_script(script), name) == script
    assert (script.name, script.about) == (name, PRESETS[name].teaches)


def test_growing_steps_at_each_256_cells() -> None:
    total = summary(life_of("growing", "llama"))
    assert reasons(total) == {"n_kv": 4, "first": 1, "n_tokens": 1}
    assert total.reasons[0].because == "n_kv stepped by 256"


def test_offload_plans_anew_at_each_switch() -> None:
    assert dict(summary(life_of("offload", "llama_4l")).replans)["ids_changed"] >= 6


def test_offload_goes_by_the_rows_of_an_op() -> None:
    teaches = PRESETS["offload"].teaches
    assert "ops with 32 rows and more (matrix products from 32 tokens on, norms per head earlier)" in teaches


def test_embeddings_never_re_use() -> None:
    total = summary(life_of("embeddings", "llama"))
    assert (total.reused, reasons(total)["never"]) == (0, 1)


def test_drafts_of_equal_length_re_use() -> None:
    life = life_of("drafts", "llama")
    drafts = [one for one in life.ubatches if one.ubatch.n_tokens == 5]
    assert [one.reused for one in drafts] == [False, True, True, True, False, True, True]
    assert drafts[1].ubatch.pos[0] == 105  # four were accepted
    assert drafts[2].ubatch.pos[0] == 107  # one of four


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"'drafs' is not a preset .did you mean 'drafts'"):
        make_preset("drafs", "x.gguf")
