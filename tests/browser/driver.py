"""A tab of the page that browser tests drive."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Dialog, Page, expect

from galloscope.app.sessions import SessionStore

SMALL = "llama_4l-g2full-prefill-fa1-reserve"
READY = "#page[data-state=ready]"
GPU = "--device cuda:1GiB"


class Driver:
    """A tab that remembers everything that went wrong."""

    def __init__(self, page: Page, address: str, store: SessionStore) -> None:
        self.page, self.address, self.store = page, address, store
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))
        page.on("console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("request", lambda asked: self.wrong.append(asked.url) if not self._here(asked.url) else None)
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _here(self, url: str) -> bool:
        return url.startswith((self.address, "data:", "blob:"))

    def open(self, query: str = "") -> "Driver":
        self.page.goto(self.address + query)
        self.ready()
        return self

    def ready(self) -> None:
        self.page.wait_for_selector(READY)
        self.page.wait_for_selector("#strip[data-drawn]")

    def run(self, script: str, value: Any = None) -> Any:
        return self.page.evaluate(script, value)

    def id_of(self, name: str) -> int:
        return int(self.run("name => galloscope.page.scene.tensors.name.indexOf(name)", name))

    def pixel(self, picture: str, tensor: int) -> tuple[float, float] | None:
        at = self.run("([host, id]) => document.getElementById(host).galloscope.pixel(id)", [picture, tensor])
        return (at["x"], at["y"]) if at else None

    def expect_selected(self, tensor: int, name: str) -> None:
        """Everybody shows the same tensor."""
        for picture in ("#strip", "#dag"):
            expect(self.page.locator(picture)).to_have_attribute("data-selected", str(tensor))
        expect(self.page.locator(".gs-why-title")).to_have_text(name)
        assert self.query("tensor") == str(tensor)

    def expect_nothing_selected(self) -> None:
        for picture in ("#strip", "#dag"):
            expect(self.page.locator(picture)).to_have_attribute("data-selected", "-1")
        expect(self.page.locator(".gs-hint")).to_be_visible()
        assert self.query("tensor") is None

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that is no element of the page."""
        for _ in range(600):
            if holds():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("it never happened")

    def query(self, key: str) -> str | None:
        return self.run("key => new URLSearchParams(location.search).get(key)", key)  # type: ignore[no-any-return]


def open_model(driver: Driver, model: Path, options: str = "", rest: str = "") -> Driver:
    return driver.open(f"?file=path:{model}&options={quote(options)}{rest}")


def until_options(driver: Driver, options: str | None) -> None:
    """Until the picture of these options is on the screen."""
    driver.until(lambda: driver.query("options") == options)
    expect(driver.page.locator("#waiting")).to_be_hidden()


def select(driver: Driver, name: str) -> int:
    tensor = driver.id_of(name)
    driver.run("id => galloscope.page.select({ tensor: id })", tensor)
    driver.expect_selected(tensor, name)
    return tensor
