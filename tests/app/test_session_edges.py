"""Sessions on the server, the edges: scripts with a typo, files that are no model, running one of the graphs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Condition

import pytest
from flask.testing import FlaskClient

from galloscope.app.jobs import Job
from galloscope.app.samples import SESSIONS
from galloscope.app.server import create_app
from galloscope.app.sessions import SessionStore
from galloscope.tests.app.test_session import MODEL, SENT, STEPS, open_source, opened


@pytest.fixture
def store() -> SessionStore:
    return SessionStore()


@pytest.fixture
def client(store: SessionStore) -> FlaskClient:
    made: FlaskClient = create_app("sample:lesson-in-place", store=store).server.test_client()
    return made


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copy(SESSIONS / MODEL, tmp_path))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"model": "small-llama.gguf", "context": {}, "stpes": []}', "stpes"),
        (b'{"model": "small-llama.gguf", "steps": [}', "not JSON"),
    ],
)
def test_a_script_with_a_typo_is_told_as_a_script(client: FlaskClient, model: Path, data: bytes, words: str) -> None:
    path = model.parent / "one.json"
    path.write_bytes(data)
    sent = client.post("/open/upload", query_string={"name": "one.json", "base": ""}, data=data, headers=SENT)
    for told in (open_source(client, f"path:{path}")["error"], sent.get_json()["error"]):
        assert words in told
        assert "graph" not in told


def test_of_a_file_that_is_no_model_no_byte_is_told(client: FlaskClient, store: SessionStore, tmp_path: Path) -> None:
    secret, script = tmp_path / "secret", tmp_path / "one.json"
    secret.write_bytes(b"root:x:0:0\n" + bytes(100))
    data = json.dumps({"model": "secret", "steps": json.loads(STEPS)}).encode()
    script.write_bytes(data)
    store.models = tmp_path
    sent = client.post("/open/upload", query_string={"name": "one.json", "base": ""}, data=data, headers=SENT)
    told = [open_source(client, source)["error"] for source in (f"preset:chat@path:{secret}", f"path:{script}")]
    for error in (*told, opened(client, sent.get_json())["error"]):
        assert error == f"{secret}: not a GGUF file"


@pytest.mark.parametrize("source", ["preset:chat@path:/a\0b", "path:/a\0b", "preset:chat@path:\0"])
def test_what_is_no_path_says_so(client: FlaskClient, source: str) -> None:
    answer = client.post("/open", json={"source": source, "options": ""}, headers=SENT)
    assert answer.status_code == 200
    assert "cannot be read" in answer.get_json()["error"]


@pytest.mark.parametrize("guard", [False, True])
def test_every_graph_of_a_session_can_be_run(client: FlaskClient, store: SessionStore, guard: bool) -> None:
    told = open_source(client, "sample:half-on-a-gpu")
    for number in range(0, len(told["runs"]), 1 if guard else 4):
        where = f"/runs/{told['session']}/{number}"
        job = client.post(f"{where}/run", json={"backend": "digest", "guard": guard}, headers=SENT).get_json()
        while job.get("job"):
            job = client.get(f"{where}/job.json?job={job['job']}&backend=digest").get_json()
        assert job == {"job": ""}
        view = store.view(told["session"], number)
        done = view.running.done
        assert done is not None
        assert done.conflict is None
        assert done.state is view.state
        last = view.ids["result_output"]
        computed = {one.node for one in done.execution.nodes}
        assert (last in computed) == (view.state.tensors[last].nbytes > 0)  # without outputs it has no rows


def test_a_bug_in_a_run_is_told_at_once(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(work: Callable[[Job], str]) -> Job:
        job = Job(Condition())
        job.failure, job.done = IndexError("a bug"), True
        return job

    told = open_source(client, "sample:half-on-a-gpu")
    monkeypatch.setattr("galloscope.app.jobs.Jobs.start", lambda self, work: broken(work))
    answer = client.post(f"/runs/{told['session']}/6/run", json={"backend": "digest"}, headers=SENT)
    assert answer.status_code == 500
