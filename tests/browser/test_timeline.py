"""The Timeline view in a real Chromium: lanes, zoom, card, selection, micro-batches, assumed numbers, address."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from galloscope.core.execute.result import Execution, NodeRun
from galloscope.tests.browser.driver import SMALL, Driver

pytestmark = pytest.mark.browser
VIEW = "&view=timeline"
COMPUTE, COPY, WAIT, HELD = range(4)
QUESTION = "() => document.getElementById('timeline').dataset.question"


@pytest.fixture(autouse=True)
def forgotten(driver: Driver) -> None:
    """No run of an earlier test."""
    driver.store._kept.clear()


class Done:
    """As much of a finished run as the view needs."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.follows_bytes = False


def ready(driver: Driver) -> None:
    driver.page.wait_for_selector("#timeline[data-state=ready]")
    driver.page.wait_for_selector("#time-chart[data-drawn]")


def open_view(driver: Driver, rest: str = "", source: str = f"sample:{SMALL}") -> None:
    driver.page.goto(f"{driver.address}?file={source}{VIEW}{rest}")
    ready(driver)


def model(driver: Driver, what: str) -> Any:
    return driver.run(f"() => galloscope.page.timeline.chart.{what}")


def until_question(driver: Driver, batches: int, cost: str = "") -> None:
    """Until the answer to this question is on the screen."""
    driver.until(lambda: str(driver.run(QUESTION)).endswith(f"|{batches}|{cost}"))
    ready(driver)


def first_span(driver: Driver, kind: int, device: int) -> int:
    return int(
        driver.run(
            """([kind, device]) => {
                const { spans, lanes } = galloscope.page.timeline.chart.model;
                return [...spans.kind].findIndex((one, i) => one === kind && lanes[spans.lane[i]].device === device);
            }""",
            [kind, device],
        )
    )


def hover(driver: Driver, span: int) -> None:
    at = driver.run("span => galloscope.page.timeline.chart.pixel(span)", span)
    driver.page.mouse.move(at["x"] + 1, at["y"])
    driver.page.mouse.move(at["x"], at["y"])


def click(driver: Driver, span: int) -> None:
    at = driver.run("span => galloscope.page.timeline.chart.pixel(span)", span)
    driver.page.mouse.click(at["x"], at["y"])


def test_one_key_there_and_back(driver: Driver) -> None:
    driver.open(f"?file=sample:{SMALL}")
    page = driver.page
    page.keyboard.press("5")
    ready(driver)
    expect(page.locator("#work")).to_be_hidden()
    expect(page.locator("#time-headline")).to_contain_text("1 micro-batch:")
    expect(page.locator("#time-note")).to_contain_text("Simulated: device clocks with assumed rates")
    assert driver.query("view") == "timeline"
    page.go_back()
    expect(page.locator("#timeline")).to_be_hidden()
    expect(page.locator("#strip")).to_be_visible()
    page.locator("#timeline-button").click()
    expect(page.locator("#timeline")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#timeline")).to_be_hidden()
    assert driver.query("view") is None
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("timeline: when each device computes, copies and waits")
    page.keyboard.press("Escape")


def test_from_planners_and_back(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    page.keyboard.press("4")
    expect(page.locator("#planners")).to_be_visible()
    expect(page.locator("#timeline")).to_be_hidden()
    page.keyboard.press("5")
    expect(page.locator("#timeline")).to_be_visible()
    expect(page.locator("#planners")).to_be_hidden()
    page.keyboard.press("2")
    expect(page.locator("#timeline")).to_be_hidden()
    expect(page.locator("#strip")).to_be_visible()
    driver.until(lambda: driver.query("max") == "strip")


def test_micro_batches_overlap(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    alone = float(model(driver, "model.total"))
    page.locator("[data-batches='4']").click()
    until_question(driver, 4)
    assert alone < float(model(driver, "model.total")) < 4 * alone
    expect(page.locator("[data-batches='4']")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#time-headline")).to_contain_text("times as fast as one after another")
    driver.until(lambda: driver.query("batches") == "4")
    page.keyboard.press("b")
    until_question(driver, 8)
    page.keyboard.press("B")
    until_question(driver, 4)
    lanes = driver.run(
        """() => { const { lanes, spans } = galloscope.page.timeline.chart.model;
            return lanes.filter((lane) => lane.what === "compute").map((lane) => lane.spans
                .filter((i) => spans.kind[i] === 0).map((i) => [spans.start[i], spans.end[i]])); }"""
    )
    assert any(a < d and c < b for a, b in lanes[0] for c, d in lanes[1]), "two devices compute at once"


def test_hover_tells_and_click_selects_everywhere(driver: Driver) -> None:
    open_view(driver, "&batches=2")
    page = driver.page
    card = page.locator("#time-chart .gs-card")
    hover(driver, first_span(driver, WAIT, 1))
    expect(card).to_contain_text("GPU1 waits")
    expect(card).to_contain_text("which waits for")
    hover(driver, first_span(driver, COPY, 0))
    expect(card).to_contain_text("host to GPU0")
    expect(card).to_contain_text("B/s")
    split = first_span(driver, COMPUTE, 0)
    driver.run("span => galloscope.page.timeline.chart.zoomTo(span)", split)
    row = driver.run(
        """span => { const { spans, nodes } = galloscope.page.timeline.chart.model;
            for (let row = spans.first[span]; ; row++) if (nodes.flops[row] > 0) return row; }""",
        split,
    )
    driver.run("([span, row]) => galloscope.page.timeline.chart.zoomTo(span, row)", [split, row])
    page.wait_for_timeout(100)
    at = driver.run(
        """([span, row]) => { const chart = galloscope.page.timeline.chart, { spans, nodes } = chart.model;
            const middle = spans.start[span] + nodes.offset[row] + nodes.ns[row] / 2;
            const box = chart.host.getBoundingClientRect(), pixel = chart.pixel(span);
            return { x: box.left + galloscope.timeline.X(chart, middle), y: pixel.y }; }""",
        [split, row],
    )
    page.mouse.move(at["x"], at["y"])
    expect(card).to_contain_text("FLOP/s")
    page.mouse.click(at["x"], at["y"])
    tensor = int(driver.run("row => galloscope.page.timeline.chart.model.nodes.tensor[row]", row))
    name = driver.run("id => galloscope.page.scene.tensors.name[id]", tensor)
    driver.expect_selected(tensor, name)
    expect(page.locator("#time-selected")).to_contain_text(name)
    expect(page.locator("#time-selected")).to_contain_text("computed on GPU0")
    page.locator("#time-selected [data-action=timeline]").click()
    expect(page.locator("#strip")).to_be_visible()
    driver.expect_selected(tensor, name)


def test_a_split_is_selected_and_a_wait_selects_what_it_waits_for(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    span = first_span(driver, WAIT, 1)
    click(driver, span)
    copied = int(model(driver, f"model.spans.tensor[galloscope.page.timeline.chart.model.spans.cause[{span}]]"))
    assert driver.query("tensor") == str(copied)
    page.keyboard.press("Escape")
    assert driver.query("tensor") is None
    expect(page.locator("#timeline")).to_be_visible()
    page.set_viewport_size({"width": 900, "height": 900})
    open_view(driver, "&batches=8", "sample:gemma3-270m-g2full-prefill-fa1-reserve")
    click(driver, first_span(driver, COMPUTE, 1))
    driver.until(lambda: driver.query("split") == "2")
    expect(page.locator("#time-selected")).to_contain_text("split 2")


def test_wheel_keys_and_address_zoom(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    total = round(float(model(driver, "model.total")))
    expect(page.locator("#time-chart")).to_have_attribute("data-view", f"0-{total}")
    box = page.locator("#time-chart").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.wheel(0, -600)
    driver.until(lambda: bool(driver.query("tview")))
    view = str(driver.query("tview"))
    page.reload()
    ready(driver)
    expect(page.locator("#time-chart")).to_have_attribute("data-view", view)
    page.locator("#time-chart").focus()
    page.keyboard.press("ArrowRight")
    driver.until(lambda: driver.query("tview") != view)
    page.keyboard.press("f")
    driver.until(lambda: driver.query("tview") is None)
    page.keyboard.press("+")
    driver.until(lambda: bool(driver.query("tview")))
    page.keyboard.press("Escape")
    expect(page.locator("#time-chart")).to_have_attribute("data-view", f"0-{total}")


def test_assumed_numbers_are_changed_and_kept_in_the_address(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    before = float(model(driver, "model.total"))
    field = page.locator("[data-cost='0.launch']")
    expect(field).to_have_value("6 µ")
    field.fill("60u")
    field.press("Enter")
    until_question(driver, 1, "0.launch:6e-5")
    assert float(model(driver, "model.total")) > before
    driver.until(lambda: driver.query("cost") == "0.launch:6e-5")
    expect(page.locator("#time-changed")).to_contain_text("1 changed")
    page.reload()
    ready(driver)
    expect(page.locator("[data-cost='0.launch']")).to_have_value("60 µ")
    page.locator("[data-cost='0.matrix']").fill("fast")
    page.locator("[data-cost='0.matrix']").press("Enter")
    expect(page.locator("[data-cost='0.matrix']")).to_have_attribute("aria-invalid", "true")
    page.locator("[data-cost='0.matrix']").press("Escape")
    expect(page.locator("[data-cost='0.matrix']")).to_have_value("20 T")
    expect(page.locator("[data-cost='0.matrix']")).not_to_have_attribute("aria-invalid", "true")
    page.locator("#time-reset").click()
    until_question(driver, 1)
    assert float(model(driver, "model.total")) == before
    driver.until(lambda: driver.query("cost") is None)


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("80T", 8e13),
        ("20 TFLOP/s", 2e13),
        ("5 µs", 5e-6),
        ("4 u", 4e-6),
        ("1,5 GB/s", 1.5e9),
        ("7g", 7e9),
        ("2e3", 2000),
    ],
)
def test_numbers_as_people_write_them(driver: Driver, typed: str, number: float) -> None:
    open_view(driver)
    assert driver.run("text => galloscope.timeline.text.parse(text)", typed) == pytest.approx(number)


def test_the_longest_chain_is_shown(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    page.keyboard.press("l")
    expect(page.locator("#time-path")).to_have_attribute("aria-pressed", "true")
    driver.until(lambda: driver.query("tpath") == "on")
    page.locator("#time-path").click()
    expect(page.locator("#time-path")).to_have_attribute("aria-pressed", "false")


def test_what_cannot_run_says_why(driver: Driver) -> None:
    driver.page.goto(f"{driver.address}?file=sample:lesson-no-device{VIEW}")
    expect(driver.page.locator("#time-headline")).to_contain_text("ggml stops")
    driver.page.goto(f"{driver.address}?file=sample:{SMALL}{VIEW}&cost=9.matrix:1")
    expect(driver.page.locator("#time-headline")).to_contain_text("names no device or link")
    driver.page.get_by_role("button", name="Show one micro-batch as assumed").click()
    ready(driver)
    expect(driver.page.locator("#time-headline")).to_contain_text("1 micro-batch:")
    driver.until(lambda: driver.query("cost") is None)


def test_measured_times_after_a_run(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    expect(page.locator("#time-source")).to_be_hidden()
    view = driver.store.view(str(driver.run("() => galloscope.page.state.session")), 0)
    nodes = view.state.nodes
    runs = [NodeRun(nodes[0], 0, 2, 0.5, 0.25), NodeRun(nodes[9], 1, 0, 1.0, 2.0)]
    view.running.done = Done(Execution(view.state, runs, [], 3.0))  # type: ignore[assignment]
    try:
        page.keyboard.press("5")
        page.keyboard.press("5")
        expect(page.locator("#time-source")).to_be_visible()
        page.keyboard.press("s")
        expect(page.locator("[data-time-source=measured]")).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#time-note")).to_contain_text("kernels of the last run")
        expect(page.locator("#time-headline")).to_contain_text("The run took 3.00")
        expect(page.locator("#panel-time-cost")).to_be_hidden()
        driver.until(lambda: driver.query("tsource") == "measured")
        page.locator("[data-time-source='']").click()
        expect(page.locator("#time-note")).to_contain_text("device clocks")
    finally:
        view.running.done = None


def test_nothing_scrolls_sideways_at_any_width_in_any_theme(driver: Driver) -> None:
    page = driver.page
    open_view(driver, "&batches=2")
    schemes: tuple[Any, ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        for width in (720, 900, 1440, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(150)
            assert driver.run("() => document.documentElement.scrollWidth - innerWidth") <= 0, (width, scheme)
            assert driver.run("() => document.getElementById('page').scrollWidth - innerWidth") <= 0, (width, scheme)
            assert int(page.locator("#time-chart").get_attribute("data-drawn") or 0) > 10


@pytest.mark.usefixtures("compiled")
def test_a_buffer_set_has_no_timeline(driver: Driver, tmp_path: Path) -> None:
    driver.page.goto(f"{driver.address}?file=sample:{SMALL}{VIEW}")
    ready(driver)
    path = tmp_path / "set.csv"
    path.write_text("id,lower,upper,size\na,0,2,4\nb,1,4,2\n")
    driver.page.set_input_files("#upload-input", path)
    expect(driver.page.locator("#planners")).to_be_visible()
    expect(driver.page.locator("#timeline")).to_be_hidden()
