"""The Session view in a real Chromium: samples, scripts, presets, ubatches, keys, plans, address, themes."""

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from galloscope.app.samples import SESSIONS, session_samples
from galloscope.tests.browser.driver import SMALL, Driver

pytestmark = pytest.mark.browser
SAMPLE = "half-on-a-gpu"
LANES = 7
"""Passes of a drawing over what is in view, at most: calls, marks, cells, tokens, cells of the cache, three curves."""
LONG = """\
name: long
model: small-llama.gguf
context: {n_ctx: 8192, n_batch: 512, n_ubatch: 64}
steps:
  - decode: [{seq: 0, n: 300}]
  - {decode: [{seq: 0}], repeat: 2500}
  - decode: [{seq: 0, n: 40}]
  - {decode: [{seq: 0}], repeat: 2500}
"""
SHORT = """\
name: <img src=x onerror=alert(1)>
model: small-llama.gguf
steps:
  - decode: [{seq: 0, n: 20}]
  - {decode: [{seq: 0}], repeat: 3}
"""


def ready(driver: Driver, number: int | None = None) -> None:
    driver.page.wait_for_selector("#life[data-state=ready]", timeout=60_000)
    driver.page.wait_for_selector("#life-chart[data-drawn]")
    wanted = "" if number is None else f"='{number}'"
    driver.page.wait_for_selector(f"#life-detail[data-number{wanted}]")


def open_view(driver: Driver, rest: str = "", source: str = f"sample:{SAMPLE}", number: int | None = None) -> None:
    driver.page.goto(f"{driver.address}?file={quote(source, safe=':/@')}{rest}")
    ready(driver, number)


def column(driver: Driver, name: str) -> list[int]:
    found: list[int] = driver.run("name => [...galloscope.page.life.chart().model.of[name]]", name)
    return found


def pixel(driver: Driver, number: int) -> tuple[float, float]:
    at = driver.run("number => galloscope.page.life.chart().pixel(number)", number)
    return at["x"], at["y"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model."""
    shutil.copy(SESSIONS / "small-llama.gguf", tmp_path)
    return tmp_path


def test_a_sample_opens_with_one_click(driver: Driver) -> None:
    driver.open(f"?file=sample:{SMALL}")
    page = driver.page
    page.locator("#file-button").click()
    page.locator(f".gs-dialog [data-source='sample:{SAMPLE}']").click()
    ready(driver)
    expect(page.locator("#work")).to_be_hidden()
    expect(page.locator("#life-headline")).to_contain_text("168 of 180 ubatches re-used")
    assert driver.query("view") == "session"
    page.go_back()
    expect(page.locator("#life")).to_be_hidden()
    expect(page.locator("#strip")).to_be_visible()


@pytest.mark.parametrize("sample", [one.name for one in session_samples()])
def test_every_sample_has_its_lesson(driver: Driver, sample: str) -> None:
    open_view(driver, source=f"sample:{sample}")
    page = driver.page
    expect(page.locator("#life-about")).to_contain_text(sample)
    kinds = column(driver, "kind")
    assert len(set(kinds)) > 1 or sample == "embedding-requests"
    for pane in ("reserve", "pipeline", "pools", "advice"):
        page.locator(f"[data-life-pane={pane}]").click()
        expect(page.locator("#life-pane")).to_have_attribute("data-pane", pane)
        expect(page.locator("#life-pane")).not_to_be_empty()


def test_without_a_session_there_is_something_to_open(driver: Driver, model: Path) -> None:
    driver.open(f"?file=sample:{SMALL}")
    page = driver.page
    page.keyboard.press("6")
    expect(page.locator("#life-empty")).to_be_visible()
    expect(page.locator("#life-on")).to_contain_text("Open a GGUF first")
    expect(page.locator("button[data-life-preset=chat]")).to_be_disabled()
    page.locator("#life-empty [data-source='sample:four-slots']").click()
    ready(driver)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("what is re-used from batch to batch")
    page.keyboard.press("Escape")


def test_a_preset_is_played_on_the_model_that_is_open(driver: Driver, model: Path) -> None:
    page = driver.page
    page.goto(f"{driver.address}?file=path:{model}&view=session")
    page.wait_for_selector("#page[data-state=ready]")
    expect(page.locator("#life-on")).to_contain_text(model.name)
    page.locator("button[data-life-preset=chat]").click()
    ready(driver)
    assert driver.query("file") == f"preset:chat@path:{model}"
    expect(page.locator("#life-about")).to_contain_text(model.name)
    page.locator("#life-preset").select_option("drafts")
    driver.until(lambda: str(driver.query("file")).startswith("preset:drafts@"))
    ready(driver)
    page.reload()
    ready(driver)
    expect(page.locator("#life-preset")).to_have_value("drafts")


def test_a_preset_is_played_under_the_options_of_the_model(driver: Driver, model: Path) -> None:
    page = driver.page
    options = quote("-c 8192 -ub 64 --device cuda:1GiB")
    page.goto(f"{driver.address}?file=path:{model}&view=session&options={options}")
    page.wait_for_selector("#page[data-state=ready]")
    line = "--device cuda:1GiB -c 8192 -ub 64"
    expect(page.locator("#life-on")).to_have_text(f"Played on {model.name} under {line}.")
    page.locator("button[data-life-preset=chat]").click()
    ready(driver)
    about = page.locator("#life-about")
    expect(about).to_contain_text("8,192 cells · ubatches of 64")
    expect(about).to_contain_text(f"Under {line}.")
    driver.until(lambda: driver.query("options") == line)
    page.locator("#life-preset").select_option("drafts")
    driver.until(lambda: str(driver.query("file")).startswith("preset:drafts@"))
    ready(driver)
    expect(about).to_contain_text(f"Under {line}.")
    page.reload()
    ready(driver)
    expect(about).to_contain_text("8,192 cells · ubatches of 64")
    expect(about).to_contain_text(f"Under {line}.")
    driver.store._kept.clear()
    page.keyboard.press("ArrowRight")
    ready(driver, 1)
    expect(about).to_contain_text(f"Under {line}.")
    driver.wrong.clear()  # the 404 of the file that was let go


def test_the_failing_condition_stands_first_with_both_values(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    expect(page.locator("#life-detail")).to_have_attribute("data-number", "5")
    expect(page.locator("#life-title")).to_contain_text("Ubatch 5")
    expect(page.locator(".gs-life-why")).to_contain_text("because the number of tokens was 44 and is 1")
    first = page.locator(".gs-life-checks tbody tr").first
    expect(first).to_have_class("gs-life-failed")
    assert first.locator("td").all_inner_texts()[1:4] == ["n_tokens", "44", "1"]
    held = page.locator(".gs-life-checks tbody tr:not(.gs-life-failed)")
    assert held.count() >= 5
    expect(held.first.locator(".gs-life-tick")).to_have_attribute("aria-label", "holds")


def test_click_and_keys_select(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    kinds = column(driver, "kind")
    page.mouse.click(*pixel(driver, 20))
    ready(driver, 20)
    expect(page.locator(".gs-life-why")).to_contain_text("Re-used")
    driver.until(lambda: driver.query("ubatch") == "20")
    page.keyboard.press("ArrowRight")
    ready(driver, 21)
    page.keyboard.press("ArrowLeft")
    ready(driver, 20)
    following = next(i for i in range(21, len(kinds)) if kinds[i])
    page.keyboard.press("n")
    ready(driver, following)
    page.keyboard.press("]")
    ready(driver, next(i for i in range(following + 1, len(kinds)) if kinds[i]))
    page.keyboard.press("[")
    ready(driver, following)
    page.keyboard.press("End")
    ready(driver, len(kinds) - 1)
    page.keyboard.press("b")
    ready(driver, max(i for i, kind in enumerate(kinds[:-1]) if kind))
    page.locator("[data-life-go='-1']").click()
    page.keyboard.press("Home")
    ready(driver, 0)


def test_hover_tells_what_happened(driver: Driver) -> None:
    open_view(driver, source="sample:two-gpus")
    page = driver.page
    card = page.locator("#life-chart .gs-card")
    moved = column(driver, "kind").index(4)
    page.mouse.move(*pixel(driver, moved))
    expect(card).to_contain_text(f"Ubatch {moved}")
    expect(card).to_contain_text("stopped")
    at = driver.run(
        """() => { const chart = galloscope.page.life.chart(), edge = chart.host.getBoundingClientRect();
            return { x: edge.left + galloscope.life.X(chart, 0) + 2, y: edge.top + chart.at.marks.top + 4 }; }"""
    )
    page.mouse.move(at["x"], at["y"])
    expect(card).to_contain_text("Reserved with 4 pipeline copies because the context is made")


def test_the_graph_of_a_micro_batch_and_of_the_worst_case(driver: Driver) -> None:
    open_view(driver, "&ubatch=20", number=20)
    page = driver.page
    run = column(driver, "run")[20]
    page.keyboard.press("g")
    expect(page.locator("#strip")).to_be_visible()
    expect(page.locator("#page")).to_have_attribute("data-run", str(run))
    expect(page.locator("#parameters-text")).to_contain_text("ubatch: 1 token, 512 cells")
    assert driver.query("view") == "graph"
    page.reload()
    driver.ready()
    expect(page.locator("#strip")).to_be_visible()
    page.keyboard.press("6")
    ready(driver, 20)
    page.locator("#life-worst").click()
    expect(page.locator("#strip")).to_be_visible()
    expect(page.locator("#parameters-text")).to_contain_text("reserved: 64 tokens, 2,048 cells")
    page.go_back()
    ready(driver, 20)
    page.keyboard.press("6")
    expect(page.locator("#page")).to_have_attribute("data-run", str(run))
    page.keyboard.press("4")
    expect(page.locator("#planners")).to_be_visible()
    page.keyboard.press("6")
    ready(driver, 20)


def test_worst_case_and_plan_in_force_side_by_side(driver: Driver) -> None:
    open_view(driver, "&ubatch=20", number=20)
    page = driver.page
    runs = column(driver, "run")
    expect(page.locator("#life-b")).to_have_attribute("data-run", str(runs[20]))
    expect(page.locator("#life-of-a")).to_contain_text("64 tokens, 2,048 cells")
    page.wait_for_selector("#life-a[data-drawn]")
    ranges = "host => document.getElementById(host).galloscope.model.lanes.map((lane) => lane.range)"
    assert driver.run(ranges, "life-a") != driver.run(ranges, "life-b")
    page.locator("#life-scale").click()
    driver.until(lambda: bool(driver.run(ranges, "life-a") == driver.run(ranges, "life-b")))
    assert page.locator("#life-needs .gs-life-bar").count() == 2
    driver.until(lambda: driver.query("lscale") == "same")


def test_the_address_brings_everything_back(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    page.keyboard.press("End")
    page.keyboard.press("+")
    page.locator("[data-life-pane=pools]").click()
    driver.until(lambda: driver.query("lpane") == "pools" and bool(driver.query("lview")))
    view = str(driver.query("lview"))
    page.reload()
    ready(driver, 179)
    expect(page.locator("#life-chart")).to_have_attribute("data-view", view)
    expect(page.locator("#life-pane")).to_have_attribute("data-pane", "pools")
    page.keyboard.press("f")
    driver.until(lambda: driver.query("lview") is None)
    page.goto(f"{driver.address}?file=sample:{SAMPLE}&ubatch=99999")
    ready(driver, 5)


def test_a_script_by_path_and_by_drop(driver: Driver, folder: Path) -> None:
    path = folder / "short.yaml"
    path.write_text(SHORT)
    open_view(driver, source=f"path:{path}")
    page = driver.page
    assert len(column(driver, "kind")) == 4
    expect(page.locator("#life-about strong")).to_have_text("<img src=x onerror=alert(1)>")
    driver.open(f"?file=path:{folder / 'small-llama.gguf'}")
    page.set_input_files("#upload-input", path)
    ready(driver)
    assert str(driver.query("file")).startswith("session:")
    driver.open(f"?file=sample:{SMALL}")
    page.set_input_files("#upload-input", path)
    expect(page.locator("#trouble, #open-error").filter(visible=True)).to_contain_text("open that file first")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("steps:\n  - decode: [{seq: 0}]\n", "the key 'model' is missing"),
        ("model: nowhere.gguf\nsteps:\n  - decode: [{seq: 0}]\n", "is missing: looked in"),
        ("model: small-llama.gguf\nsteps:\n  - dekode: [{seq: 0}]\n", "dekode"),
    ],
)
def test_what_cannot_be_played_says_why(driver: Driver, folder: Path, text: str, words: str) -> None:
    path = folder / "wrong.yaml"
    path.write_text(text)
    driver.open(f"?file=sample:{SMALL}")
    driver.run("path => { galloscope.page.open.source(`path:${path}`); }", str(path))
    expect(driver.page.locator("#trouble, #open-error").filter(visible=True)).to_contain_text(words)


def test_five_thousand_micro_batches_draw_no_more_than_pixels(driver: Driver, folder: Path) -> None:
    path = folder / "long.yaml"
    path.write_text(LONG)
    open_view(driver, source=f"path:{path}")
    page = driver.page
    kinds = column(driver, "kind")
    assert len(kinds) > 5000
    chart = page.locator("#life-chart")
    width = float(driver.run("() => galloscope.page.life.chart().at.width"))
    assert 100 < int(chart.get_attribute("data-drawn") or 0) <= LANES * width
    built = [i for i, kind in enumerate(kinds) if kind]
    x, y = pixel(driver, built[-1])
    page.mouse.move(x, y)
    expect(page.locator("#life-chart .gs-card")).to_contain_text(f"Ubatch {built[-1]:,}")
    expect(page.locator("#life-chart .gs-card")).to_contain_text("share this pixel; this is the worst")
    frames = driver.run(
        """async () => { const chart = galloscope.page.life.chart(), most = []; let frames = 0;
            for (let k = 0; k < 24; k++) { chart.zoom(0.8, chart.at.left + 400 + k);
                await new Promise(requestAnimationFrame); frames += 1; most.push(Number(chart.host.dataset.drawn)); }
            for (let k = 0; k < 24; k++) { chart.pan(k % 2 ? 300 : -200);
                await new Promise(requestAnimationFrame); frames += 1; most.push(Number(chart.host.dataset.drawn)); }
            return { frames, most: Math.max(...most) }; }"""
    )
    assert frames["frames"] == 48
    assert frames["most"] <= LANES * width


def test_a_session_that_was_let_go_is_played_again(driver: Driver) -> None:
    open_view(driver, "&ubatch=20", number=20)
    driver.store._kept.clear()
    driver.page.keyboard.press("ArrowRight")
    ready(driver, 21)
    assert driver.wrong
    assert all("404" in one for one in driver.wrong), "Chromium logs every 404; the page has dealt with it"
    driver.wrong.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways_at_any_width_in_any_theme(driver: Driver, scheme: Any) -> None:
    page = driver.page
    page.emulate_media(color_scheme=scheme)
    open_view(driver, source="sample:two-gpus")
    for width in (390, 720, 900, 1440, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(150)
        assert driver.run("() => document.documentElement.scrollWidth - innerWidth") <= 0, width
        assert driver.run("() => document.getElementById('page').scrollWidth - innerWidth") <= 0, width
        assert int(page.locator("#life-chart").get_attribute("data-drawn") or 0) > 10
    colors = driver.run("() => galloscope.page.life.chart().theme.kinds")
    assert len(set(colors)) == 5
    assert all(color.startswith("#") for color in colors)
