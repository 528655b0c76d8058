"""The server of the page: what it opens, what it refuses, what it keeps."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from galloscope.app.samples import FIRST, samples
from galloscope.app.security import HEADER
from galloscope.app.server import create_app
from galloscope.app.sessions import SessionGone, SessionStore, read_graph_file
from galloscope.core.errors import InputError

TINY: dict[str, Any] = {
    "tensors": [{"name": "x", "ne": [4], "flags": ["input"]}, {"name": "y", "op": "SIN", "src": ["x"]}],
    "outputs": ["y"],
}
POST = {HEADER: "1"}


def graph(length: int) -> bytes:
    """A tiny graph; another length is another file."""
    doc = {**TINY, "tensors": [{**TINY["tensors"][0], "ne": [length]}, TINY["tensors"][1]]}
    return json.dumps(doc).encode()


@pytest.fixture
def client() -> FlaskClient:
    return create_app(f"sample:{FIRST}").server.test_client()  # type: ignore[no-any-return]


def open_source(client: FlaskClient, source: object) -> dict[str, Any]:
    answer = client.post("/open", json={"source": source}, headers=POST)
    assert answer.status_code == 200
    return dict(answer.get_json())


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_every_sample_opens_and_has_a_scene(client: FlaskClient, sample: Any) -> None:
    opened = open_source(client, f"sample:{sample.name}")
    assert opened["title"] == sample.title
    for run in range(len(opened["runs"])):
        scene = client.get(f"/scene/{opened['session']}/{run}.json")
        told = json.loads(gzip.decompress(scene.data))
        assert {"tensors", "devices", "colors", "splits", "strip", "dag", "passes", "step_tick"} <= set(told)
        assert "events" not in told
        table = json.loads(gzip.decompress(client.get(f"/table/{opened['session']}/{run}.json").data))
        assert len(table["cause"]) == told["tensors"]["n"]


def test_a_scene_is_sent_once(client: FlaskClient) -> None:
    opened = open_source(client, f"sample:{FIRST}")
    first = client.get(f"/scene/{opened['session']}/0.json")
    again = client.get(f"/scene/{opened['session']}/0.json", headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status_code, again.status_code, again.data) == (200, 304, b"")


def test_the_same_bytes_are_the_same_session(client: FlaskClient) -> None:
    one = client.post("/open/upload?name=a.json", data=graph(8), headers=POST).get_json()
    two = client.post("/open/upload?name=b.json", data=gzip.compress(graph(8)), headers=POST).get_json()
    three = client.post("/open/upload?name=c.json", data=graph(8), headers=POST).get_json()
    assert one["session"] == three["session"]
    assert two["session"] != one["session"]
    assert open_source(client, f"session:{one['session']}")["session"] == one["session"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("sample:gemma", "no sample is named 'gemma'"),
        ("path:/no/such/file.json", "/no/such/file.json: cannot be read (No such file or directory)"),
        ("path:/", "/: not a file"),
        ("path:/dev/zero", "/dev/zero: not a file"),
        ("path:\0", "cannot be read (not a path)"),
        ("session:0123456789abcdef", "no longer on the server"),
        ("", "no longer on the server"),
        (["x"], "no longer on the server"),
    ],
)
def test_what_cannot_be_opened_is_told_in_a_sentence(client: FlaskClient, source: object, sentence: str) -> None:
    answer = open_source(client, source)
    assert set(answer) == {"error"}
    assert sentence in answer["error"]


@pytest.mark.parametrize("route", ["/open", "/open/matches"])
@pytest.mark.parametrize("body", [b"", b"x", b"[1]", b"[" * 60000, b'{"a":' * 12000, b'{"options": "-ot \\ud800=CPU"}'])
def test_what_is_no_request_is_told_in_a_sentence(client: FlaskClient, route: str, body: bytes) -> None:
    answer = client.post(route, data=body, headers=POST)
    assert (answer.status_code, set(answer.get_json())) == (200, {"error"})
    assert "cannot be read" in answer.get_json()["error"]


@pytest.mark.parametrize(
    "content",
    [
        b'{"password": "hunter2"}',
        b"root:hunter2:0:0",
        b'{"tensors": "hunter2"}',
        b"[hunter2",
        b"\xff\xfehunter2",
        b"[" * 9999,
    ],
)
def test_a_file_that_is_no_graph_is_never_quoted(client: FlaskClient, tmp_path: Path, content: bytes) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(content)
    error = open_source(client, f"path:{secret}")["error"]
    assert error == f"{secret}: not a graph file (galloscope's graph JSON or a CSV of buffers, plain or gzip)"


def test_a_pipe_does_not_hang_the_server(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a file"):
        read_graph_file(str(tmp_path / "pipe"))


def test_a_broken_graph_says_where(client: FlaskClient, tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({**TINY, "outputs": ["z"]}))
    assert "outputs[0]" in open_source(client, f"path:{file}")["error"]


def test_posts_need_the_header(client: FlaskClient) -> None:
    assert client.post("/open", json={"source": f"sample:{FIRST}"}).status_code == 403
    assert client.post("/open/upload", data=graph(8)).status_code == 403


def test_uploads_are_bounded() -> None:
    server = create_app(f"sample:{FIRST}").server
    server.config["MAX_CONTENT_LENGTH"] = 1000
    client = server.test_client()
    assert client.post("/open/upload", data=b" " * 1001, headers=POST).status_code == 413
    assert client.post("/open/upload", data=graph(8), headers=POST).status_code == 200


@pytest.mark.parametrize(
    ("bound", "host", "status"),
    [
        ("127.0.0.1", "127.0.0.1:8050", 200),
        ("127.0.0.1", "localhost:8050", 200),
        ("127.0.0.1", "[::1]:8050", 200),
        ("127.0.0.1", "evil.example:8050", 403),
        ("127.0.0.1", "192.168.0.7:8050", 403),
        ("127.0.0.1", "localhost.evil.example", 403),
        ("127.0.0.1", "", 403),
        ("box.local", "box.local:8050", 200),
        ("0.0.0.0", "192.168.0.7:8050", 200),
        ("0.0.0.0", "evil.example", 403),
    ],
)
def test_only_its_own_names_are_answered(bound: str, host: str, status: int) -> None:
    client = create_app(f"sample:{FIRST}", bound).server.test_client()
    assert client.get("/", headers={"Host": host}).status_code == status


def test_pages_may_reach_nothing_else(client: FlaskClient) -> None:
    answer = client.get("/")
    rules = answer.headers["Content-Security-Policy"]
    scripts = next(rule for rule in rules.split("; ") if rule.startswith("script-src"))
    assert "unsafe" not in scripts
    assert "default-src 'none'" in rules
    assert "http" not in rules
    html = answer.get_data(as_text=True).replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in html
    assert "https://" not in html


def test_the_last_few_files_are_kept() -> None:
    store = SessionStore(most=2)
    first, second = (store.open_bytes(graph(n), "x", "x") for n in (4, 8))
    assert store.get(first.key) is first
    third = store.open_bytes(graph(16), "x", "x")
    assert store.get(first.key) is first
    assert store.get(third.key) is third
    with pytest.raises(SessionGone):
        store.get(second.key)


def test_a_run_is_computed_once() -> None:
    view = SessionStore().open_bytes(graph(4), "x", "x").runs[0]
    assert view.state is view.state
    assert view.scene is view.scene


def test_a_session_that_is_gone_is_404(client: FlaskClient) -> None:
    assert client.get("/scene/0123/0.json").status_code == 404
    opened = open_source(client, f"sample:{FIRST}")
    assert client.get(f"/scene/{opened['session']}/7.json").status_code == 404
    assert client.post("/open/matches", json={"session": "0123", "overrides": []}, headers=POST).status_code == 404
