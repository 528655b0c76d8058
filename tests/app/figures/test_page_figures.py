"""The data of the page's views: steps, passes, table, devices, events, the selected thing."""

from typing import get_args

import pytest

from galloscope.app.figures import devices, events, passes, selected, steps
from galloscope.app.figures.columns import values
from galloscope.app.figures.table import table_columns
from galloscope.app.run_view import RunView
from galloscope.app.samples import FIRST, samples
from galloscope.app.sessions import SessionStore
from galloscope.core import events as ev
from galloscope.core.explain.usage import usage

STORE = SessionStore(most=100)


def views() -> list[RunView]:
    return [run for sample in samples() for run in STORE.open_source(f"sample:{sample.name}").runs]


@pytest.fixture
def first() -> RunView:
    return STORE.open_source(f"sample:{FIRST}").runs[0]


def test_every_kind_of_event_has_words() -> None:
    assert set(events.WORDS) == set(get_args(ev.Event))


def test_every_event_of_every_sample_is_a_short_sentence() -> None:
    for view in views():
        for event in view.run.events:
            told = events.in_words(view.state, event)
            assert told.text
            assert "None" not in told.text


def test_a_step_holds_the_events_around_its_execution() -> None:
    for view in views():
        ran = [(tick, event.node) for tick, event in enumerate(view.run.events) if isinstance(event, ev.Exec)]
        if not ran:
            continue
        plan = ran[-view.state.n_steps :]
        assert len(view.ticks) == len(plan)
        for step, (start, end) in enumerate(view.ticks):
            tick, node = plan[step]
            assert start <= tick < end
            assert node == view.state.alloc_nodes[step][0]
        for (_, end), (start, _) in zip(view.ticks, view.ticks[1:], strict=False):
            assert end == start


def test_a_kept_plan_has_steps_where_addresses_are_given() -> None:
    second = STORE.open_source("sample:lesson-stale-plan").runs[1]
    assert all(isinstance(second.run.events[start], ev.Place) for start, _ in second.ticks)


def test_the_live_set_adds_up_to_the_live_bytes() -> None:
    for view in views():
        for one in usage(view.state):
            if one.peak:
                alive = dict(steps.live_set(view.state, one.peak_step))[one.buffer]
                assert sum(size for _, size in alive) == one.peak
                assert [tensor for tensor, _ in alive] == list(one.at_peak)


def test_passes_end_with_the_devices_of_the_state() -> None:
    for view in views():
        state, none = view.state, len(view.state.backends)
        found = passes.passes_data(view.run, state)
        if not found or state.abort is not None:
            continue
        last = [entry % (none + 1) for entry in values(found[-1]["of"], "uint8")]
        for tensor in state.nodes:
            assert last[tensor] == state.backend_ids[tensor]


def test_a_pass_says_what_it_changed(first: RunView) -> None:
    found = passes.passes_data(first.run, first.state)
    for one in found:
        summary = passes.pass_at(first.run, first.state, one["tick"])
        assert summary is not None
        assert summary.changed == one["count"] == sum(group[3] for group in summary.groups)
        fresh = [entry for entry in values(one["of"], "uint8") if entry > len(first.state.backends)]
        assert len(fresh) == one["count"]
    assert passes.pass_at(first.run, first.state, found[0]["tick"] + 1) is None


def test_the_palette_of_a_pass_has_every_entry(first: RunView) -> None:
    colors = passes.pass_colors(first.state)
    assert len(colors["palette"]) == 2 * (len(first.state.backends) + 1)


def test_the_table_has_a_row_for_each_tensor() -> None:
    for view in views():
        table, count = table_columns(view.state), len(view.state.tensors)
        assert len(table["cause"]) == len(table["place"]) == count
        for key in ("step", "split", "parent"):
            assert len(values(table[key], "int32")) == count
        assert len(values(table["offset"], "float64")) == count


def test_devices_name_the_compute_buffers_and_what_lay_there_before(first: RunView) -> None:
    rows = {row.name: row for row in devices.device_totals(first.state)}
    assert set(rows) == {"GPU0", "GPU1", "CPU"}
    assert rows["GPU1"].compute == 551895040
    assert all(row.total == row.compute + row.kept + row.weights for row in rows.values())
    assert rows["CPU"].weights == 178257920


def test_every_tensor_and_split_has_a_card() -> None:
    for view in views():
        state = view.state
        for tensor in range(0, len(state.tensors), 7):
            card = selected.tensor_card(state, tensor)
            assert card.name == state.names[tensor]
            assert card.rows
        for number, split in enumerate(state.splits):
            split_card = selected.split_card(state, number)
            assert [tensor for tensor, _ in sorted(split_card.inputs)] == sorted(split.inputs)
