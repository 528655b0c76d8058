"""What the page says about a model: its fields, values, totals, and what is simulated."""

from typing import Any

import pytest

from galloscope.app.figures.model import fields, model_facts, summary, values
from galloscope.app.figures.model_devices import model_device
from galloscope.app.model_open import normal_line
from galloscope.app.sessions import Opened
from galloscope.app.views.model_why import model_section
from galloscope.core.devices.known import DEVICES
from galloscope.core.llama.arguments import read_command
from galloscope.core.llama.flags import FLAGS
from galloscope.core.llama.open import Origin, open_model
from galloscope.core.llama.options import GraphMode, Options
from galloscope.core.llama.totals import totals
from galloscope.core.models.made_up import MadeUp, made_up

LINE = "-c 1024 -ub 256 -ot 'ffn_up=CPU' -ot 'ffn_down=CPU' -nkvo --device cuda:1MiB"
BOTH = (GraphMode.PREFILL, GraphMode.DECODE)


@pytest.fixture(scope="module")
def opened() -> Opened:
    header = made_up(MadeUp(n_layer=3, n_embd=256, n_head=4, head_size=64))
    model = open_model(header, "made-up.gguf", read_command(LINE)[0], BOTH, Origin.BUILDER)
    return Opened.of_model("key", model, normal_line(LINE))


def texts(component: Any) -> list[str]:
    """Every text of a component."""
    if isinstance(component, str):
        return [component]
    if isinstance(component, (list, tuple)):
        return [text for one in component for text in texts(one)]
    return texts(getattr(component, "children", None) or [])


def test_every_flag_has_a_field_and_every_device_a_choice() -> None:
    told = fields()
    found = [one["field"] for group in told["groups"] for one in group["fields"]]
    assert sorted(found) == sorted(flag.field for flag in FLAGS)
    assert [one["name"] for one in told["devices"]] == list(DEVICES)
    assert all(one["usual"] in one["choices"] for group in told["groups"] for one in group["fields"] if one["choices"])


def test_values_are_as_a_panel_shows_them() -> None:
    shown = values(read_command(LINE)[0])
    assert (shown["n_ctx"], shown["n_ubatch"], shown["n_batch"]) == ("1024", "256", "2048")
    assert shown["overrides"] == ["ffn_up=CPU", "ffn_down=CPU"]
    assert (shown["offload_kqv"], shown["op_offload"]) == (True, False)
    assert values(Options())["devices"] == []


def test_the_summary_names_what_decides() -> None:
    given = read_command(LINE)[0]
    told = summary(given, given)
    assert told[0] == "cuda:1MiB"
    assert {"-c 1024", "-ub 256", "-ot 2 patterns", "-nkvo", "-b 2048"} < set(told)
    assert summary(Options(), Options(n_ctx=512))[:2] == ["cpu", "-c 512"]


def test_facts_of_a_model(opened: Opened) -> None:
    assert opened.model
    told = model_facts(opened.model, opened.line)
    assert told["line"] == normal_line(LINE)
    assert told["bufts"] == ["CUDA0", "CPU"]
    assert told["differences"] == [None, None]
    assert told["architecture"] == "llama"
    assert told["filled"]["n_batch"] == "1024"  # no larger than the context


def test_rows_are_llama_cpps_totals(opened: Opened) -> None:
    assert opened.model
    rows = opened.runs[0].devices
    expected = totals(opened.model.taken, [view.state for view in opened.runs])
    assert [row.name for row in rows] == [one.name for one in expected] == ["CUDA0", "Host"]
    for row, one in zip(rows, expected, strict=True):
        assert row.total == one.total + one.output
        assert (row.weights, row.kept, row.compute, row.memory) == (one.weights, one.kv, one.compute, one.memory)
        assert row.here <= row.compute
    assert rows[0].memory is not None
    assert rows[0].total > rows[0].memory
    assert opened.runs[1].devices[0].here < rows[0].here


def test_the_numbers_that_are_compared(opened: Opened) -> None:
    prefill, decode = (view.totals for view in opened.runs)
    assert prefill["devices"] == decode["devices"]
    assert prefill["devices"]["CUDA0"]["compute"] == opened.runs[0].devices[0].compute
    assert prefill["copied"] > decode["copied"]


def test_what_was_not_compared_is_said(opened: Opened) -> None:
    view = opened.runs[0]
    (section,) = model_section(view, "check")
    assert "built by galloscope, not compared" in texts(section)
    assert view.graph
    object.__setattr__(view.graph, "differences", ("norm-0 differs",))
    assert "norm-0 differs" in texts(model_section(view, "check"))
    object.__setattr__(view.graph, "differences", ())
    assert "verified against galloscope builder" in texts(model_section(view, "check"))
    object.__setattr__(view.graph, "differences", None)


def test_what_is_simulated_is_said(opened: Opened) -> None:
    view = opened.runs[0]
    told = texts(model_section(view, "device-CUDA0"))
    assert set(DEVICES["cuda"].simplified) <= set(told)
    assert "simulated CUDA device" in told
    assert not any("assumed: nobody" in text for text in told)
    assert any("assumed: nobody" in text for text in texts(model_section(view, "device-Host")))
    for listed in ("device-CUDA7", "device-", "splits", ""):
        assert model_section(view, listed) == []
    assert model_device(Options(), "CUDA0") is None


def test_a_graph_file_says_nothing_of_this() -> None:
    from galloscope.app.samples import samples
    from galloscope.app.sessions import SessionStore

    view = SessionStore().open_source(f"sample:{samples()[1].name}").runs[0]
    assert model_section(view, "check") == []
