"""A server for the page, and a tab that fails a test when anything goes wrong in it."""

import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page
from werkzeug.serving import make_server

from galloscope.app.server import create_app
from galloscope.app.sessions import SessionStore
from galloscope.core.gguf.read import parse_header
from galloscope.core.models.made_up import MadeUp, made_up
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.solve import warm_up
from galloscope.tests.browser.driver import SMALL, Driver

STORE = SessionStore()
"""What the server keeps, so that a test can let it forget."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, create_app(f"sample:{SMALL}", store=STORE).server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def compiled() -> None:
    """The planners' inner loops, compiled before a page waits for them."""
    for name in PLANNERS:
        warm_up(name)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 5 GB of which only the header is there."""
    path = tmp_path_factory.mktemp("models") / "made-up.gguf"
    header = made_up(MadeUp(n_layer=3, n_embd=256, n_head=4, head_size=64, n_ctx_train=8192))
    path.write_bytes(header)
    os.truncate(path, max(5 << 30, parse_header(header, "made-up").parts[0].file_bytes))
    return path


@pytest.fixture
def driver(page: Page, address: str) -> Iterator[Driver]:
    page.set_viewport_size({"width": 1440, "height": 900})
    made = Driver(page, address, STORE)
    yield made
    assert made.wrong == []
