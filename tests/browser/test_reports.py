"""The reports in a real Chromium: they open from a disk, ask no network, and their pictures follow one selection."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from galloscope.app.cli import main
from galloscope.app.samples import FIRST, find_sample
from galloscope.core.explain.stats import stats
from galloscope.core.files.graph_json import read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.text import bytes_text

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The opening sample's reports in a folder."""
    folder = tmp_path_factory.mktemp("reports")
    for name in ("report.svg", "report.html"):
        assert main(["report", str(find_sample(FIRST).path), "-o", str(folder / name)]) == 0
    return folder


@pytest.fixture
def wrong(page: Page) -> list[str]:
    """Everything that goes wrong or leaves the machine."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda said: found.append(said.text) if said.type in ("error", "warning") else None)
    page.on(
        "request", lambda asked: None if asked.url.startswith(("file:", "data:", "blob:")) else found.append(asked.url)
    )
    return found


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 900)])
def test_the_page_in_one_file(page: Page, reports: Path, wrong: list[str], scheme: str, width: int) -> None:
    page.emulate_media(color_scheme="light" if scheme == "light" else "dark")
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto((reports / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("document.documentElement.dataset.mantineColorScheme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.locator("#gs-strip").scroll_into_view_if_needed()
    names = page.evaluate("document.getElementById('gs-strip').galloscope.model.names")
    tensor = names.index("GPU1#l_out-9#0")
    at = page.evaluate(f"document.getElementById('gs-strip').galloscope.pixel({tensor})")
    page.mouse.click(at["x"] - page.evaluate("scrollX"), at["y"] - page.evaluate("scrollY"))
    page.wait_for_selector(f"#gs-dag[data-selected='{tensor}']")
    assert page.locator("#gs-why-head").inner_text() == "GPU1#l_out-9#0"
    assert "a copy of l_out-9" in page.locator("#gs-why").inner_text()
    assert page.url.endswith("#GPU1%23l_out-9%230")

    page.select_option("#gs-color", "cause")
    assert "op offload" in page.locator("#gs-legend").inner_text()
    page.locator("tr[data-split='2']").click()
    page.wait_for_selector("#gs-strip[data-split='2']")
    page.locator(".gs-answers li").first.click()
    assert page.locator("#gs-why-head").inner_text() == "result_output"
    assert wrong == []


def test_the_picture(page: Page, reports: Path, wrong: list[str]) -> None:
    numbers = stats(replay(trace(read_graph(find_sample(FIRST).path)).runs[0]))
    page.goto((reports / "report.html").as_uri())  # an image loads from a file only beside a page from a file
    size = page.evaluate(
        """src => new Promise((done, fail) => {
             const image = new Image();
             image.onload = () => done([image.naturalWidth, image.naturalHeight]);
             image.onerror = () => fail("the picture is broken");
             image.src = src;
           })""",
        "data:image/svg+xml;charset=utf-8," + _quoted((reports / "report.svg").read_text(encoding="utf-8")),
    )
    assert size[0] == 1200
    assert 800 < size[1] < 3000
    page.set_content((reports / "report.svg").read_text(encoding="utf-8"))
    words = page.locator("svg").first.text_content() or ""
    for device in numbers["devices"]:
        assert f"{bytes_text(device['peak_live_bytes'])} at step {device['peak_step']:,}" in words
    widest = page.evaluate(
        "Math.max(...[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().right))"
    )
    assert widest <= 1200 + 8
    assert wrong == []


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text)
