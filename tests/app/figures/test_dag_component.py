"""The graph in a real browser: folding, selecting, finding, and what it publishes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from galloscope.app.figures.dag import dag_data
from galloscope.app.figures.scene import scene
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace

ASSETS = Path(__file__).parents[3] / "assets"
SCRIPTS = ["format.js", "card.js", *sorted(path.name for path in ASSETS.glob("dag*.js"))]
HOSTILE = "<img src=x onerror=window.bad=1>"

pytestmark = pytest.mark.browser


def graph(n_layers: int = 60) -> dict[str, Any]:
    """Equal layers on a GPU, one of which leaves an op to the CPU; names that want to be markup."""
    tensors: list[dict[str, Any]] = [
        {"name": "x", "ne": [64, 32], "flags": ["input"]},
        {"name": "mask", "ne": [64, 32], "flags": ["input"]},
    ]
    last = "x"
    for i in range(n_layers):
        tensors += [
            {"name": f"w-{i}", "ne": [64, 64], "weight_of": "GPU0"},
            {"name": f"norm-{i}", "op": "RMS_NORM", "src": [last]},
            {"name": f"{HOSTILE}-{i}", "op": "MUL_MAT", "src": [f"w-{i}", f"norm-{i}"], "ne": [64, 32]},
            {"name": f"act-{i}", "op": "SOFT_MAX" if i == 30 else "SQR", "src": [f"{HOSTILE}-{i}"]},
            {"name": f"masked-{i}", "op": "ADD", "src": [f"act-{i}", "mask"]},
            {"name": f"l_out-{i}", "op": "ADD", "src": [f"masked-{i}", last]},
        ]
        last = f"l_out-{i}"
    backends = [{"name": "GPU0", "align": 128, "ops_except": ["SOFT_MAX"]}, {"name": "CPU"}]
    return {"backends": backends, "tensors": tensors, "outputs": [last]}


@pytest.fixture
def dag(page: Page) -> Iterator[Page]:
    """A page with nothing but the graph; fails on any script error and on any request."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url))
    session = trace(parse_graph(json.dumps(graph()).encode()))
    data = {**scene(session, session.runs[0]), "dag": dag_data(replay(session.runs[0]))}
    page.emulate_media(reduced_motion="reduce")
    page.set_content(
        "<!doctype html><body style='margin: 20px'><div id='dag' style='width: 900px; height: 330px'></div>"
    )
    page.add_style_tag(content=(ASSETS / "components.css").read_text(encoding="utf-8"))
    page.add_style_tag(content=".gs-component { width: 900px; height: 330px }")
    for script in SCRIPTS:
        page.add_script_tag(content=(ASSETS / script).read_text(encoding="utf-8"))
    page.evaluate(
        """(scene) => {
          window.scene = scene;
          window.calls = [];
          const names = ["Select", "Hover", "View", "Split", "Layer"];
          const told = (name) => (...values) => calls.push([name, ...values]);
          const callbacks = Object.fromEntries(names.map((name) => ["on" + name, told(name)]));
          window.dag = new galloscope.Dag(document.getElementById("dag"), callbacks).load(scene);
        }""",
        data,
    )
    page.wait_for_selector("#dag[data-drawn]")
    yield page
    assert errors == []
    assert page.evaluate("window.bad") is None


def tensor(page: Page, name: str) -> int:
    found = page.evaluate("(name) => scene.tensors.name.indexOf(name)", name)
    assert isinstance(found, int)
    assert found >= 0
    return found


def shown(page: Page, key: str) -> str:
    return page.locator("#dag").get_attribute(f"data-{key}") or ""


def wait(page: Page, key: str, value: str) -> None:
    page.wait_for_function("([k, v]) => document.getElementById('dag').dataset[k] === v", arg=[key, value])


def at(page: Page, name: str) -> tuple[float, float]:
    pixel = page.evaluate("(id) => dag.pixel(id)", tensor(page, name))
    return pixel["x"], pixel["y"]


def layer_of(page: Page, name: str) -> str:
    return str(page.evaluate("(id) => dag.model.layerOf(dag.model.nodeOf[id])", tensor(page, name)))


def test_a_big_graph_opens_folded_and_differing_layers_stand_apart(dag: Page) -> None:
    titles = dag.evaluate("dag.plan.cells.map((cell) => galloscope.dag.foldTitle(dag.model, cell))")
    assert "layer 30" in titles
    assert any(title.startswith("layers 1–") for title in titles)
    assert shown(dag, "open") == ""


def test_a_double_click_opens_the_layer_under_the_pointer_and_its_header_closes_it(dag: Page) -> None:
    dag.mouse.dblclick(*at(dag, "l_out-17"))
    wait(dag, "open", layer_of(dag, "l_out-17"))
    header = dag.evaluate(
        "(() => { const f = dag.plan.frames[0], b = dag.host.getBoundingClientRect(), v = dag.view;"
        " return [b.left + v.x + (f.x + 60) * v.s, b.top + v.y + (f.y + 12) * v.s]; })()"
    )
    dag.mouse.dblclick(*header)
    wait(dag, "open", "")
    box = dag.evaluate("(() => { const b = dag.host.getBoundingClientRect(); return [b.left, b.top]; })()")
    cell = dag.evaluate(
        "(id) => { const c = dag.plan.cellOfNode(dag.model.nodeOf[id]); const v = dag.view;"
        " return [v.x + c.x * v.s, v.y + c.y * v.s, (c.w) * v.s, c.h * v.s]; }",
        tensor(dag, "l_out-17"),
    )
    assert cell[0] <= header[0] - box[0] <= cell[0] + cell[2]
    assert cell[1] - 1 <= header[1] - box[1] <= cell[1] + cell[3] + 1


def on_fold(page: Page, cell: int, down: float) -> tuple[float, float]:
    """A point in the header of a folded box, `down` units under its upper edge."""
    x, y = page.evaluate(
        "([k, down]) => { const o = dag.plan.cells[k], b = dag.host.getBoundingClientRect(), v = dag.view;"
        " return [b.left + v.x + (o.x + o.w * 0.5) * v.s, b.top + v.y + (o.y + o.top + down) * v.s]; }",
        [cell, down],
    )
    return x, y


def test_a_click_on_a_box_is_about_its_layers_and_a_click_on_its_bar_about_one(dag: Page) -> None:
    box = dag.evaluate("dag.plan.cells.findIndex((cell) => cell.last > cell.layer)")
    first, end, layer = dag.evaluate(
        "(k) => [dag.plan.cells[k].start, dag.plan.cells[k].end, dag.plan.cells[k].layer]", box
    )
    dag.mouse.click(*on_fold(dag, box, 14))
    wait(dag, "nodes", f"{first}-{end - 1}")
    title = dag.evaluate("(k) => galloscope.dag.foldTitle(dag.model, dag.plan.cells[k])", box)
    assert ["Layer", first, end - 1, title] in dag.evaluate("calls")
    dag.mouse.click(*on_fold(dag, box, 30))
    dag.wait_for_function("calls.filter((call) => call[0] === 'Layer').length === 2")
    _, a, b, title = dag.evaluate("calls.filter((call) => call[0] === 'Layer')[1]")
    one = dag.evaluate("(a) => dag.model.dag.layers[dag.model.layerOf(a)]", a)
    assert (a, b, title) == (one["start"], one["end"] - 1, one["title"])
    assert one["number"] >= layer
    dag.keyboard.press("Escape")
    wait(dag, "nodes", "")


def test_a_box_alone_says_how_it_differs_from_the_one_before(dag: Page) -> None:
    lone = dag.evaluate("dag.plan.cells.findIndex((cell) => dag.model.dag.layers[cell.layer].number === 30)")
    dag.mouse.move(*on_fold(dag, lone, 14))
    card = dag.locator(".gs-card")
    card.wait_for(state="visible")
    assert "differs from layer 29" in card.inner_text()
    assert "act (SOFT_MAX)" in card.inner_text()
    dag.keyboard.press("Shift")
    card.wait_for(state="hidden")


def test_lines_leave_room_for_the_words_of_a_boundary(dag: Page) -> None:
    dag.evaluate("(id) => dag.focus(id)", tensor(dag, "act-30"))
    dag.wait_for_function("dag.copyChips.length > 0")
    assert dag.evaluate(
        "dag.copyChips.every((chip) => dag.plan.cells.filter((cell) => cell.kind)"
        ".flatMap((cell) => galloscope.dag.cutsOf(dag, cell)).filter((cut) => Math.abs(cut.y - chip.y) < 10)"
        ".every((cut) => cut.passing.every((x) => x < chip.x || x > chip.x + chip.w)))"
    )


@pytest.mark.parametrize("sample", ["lesson-in-place", "lesson-best-fit"])
def test_a_small_graph_can_be_read(dag: Page, sample: str) -> None:
    path = ASSETS.parent / "sample_graphs" / f"{sample}.graph.json"
    session = trace(parse_graph(path.read_bytes()))
    dag.evaluate("(small) => { window.scene = small; dag.load(small); }", scene(session, session.runs[0]))
    assert dag.evaluate("dag.view.s") >= 0.75


def test_a_click_selects_and_escape_forgets(dag: Page) -> None:
    wanted = tensor(dag, "act-5")
    dag.evaluate("(id) => dag.focus(id)", wanted)
    dag.mouse.click(*at(dag, "act-5"))
    wait(dag, "selected", str(wanted))
    assert ["Select", wanted] in dag.evaluate("calls")
    dag.keyboard.press("Escape")
    wait(dag, "selected", "-1")


def test_a_name_in_a_node_selects_the_input(dag: Page) -> None:
    dag.evaluate("(id) => dag.focus(id)", tensor(dag, "masked-5"))
    dag.wait_for_function("dag.view.s >= 0.7")
    node, mask = tensor(dag, "masked-5"), tensor(dag, "mask")
    spot = dag.evaluate(
        "(id) => { const [l, t, w, h] = dag.model.tagBox(dag.model.nodeOf[id], 0), p = dag.pixel(id), s = dag.view.s;"
        " return [p.x + (l + w / 2) * s, p.y + (t + h / 2) * s]; }",
        node,
    )
    dag.mouse.click(*spot)
    wait(dag, "selected", str(mask))


def test_hover_shows_one_card_of_text(dag: Page) -> None:
    name = f"{HOSTILE}-5"
    dag.evaluate("(id) => dag.focus(id)", tensor(dag, name))
    dag.mouse.move(*at(dag, name))
    wait(dag, "hover", str(tensor(dag, name)))
    card = dag.locator(".gs-card")
    assert card.count() == 1
    text = card.inner_text()
    assert name in text
    assert "w-5 · f32 · 16 KiB" in text


def test_neighbours_cross_copies(dag: Page) -> None:
    copy = dag.evaluate("[...dag.model.copyOf.keys()][0]")
    source = dag.evaluate("(id) => dag.model.copyOf.get(id).src", copy)
    assert dag.evaluate("(id) => dag.producers(id)", copy) == [source]
    readers = dag.evaluate("(id) => dag.consumers(id)", copy)
    assert readers
    assert set(readers) <= set(dag.evaluate("(id) => dag.consumers(id)", source))


def test_the_view_comes_back_from_its_text(dag: Page) -> None:
    dag.evaluate("dag.expand([3, 4, 5, 9])")
    dag.evaluate("dag.zoom(2)")
    text = dag.evaluate("dag.getView()")
    assert text.startswith("3-5.9@")
    dag.evaluate("dag.expand('all')")
    assert dag.evaluate("dag.getView()") == "all"
    dag.evaluate("(text) => dag.setView(text)", text)
    assert dag.evaluate("dag.getView()") == text
    for bad in ["", "x@y", "9999999999@1,2,0", "1@a,b,c", "-5@,,"]:
        dag.evaluate("(text) => dag.setView(text)", bad)


def test_every_op_has_a_pixel_open_or_closed(dag: Page) -> None:
    for which in ("none", "all"):
        dag.evaluate("(which) => dag.expand(which)", which)
        assert dag.evaluate("[...dag.model.nodes].every((id) => dag.pixel(id))")


def test_keys_move_zoom_and_fit(dag: Page) -> None:
    dag.locator("#dag").focus()
    fitted = dag.evaluate("JSON.stringify(dag.view)")
    dag.keyboard.press("+")
    dag.keyboard.press("ArrowRight")
    assert dag.evaluate("JSON.stringify(dag.view)") != fitted
    dag.keyboard.press("f")
    assert dag.evaluate("JSON.stringify(dag.view)") == fitted
