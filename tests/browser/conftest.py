"""A server for the page, and a tab that fails a test when anything goes wrong in it."""

import logging
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page
from werkzeug.serving import make_server

from galloscope.app.server import create_app
from galloscope.app.sessions import SessionStore
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


@pytest.fixture
def driver(page: Page, address: str) -> Iterator[Driver]:
    page.set_viewport_size({"width": 1440, "height": 900})
    made = Driver(page, address, STORE)
    yield made
    assert made.wrong == []
