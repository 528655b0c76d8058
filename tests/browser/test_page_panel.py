"""The parameters panel under bad conditions: drafts, drops, a server that forgets, narrow windows, many devices."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from galloscope.tests.browser.driver import GPU, READY, Driver, open_model, select, until_options

pytestmark = pytest.mark.browser
DROP = """files => {
  const all = new DataTransfer();
  for (const [name, text] of files) all.items.add(new File(text ? [text] : [], name));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: all, bubbles: true, cancelable: true }));
}"""
DROP_FOLDER = """() => {
  const folder = new File([], "models"), event = new Event("drop", { bubbles: true, cancelable: true });
  folder.slice = () => ({ arrayBuffer: () => Promise.reject(new DOMException("it is gone", "NotFoundError")) });
  Object.defineProperty(event, "dataTransfer", { value: { types: ["Files"], files: [folder] } });
  document.body.dispatchEvent(event);
}"""


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ([["empty.gguf", ""]], "empty.gguf: the file is empty"),
        ([["a.gguf", "GGUF"], ["b.json", "{}"]], "2 files were dropped"),
        ([["notes.txt", "hello"]], "notes.txt: not JSON"),
    ],
)
def test_what_cannot_be_dropped_is_told(driver: Driver, files: list[list[str]], sentence: str) -> None:
    driver.open()
    driver.run(DROP, files)
    expect(driver.page.locator("#trouble")).to_contain_text(sentence)
    expect(driver.page.locator(READY)).to_be_visible()


def test_a_folder_or_a_file_that_has_gone_is_told(driver: Driver) -> None:
    driver.open()
    driver.run(DROP_FOLDER)
    expect(driver.page.locator("#trouble")).to_contain_text("models: cannot be read")
    expect(driver.page.locator("#waiting")).to_be_hidden()


def forget(driver: Driver) -> None:
    """The server lets every file go, as after a restart."""
    driver.store._kept.clear()


def without_404(driver: Driver) -> None:
    """Chromium logs every 404; the page has dealt with it."""
    assert all("404" in one for one in driver.wrong)
    driver.wrong.clear()


def test_another_graph_of_a_file_that_the_server_let_go(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU)
    tensor = select(driver, "ffn_up-1")
    forget(driver)
    driver.page.locator("#run-box label", has_text="decode").click()
    expect(driver.page.locator("#page")).to_have_attribute("data-run", "1")
    driver.expect_selected(driver.id_of("ffn_up-1"), "ffn_up-1")
    expect(driver.page.locator("#trouble")).to_be_hidden()
    assert tensor == driver.id_of("ffn_up-1")
    without_404(driver)


def test_patterns_of_a_file_that_the_server_let_go(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU, "&params=open")
    forget(driver)
    driver.page.locator(".gs-ot-pattern").first.fill("ffn_up")
    expect(driver.page.locator(".gs-ot-told").first).to_contain_text("3 tensors")
    expect(driver.page.locator(".gs-ot-pattern").first).to_have_value("ffn_up")
    without_404(driver)


def test_a_pattern_that_is_not_applied_outlives_another_change(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU, "&params=open")
    page = driver.page
    pattern = page.locator(".gs-ot-pattern").first
    pattern.fill("ffn_up")
    page.locator(".gs-ot-buft").first.fill("CPU")
    page.locator("#param-n_ctx").fill("1024")
    page.keyboard.press("Enter")
    until_options(driver, f"{GPU} -c 1024")
    expect(pattern).to_have_value("ffn_up")
    expect(page.locator("#param-ot-apply")).to_be_visible()
    pattern.focus()
    page.keyboard.press("Escape")
    expect(pattern).to_have_value("")
    expect(page.locator("#param-ot-apply")).to_be_hidden()


def test_many_names_are_counted(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU, "&params=open")
    driver.page.locator(".gs-ot-pattern").first.fill("ffn_")
    names = driver.page.locator(".gs-ot-names").first
    expect(names).to_contain_text("and 8 more")
    expect(names.locator(".gs-mono")).to_have_count(4)


def test_the_printed_command_pasted_changes_nothing(driver: Driver, model: Path) -> None:
    options = f"{GPU} {GPU} -c 1024"
    open_model(driver, model, options, "&params=open")
    page = driver.page
    page.locator("#param-paste").fill(page.locator(".gs-command").inner_text() + " -c 512")
    page.keyboard.press("Enter")
    driver.until(lambda: "-c 512" in (driver.query("options") or ""))
    expect(page.locator(".gs-device")).to_have_text(["CUDA0", "CUDA1", "Host"])
    assert (driver.query("options") or "").count(GPU) == 2
    page.locator("#param-paste").fill("llama-server -dev CUDA0 -c 256")
    page.keyboard.press("Enter")
    until_options(driver, "--device cuda -c 256")


def test_escape_closes_the_panel_and_returns_the_focus(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU, "&params=open")
    page = driver.page
    page.locator("#param-n_ctx").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#params")).to_be_hidden()
    expect(page.locator("#parameters")).to_be_focused()


@pytest.mark.parametrize("more", ["", "-np 4 -ngl 1"])
def test_every_meaning_takes_one_line(driver: Driver, model: Path, more: str) -> None:
    open_model(driver, model, f"{GPU} {more}".strip(), "&params=open")
    tall = """[...document.querySelectorAll(".gs-field .gs-field-help")]
      .filter(one => one.offsetHeight > 16).map(one => one.textContent)"""
    assert driver.run(tall) == []


def test_fifteen_devices_can_all_be_seen(driver: Driver, model: Path) -> None:
    open_model(driver, model, " ".join([GPU] * 15))
    page = driver.page
    box = page.locator("#devices").bounding_box()
    for name in ("CUDA0", "CUDA14", "Host"):
        row = page.locator(".gs-device", has_text=re.compile(f"^{name}$"))
        row.scroll_into_view_if_needed()
        expect(row).to_be_in_viewport()
        head = page.locator(".gs-devices-head").first.bounding_box()
        assert box
        assert head
        assert box["y"] <= head["y"] < box["y"] + 24


@pytest.mark.parametrize(("width", "height"), [(390, 844), (720, 450), (1280, 720), (1440, 900)])
@pytest.mark.parametrize("rest", ["", "&params=open"])
def test_no_number_is_cut_off(driver: Driver, model: Path, width: int, height: int, rest: str) -> None:
    driver.page.set_viewport_size({"width": width, "height": height})
    open_model(driver, model, "--device cuda:1KiB --device cuda:1KiB", rest)
    expect(driver.page.locator(".gs-over").first).to_be_attached()
    assert driver.run("document.documentElement.scrollWidth <= innerWidth")
    if width > 720:  # narrower, the table scrolls by itself
        assert driver.run(
            "(() => { const at = document.getElementById('devices'); return at.scrollWidth <= at.clientWidth; })()"
        )
