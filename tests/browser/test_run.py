"""Running a graph in a real Chromium: the bar, its answers, colours, panel, table, marks, refusals, cancelling."""

import threading
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from galloscope.app import executing
from galloscope.core.tensor import Tensor
from galloscope.tests.browser.driver import SMALL, Driver, select

pytestmark = pytest.mark.browser
LESSON = "lesson-in-place"


@pytest.fixture(autouse=True)
def fresh(driver: Driver) -> None:
    """No run of an earlier test."""
    driver.store._kept.clear()


def bar(driver: Driver, name: str = LESSON, rest: str = "") -> None:
    driver.open(f"?file=sample:{name}{rest}")
    driver.page.keyboard.press("x")
    expect(driver.page.locator("#run-bar")).to_be_visible()


def run(driver: Driver) -> None:
    page = driver.page
    page.locator("#run-go").click()
    expect(page.locator("#run-answers .gs-answer").first).to_be_visible(timeout=60_000)  # the first loads the kernels
    expect(page.locator("#run-go")).to_be_visible()
    expect(page.locator("#page")).not_to_have_attribute("data-ran", "")


def colors(driver: Driver) -> list[str]:
    return [one.strip() for one in driver.page.locator(".gs-color .mantine-SegmentedControl-label").all_inner_texts()]


def test_a_run_is_answered_and_coloured(driver: Driver) -> None:
    bar(driver, SMALL)
    page = driver.page
    expect(page.locator("#run-go")).to_be_focused()
    assert "time" not in colors(driver)
    page.locator("#run-guard").click()
    run(driver)
    expect(page.locator("#run-answers")).to_contain_text("random weights, seed 1")
    expect(page.locator("#run-answers [data-topic=guard]")).to_contain_text("every byte read was still its owner's")
    expect(page.locator("#page")).to_have_attribute("data-by", "time")
    assert colors(driver)[-2:] == ["time", "values"]
    assert driver.query("by") == "time"
    page.keyboard.press("c")
    expect(page.locator("#page")).to_have_attribute("data-by", "values")
    expect(page.locator("#legend")).to_contain_text("not run")


def test_the_panel_and_the_cards_say_what_was_computed(driver: Driver) -> None:
    bar(driver, SMALL)
    tensor = select(driver, "l_out-2")
    assert "computed" not in driver.page.locator("#why").inner_text()
    run(driver)
    expect(driver.page.locator("#why")).to_contain_text("numpy, random weights, seed 1")  # without another click
    at = driver.pixel("dag", tensor)
    assert at
    driver.page.mouse.move(*at)
    card = driver.page.locator("#dag .gs-card")
    expect(card).to_contain_text("took")
    expect(card).to_contain_text("random weights, seed 1")


def test_the_table_has_the_numbers(driver: Driver) -> None:
    bar(driver)
    page = driver.page
    page.keyboard.press("t")
    head = page.locator("#table .ag-header-cell-text")
    expect(head.first).to_be_visible()
    assert "took" not in head.all_inner_texts()
    run(driver)
    expect(page.locator("#table [col-id=took]").nth(1)).to_be_visible()
    cells = page.locator("#table [row-index] [col-id=took]")
    driver.until(lambda: any("s" in text for text in cells.all_inner_texts()))
    page.locator("#run-clear").click()
    expect(page.locator("#table [col-id=took]")).to_have_count(0)


def test_colours_are_there_again_after_a_reload(driver: Driver) -> None:
    bar(driver)
    run(driver)
    driver.until(lambda: driver.query("by") == "time")
    driver.page.reload()
    driver.ready()
    expect(driver.page.locator("#page")).to_have_attribute("data-by", "time")
    expect(driver.page.locator("#run-answers")).to_be_visible()
    expect(driver.page.locator("#notice")).to_be_hidden()


def test_an_address_that_asks_for_the_colours_of_no_run(driver: Driver) -> None:
    driver.open(f"?file=sample:{LESSON}&by=time")
    expect(driver.page.locator("#notice")).to_contain_text("this graph has not been run yet")
    expect(driver.page.locator("#page")).to_have_attribute("data-by", "op")


def test_clearing_takes_everything_away(driver: Driver) -> None:
    bar(driver)
    run(driver)
    driver.page.locator("#run-clear").click()
    expect(driver.page.locator("#run-answers")).to_be_hidden()
    expect(driver.page.locator("#page")).to_have_attribute("data-by", "op")
    driver.until(lambda: "time" not in colors(driver))
    driver.page.keyboard.press("Escape")
    expect(driver.page.locator("#run-bar")).to_be_hidden()
    driver.until(lambda: driver.query("exec") is None)


class Spoilt:
    """A feed whose inputs are no numbers."""

    def __init__(self, feed: Any) -> None:
        self.feed = feed

    def external(self, tensor: Tensor) -> Any:
        return self.feed.external(tensor)

    def leaf(self, tensor: Tensor) -> Any:
        return np.full(tensor.nbytes, 0xFF, np.uint8)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_values_that_are_no_numbers_stand_out(driver: Driver, monkeypatch: pytest.MonkeyPatch, scheme: Any) -> None:
    real = executing.feed_of
    monkeypatch.setattr(executing, "feed_of", lambda *given: Spoilt(real(*given)))
    driver.page.emulate_media(color_scheme=scheme)
    bar(driver)
    run(driver)
    page = driver.page
    alarm = page.locator("#run-answers .gs-alarm")
    expect(alarm).to_contain_text("nodes with NaN")
    expect(page.locator("#run-answers .gs-answer").first).to_have_class("gs-answer gs-alarm")
    alarm.click()
    driver.expect_selected(driver.id_of("normed"), "normed")
    expect(page.locator("#why .gs-run-bad")).to_have_text("4,096 NaN")
    wrong = driver.run("galloscope.page.dag.wrong.size")
    assert wrong == driver.run("galloscope.page.strip.wrong.size") > 3
    page.keyboard.press("Escape")
    red = "248,113,113" if scheme == "dark" else "220,38,38"
    count = """([host, red]) => {
      const canvas = document.querySelector(`#${host} canvas`), { width, height } = canvas;
      const copy = Object.assign(document.createElement("canvas"), { width, height });
      const g = copy.getContext("2d", { willReadFrequently: true });
      g.drawImage(canvas, 0, 0);
      const { data } = g.getImageData(0, 0, width, height);
      let found = 0;
      for (let i = 0; i < data.length; i += 4) if (`${data[i]},${data[i + 1]},${data[i + 2]}` === red) found += 1;
      return found;
    }"""
    before = {host: driver.run(count, [host, red]) for host in ("dag", "strip")}
    page.locator("#run-clear").click()
    expect(page.locator("#run-answers")).to_be_hidden()
    for host in before:
        driver.until(lambda host=host: driver.run(count, [host, red]) < before[host] - 200)  # type: ignore[misc]


def test_a_guard_that_finds_something_links_both_tensors(driver: Driver) -> None:
    bar(driver, "lesson-stale-plan", "&run=1")
    page = driver.page
    page.locator("#run-backend").select_option("digest")
    page.locator("#run-guard").click()
    run(driver)
    alarm = page.locator("#run-answers .gs-alarm")
    expect(alarm.locator(".gs-answer-key")).to_have_text("Overlap")
    alarm.locator(".gs-name", has_text="result").click()
    driver.expect_selected(driver.id_of("result"), "result")
    alarm.locator(".gs-name").filter(has_text="a").last.click()
    driver.expect_selected(driver.id_of("a"), "a")


def test_what_cannot_be_computed_can_be_followed(driver: Driver) -> None:
    bar(driver, "lesson-free-extra")
    page = driver.page
    page.locator("#run-go").click()
    expect(page.locator("#run-trouble")).to_contain_text("node 'in_the_tail' (NORM)")
    page.locator("#run-digest").click()
    expect(page.locator("#run-answers")).to_contain_text("fingerprints of their bytes")
    expect(page.locator("#run-answers [data-topic=guard]")).to_contain_text("Sound")  # the bytes were really looked at
    expect(page.locator("#run-trouble")).to_be_hidden()
    assert "time" not in colors(driver)
    expect(page.locator("#page")).not_to_have_attribute("data-by", "time")


def test_a_graph_at_which_ggml_stops(driver: Driver) -> None:
    bar(driver, "lesson-no-device")
    expect(driver.page.locator("#run-trouble")).to_contain_text("Real ggml stops at this graph")
    expect(driver.page.locator("#run-go")).to_be_disabled()


def test_escape_leaves_the_field(driver: Driver) -> None:
    bar(driver)
    page = driver.page
    page.locator("#run-seed").focus()
    page.keyboard.type("5x")  # letters are no shortcuts there
    expect(page.locator("#run-seed")).to_have_value("15x")
    page.keyboard.press("Escape")
    expect(page.locator("#run-seed")).not_to_be_focused()
    expect(page.locator("#run-bar")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#run-bar")).to_be_hidden()


def test_a_seed_that_is_none(driver: Driver) -> None:
    bar(driver)
    driver.page.fill("#run-seed", "many")
    driver.page.locator("#run-seed").press("Enter")
    expect(driver.page.locator("#run-trouble")).to_contain_text("seed 'many': a whole number from 0 is expected")
    driver.page.fill("#run-seed", "7")
    driver.page.locator("#run-seed").press("Enter")
    expect(driver.page.locator("#run-answers")).to_contain_text("random weights, seed 7")
    expect(driver.page.locator("#run-trouble")).to_be_hidden()


def test_a_long_run_is_cancelled(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def endless(*_: object, progress: Any, **__: object) -> None:
        while not over.wait(0.01):
            progress(3, 10)

    monkeypatch.setattr(executing, "execute", endless)
    bar(driver)
    page = driver.page
    page.locator("#run-go").click()
    expect(page.locator("#run-stage")).to_contain_text("node 3 of 10")
    page.locator("#run-cancel").click()
    expect(page.locator("#run-go")).to_be_visible()
    page.locator("#run-go").click()
    expect(page.locator("#run-stage")).to_contain_text("node 3 of 10")
    page.keyboard.press("Escape")
    expect(page.locator("#run-go")).to_be_visible()
    over.set()


def test_a_long_node_is_waited_for(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def slow(*_: object, progress: Any, **__: object) -> None:
        progress(1, 2)
        over.wait(30)
        progress(2, 2)

    monkeypatch.setattr(executing, "execute", slow)
    bar(driver)
    page = driver.page
    page.locator("#run-go").click()
    expect(page.locator("#run-stage")).to_contain_text("node 1 of 2")
    page.locator("#run-cancel").click()
    expect(page.locator("#run-stage")).to_contain_text("stops after this node")
    expect(page.locator("#run-cancel")).to_be_disabled()
    over.set()
    expect(page.locator("#run-go")).to_be_visible()
    expect(page.locator("#run-answers")).to_be_hidden()


def test_another_graph_begins_without_a_run(driver: Driver) -> None:
    bar(driver, "lesson-stale-plan", "&run=1")
    driver.page.locator("#run-backend").select_option("digest")
    run(driver)
    driver.page.keyboard.press("r")
    expect(driver.page.locator("#page")).to_have_attribute("data-run", "0")
    expect(driver.page.locator("#run-answers")).to_be_hidden()
    driver.page.keyboard.press("r")
    expect(driver.page.locator("#run-answers")).to_be_visible()


def test_colours_of_a_run_do_not_follow_to_another_graph(driver: Driver) -> None:
    bar(driver, SMALL)
    run(driver)
    page = driver.page
    expect(page.locator("#page")).to_have_attribute("data-by", "time")
    driver.run("name => { galloscope.page.open.source(`sample:${name}`); }", LESSON)
    expect(page.locator("#page")).to_have_attribute("data-by", "op")
    expect(page.locator("#trouble")).to_be_hidden()
    expect(page.locator("#notice")).to_contain_text("this graph has not been run yet")
    page.go_back()
    expect(page.locator("#page")).to_have_attribute("data-by", "time")


def test_fingerprints_are_no_measured_lanes(driver: Driver) -> None:
    bar(driver)
    driver.page.locator("#run-backend").select_option("digest")
    run(driver)
    driver.page.keyboard.press("Escape")
    driver.page.keyboard.press("5")
    expect(driver.page.locator("#time-headline")).to_contain_text("1 micro-batch:")
    expect(driver.page.locator("#time-source")).to_be_hidden()


def test_from_measured_lanes_back_to_clocks_when_cleared(driver: Driver) -> None:
    bar(driver)
    run(driver)
    page = driver.page
    page.keyboard.press("Escape")
    page.keyboard.press("5")
    page.locator("[data-time-source=measured]").click()
    expect(page.locator("#time-headline")).to_contain_text("The run took")
    page.keyboard.press("x")
    page.locator("#run-clear").click()
    expect(page.locator("#run-clear")).to_be_hidden()
    page.keyboard.press("5")
    expect(page.locator("#time-headline")).to_contain_text("1 micro-batch:")
    expect(page.locator("#time-source")).to_be_hidden()


def test_from_the_planners_to_the_bar(driver: Driver) -> None:
    driver.open(f"?file=sample:{LESSON}")
    driver.page.keyboard.press("x")
    driver.page.keyboard.press("4")
    expect(driver.page.locator("#work")).to_be_hidden()
    driver.page.keyboard.press("x")
    expect(driver.page.locator("#work")).to_be_visible()
    expect(driver.page.locator("#run-bar")).to_be_visible()


@pytest.mark.parametrize(("width", "height"), [(600, 900), (900, 1100)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width_in_both_themes(driver: Driver, width: int, height: int, scheme: Any) -> None:
    driver.page.emulate_media(color_scheme=scheme)
    driver.page.set_viewport_size({"width": width, "height": height})
    bar(driver, SMALL)
    run(driver)
    assert driver.run("document.documentElement.scrollWidth <= innerWidth")
    for part in ("#run-form", "#run-answers", "#dag"):
        box = driver.page.locator(part).bounding_box()
        assert box
        assert box["x"] + box["width"] <= width
