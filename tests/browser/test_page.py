"""The page in a real Chromium: one selection everywhere, the address, themes, files. Nothing may go wrong silently."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from galloscope.app.samples import FIRST, samples
from galloscope.tests.browser.driver import READY, SMALL, Driver

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>`**"


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_every_sample_opens(driver: Driver, sample: Any) -> None:
    driver.open(f"?file=sample:{sample.name}")
    expect(driver.page.locator("#file-title")).to_have_text(sample.title)
    expect(driver.page.locator(".gs-answer").first).to_be_visible()
    expect(driver.page.locator(".gs-device").first).to_be_visible()
    assert driver.run("document.documentElement.scrollWidth <= innerWidth")


def test_a_click_in_the_strip_is_followed_everywhere_and_back(driver: Driver) -> None:
    driver.open()
    page = driver.page
    page.keyboard.press("t")
    page.wait_for_selector("#table .ag-row")
    name, other = "ffn_norm-1", "ffn_swiglu-2"
    first, second = driver.id_of(name), driver.id_of(other)
    at = driver.pixel("strip", first)
    assert at
    page.mouse.click(*at)
    first = int(page.locator("#strip").get_attribute("data-selected") or -1)
    assert first >= 0
    name = driver.run("id => galloscope.page.scene.tensors.name[id]", first)
    driver.expect_selected(first, name)
    expect(page.locator("#table .ag-row-selected .ag-cell[col-id=name]")).to_have_text(name)

    page.keyboard.press("t")
    driver.run("id => galloscope.page.dag.focus(id)", second)
    page.wait_for_timeout(300)
    at = driver.pixel("dag", second)
    assert at
    page.mouse.click(*at)
    driver.expect_selected(second, other)
    page.keyboard.press("[")
    driver.expect_selected(first, name)
    page.keyboard.press("]")
    driver.expect_selected(second, other)
    page.go_back()
    driver.expect_selected(first, name)
    page.keyboard.press("Escape")
    driver.expect_nothing_selected()


def test_a_row_of_the_table_is_followed(driver: Driver) -> None:
    driver.open("?tab=table")
    row = driver.page.locator("#table .ag-row .ag-cell[col-id=name]").nth(3)
    row.wait_for()
    name = row.inner_text()
    row.click()
    driver.expect_selected(driver.id_of(name), name)


def test_a_reload_restores_everything(driver: Driver) -> None:
    driver.open(f"?file=sample:{FIRST}")
    page, tensor = driver.page, driver.id_of("ffn_norm-12")
    driver.run("id => galloscope.page.select({ tensor: id })", tensor)
    page.keyboard.press("c")
    page.locator("[data-show=holes]").click()
    page.locator(".gs-divider-vertical").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(500)
    before = driver.run("({...galloscope.page.state})")
    page.reload()
    driver.ready()
    driver.expect_selected(tensor, "ffn_norm-12")
    page.wait_for_timeout(500)
    after = driver.run("({...galloscope.page.state})")
    assert after == before
    assert (after["by"], after["show"], after["side"]) == ("op", "holes", "66")


def test_answers_lead_to_their_evidence(driver: Driver) -> None:
    driver.open(f"?file=sample:{FIRST}")
    page = driver.page
    expect(page.locator(".gs-answer-key").first).to_have_text("526.3 MiB")
    page.locator("[data-topic=splits] .gs-answer-key").click()
    expect(page.locator(".gs-why-title")).to_have_text("3 splits")
    assert driver.query("listed") == "splits"
    page.locator(".gs-split-row").nth(2).click()
    expect(page.locator(".gs-why-title")).to_have_text(["split 2 on GPU1", "3 splits"])
    assert driver.query("split") == "2"
    page.wait_for_timeout(300)
    assert driver.pixel("dag", driver.id_of("norm-10"))
    page.locator("[data-topic=peak] .gs-answer-key").click()
    driver.expect_selected(driver.id_of("result_output"), "result_output")
    page.locator(".gs-why .gs-name", has_text="result_norm").first.click()
    driver.expect_selected(driver.id_of("result_norm"), "result_norm")


def test_the_stepper_shows_the_passes(driver: Driver) -> None:
    driver.open()
    page = driver.page
    page.keyboard.press("n")
    expect(page.locator("#page")).to_have_attribute("data-pass", "0.pins")
    expect(page.locator("#page")).to_have_attribute("data-by", "pass")
    page.keyboard.press("n")
    expect(page.locator(".gs-why-title")).to_have_text("pass 1, facts")
    expect(page.locator("[data-pass='1'].gs-pass")).to_have_attribute("aria-pressed", "true")
    for picture in ("strip", "dag"):
        by = driver.run(
            "host => document.getElementById(host).galloscope[host === 'strip' ? 'colorBy' : 'by']", picture
        )
        assert by == "pass"
    page.keyboard.press("b")
    expect(page.locator("#page")).to_have_attribute("data-pass", "0.pins")
    page.locator("[data-pass='4'].gs-pass").click()
    expect(page.locator(".gs-why-title")).to_have_text("pass 4, follow")
    page.keyboard.press("Escape")
    expect(page.locator("#page")).to_have_attribute("data-by", "device")


def test_the_scrubber_tells_what_happens_at_a_step(driver: Driver) -> None:
    driver.open()
    page = driver.page
    box = page.locator("#scrub").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 6)
    expect(page.locator("#step-label")).to_have_text(re.compile(r"step \d+"))
    expect(page.locator(".gs-event").first).to_be_visible()
    expect(page.locator(".gs-why-title")).to_have_text(re.compile("alive at step"))
    before = page.locator("#step-label").inner_text()
    page.keyboard.press(".")
    expect(page.locator("#step-label")).not_to_have_text(before)
    page.locator("#events-all").click()
    expect(page.locator(".gs-events-open")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".gs-events-open")).to_have_count(0)


def test_the_peak_lists_who_is_alive(driver: Driver) -> None:
    driver.open(f"?file=sample:{FIRST}")
    driver.page.keyboard.press("p")
    expect(driver.page.locator(".gs-why-title")).to_have_text("alive at step 771")
    expect(driver.page.locator(".gs-sized .gs-name").first).to_have_text("result_output")


def test_search_finds_by_name_and_op(driver: Driver) -> None:
    driver.open()
    page = driver.page
    page.keyboard.press("/")
    page.keyboard.type("swiglu 2")
    expect(page.locator(".gs-search-row").first).to_contain_text("ffn_swiglu-2")
    page.keyboard.press("Enter")
    driver.expect_selected(driver.id_of("ffn_swiglu-2"), "ffn_swiglu-2")
    page.keyboard.press("i")
    assert page.locator("#strip").get_attribute("data-selected") != str(driver.id_of("ffn_swiglu-2"))
    page.keyboard.press("/")
    page.keyboard.type("no such thing")
    expect(page.locator(".gs-search-more")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#search-list")).to_be_hidden()


def test_both_themes(driver: Driver, browser: Browser) -> None:
    driver.open()
    page, root = driver.page, driver.page.locator("html")
    expect(root).to_have_attribute("data-mantine-color-scheme", "light")
    light = driver.run("getComputedStyle(document.body).backgroundColor")
    page.locator(".gs-theme").click()
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")
    assert driver.run("getComputedStyle(document.body).backgroundColor") != light
    assert driver.run("galloscope.page.strip.theme.dark && galloscope.page.dag.theme.dark")
    page.reload()
    driver.ready()
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")
    context = browser.new_context(color_scheme="dark")
    other = context.new_page()
    other.goto(driver.address)
    expect(other.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    context.close()


def test_colours_change_everywhere(driver: Driver) -> None:
    driver.open()
    page = driver.page
    page.locator(".gs-color label", has_text="cause").click()
    expect(page.locator("#page")).to_have_attribute("data-by", "cause")
    expect(page.locator("#legend")).to_contain_text("neighbour")
    assert driver.query("by") in ("cause", None)
    page.keyboard.press("c")
    expect(page.locator("#page")).to_have_attribute("data-by", "size")


def test_panels_are_maximised_and_resized(driver: Driver) -> None:
    driver.open()
    page = driver.page
    page.keyboard.press("2")
    expect(page.locator("#panel-strip")).to_be_visible()
    expect(page.locator("#panel-dag")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#panel-dag")).to_be_visible()
    before = page.locator("#panel-dag").bounding_box()
    edge = page.locator(".gs-divider-horizontal").bounding_box()
    assert before
    assert edge
    page.mouse.move(edge["x"] + 300, edge["y"] + 4)
    page.mouse.down()
    page.mouse.move(edge["x"] + 300, edge["y"] + 84, steps=4)
    page.mouse.up()
    after = page.locator("#panel-dag").bounding_box()
    assert after
    assert after["height"] == pytest.approx(before["height"] + 80, abs=12)
    page.keyboard.press("3")
    expect(page.locator("#table .ag-row").first).to_be_visible()
    assert driver.query("max") in ("table", None)


@pytest.mark.parametrize(("width", "height"), [(900, 1100), (600, 900), (2560, 1300)])
def test_no_width_scrolls_sideways(driver: Driver, width: int, height: int) -> None:
    driver.page.set_viewport_size({"width": width, "height": height})
    driver.open(f"?file=sample:{FIRST}")
    assert driver.run("document.documentElement.scrollWidth <= innerWidth")
    for panel in ("dag", "why", "strip"):
        box = driver.page.locator(f"#panel-{panel}").bounding_box()
        assert box
        assert box["height"] >= 100


def test_runs_of_a_sequence(driver: Driver) -> None:
    driver.open("?file=sample:lesson-stale-plan")
    page = driver.page
    expect(page.locator("[data-topic=hazard]")).to_have_count(0)
    page.locator("#run-box label", has_text="run 1").click()
    expect(page.locator("[data-topic=hazard]")).to_be_visible()
    assert driver.query("run") == "1"
    page.go_back()
    expect(page.locator("[data-topic=hazard]")).to_have_count(0)


def test_where_ggml_stops_the_passes_can_still_be_seen(driver: Driver) -> None:
    driver.open("?file=sample:lesson-no-device")
    page = driver.page
    expect(page.locator("[data-topic=abort]")).to_contain_text("GGML_ASSERT")
    expect(page.locator("#strip .gs-empty")).to_be_visible()
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(page.locator(".gs-why-title")).to_have_text("pass 1, facts")


def test_an_upload_with_hostile_names(driver: Driver, tmp_path: Path) -> None:
    driver.open()
    graph = {
        "about": HOSTILE,
        "tensors": [
            {"name": HOSTILE, "ne": [64], "flags": ["input"]},
            {"name": HOSTILE + "2", "op": "SIN", "src": [HOSTILE], "flags": ["output"]},
        ],
        "outputs": [HOSTILE + "2"],
    }
    file = tmp_path / "hostile <b>.json"
    file.write_text(json.dumps(graph))
    driver.page.set_input_files("#upload-input", str(file))
    expect(driver.page.locator("#file-title")).to_have_text("hostile <b>.json")
    driver.run("() => galloscope.page.select({ tensor: 1 })")
    expect(driver.page.locator(".gs-why-title")).to_have_text(HOSTILE + "2")
    driver.page.keyboard.press("t")
    expect(driver.page.locator("#table .ag-row").first).to_contain_text("<img")
    assert driver.run("document.querySelectorAll('#page img').length") == 0
    driver.page.reload()
    driver.ready()
    expect(driver.page.locator("#file-title")).to_contain_text("hostile")


def test_a_bad_file_leaves_the_old_one_on_the_screen(driver: Driver, tmp_path: Path) -> None:
    driver.open()
    page = driver.page
    file = tmp_path / "bad.json"
    file.write_text('{"tensors": [{"name": "x", "ne": [-4]}], "outputs": ["x"]}')
    page.locator("#file-button").click()
    page.locator("#open-path").fill(str(file))
    page.keyboard.press("Enter")
    expect(page.locator("#open-error")).to_contain_text("bad.json")
    page.keyboard.press("Escape")
    expect(page.locator(".gs-dialog [role=dialog]")).to_have_count(0)
    page.set_input_files("#upload-input", str(file))
    expect(page.locator("#trouble")).to_contain_text("bad.json")
    expect(page.locator(READY)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#trouble")).to_be_hidden()


def test_an_address_that_cannot_be_opened_says_so(driver: Driver) -> None:
    driver.page.goto(driver.address + "?file=sample:nope")
    expect(driver.page.locator("#trouble")).to_contain_text("no sample is named 'nope'")
    driver.page.locator("#trouble button").click()
    driver.page.locator(f"[data-source='sample:{SMALL}']").click()
    driver.ready()
    expect(driver.page.locator("#trouble")).to_be_hidden()


def test_a_file_that_the_server_let_go_is_opened_again(driver: Driver) -> None:
    driver.open()
    for sample in samples():
        if sample.kind == "lesson":
            driver.run(
                """source => fetch("/open", {method: "POST", body: JSON.stringify({ source }),
                headers: {"X-Galloscope": "1", "Content-Type": "application/json"}})""",
                f"sample:{sample.name}",
            )
    tensor = driver.id_of("ffn_swiglu-2")
    driver.run("id => galloscope.page.select({ tensor: id })", tensor)
    driver.expect_selected(tensor, "ffn_swiglu-2")


def test_help(driver: Driver) -> None:
    driver.open()
    driver.page.keyboard.press("?")
    expect(driver.page.get_by_role("dialog")).to_contain_text("find a tensor")
    driver.page.keyboard.press("Escape")
    expect(driver.page.get_by_role("dialog")).to_have_count(0)
