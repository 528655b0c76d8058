"""Single rules of a context that no recording shows, or that want to be seen alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from galloscope.core.decode.events import MemoryUpdate, Why
from galloscope.core.decode.life import Life, fold
from galloscope.core.decode.log import LifeLog
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.record import record, record_json
from galloscope.core.decode.session import play
from galloscope.core.errors import InputError
from galloscope.core.models.shape import Purpose
from galloscope.tests.core.decode.headers import header_of


def played(steps: list[Any], model: str = "llama.gguf", **given: Any) -> LifeLog:
    text = json.dumps({"model": model, "steps": steps, **given})
    return play(parse_script(text.encode(), "test"), header_of(model))


def life_of(steps: list[Any], model: str = "llama.gguf", **given: Any) -> Life:
    return fold(played(steps, model, **given))


TOKEN = {"decode": [{"n": 1}]}


@pytest.mark.parametrize(
    ("value", "disabled"), [("1", True), ("0", False), ("", False), ("yes", False), (" 2x", True), ("-1", True)]
)
def test_reuse_is_disabled_by_a_number_that_is_not_zero(value: str, disabled: bool) -> None:
    life = life_of([TOKEN] * 3, env={"LLAMA_GRAPH_REUSE_DISABLE": value})
    assert [one.reused for one in life.ubatches] == [False, not disabled, not disabled]
    assert (life.ubatches[-1].why is Why.DISABLED) == disabled


def test_ids_beyond_n_seq_max_are_refused_in_a_unified_cache_too() -> None:
    life = life_of([{"decode": [{"seq": 5}]}], context={"n_seq_max": 4, "kv_unified": True})
    assert life.steps[0].ret == -1
    assert "5" in life.steps[0].refused


def test_a_window_model_shifts_both_caches_in_turn() -> None:
    steps = [{"decode": [{"n": 20}]}, {"seq_rm": [0, 0, 8]}, {"seq_add": [0, 8, -1, -8]}, TOKEN]
    log = played(steps, "gemma3.gguf")
    (update,) = [event for event in log.events if isinstance(event, MemoryUpdate)]
    graphs = [log.runs[run].run.request.graph for run in update.runs]
    assert len(graphs) == 2
    assert graphs[0] != graphs[1]
    assert [purpose.value for purpose in Purpose] == ["decode", "shift", "shift_swa"]
    life = fold(log)
    assert life.ubatches[-1].why is Why.NO_ACTIVE
    assert life.steps[-1].shift_runs == update.runs


def test_an_aborted_shift_is_tried_again() -> None:
    steps = [{"decode": [{"n": 20}]}, {"seq_rm": [0, 0, 8]}, {"seq_add": [0, 8, -1, -8]}, {"set_abort": True}, TOKEN]
    log = played([*steps, {"set_abort": False}, TOKEN, TOKEN])
    assert len([event for event in log.events if isinstance(event, MemoryUpdate)]) == 2
    assert [step.ret for step in fold(log).steps][4:] == [2, None, 0, 0]


def test_an_aborted_batch_leaves_the_graph_usable_and_gives_its_cells_back() -> None:
    steps = [TOKEN, TOKEN, {"set_abort": True}, TOKEN, {"set_abort": False}, TOKEN]
    life = life_of(steps)
    assert [step.ret for step in life.steps] == [0, 0, None, 2, None, 0]
    assert [one.reused for one in life.ubatches] == [False, True, True, True]
    assert [one.ubatch.pos for one in life.ubatches] == [(0,), (1,), (2,), (2,)]


@pytest.mark.parametrize(
    ("steps", "given", "text"),
    [
        ([{"decode": [{"n": 33}]}], {"context": {"n_ubatch": 32}}, "n_tokens_all <= cparams.n_batch"),
        (
            [{"set_causal_attn": False}, {"decode": [{"n": 33}]}],
            {"context": {"n_ubatch": 32, "n_batch": 64}},
            "non-causal attention requires n_ubatch >= n_tokens",
        ),
        (
            [{"decode": [{"n": 8}], "logits": "all"}],
            {"context": {"n_outputs_max": 4}},
            "n_outputs_max <= cparams.n_outputs_max",
        ),
    ],
)
def test_what_ends_the_process_ends_the_session_with_its_text(
    steps: list[Any], given: dict[str, Any], text: str
) -> None:
    life = life_of([*steps, TOKEN], **given)
    assert text in life.abort
    assert life.steps[-1].ret is None
    assert len(life.steps) == len(steps), "nothing comes after it"


def test_a_backend_sampler_takes_one_output_of_its_sequence() -> None:
    steps = [{"set_sampler": 0}, {"decode": [{"n": 4}], "logits": "all"}, {"decode": [{"n": 4}]}]
    life = life_of(steps)
    assert [step.ret for step in life.steps] == [True, -1, 0]


def test_more_tensors_than_the_pool_has_room_for_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    from galloscope.core.decode import setup as made

    monkeypatch.setattr(made, "graph_max_nodes", lambda *_: 60)
    life = life_of([TOKEN])
    assert "GGML_ASSERT(cgraph->n_nodes < cgraph->size) failed" in life.abort
    assert "max_nodes" in life.abort


def test_more_sequences_than_a_batch_has_tokens_are_fine_with_room_for_their_outputs() -> None:
    given = {"n_batch": 2, "n_ubatch": 2, "n_seq_max": 4, "n_outputs_max": 8}
    assert life_of([TOKEN], context=given).steps[0].ret == 0


def test_a_graph_that_ggml_cannot_build_ends_the_process() -> None:
    """Tokens of the reservation are rounded up to 6, its outputs are 5: the mean of the rows does not fit."""
    given = {"n_batch": 8, "n_ubatch": 5, "n_seq_max": 2, "pooling_type": 1}
    life = life_of([TOKEN, {"set_embeddings": True}, {"clear_cvec": True}, TOKEN, TOKEN], context=given)
    assert "MUL_MAT" in life.abort
    assert [step.ret for step in life.steps] == [0, None, None, None]


def test_the_probe_of_automatic_flash_attention_is_built_with_it() -> None:
    """From 32 sequences on FLASH_ATTN_EXT goes to the device, whose layers are not: auto ends up off."""
    given = {"n_ctx": 8192, "n_seq_max": 32, "n_ubatch": 32, "flash_attn": "auto"}
    log = played([TOKEN], "llama_4l.gguf", context=given, devices=[{"name": "GPU0"}], model_params={"n_gpu_layers": 0})
    assert not log.setup.flash
    ops = [{tensor.op.value for tensor in one.run.request.graph.tensors} for one in log.runs[:5]]
    assert ["FLASH_ATTN_EXT" in found for found in ops] == [True, False, False, False, False]


def test_positions_are_32_bits_wide() -> None:
    last = {"decode": [{"n": 1, "pos": (1 << 31) - 1}]}
    assert [step.ret for step in life_of([last, TOKEN]).steps] == [0, -1]
    assert life_of([{"decode": [{"n": 5, "pos": (1 << 31) - 1}]}]).steps[0].ret == -1


def test_a_log_that_grows_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from galloscope.core.decode import context

    monkeypatch.setattr(context, "MOST_EVENTS", 10_000)
    assert life_of([TOKEN] * 3).abort == ""
    with pytest.raises(InputError, match=r"different graphs, whose .* decisions are more than are kept"):
        life_of([{"decode": [{"n": n}]} for n in range(1, 30)], context={"n_ubatch": 32, "n_ctx": 2048})


def test_errors_on_the_way_speak_of_the_keys_of_the_script() -> None:
    with pytest.raises(InputError, match=r"context\.type_k"):
        life_of([TOKEN], context={"type_k": "q8_0"})


def test_a_device_cannot_be_called_like_a_host_buffer() -> None:
    with pytest.raises(InputError, match=r"devices\[1\].name is 'GPU_Host'"):
        life_of([TOKEN], devices=[{"name": "GPU0"}, {"name": "GPU_Host"}])


def test_a_key_given_twice_is_refused_in_json_too() -> None:
    with pytest.raises(InputError, match="the key 'n' is given twice"):
        parse_script(b'{"model": "m.gguf", "steps": [{"decode": [{"n": 1, "n": 2}]}]}', "twice.json")


def test_the_record_in_pieces_is_the_record() -> None:
    for log in (played([TOKEN] * 3), played([{"decode": [{"n": 33}]}])):
        pieces = b"".join(record_json(log))
        assert json.loads(pieces) == json.loads(json.dumps(record(log)))
