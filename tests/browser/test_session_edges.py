"""The Session view, the edges: on to Run, loads that are cancelled, errors, refused calls, long words."""

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from galloscope.app.samples import SESSIONS
from galloscope.tests.browser.driver import Driver
from galloscope.tests.browser.test_session import column, open_view, ready

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model."""
    shutil.copy(SESSIONS / "small-llama.gguf", tmp_path)
    return tmp_path


@pytest.mark.parametrize("by", ["x", "#run-button"])
def test_run_shows_the_graph_of_the_ubatch_with_the_bar_open(driver: Driver, by: str) -> None:
    open_view(driver, "&ubatch=20", number=20)
    page = driver.page
    run = column(driver, "run")[20]
    if by == "x":
        page.keyboard.press("x")
    else:
        page.locator(by).click()
    expect(page.locator("#run-bar")).to_be_visible()
    expect(page.locator("#strip")).to_be_visible()
    expect(page.locator("#page")).to_have_attribute("data-run", str(run))
    page.locator("#run-backend").select_option("digest")
    page.locator("#run-go").click()
    expect(page.locator("#run-answers")).to_be_visible()
    expect(page.locator("#run-answers .gs-answer").first).not_to_be_empty()


@pytest.mark.parametrize("key", ["g", "6", "x"])
def test_a_graph_that_is_not_waited_for_leaves_the_view_alive(driver: Driver, key: str) -> None:
    open_view(driver, "&ubatch=20", number=20)
    page = driver.page
    driver.run(
        """() => { window.fetched = fetch; const never = new Promise(() => {});
            window.fetch = (...asked) => (/^.scene/.test(asked[0]) ? never : fetched(...asked)); }"""
    )
    page.keyboard.press(key)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    ready(driver, 21)
    assert driver.query("view") == "session"
    driver.run("() => { window.fetch = window.fetched; }")
    page.keyboard.press("g")
    expect(page.locator("#page")).to_have_attribute("data-run", str(column(driver, "run")[21]))
    expect(page.locator("#life")).to_be_hidden()


def test_escape_closes_an_error_before_it_leaves(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    driver.run("() => { galloscope.page.open.source('path:/nowhere'); }")
    expect(page.locator("#trouble")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#trouble")).to_be_hidden()
    expect(page.locator("#life")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#life")).to_be_hidden()


def test_refused_calls_are_told_in_words(driver: Driver, folder: Path) -> None:
    path = folder / "refused.yaml"
    path.write_text(
        "model: small-llama.gguf\nsteps:\n  - {decode: [{seq: 7, n: 4}], repeat: 2}\n"
        "  - {set_abort: true}\n  - decode: [{seq: 0, n: 2}]\n"
    )
    open_view(driver, source=f"path:{path}")
    told = driver.page.locator("#life-pane .gs-life-refusals li")
    expect(told).to_have_count(2)
    expect(told.first).to_contain_text("decode 4 tokens × 2: The batch was refused (llama_decode returns -1)")
    expect(told.last).to_contain_text("decode 2 tokens: The abort callback ended the computation")
    path.write_text("model: small-llama.gguf\nsteps:\n  - {decode: [{seq: 7, n: 4}]}\n")
    driver.page.goto(f"{driver.address}?file=path:{path}")
    expect(driver.page.locator("#life-detail .gs-life-refusals")).to_contain_text("The batch was refused")


@pytest.mark.parametrize("pane", ["advice", "reserve", "pipeline", "pools"])
def test_long_words_make_nothing_wider_than_the_page(driver: Driver, folder: Path, pane: str) -> None:
    path = folder / "wide.json"
    devices = [{"name": f"{k}{'W' * 58}", "memory_mib": 4096} for k in range(2)]
    steps = [{"decode": [{"seq": 0, "n": 20}]}, {"decode": [{"seq": 0}], "repeat": 3}]
    given = {"name": "n" * 200, "about": "a" * 2000, "model": "small-llama.gguf", "devices": devices, "steps": steps}
    path.write_text(json.dumps(given))
    open_view(driver, f"&lpane={'' if pane == 'advice' else pane}", source=f"path:{path}")
    for width in (390, 900, 1440):
        driver.page.set_viewport_size({"width": width, "height": 900})
        driver.page.wait_for_timeout(100)
        for what in ("document.documentElement", "document.getElementById('page')", "document.getElementById('life')"):
            assert driver.run(f"() => {what}.scrollWidth - innerWidth") <= 0, (width, what)
        assert (
            driver.run(
                "() => { const box = document.getElementById('life-pane'); return box.scrollWidth - box.clientWidth; }"
            )
            <= 0
        ), width
