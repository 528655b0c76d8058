"""The Planners view in a real Chromium: table, two linked plans, curve, stages, address, buffer sets, cancelling."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from galloscope.app import planner_routes
from galloscope.app.samples import buffer_samples
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Budget, Plan, Planner
from galloscope.tests.browser.driver import Driver

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("compiled")]
GRAPH = "lesson-in-place"
VIEW = "&view=planners"
CSV = "id,lower,upper,size\na,0,2,4096\nb,0,4,2048\nc,2,4,4096\n"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """No planner thinks for long."""
    monkeypatch.setattr(planner_routes, "USUAL_LIMIT", 0.2)


def settled(driver: Driver) -> None:
    """Every planner has answered, and both plans are drawn."""
    page = driver.page
    page.wait_for_selector("#plan-b[data-planner]")
    page.wait_for_selector("#planners[data-job='']", timeout=120_000)
    page.wait_for_selector("#plan-b[data-drawn]")
    page.wait_for_selector("#plan-live .js-plotly-plot .xtick", state="attached")


def open_view(driver: Driver, source: str = f"sample:{GRAPH}", rest: str = "") -> None:
    driver.page.goto(f"{driver.address}?file={source}{VIEW}{rest}")
    driver.page.wait_for_selector("#page[data-state=ready]")
    settled(driver)


def plans(driver: Driver) -> list[str]:
    return [driver.page.locator(f"#{host}").get_attribute("data-planner") or "" for host in ("plan-a", "plan-b")]


def chart(driver: Driver, host: str, what: str) -> Any:
    return driver.run(f"host => document.getElementById(host).galloscope.{what}", host)


def press_block(driver: Driver, host: str, block: int) -> None:
    at = driver.run("([host, id]) => document.getElementById(host).galloscope.pixel(id)", [host, block])
    driver.page.mouse.click(at["x"], at["y"])


def test_one_key_there_and_back(driver: Driver) -> None:
    driver.open(f"?file=sample:{GRAPH}")
    page = driver.page
    page.keyboard.press("4")
    settled(driver)
    expect(page.locator("#work")).to_be_hidden()
    expect(page.locator("#plan-headline")).to_contain_text("CPU: ggml needs 41 KiB")
    page.go_back()
    expect(page.locator("#planners")).to_be_hidden()
    expect(page.locator("#strip")).to_be_visible()
    page.locator("#planners-button").click()
    expect(page.locator("#planners")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#planners")).to_be_hidden()
    assert driver.query("view") is None
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("planners: how far from the best is ggml")
    page.keyboard.press("Escape")


def test_the_table_has_every_planner_and_sorts(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    rows = page.locator("#plan-table tbody tr")
    assert [row.get_attribute("data-planner") for row in rows.all()] == list(PLANNERS)
    peak = page.locator("[data-sort-by=peak]")
    peak.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("peak")
    expect(rows.first).to_have_attribute("data-planner", "naive")
    driver.until(lambda: driver.query("psort") == "peak:desc")
    expect(page.locator("[data-sort-by=peak]")).to_be_focused()
    page.locator("tr[data-planner=naive] .gs-plan-name").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    second = rows.nth(1).get_attribute("data-planner")
    expect(page.locator("#plan-b")).to_have_attribute("data-planner", second or "")


def test_two_plans_are_chosen(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    page.locator("tr[data-planner=naive] .gs-plan-mark").first.click()
    page.locator("tr[data-planner=pools_greedy] .gs-plan-mark").nth(1).click()
    expect(page.locator("#plan-a")).to_have_attribute("data-planner", "naive")
    expect(page.locator("#plan-b")).to_have_attribute("data-planner", "pools_greedy")
    driver.until(lambda: driver.query("plans") == "naive,pools_greedy")
    ranges = [chart(driver, host, "model.lanes[0].range") for host in ("plan-a", "plan-b")]
    assert ranges[0] == ranges[1] == 58 << 10, "both are drawn to one scale of bytes"
    page.select_option("#plan-colour", "pool")
    assert chart(driver, "plan-b", "colorBy") == "pool"
    assert chart(driver, "plan-a", "colorBy") == "op"
    expect(page.locator("#plan-legend")).to_contain_text("A has no pools")
    page.keyboard.press("b")
    expect(page.locator("#plan-b")).to_have_attribute("data-planner", "pools_by_size")


def test_a_rectangle_is_selected_in_both_and_in_words(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    names = driver.run("galloscope.page.planners.now.set.tensors.name")
    block = names.index("first")
    press_block(driver, "plan-a", block)
    for host in ("plan-a", "plan-b"):
        expect(page.locator(f"#{host}")).to_have_attribute("data-selected", str(block))
    expect(page.locator(".gs-plan-title")).to_have_text("first")
    driver.until(lambda: driver.query("block") == str(block))
    page.keyboard.press("Escape")
    expect(page.locator(".gs-plan-card")).to_have_count(0)
    press_block(driver, "plan-b", block)
    page.locator(".gs-plan-show").click()
    expect(page.locator("#planners")).to_be_hidden()
    driver.expect_selected(driver.id_of("first"), "first")


def test_zoom_and_pointer_are_linked(driver: Driver) -> None:
    open_view(driver, "sample:llama_4l-g2full-prefill-fa1-reserve")
    page = driver.page
    box = page.locator("#plan-a").bounding_box()
    assert box
    page.mouse.move(box["x"] + 400, box["y"] + 100)
    page.mouse.wheel(0, -500)
    driver.until(lambda: bool(driver.query("pview")))
    assert chart(driver, "plan-a", "getView()") == chart(driver, "plan-b", "getView()") == driver.query("pview")
    driver.until(
        lambda: driver.run(
            """() => { const at = document.querySelector("#plan-live .js-plotly-plot").layout.xaxis.range,
               view = document.getElementById("plan-a").galloscope.view;
               return Math.abs(at[0] - view.x0) + Math.abs(at[1] - view.x1) < 1e-6; }"""
        )
    )
    page.keyboard.press("f")
    driver.until(lambda: chart(driver, "plan-b", "getView()") == "")
    page.wait_for_timeout(300)  # it glides
    block = driver.run("galloscope.page.planners.now.set.peak[0][0]")
    at = driver.run("block => document.getElementById('plan-a').galloscope.pixel(block)", block)
    page.mouse.move(at["x"], at["y"])
    expect(page.locator("#plan-a")).not_to_have_attribute("data-hover", "-1")
    hover = page.locator("#plan-a").get_attribute("data-hover") or ""
    expect(page.locator("#plan-b")).to_have_attribute("data-hover", hover)


def test_with_and_without_in_place(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    before = page.locator("tr[data-planner=naive]").inner_text()
    page.locator("[data-pane=chains]").click()
    expect(page.locator(".gs-plan-chain").first).to_contain_text("x")
    page.locator("[data-inplace=off]").click()
    expect(page.locator("tr[data-planner=naive]")).not_to_have_text(before)
    settled(driver)
    driver.until(lambda: driver.query("inplace") == "off")
    expect(page.locator("#plan-pane")).to_contain_text("every tensor has bytes of its own")
    page.keyboard.press("i")
    settled(driver)
    expect(page.locator("tr[data-planner=naive] td").nth(2)).to_have_text("58 KiB")
    page.select_option("#plan-order", "dfs")
    settled(driver)
    expect(page.locator("tr[data-planner=ggml]")).to_have_attribute("data-verdict", "refused")
    expect(page.locator("#plan-headline")).to_contain_text("in this order the bound is")


def test_the_curve_leads_to_a_step(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    box = page.locator("#plan-live .nsewdrag").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.62, box["y"] + 40)
    expect(page.locator("#plan-live .hoverlayer")).to_contain_text(re.compile(r"step \d+ · .*KiB"))
    page.mouse.click(box["x"] + box["width"] * 0.62, box["y"] + 40)
    expect(page.locator("#plan-pane")).to_contain_text("Alive at step")
    assert int(page.locator("#planners").get_attribute("data-step") or -1) >= 0
    page.keyboard.press("p")
    expect(page.locator("#plan-pane")).to_contain_text("Most alive at once, step 10")
    assert page.locator("#plan-live a[href], #plan-live .modebar-btn").count() == 0


def test_holes_are_listed_and_shown(driver: Driver) -> None:
    open_view(driver, "sample:llama_4l-g2full-prefill-fa1-reserve", "&plans=naive,ggml")
    page = driver.page
    page.locator("[data-pane=holes]").click()
    expect(page.locator("#plan-pane")).to_contain_text("of bytes × steps")
    page.locator(".gs-plan-hole").first.click()
    expect(page.locator("[data-plan-show=holes]")).to_have_attribute("aria-pressed", "true")
    driver.until(lambda: bool(driver.query("pview")))


def test_the_stages(driver: Driver) -> None:
    open_view(driver)
    page = driver.page
    page.locator("[data-pane=stages]").click()
    expect(page.locator("#plan-pane")).to_contain_text("11 steps")
    page.locator("[data-pane='stages:intervals']").click()
    expect(page.locator(".gs-plan-interval").first).to_be_visible()
    page.locator("[data-pane='stages:interference']").click()
    expect(page.locator("#plan-pane")).to_contain_text("covered by 3 cliques")
    expect(page.locator(".gs-plan-heaviest")).to_have_count(1)
    expect(page.locator(".gs-plan-matrix")).to_be_visible()
    page.locator("[data-pane='stages:places']").click()
    page.locator("#plan-replay").focus()
    page.keyboard.press("Home")
    expect(page.locator("#plan-replay-told")).to_contain_text("nothing yet")
    expect(page.locator("#plan-a")).to_have_attribute("data-drawn", "0")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#plan-a")).to_have_attribute("data-drawn", "1")
    page.locator("[data-pane=peak]").click()
    expect(page.locator("#plan-a")).not_to_have_attribute("data-drawn", "1")


def test_a_reload_restores_everything(driver: Driver) -> None:
    rest = "&buffer=1&inplace=off&plans=tlsf,offsets_by_size&pane=holes&psort=ratio:desc&pby=size&pshow=holes&block=3"
    open_view(driver, "sample:llama_4l-g2full-prefill-fa1-reserve", rest)
    page = driver.page
    assert plans(driver) == ["tlsf", "offsets_by_size"]
    expect(page.locator("[data-buffer='1']")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#plan-b")).to_have_attribute("data-selected", "3")
    page.keyboard.press("c")
    page.wait_for_timeout(400)
    before = driver.run("({...galloscope.page.state})")
    page.reload()
    settled(driver)
    after = driver.run("({...galloscope.page.state})")
    assert after == before
    assert after["pby"] == "time"


def test_an_address_that_asks_in_vain(driver: Driver) -> None:
    open_view(driver, rest="&buffer=99&order=random&plans=nobody,naive&block=99999")
    page = driver.page
    expect(page.locator("#notice")).to_contain_text("order=random")
    assert plans(driver)[1] == "naive"
    expect(page.locator("#plan-headline")).to_contain_text("ggml needs")


@pytest.mark.parametrize("sample", buffer_samples(), ids=lambda sample: sample.name)
def test_every_set_of_buffers_opens(driver: Driver, sample: Any) -> None:
    open_view(driver, f"sample:{sample.name}")
    page = driver.page
    expect(page.locator("#file-title")).to_have_text(sample.title)
    expect(page.locator("#plan-about")).to_have_text(sample.look)
    expect(page.locator("#plan-inplace")).to_be_hidden()
    assert driver.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#plan-table tbody tr").count() == len(PLANNERS)
    page.keyboard.press("Escape")
    expect(page.locator("#planners")).to_be_visible()


def test_from_a_graph_to_a_set_and_back(driver: Driver, tmp_path: Path) -> None:
    driver.open(f"?file=sample:{GRAPH}")
    page = driver.page
    path = tmp_path / "set <b>.csv"
    path.write_text(CSV.replace("c,", f"{HOSTILE},"))
    page.set_input_files("#upload-input", str(path))
    settled(driver)
    expect(page.locator("#plan-headline")).to_contain_text("set <b>.csv: ggml needs")
    press_block(driver, "plan-a", 2)
    expect(page.locator(".gs-plan-title")).to_have_text(HOSTILE)
    page.reload()
    settled(driver)
    page.locator("#file-button").click()
    page.locator(f"[data-source='sample:{GRAPH}']").click()
    expect(page.locator("#planners")).to_be_hidden()
    driver.ready()
    page.go_back()
    settled(driver)
    assert driver.run("document.querySelectorAll('#page img').length") == 0


def test_a_bad_set_leaves_the_old_one_on_the_screen(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("id,lower,upper,size\na,4,2,8\n")
    open_view(driver, f"path:{_written(tmp_path)}")
    driver.page.set_input_files("#upload-input", str(path))
    expect(driver.page.locator("#trouble")).to_contain_text("bad.csv, line 2: it ends before it starts")
    expect(driver.page.locator("#planners")).to_be_visible()
    driver.page.keyboard.press("Escape")
    expect(driver.page.locator("#trouble")).to_be_hidden()


def _written(folder: Path) -> Path:
    path = folder / "set.csv"
    path.write_text(CSV)
    return path


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A planner that works until it is told to stop, beside two others; then all are back in their order."""

    def run(instance: Instance, capacity: int | None, budget: Budget) -> Plan:
        if len(instance) == 3:  # not while it is warmed up
            budget.say("thinking")
            while budget.left() > 0:
                time.sleep(0.01)
        return Plan(np.cumsum(instance.size) - instance.size)

    monkeypatch.setattr(planner_routes, "USUAL_LIMIT", 60.0)
    known = dict(PLANNERS)
    PLANNERS.clear()
    PLANNERS.update(naive=known["naive"], ggml=known["ggml"], slow=Planner("slow", "It thinks.", "this test", run))
    yield
    PLANNERS.clear()
    PLANNERS.update(known)


@pytest.mark.usefixtures("slow")
def test_a_slow_planner_is_cancelled_and_asked_again(driver: Driver, tmp_path: Path) -> None:
    page = driver.page
    page.goto(f"{driver.address}?file=path:{_written(tmp_path)}")
    page.wait_for_selector("#planners[data-running=slow]")
    expect(page.locator("#plan-stage")).to_contain_text("slow: thinking")
    expect(page.locator("tr[data-planner=slow]")).to_contain_text("running")
    expect(page.locator("#plan-b[data-planner]")).to_be_visible()  # the others are there to be looked at
    press_block(driver, "plan-a", 0)
    expect(page.locator(".gs-plan-card")).to_be_visible()
    page.locator("#plan-cancel").click()
    page.wait_for_selector("#planners[data-job='']")
    page.fill("#plan-limit", "0.05")
    page.locator("#plan-limit").press("Enter")
    expect(page.locator("tr[data-planner=slow]")).to_have_attribute("data-verdict", "heuristic")
    page.wait_for_selector("#planners[data-job='']")
    page.fill("#plan-limit", "forever")
    page.locator("#plan-limit").press("Enter")
    expect(page.locator("#plan-limit")).to_have_attribute("aria-invalid", "true")


def test_a_file_that_the_server_let_go_is_opened_again(driver: Driver) -> None:
    open_view(driver)
    driver.store._kept.clear()
    driver.page.select_option("#plan-order", "kahn")
    expect(driver.page.locator("#plan-headline")).to_contain_text("in this order")
    assert all("404" in one for one in driver.wrong)
    driver.wrong.clear()


@pytest.mark.parametrize(("width", "height"), [(900, 1100), (600, 900), (1440, 900), (2560, 1300)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width_in_both_themes(driver: Driver, width: int, height: int, scheme: Any) -> None:
    driver.page.emulate_media(color_scheme=scheme)
    driver.page.set_viewport_size({"width": width, "height": height})
    open_view(driver, "sample:llama_4l-g2full-prefill-fa1-reserve")
    assert driver.run("document.documentElement.scrollWidth <= innerWidth")
    for host in ("plan-a", "plan-b", "plan-curve", "plan-table"):
        box = driver.page.locator(f"#{host}").bounding_box()
        assert box
        assert box["height"] >= 100
    if width > 720:  # narrower, the table scrolls by itself
        wide, room = (driver.run(f"document.getElementById('plan-table').{key}Width") for key in ("scroll", "client"))
        assert wide <= room


def test_a_theme_that_changes(driver: Driver) -> None:
    open_view(driver)
    line = "document.querySelector('#plan-live .js-plotly-plot').data[0].line.color"
    before = driver.run(line)
    driver.page.locator(".gs-theme").click()
    driver.until(lambda: driver.run(line) != before)
    assert driver.run("document.getElementById('plan-a').galloscope.theme.dark")


def test_the_first_page_does_not_load_plotly(driver: Driver) -> None:
    asked: list[str] = []
    driver.page.on("request", lambda request: asked.append(request.url))
    driver.open()
    assert not [url for url in asked if "plotly" in url]
