"""The Planners view in a hurry, between two sets, with sets and addresses that lead nowhere."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from galloscope.app import planner_routes
from galloscope.tests.browser.driver import Driver
from galloscope.tests.browser.test_planners import CSV, GRAPH, open_view, settled

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("compiled")]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """No planner thinks for long."""
    monkeypatch.setattr(planner_routes, "USUAL_LIMIT", 0.2)


def test_keys_in_a_hurry(driver: Driver) -> None:
    driver.open(f"?file=sample:{GRAPH}")
    page = driver.page
    press = (
        "keys => keys.forEach(key => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})))"
    )
    driver.run(press, ["4", ".", ",", "p", "4", "4", "."])
    settled(driver)
    driver.run(press, ["4", "4", "Escape", "4"])
    settled(driver)
    expect(page.locator("#plan-headline")).to_contain_text("CPU: ggml needs 41 KiB")


def test_another_run_while_the_curve_is_mounted(driver: Driver) -> None:
    driver.open("?file=sample:lesson-stale-plan")
    driver.page.keyboard.press("4")
    for key in ("r", "i", "r"):
        driver.page.keyboard.press(key)
    settled(driver)


def test_an_unsound_plan_of_ggml(driver: Driver) -> None:
    open_view(driver, "sample:lesson-stale-plan", "&run=1")
    expect(driver.page.locator("[data-buffer='0']")).to_contain_text("ggml's plan is unsound")
    expect(driver.page.locator("#plan-headline")).to_contain_text("ggml's plan is unsound; the bound is")


def test_stages_of_another_set(driver: Driver) -> None:
    open_view(driver, "sample:llama_4l-g2full-prefill-fa1-reserve", "&pane=stages:intervals")
    page = driver.page
    for action in ("[data-buffer='2']", "[data-inplace=off]", "[data-buffer='1']"):
        page.locator(action).click()
        settled(driver)
        expect(page.locator(".gs-plan-interval").first).to_be_visible()
    tab = page.locator("[data-pane='stages:order']")
    tab.focus()
    page.keyboard.press("Enter")
    expect(tab).to_have_attribute("aria-pressed", "true")
    expect(tab).to_be_focused()


@pytest.mark.parametrize("rest", ["pane=stages:foo", "pane=stages:constructor", "psort=constructor:asc"])
def test_an_address_with_words_that_are_none(driver: Driver, rest: str) -> None:
    open_view(driver, rest=f"&{rest}&buffer=999999999&pby=constructor&plans=constructor,toString")
    expect(driver.page.locator("#notice")).to_contain_text(rest)
    expect(driver.page.locator("#plan-headline")).to_contain_text("ggml needs")
    assert driver.query("buffer") == "0"


def test_a_set_that_nobody_plans(driver: Driver, tmp_path: Path) -> None:
    open_view(driver, f"path:{_written(tmp_path)}")
    page = driver.page
    expect(page.locator("#plan-pane")).to_contain_text("Most alive at once")
    path = tmp_path / "clash.csv"
    path.write_text("id,lower,upper,size,offset\na,0,10,100,0\nb,0,10,100,50\n")
    page.set_input_files("#upload-input", str(path))
    expect(page.locator("#plan-headline")).to_have_text("clash.csv: the bound is 200\u00a0B; no planner has a plan.")
    expect(page.locator("#plan-pane")).to_have_text("No planner has a plan: the table says why.")
    assert driver.run("['plan-a', 'plan-b'].map(id => document.getElementById(id).galloscope.model)") == [None, None]
    page.mouse.move(700, 500)
    for key in (".", "p", "f", "c", "a"):
        page.keyboard.press(key)
    page.set_input_files("#upload-input", str(_written(tmp_path)))
    settled(driver)
    expect(page.locator("#plan-pane")).to_contain_text("Most alive at once")


def test_a_set_without_rows(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text("id,lower,upper,size\n")
    open_view(driver, f"path:{path}", "&pane=stages:interference")
    page = driver.page
    expect(page.locator("#plan-headline")).to_contain_text("nothing to plan")
    expect(page.locator("#plan-back")).to_be_hidden()
    expect(page.locator("#trouble")).to_be_hidden()
    for pane in ("peak", "holes", "chains"):
        page.locator(f"[data-pane={pane}]").click()


def test_a_few_bytes_above_the_bound(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "near.csv"
    path.write_text(f"id,lower,upper,size\na,0,2,{(2 << 20) + 1}\nb,2,4,7\n")
    open_view(driver, f"path:{path}", "&plans=naive,best")
    drawn = driver.run(
        """() => { const chart = document.getElementById("plan-a").galloscope, said = [], real = chart.g.fillText;
           chart.g.fillText = function (text, ...at) { said.push(text); return real.call(this, text, ...at); };
           chart.paint(); delete chart.g.fillText; return said.join("|"); }"""
    )
    assert "7 B above the bound" in drawn
    assert "= bound" not in drawn


def _written(folder: Path) -> Path:
    path = folder / "set.csv"
    path.write_text(CSV)
    return path
