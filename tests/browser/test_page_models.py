"""A GGUF in a real Chromium: opening, parameters, prefill and decode, -ot, errors, cancelling, the address."""

import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from galloscope.app import sessions
from galloscope.app.model_open import Headers, open_for_page
from galloscope.core.errors import InputError
from galloscope.core.models.made_up import MadeUp, made_up
from galloscope.tests.browser.driver import GPU, READY, Driver, open_model, select, until_options

pytestmark = pytest.mark.browser
VERIFIED = re.compile("verified against llama.cpp|built by galloscope")


def test_a_path_opens_in_the_dialog(driver: Driver, model: Path) -> None:
    driver.open()
    page = driver.page
    page.locator("#file-button").click()
    page.locator("#open-path").fill(str(model))
    page.keyboard.press("Enter")
    expect(page.locator("#file-title")).to_have_text("made-up.gguf")
    assert driver.query("file") == f"path:{model}"
    assert driver.query("options") is None
    expect(page.locator("#run-box label")).to_have_text(["prefill", "decode"])
    expect(page.locator("#badge")).to_have_text(VERIFIED)
    expect(page.locator("#parameters-text")).to_contain_text("-c 4096")
    expect(page.locator(".gs-device")).to_have_text(["Host"])


def test_of_an_upload_only_the_header_is_sent(driver: Driver, model: Path) -> None:
    driver.open()
    page, sent = driver.page, []
    page.on("request", lambda asked: sent.append(int(asked.headers.get("content-length", 0))))
    page.set_input_files("#upload-input", str(model))
    expect(page.locator("#file-title")).to_have_text("made-up.gguf")
    assert (driver.query("file") or "").startswith("header:")
    assert max(sent) <= 1 << 20
    select(driver, "ffn_up-1")
    page.reload()
    driver.ready()
    expect(page.locator("#file-title")).to_have_text("made-up.gguf")
    driver.expect_selected(driver.id_of("ffn_up-1"), "ffn_up-1")


def test_a_long_header_is_sent_in_growing_pieces(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "long.gguf"
    path.write_bytes(made_up(MadeUp(extra={"words": ["word"] * 200_000}))[:-1])
    driver.open()
    page, sent = driver.page, []
    page.on("request", lambda asked: sent.append(asked.url) if "/open/gguf" in asked.url else None)
    page.set_input_files("#upload-input", str(path))
    expect(page.locator("#trouble")).to_contain_text("ends inside its header")
    assert len(sent) > 1
    page.keyboard.press("Escape")
    path.write_bytes(made_up(MadeUp(extra={"words": ["word"] * 200_000})))
    page.set_input_files("#upload-input", str(path))
    expect(page.locator("#file-title")).to_have_text("long.gguf")


def test_a_header_that_the_server_let_go_is_asked_for_again(driver: Driver, model: Path) -> None:
    driver.open()
    page = driver.page
    page.set_input_files("#upload-input", str(model))
    expect(page.locator("#file-title")).to_have_text("made-up.gguf")
    address = page.url.replace(driver.address, "") + f"&options={quote(GPU)}&run=1&by=layer"
    driver.open()
    driver.store.headers = Headers()
    page.goto(driver.address + address)
    expect(page.locator("#trouble")).to_contain_text("Choose the file again")
    page.set_input_files("#upload-input", str(model))
    driver.ready()
    expect(page.locator("#trouble")).to_be_hidden()
    assert (driver.query("options"), driver.query("run"), driver.query("by")) == (GPU, "1", "layer")


def test_a_changed_parameter_is_traced_again(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU)
    page = driver.page
    tensor = select(driver, "ffn_up-1")
    page.keyboard.press("m")
    expect(page.locator("#params")).to_be_visible()
    context = page.locator("#param-n_ctx")
    expect(context).to_have_attribute("placeholder", "4096")
    context.fill("2048")
    until_options(driver, f"{GPU} -c 2048")
    driver.expect_selected(tensor, "ffn_up-1")
    expect(page.locator(".gs-command")).to_contain_text("-c 2048")
    expect(page.locator("#changes")).to_contain_text("-c 4096 → -c 2048")
    expect(page.locator("#changes")).to_contain_text("CUDA0 KV -")
    page.locator("#param-type_k").select_option("q8_0")
    until_options(driver, f"{GPU} -c 2048 -ctk q8_0")
    page.locator("#param-offload_kqv").check()
    until_options(driver, f"{GPU} -c 2048 -ctk q8_0 -nkvo")
    expect(page.locator("[data-field=offload_kqv]")).to_have_class(re.compile("gs-set"))
    page.go_back()
    until_options(driver, f"{GPU} -c 2048 -ctk q8_0")
    expect(page.locator("#param-offload_kqv")).not_to_be_checked()
    page.go_forward()
    until_options(driver, f"{GPU} -c 2048 -ctk q8_0 -nkvo")
    page.reload()
    driver.ready()
    expect(page.locator("#param-offload_kqv")).to_be_checked()
    expect(context).to_have_value("2048")
    driver.expect_selected(driver.id_of("ffn_up-1"), "ffn_up-1")
    page.locator("[data-action=defaults]").click()
    until_options(driver, None)
    expect(context).to_have_value("")


def test_back_to_the_options_before(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU, "&params=open")
    page = driver.page
    page.locator("#param-n_gpu_layers").fill("1")
    page.keyboard.press("Enter")
    until_options(driver, f"{GPU} -ngl 1")
    expect(page.locator("#changes")).to_contain_text("with -ngl 1")
    expect(page.locator("#changes")).to_contain_text(re.compile(r"splits \d+ → \d+"))
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    until_options(driver, GPU)
    expect(page.locator("#changes")).to_contain_text("without -ngl 1")
    page.keyboard.press("u")
    until_options(driver, f"{GPU} -ngl 1")


def test_devices_are_added_ordered_and_removed(driver: Driver, model: Path) -> None:
    open_model(driver, model, rest="&params=open")
    page = driver.page
    page.locator("#param-device-add").click()
    kind = page.locator(".gs-device-row select")
    first = kind.input_value()
    until_options(driver, f"--device {first}")
    kind.select_option("cuda")
    until_options(driver, "--device cuda")
    memory = page.locator(".gs-device-row input").first
    memory.fill("2GiB")
    until_options(driver, "--device cuda:2GiB")
    page.locator("#param-device-add").click()
    until_options(driver, "--device cuda:2GiB --device cuda")
    page.locator("[data-move='1']").click()
    until_options(driver, "--device cuda --device cuda:2GiB")
    expect(page.locator(".gs-device")).to_have_text(["CUDA0", "CUDA1", "Host"])
    page.locator("[data-remove='0']").click()
    until_options(driver, "--device cuda:2GiB")
    memory.fill("1KiB")
    until_options(driver, "--device cuda:1KiB")
    expect(page.locator(".gs-over")).to_contain_text("over")


def test_an_unusable_value_keeps_the_picture(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU, "&params=open")
    page = driver.page
    before = driver.run("galloscope.page.state.session")
    field = page.locator("[data-field=n_gpu_layers]")
    field.locator("input").fill("many")
    expect(field.locator(".gs-field-error")).to_contain_text("-ngl many: expected")
    page.locator(".gs-device-row input").first.fill("much")
    expect(page.locator("[data-field=devices] .gs-field-error")).to_contain_text("not a number of bytes")
    assert driver.run("galloscope.page.state.session") == before
    expect(page.locator(READY)).to_be_visible()
    assert driver.query("options") == GPU
    page.locator(".gs-device-row input").first.focus()
    page.keyboard.press("Escape")
    expect(page.locator(".gs-device-row input").first).to_have_value("1GiB")
    expect(field.locator("input")).to_have_value("")
    expect(page.locator(".gs-field-error:visible")).to_have_count(0)


def test_a_pasted_command_is_read(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU, "&params=open")
    page = driver.page
    box = page.locator("#param-paste")
    box.fill("no options here")
    page.keyboard.press("Enter")
    expect(page.locator("#params")).to_contain_text("There is no option in this text")
    box.fill("llama-server -m x.gguf -c 1024 --temp 0.7 -fa off")
    page.keyboard.press("Enter")
    until_options(driver, f"{GPU} -c 1024 -fa off")
    expect(page.locator("#params")).to_contain_text("Passed over: -m, --temp")
    expect(page.locator("#param-flash_attn")).to_have_value("off")


def test_prefill_and_decode_are_linked(driver: Driver, model: Path) -> None:
    open_model(driver, model, f"{GPU} -ngl 2", "&by=layer")
    page = driver.page
    select(driver, "ffn_swiglu-2")
    driver.run("galloscope.page.strip.go({ ...galloscope.page.strip.view, x0: 60, x1: 120 })")
    page.wait_for_timeout(400)
    middle = "galloscope.page.scene.tensors.name[galloscope.page.strip.model.tensorOfStep[80]]"
    seen = """name => {
      const { strip } = galloscope.page, step = strip.model.stepOf[galloscope.page.scene.tensors.name.indexOf(name)];
      return strip.view.x0 <= step && step < strip.view.x1 && strip.view.x1 - strip.view.x0 < strip.model.nSteps / 2;
    }"""
    name = driver.run(middle)
    assert driver.run(seen, name)
    page.locator("#run-box label", has_text="decode").click()
    expect(page.locator("#page")).to_have_attribute("data-run", "1")
    driver.expect_selected(driver.id_of("ffn_swiglu-2"), "ffn_swiglu-2")
    page.wait_for_timeout(400)
    assert driver.run(seen, name)
    expect(page.locator("#page")).to_have_attribute("data-by", "layer")
    expect(page.locator("#badge")).to_have_text(VERIFIED)
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator("#page")).to_have_attribute("data-run", "0")
    page.go_back()
    expect(page.locator("#page")).to_have_attribute("data-run", "1")


def test_patterns_say_what_they_catch(driver: Driver, model: Path) -> None:
    open_model(driver, model, GPU, "&params=open")
    page, told = driver.page, driver.page.locator(".gs-ot-told")
    page.locator(".gs-ot-pattern").first.fill("ffn_(up|down")
    page.locator(".gs-ot-buft").first.fill("CPU")
    expect(told.first).to_contain_text("not closed")
    page.locator(".gs-ot-pattern").first.fill("ffn_(up|down)")
    expect(told.first).to_contain_text(re.compile(r"6 tensors, 384 KiB CUDA0 → \w+"))
    expect(told.first).to_contain_text("blk.0.ffn_up.weight")
    page.locator(".gs-ot-pattern").nth(1).fill("ffn_up")
    expect(told.nth(1)).to_contain_text("3 caught by a pattern above")
    assert driver.query("options") == GPU
    page.locator(".gs-ot-pattern").nth(1).fill("")
    page.locator("#param-ot-apply").click()
    until_options(driver, f"{GPU} -ot 'ffn_(up|down)=CPU'")
    expect(page.locator("#changes")).to_contain_text("Host weights +384 KiB")
    expect(page.locator("#param-ot-apply")).to_be_hidden()
    page.locator(".gs-ot-pattern").first.fill("")
    page.keyboard.press("Enter")
    until_options(driver, GPU)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options with -c 1111 take until they are cancelled; what has been asked for."""
    asked: list[str] = []

    def work(given: Any, name: str, line: str, origin: Any, progress: Any, cancelled: Any) -> Any:
        asked.append(line)
        if "1111" in line:
            progress("llama.cpp builds the prefill graph")
            while not cancelled():
                time.sleep(0.01)
            asked.append("cancelled")
            raise InputError("cancelled")
        return open_for_page(given, name, line, origin, progress, cancelled)

    monkeypatch.setattr(sessions, "open_for_page", work)
    return asked


def test_slow_work_is_shown_and_cancelled(driver: Driver, model: Path, slow: list[str]) -> None:
    open_model(driver, model, GPU, "&params=open")
    page = driver.page
    page.locator("#param-n_ctx").fill("1111")
    page.keyboard.press("Enter")
    expect(page.locator("#waiting")).to_contain_text("llama.cpp builds the prefill graph")
    expect(page.locator("#waiting-time")).to_have_text(re.compile(r"[1-9]\.\d s"))
    select(driver, "ffn_up-1")  # the page stays usable
    page.locator("#waiting button").click()
    expect(page.locator("#waiting")).to_be_hidden()
    expect(page.locator("#param-n_ctx")).to_have_value("")
    driver.expect_selected(driver.id_of("ffn_up-1"), "ffn_up-1")
    assert driver.query("options") == GPU
    driver.until(lambda: slow[-1] == "cancelled")


def test_escape_in_a_field_stops_what_is_being_tried(driver: Driver, model: Path, slow: list[str]) -> None:
    open_model(driver, model, GPU, "&params=open")
    page = driver.page
    page.locator("#param-n_ctx").fill("1111")
    page.keyboard.press("Enter")
    expect(page.locator("#waiting")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#waiting")).to_be_hidden()
    expect(page.locator("#param-n_ctx")).to_have_value("")
    driver.until(lambda: slow[-1] == "cancelled")
    assert driver.query("options") == GPU


def test_of_two_openings_the_later_one_wins(driver: Driver, model: Path, slow: list[str]) -> None:
    open_model(driver, model, GPU, "&params=open")
    page = driver.page
    page.locator("#param-n_ctx").fill("1111")
    page.keyboard.press("Enter")
    driver.until(lambda: f"{GPU} -c 1111" in slow)
    page.locator("#param-n_ctx").fill("512")
    page.keyboard.press("Enter")
    until_options(driver, f"{GPU} -c 512")
    driver.until(lambda: "cancelled" in slow)
    expect(page.locator(".gs-command")).to_contain_text("-c 512")


def test_a_first_opening_is_cancelled(driver: Driver, model: Path, slow: list[str]) -> None:
    page = driver.page
    page.goto(f"{driver.address}?file=path:{model}&options=-c+1111")
    expect(page.locator("#waiting")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#trouble")).to_contain_text("cancelled")
    driver.until(lambda: "cancelled" in slow)


def test_what_is_simulated_is_told(driver: Driver, model: Path) -> None:
    open_model(driver, model, "--device cuda")
    page = driver.page
    page.locator("[data-list='device-CUDA0']").click()
    expect(page.locator(".gs-why-title")).to_have_text("CUDA0")
    expect(page.locator(".gs-why")).to_contain_text("simulated CUDA device")
    expect(page.locator(".gs-why")).to_contain_text("assumed")
    expect(page.locator(".gs-why")).to_contain_text("not simulated")
    assert driver.query("listed") == "device-CUDA0"
    page.locator("#badge").click()
    expect(page.locator(".gs-why-title")).to_have_text(VERIFIED)
    page.reload()
    driver.ready()
    expect(page.locator(".gs-why-title")).to_have_text(VERIFIED)
    page.keyboard.press("Escape")
    driver.expect_nothing_selected()


def test_differences_are_red_and_listed(driver: Driver, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*asked: Any) -> Any:
        found = open_for_page(*asked)
        for graph in found.graphs:
            object.__setattr__(graph, "differences", ("l_out-0 runs on CPU here, on CUDA0 there",))
        return found

    monkeypatch.setattr(sessions, "open_for_page", work)
    open_model(driver, model, "-c 768")
    badge = driver.page.locator("#badge")
    expect(badge).to_have_text(re.compile("^1 difference from "))
    expect(badge).to_have_attribute("data-kind", "wrong")
    badge.click()
    expect(driver.page.locator(".gs-why")).to_contain_text("l_out-0 runs on CPU here")


def test_a_graph_has_no_parameters(driver: Driver) -> None:
    driver.open()
    page = driver.page
    page.keyboard.press("m")
    expect(page.locator("#params")).to_contain_text("Open a GGUF")
    expect(page.locator("#param-n_ctx")).to_be_hidden()
    expect(page.locator("#badge")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#params")).to_be_hidden()


def test_words_of_an_address_that_mean_nothing(driver: Driver, model: Path) -> None:
    open_model(driver, model, "-c 1024 --temp 0.7")
    expect(driver.page.locator("#notice")).to_contain_text("--temp")
    assert driver.query("options") == "-c 1024"
    driver.page.goto(f"{driver.address}?file=path:{model}&options=-c+many")
    expect(driver.page.locator("#trouble")).to_contain_text("-c many: expected")


@pytest.mark.parametrize(("width", "height"), [(900, 1100), (600, 900), (1440, 900)])
def test_the_panel_fits_every_width(driver: Driver, model: Path, width: int, height: int) -> None:
    driver.page.set_viewport_size({"width": width, "height": height})
    open_model(driver, model, f"{GPU} {GPU}", "&params=open")
    assert driver.run("document.documentElement.scrollWidth <= innerWidth")
    inside = "(() => { const at = document.getElementById('params-body'); return at.scrollWidth <= at.clientWidth; })()"
    assert driver.run(inside)
    box = driver.page.locator("#params").bounding_box()
    assert box
    assert box["y"] + box["height"] <= height
