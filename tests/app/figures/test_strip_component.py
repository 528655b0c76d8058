"""The strip chart in a real browser: what it publishes, what it answers, and that it agrees with the Python side."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from galloscope.app.figures.scene import scene
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.session import trace
from galloscope.core.text import bytes_text, hex_text, tail_text

ASSETS = Path(__file__).parents[3] / "assets"
SCRIPTS = ["format.js", "card.js", *sorted(path.name for path in ASSETS.glob("strip*.js"))]
HOSTILE = "<img src=x onerror=window.bad=1>"

pytestmark = pytest.mark.browser


def graph() -> dict[str, Any]:
    """Twelve layers on a GPU that leaves one op to the CPU, with names that want to be markup."""
    tensors: list[dict[str, Any]] = [{"name": "x", "ne": [64, 32], "flags": ["input"]}]
    last = "x"
    for i in range(12):
        tensors += [
            {"name": f"w-{i}", "ne": [64, 64], "weight_of": "GPU0"},
            {"name": f"{HOSTILE}-{i}", "op": "MUL_MAT", "src": [f"w-{i}", last], "ne": [64, 32]},
            {"name": f"l_out-{i}", "op": "SOFT_MAX" if i == 6 else "SCALE", "src": [f"{HOSTILE}-{i}"]},
        ]
        last = f"l_out-{i}"
    backends = [{"name": "GPU0", "align": 128, "ops_except": ["SOFT_MAX"]}, {"name": "CPU"}]
    return {"backends": backends, "tensors": tensors, "outputs": [last]}


@pytest.fixture
def chart(page: Page) -> Iterator[Page]:
    """A page with nothing but a strip chart; fails on any script error and on any request."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url))
    session = trace(parse_graph(json.dumps(graph()).encode()))
    page.set_content("<!doctype html><body style='margin: 20px'><div id='strip' style='height: 400px'></div>")
    page.add_style_tag(content=(ASSETS / "components.css").read_text(encoding="utf-8"))
    for script in SCRIPTS:
        page.add_script_tag(content=(ASSETS / script).read_text(encoding="utf-8"))
    page.evaluate(
        """(scene) => {
          window.scene = scene;
          window.calls = [];
          const told = (name) => (value) => calls.push([name, value]);
          const names = ["Select", "Hover", "View", "Split"];
          const callbacks = Object.fromEntries(names.map((name) => ["on" + name, told(name)]));
          window.chart = new galloscope.Strip(document.getElementById("strip"), callbacks);
          chart.load(scene);
        }""",
        scene(session, session.runs[0]),
    )
    page.wait_for_selector("#strip[data-drawn]")
    yield page
    assert errors == []
    assert page.evaluate("window.bad") is None


def data(page: Page, key: str) -> str:
    return page.locator("#strip").get_attribute(f"data-{key}") or ""


def tensor(page: Page, name: str) -> int:
    found = page.evaluate("(name) => scene.tensors.name.indexOf(name)", name)
    assert isinstance(found, int)
    assert found >= 0
    return found


def point_at(page: Page, tensor_id: int) -> tuple[float, float]:
    pixel = page.evaluate("(id) => chart.pixel(id)", tensor_id)
    page.mouse.move(pixel["x"], pixel["y"])
    return pixel["x"], pixel["y"]


def wait(page: Page, key: str, value: str) -> None:
    page.wait_for_function("([k, v]) => document.getElementById('strip').dataset[k] === v", arg=[key, value])


def test_numbers_read_the_same_in_python(chart: Page) -> None:
    numbers = [0, 1, 1023, 1024, 1152, 10239, 10240, 1024**2 - 1, 551895040, 9479168, 2**40 + 1, 3 * 2**30 + 2**29]
    assert chart.evaluate("(all) => all.map(galloscope.format.bytes)", numbers) == [bytes_text(n) for n in numbers]
    assert chart.evaluate("(all) => all.map(galloscope.format.hex)", numbers) == [hex_text(n) for n in numbers]
    name = "blk.12.attn_norm.ffn_gate"
    lengths = [2, 3, 9, 16, 24, 25]
    cut = chart.evaluate("([name, all]) => all.map((n) => galloscope.format.tail(name, n))", [name, lengths])
    assert cut == [tail_text(name, n) for n in lengths]


def test_everything_is_drawn(chart: Page) -> None:
    assert int(data(chart, "drawn")) == chart.evaluate("scene.strip.n")
    assert data(chart, "view") == ""


def test_pointing_and_clicking(chart: Page) -> None:
    hostile = tensor(chart, f"{HOSTILE}-3")
    x, y = point_at(chart, hostile)
    wait(chart, "hover", str(hostile))
    assert chart.locator(".gs-card-title").inner_text().strip() == f"{HOSTILE}-3"
    chart.mouse.click(x, y)
    wait(chart, "selected", str(hostile))
    assert ["Select", hostile] in chart.evaluate("calls")
    chart.keyboard.press("Escape")
    wait(chart, "selected", "-1")


def test_selecting_from_outside_tells_nobody(chart: Page) -> None:
    last = tensor(chart, "l_out-11")
    chart.evaluate("(id) => chart.select(id)", last)
    wait(chart, "selected", str(last))
    assert chart.evaluate("calls") == []


def test_the_wheel_zooms_at_the_pointer_and_the_view_survives_as_text(chart: Page) -> None:
    middle = tensor(chart, "l_out-5")
    x, _ = point_at(chart, middle)
    chart.mouse.wheel(0, -400)
    chart.wait_for_function("document.getElementById('strip').dataset.view !== ''")
    view = data(chart, "view")
    assert abs(chart.evaluate("(id) => chart.pixel(id).x", middle) - x) < 30
    chart.evaluate("chart.fit()")
    wait(chart, "view", "")
    chart.evaluate("(view) => chart.setView(view)", view)
    wait(chart, "view", view)


@pytest.mark.parametrize("text", ["", "nonsense", "5-1", "7=1-2;-3", "1-2-3;0=x"])
def test_a_broken_view_is_the_fitted_one(chart: Page, text: str) -> None:
    chart.evaluate("(view) => chart.setView(view)", text)
    wait(chart, "view", "")


def test_double_click_goes_into_a_split_and_out_again(chart: Page) -> None:
    last = tensor(chart, "l_out-11")
    x, y = point_at(chart, last)
    wait(chart, "hover", str(last))
    split = chart.evaluate("scene.splits.length - 1")
    assert split > 0
    chart.mouse.dblclick(x, y)
    chart.wait_for_function("document.getElementById('strip').dataset.view !== ''")
    first, end = (float(part) for part in data(chart, "view").split("-"))
    inside = chart.evaluate("(k) => [scene.splits[k].x0, scene.splits[k].x1]", split)
    assert first <= inside[0] < inside[1] <= end
    chart.wait_for_function("chart.target === null")
    chart.mouse.dblclick(x, y)
    wait(chart, "view", "")


def test_a_card_goes_when_its_picture_changes(chart: Page) -> None:
    card = chart.locator(".gs-card")
    for act in (
        lambda: chart.keyboard.press("x"),
        lambda: chart.mouse.wheel(0, -50),
        lambda: chart.evaluate("chart.select(0)"),
        lambda: chart.evaluate("chart.setView('1-9')"),
        lambda: chart.evaluate("window.dispatchEvent(new Event('blur'))"),
    ):
        chart.mouse.move(1, 1)
        chart.evaluate("chart.fit()")
        chart.wait_for_function("chart.target === null")
        chart.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        point_at(chart, tensor(chart, "l_out-11"))
        card.wait_for(state="visible")
        act()
        card.wait_for(state="hidden")


def test_a_double_click_on_a_split_keeps_it_selected(chart: Page) -> None:
    box = chart.locator("#strip").bounding_box()
    assert box
    chart.mouse.dblclick(box["x"] + box["width"] - 40, box["y"] + 10)
    last = chart.evaluate("scene.splits.length - 1")
    wait(chart, "split", str(last))
    chart.wait_for_function("document.getElementById('strip').dataset.view !== ''")
    assert [call for call in chart.evaluate("calls") if call[0] == "Split"] == [["Split", last]]


def test_a_weight_points_at_the_steps_that_read_it(chart: Page) -> None:
    chart.evaluate("(id) => chart.select(id)", tensor(chart, "w-3"))
    reader = tensor(chart, f"{HOSTILE}-3")
    assert chart.evaluate("(id) => chart.relatives.steps[0] === chart.model.stepOf[id]", reader)
    assert chart.evaluate("(id) => chart.relatives.consumers.has(chart.model.rectOf[id])", reader)


@pytest.mark.parametrize(
    ("given", "mode"),
    [(True, "even"), (False, "true"), (None, "auto"), ("even", "even"), ("true", "true"), ("auto", "auto")],
)
def test_the_scale_has_three_ways(chart: Page, given: bool | str | None, mode: str) -> None:
    chart.evaluate("(even) => chart.show({ even })", given)
    wait(chart, "even", mode)
    if mode != "auto":
        assert chart.evaluate("chart.scales.every((scale) => Boolean(scale.even) === (chart.shown.even === 'even'))")


def test_what_overwrites_is_said(chart: Page) -> None:
    path = ASSETS.parent / "sample_graphs" / "lesson-stale-plan.graph.json"
    session = trace(parse_graph(path.read_bytes()))
    chart.evaluate("(stale) => { window.scene = stale; chart.load(stale); }", scene(session, session.runs[1]))
    wait(chart, "drawn", "4")
    point_at(chart, tensor(chart, "result"))
    card = chart.locator(".gs-card")
    card.wait_for(state="visible")
    assert "result overwrites a" in card.inner_text()
    assert "still needed until step 2" in card.inner_text()


def test_the_peak_and_the_switches(chart: Page) -> None:
    chart.locator("#strip").focus()
    chart.keyboard.press("p")
    chart.wait_for_function("chart.liveStep >= 0")
    chart.evaluate("chart.show({holes: true, chains: true, views: true, even: true})")
    chart.evaluate("chart.setColor('cause')")
    chart.keyboard.press("f")
    wait(chart, "view", "")
    assert int(data(chart, "drawn")) == chart.evaluate("scene.strip.n")
