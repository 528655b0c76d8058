"""Running graphs from the page: what is offered, refused, computed, kept and stopped."""

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from galloscope.app import executing, running
from galloscope.app.executing import Filling, How
from galloscope.app.figures.columns import values
from galloscope.app.figures.run_result import Executed
from galloscope.app.figures.run_words import seconds_text
from galloscope.app.running import aligned, wish_of
from galloscope.app.security import HEADER
from galloscope.app.server import create_app
from galloscope.app.sessions import SessionStore
from galloscope.core.errors import InputError
from galloscope.core.models.made_up import MadeUp
from galloscope.core.replay import replay
from galloscope.tests.core.execute.written import write_model

TWO_GPUS = "llama_4l-g2full-prefill-fa1-reserve"
LARGE = "llama70b_q4k-g2ngl60-decode-fa1-reserve-noalloc"
POST = {HEADER: "1"}


@pytest.fixture
def store() -> SessionStore:
    return SessionStore()


@pytest.fixture
def client(store: SessionStore) -> FlaskClient:
    return create_app("sample:lesson-in-place", store=store).server.test_client()  # type: ignore[no-any-return]


def opened(client: FlaskClient, name: str, run: int = 0) -> str:
    told = client.post("/open", json={"source": f"sample:{name}"}, headers=POST).get_json()
    return f"/runs/{told['session']}/{run}"


def ask(client: FlaskClient, base: str, **wish: object) -> dict[str, Any]:
    """What comes of a wish in the end."""
    told = client.post(f"{base}/run", json=wish, headers=POST).get_json()
    while told.get("job"):
        told = client.get(
            f"{base}/job.json", query_string={"job": told["job"], "backend": wish.get("backend")}
        ).get_json()
    return dict(told)


def result(client: FlaskClient, base: str) -> Any:
    return json.loads(gzip.decompress(client.get(f"{base}/result.json").data))


def test_a_run_is_kept_and_cleared(client: FlaskClient) -> None:
    base = opened(client, TWO_GPUS)
    assert result(client, base) == {"none": True}
    assert ask(client, base, seed="2", poison=True, guard=True) == {"job": ""}
    found = result(client, base)
    assert found["about"] == "numpy, random weights, seed 2, poison, guard"
    assert [one["topic"] for one in found["answers"]] == ["time", "slowest", "guard", "largest"]
    assert (found["wrong"], found["conflict"]) == ([], None)
    client.post(f"{base}/clear", json={}, headers=POST)
    assert result(client, base) == {"none": True}


def test_columns_and_colours_are_by_tensor(client: FlaskClient, store: SessionStore) -> None:
    base = opened(client, TWO_GPUS)
    ask(client, base)
    found = result(client, base)
    view = store.view(base.split("/")[2], 0)
    assert view.running.done is not None
    ran = {one.node for one in view.running.done.execution.nodes}
    for key, question in found["colors"].items():
        of = values(question["of"], "uint8")
        idle = next(i for i, entry in enumerate(question["palette"]) if entry["label"] == "not run")
        assert {i for i, entry in enumerate(of) if entry != idle} == ran, key
        assert len(of) == len(view.state.tensors)
    assert len(values(found["columns"]["nans"], "float64")) == len(view.state.tensors)


def test_a_stale_plan_ends_in_an_alarm(client: FlaskClient) -> None:
    base = opened(client, "lesson-stale-plan", run=1)
    assert ask(client, base, backend="digest", guard=True) == {"job": ""}
    found = result(client, base)
    assert found["answers"][0]["topic"] == "guard"
    assert found["answers"][0]["alarm"]
    linked = [text for text, style in found["answers"][0]["parts"] if style == "name"]
    assert set(linked) == {"result", "a"}
    assert len(found["conflict"]) == 2
    assert found["colors"] == {}


def test_what_is_too_large_is_refused_with_a_way_out(client: FlaskClient) -> None:
    base = opened(client, LARGE)
    told = ask(client, base)
    assert "weights and caches of 38" in told["refused"]
    assert (told["digest"], told["failed"]) == (True, False)
    board = client.get(f"{base}/board.json").get_json()
    assert (board["own"], board["why"]) == (False, "")
    assert board["external"] > 38 << 30


def test_too_much_work_is_refused(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    base = opened(client, TWO_GPUS)
    monkeypatch.setattr(running, "MOST_FLOPS", 1000)
    told = ask(client, base)
    assert "TFLOP" in told["refused"]
    assert told["digest"]
    assert ask(client, base, backend="digest") == {"job": ""}
    monkeypatch.setattr(running, "MOST_BYTES", client.get(f"{base}/board.json").get_json()["compute"])
    assert ask(client, base, backend="digest") == {"job": ""}
    told = ask(client, base, backend="digest", guard=True)
    assert "with the guard takes" in told["refused"]
    assert not told["digest"]


def test_what_cannot_be_computed_is_told(client: FlaskClient) -> None:
    base = opened(client, "lesson-free-extra")
    told = ask(client, base)
    assert "node 'in_the_tail' (NORM)" in told["refused"]
    assert (told["digest"], told["failed"]) == (True, True)
    assert ask(client, base, backend="digest") == {"job": ""}
    found = result(client, base)
    assert found["colors"] == {}  # the time of a fingerprint says nothing about the op
    assert [one["topic"] for one in found["answers"]] == ["time"]
    assert "by the fingerprints of their bytes" in found["answers"][0]["text"]
    board = client.get(f"{opened(client, 'lesson-no-device')}/board.json").get_json()
    assert board["why"] == "Real ggml stops at this graph, so there is nothing to run."


def test_a_run_is_cancelled(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def endless(*_: object, progress: Any, **__: object) -> None:
        while True:
            begun.set()
            progress(1, 2)

    monkeypatch.setattr(executing, "execute", endless)
    base = opened(client, "lesson-in-place")
    told = client.post(f"{base}/run", json={}, headers=POST).get_json()
    assert begun.wait(20)
    client.post(f"/runs/cancel/{told['job']}", headers=POST)
    for _ in range(100):
        told = client.get(f"{base}/job.json", query_string={"job": told["job"]}).get_json()
        if not told["job"]:
            break
    assert told == {"job": "", "cancelled": True}
    assert result(client, base) == {"none": True}


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"seed": "-1"}, "seed '-1': a whole number from 0 is expected"),
        ({"seed": "9" * 20}, "a whole number from 0"),
        ({"seed": "²"}, "a whole number from 0"),
        ({"backend": "cupy"}, "backend 'cupy': known are numpy, digest"),
    ],
)
def test_wishes_that_are_none(wish: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        wish_of(wish)


def test_other_pages_cannot_start_anything(client: FlaskClient) -> None:
    base = opened(client, "lesson-in-place")
    for where in (f"{base}/run", f"{base}/clear", "/runs/cancel/x"):
        assert client.post(where, json={}).status_code == 403
    assert client.get("/runs/gone/0/result.json").status_code == 404


def test_whatever_is_refused_is_a_sentence_in_json(client: FlaskClient) -> None:
    base = opened(client, "lesson-in-place")
    timeline = base.replace("/runs/", "/timeline/") + ".json"
    for code, told in [
        (403, client.post(f"{base}/run", json={})),
        (405, client.put(f"{base}/run", json={}, headers=POST)),
        (405, client.post(timeline, headers=POST)),
        (413, client.post(f"{base}/run", data=b" " * 100_000, headers=POST)),
    ]:
        assert told.status_code == code
        assert told.get_json()["error"]
    for query in ("source=other", "batches=٣", "batches=0", "cost=0.matrix:nan"):
        assert client.get(f"{timeline}?{query}").get_json()["error"]


def test_progress_is_told_before_each_node(store: SessionStore) -> None:
    view = store.open_source(f"sample:{TWO_GPUS}").runs[0]
    seen: list[tuple[int, int]] = []
    ready = executing.prepare(view.run.problem, 0)
    executing.execute(ready, Filling(), How("digest"), progress=lambda at, of: seen.append((at, of)))
    assert [at for at, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1] == (len(seen), len(seen))


def test_the_answer_is_the_time_of_the_nodes(client: FlaskClient, store: SessionStore) -> None:
    base = opened(client, "lesson-in-place")
    ask(client, base)
    done = store.view(base.split("/")[2], 0).running.done
    assert done is not None
    spent = seconds_text(sum(one.seconds for one in done.execution.nodes))
    found = next(one for one in result(client, base)["answers"] if one["topic"] == "time")
    assert found["text"].startswith(f"{spent} for 10 nodes")
    assert f"{seconds_text(done.execution.seconds)} in all" in found["text"]


def test_only_the_weights_of_the_command_line_are_read(tmp_path: Path) -> None:
    model = write_model(tmp_path / "small.gguf", MadeUp(n_layer=1))
    other = write_model(tmp_path / "other.gguf", MadeUp(n_layer=1), seed=2)
    from galloscope.core.llama.open import Origin

    store = SessionStore(origin=Origin.BUILDER)
    client = create_app(f"path:{model}", store=store).server.test_client()

    def session(path: Path) -> str:
        told = client.post("/open", json={"source": f"path:{path}", "options": "-c 256 -ub 8"}, headers=POST).get_json()
        while told.get("job"):
            told = client.get(f"/job/{told['job']}").get_json()
        return f"/runs/{told['session']}/0"

    mine, theirs = session(model), session(other)
    assert client.get(f"{mine}/board.json").get_json()["own"]
    assert not client.get(f"{theirs}/board.json").get_json()["own"]
    for base in (mine, theirs):
        assert ask(client, base, own=True) == {"job": ""}
    assert result(client, mine)["filled"] == "weights of small.gguf, random inputs, seed 1"
    assert result(client, theirs)["filled"] == "random weights, seed 1"


def test_ids_follow_the_graph_on_the_screen(client: FlaskClient, store: SessionStore) -> None:
    """A state whose tensors are numbered otherwise: everything goes by name."""
    base = opened(client, TWO_GPUS)
    ask(client, base)
    view = store.view(base.split("/")[2], 0)
    done = view.running.done
    assert isinstance(done, Executed)
    turned = replay(view.run)
    turned.names = [*turned.names[1:], turned.names[0]]
    moved = aligned(done, turned)
    names = [done.state.names[one.node] for one in done.execution.nodes]
    assert [turned.names[one.node] for one in moved.execution.nodes] == names
    assert moved.state is turned
