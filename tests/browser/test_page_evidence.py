"""The page in a real Chromium: evidence comes into view, Escape ends it, an address is never ignored in silence."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from galloscope.app.samples import FIRST, find_sample
from galloscope.tests.browser.driver import SMALL, Driver

pytestmark = pytest.mark.browser
OPENING = f"?file=sample:{FIRST}"


def width_of(driver: Driver, tensor: int) -> float:
    """Pixels that a tensor's life takes in the strip."""
    script = """id => {
      const { model, at, target, view } = galloscope.page.strip, shown = target || view, i = model.rectOf[id];
      return (model.x1[i] - model.x0[i]) * at.width / (shown.x1 - shown.x0);
    }"""
    return float(driver.run(script, tensor))


def nothing_marked(driver: Driver) -> None:
    for picture in ("#strip", "#dag"):
        expect(driver.page.locator(picture)).to_have_attribute("data-selected", "-1")
        expect(driver.page.locator(picture)).to_have_attribute("data-hover", "-1")
    expect(driver.page.locator(".gs-hint")).to_be_visible()
    assert driver.run("galloscope.page.dag.hovered") == -1
    assert driver.run("document.activeElement.closest('.gs-answer')") is None


def test_escape_ends_a_step_and_an_answer_completely(driver: Driver) -> None:
    driver.open(OPENING)
    page = driver.page
    page.keyboard.press(".")
    expect(page.locator("#step-label")).to_have_text("step 0")
    assert driver.run("galloscope.page.dag.hovered") >= 0
    page.keyboard.press("Escape")
    nothing_marked(driver)
    page.locator("[data-topic=peak]").focus()
    page.keyboard.press("Enter")
    driver.expect_selected(driver.id_of("result_output"), "result_output")
    page.keyboard.press("Escape")
    nothing_marked(driver)


@pytest.mark.parametrize(("opens", "shown"), [("?", "help-dialog"), ("button", "open-dialog")])
def test_escape_in_a_dialog_closes_only_the_dialog(driver: Driver, opens: str, shown: str) -> None:
    driver.open()
    page, tensor = driver.page, driver.id_of("ffn_swiglu-2")
    driver.run("id => galloscope.page.select({ tensor: id })", tensor)
    if opens == "?":
        page.keyboard.press("?")
    else:
        page.locator("#file-button").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    driver.expect_selected(tensor, "ffn_swiglu-2")


def test_step_keys_begin_at_the_selected_tensor_and_keep_the_cursor_in_sight(driver: Driver) -> None:
    driver.open(OPENING)
    page, tensor = driver.page, driver.id_of("ffn_norm-12")
    driver.run("id => galloscope.page.select({ tensor: id })", tensor)
    step = driver.run("id => galloscope.page.strip.model.stepOf[id]", tensor)
    page.keyboard.press(".")
    expect(page.locator("#step-label")).to_have_text(f"step {step}")
    driver.run("step => galloscope.page.strip.setView(`${step - 8}-${step + 2}`)", step)
    for _ in range(4):
        page.keyboard.press(".")
    page.wait_for_timeout(300)
    view = driver.run("galloscope.page.strip.view")
    assert view["x0"] <= step + 4 < view["x1"]


def test_a_thin_tensor_is_zoomed_to_where_it_can_be_seen(driver: Driver) -> None:
    driver.open(OPENING)
    page, tensor = driver.page, driver.id_of("result_output")
    before = width_of(driver, tensor)
    page.locator("[data-topic=peak] .gs-answer-key").click()
    driver.expect_selected(tensor, "result_output")
    assert before < 12
    assert width_of(driver, tensor) == pytest.approx(40, abs=2)
    page.wait_for_timeout(300)
    for picture in ("strip", "dag"):
        at, box = driver.pixel(picture, tensor), page.locator(f"#{picture}").bounding_box()
        assert at
        assert box
        assert box["x"] < at[0] < box["x"] + box["width"]
        assert box["y"] < at[1] < box["y"] + box["height"]


def test_search_says_when_nothing_is_found(driver: Driver) -> None:
    driver.open()
    driver.page.keyboard.press("/")
    driver.page.keyboard.type("zzz")
    expect(driver.page.locator(".gs-search-more")).to_have_text("nothing is named zzz")
    driver.page.keyboard.press("Enter")
    expect(driver.page.locator(".gs-search-more")).to_be_visible()


def test_pass_five_lists_the_splits_and_copies(driver: Driver) -> None:
    driver.open(OPENING)
    page = driver.page
    page.locator("[data-pass='5'].gs-pass").click()
    expect(page.locator(".gs-why-title")).to_have_text("pass 5, split")
    expect(page.locator(".gs-facts")).to_have_text(
        "3 splits, 84 copies of split inputs (4.cpy), 42 copies of graph inputs in pass 6 (6.cpy)"
    )
    expect(page.locator(".gs-code").first).to_have_attribute("title", re.compile("Pass 5: a copy"))
    expect(page.locator(".gs-split-row")).to_have_count(3)
    expect(page.locator(".gs-split-row").nth(1)).to_contain_text("nodes 2 to 404 (403) · 12 inputs, 5.77 MiB copied")
    page.locator(".gs-split-row").nth(1).click()
    expect(page.locator("#strip")).to_have_attribute("data-split", "1")
    expect(page.locator(".gs-why-title").first).to_have_text("split 1 on GPU0")
    page.locator("[data-pass='2.gpu_down'].gs-pass").click()
    expect(page.locator(".gs-why-title").last).to_have_text("pass 2, GPUs down (2.gpu_down)")


def test_a_layer_is_told_and_stays_in_the_address(driver: Driver) -> None:
    driver.open(f"{OPENING}&nodes=405-444")
    page = driver.page
    expect(page.locator(".gs-why-title")).to_have_text("layer 10")
    expect(page.locator(".gs-why-text").first).to_contain_text("GPU1")
    page.keyboard.press("Escape")
    expect(page.locator(".gs-hint")).to_be_visible()
    assert driver.query("nodes") is None
    driver.run("() => galloscope.page.dag.options.onLayer(405, 444, 'layer 10')")
    expect(page.locator(".gs-why-title")).to_have_text("layer 10")
    assert driver.query("nodes") == "405-444"


def test_what_an_address_asks_in_vain_is_told(driver: Driver) -> None:
    driver.open(f"?file=sample:{SMALL}&tensor=99999&split=77&by=smell&strip=a-b&tick=x&nodes=5-99999&run=4&tab=wall")
    told = driver.page.locator("#notice")
    for words in ("tensor=99999", "split=77", "by=smell", "strip=a-b", "tick=x", "nodes=5-99999", "run=4", "tab=wall"):
        expect(told).to_contain_text(words)
    driver.page.locator("#notice button").click()
    expect(told).to_be_hidden()
    driver.open(f"?file=sample:{SMALL}&tensor=5&by=op&strip=3-40")
    expect(told).to_be_hidden()
    driver.open("?file=nonsense")
    expect(told).to_contain_text("file=nonsense")


def test_a_path_needs_no_scheme(driver: Driver) -> None:
    path: Path = find_sample(SMALL).path
    driver.open(f"?file={path}")
    assert driver.query("file") == f"path:{path}"
    expect(driver.page.locator("#notice")).to_be_hidden()


def test_the_explanation_stays_beside_what_is_maximised(driver: Driver) -> None:
    for width, height in ((1440, 900), (900, 1100)):
        driver.page.set_viewport_size({"width": width, "height": height})
        for key, panel in (("1", "dag"), ("2", "strip"), ("3", "dag")):
            driver.open(OPENING)
            driver.page.keyboard.press(key)
            large = driver.page.locator(f"#panel-{panel}").bounding_box()
            why = driver.page.locator("#panel-why").bounding_box()
            assert large
            assert why
            assert why["x"] >= large["x"] + large["width"]


def test_the_table_keeps_its_order_and_filters(driver: Driver) -> None:
    driver.open("?tab=table&sort=bytes:desc")
    first = driver.page.locator("#table .ag-center-cols-container .ag-row[row-index='0'] [col-id=bytes]")
    most = driver.run("galloscope.format.bytes(Math.max(...galloscope.page.strip.model.bytes))")
    expect(first).to_have_text(most)
    rows = driver.page.locator("#table .ag-pinned-left-cols-container .ag-row")
    driver.page.locator("#table-filter").fill("no such words")
    expect(rows).to_have_count(0)
    driver.page.locator("#table-filter").fill("swiglu-2")
    expect(rows.filter(has_text="ffn_swiglu-2")).to_have_count(1)
