"""The server's routes for a GGUF: headers that are sent, jobs, options, and the patterns of -ot."""

import os
import struct
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from galloscope.app import jobs, model_open, replies, server, sessions
from galloscope.app.jobs import Job, Jobs
from galloscope.app.samples import FIRST
from galloscope.app.security import HEADER
from galloscope.app.server import create_app
from galloscope.app.sessions import SessionStore, is_model_source
from galloscope.core.errors import InputError
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import header_bytes
from galloscope.core.llama import pattern
from galloscope.core.models.made_up import MadeUp, made_up

POST = {HEADER: "1"}
GPU = "--device cuda:1GiB"


@pytest.fixture
def store() -> SessionStore:
    return SessionStore()


@pytest.fixture
def client(store: SessionStore) -> FlaskClient:
    return create_app(f"sample:{FIRST}", store=store).server.test_client()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def header() -> bytes:
    return made_up(MadeUp(n_layer=3, n_embd=256, n_head=4, head_size=64, n_ctx_train=8192))


@pytest.fixture(scope="module")
def model(header: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of full length whose data is a hole."""
    path = tmp_path_factory.mktemp("models") / "made-up.gguf"
    path.write_bytes(header)
    os.truncate(path, parse_header(header, "made-up").parts[0].file_bytes)
    return path


def ask(client: FlaskClient, source: str, options: str = "") -> dict[str, Any]:
    answer = client.post("/open", json={"source": source, "options": options}, headers=POST)
    assert answer.status_code == 200
    return dict(answer.get_json())


def opened(client: FlaskClient, source: str, options: str = "") -> dict[str, Any]:
    """The answer once the job is done."""
    told = ask(client, source, options)
    while "job" in told:
        assert told["stage"]
        told = dict(client.get(f"/job/{told['job']}").get_json())
    return told


def send(client: FlaskClient, data: bytes, name: str = "x.gguf") -> dict[str, Any]:
    answer = client.post("/open/gguf", query_string={"name": name}, data=data, headers=POST)
    assert answer.status_code == 200
    return dict(answer.get_json())


def matches(client: FlaskClient, session: str, overrides: object) -> dict[str, Any]:
    asked = {"session": session, "overrides": overrides}
    return dict(client.post("/open/matches", json=asked, headers=POST).get_json())


def test_a_path_is_opened_in_the_background(client: FlaskClient, model: Path) -> None:
    first = ask(client, f"path:{model}", "-c 2048")
    assert set(first) == {"job", "stage", "seconds", "skipped"} or first["session"]  # a fast machine has it at once
    told = opened(client, f"path:{model}", "-c 2048")
    assert told["title"] == "made-up.gguf"
    assert [run["label"] for run in told["runs"]] == ["prefill", "decode"]
    assert told["asked"] == 2
    assert told["model"]["line"] == "-c 2048"
    assert told["model"]["given"]["n_ctx"] == "2048"
    assert told["model"]["filled"]["n_ubatch"] == "512"
    assert "-c 2048" in told["model"]["command"]
    assert told["model"]["differences"] in ([0, 0], [None, None])
    for run in range(2):
        assert client.get(f"/scene/{told['session']}/{run}.json").status_code == 200
    again = ask(client, f"path:{model}", "  -c   2048 ")
    assert again["session"] == told["session"]


def test_options_are_read_like_a_command(client: FlaskClient, model: Path) -> None:
    told = ask(client, f"path:{model}", "llama-server -m other.gguf -c 1024 --temp 0.7")
    assert told["skipped"] == ["-m", "--temp"]
    assert opened(client, f"path:{model}", "-c 1024")["model"]["line"] == "-c 1024"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("-c abc", "-c abc: expected"),
        ("-ctk q9", "-ctk q9: expected"),
        ("--device coda", "device 'coda'"),
        ("-c '1", "quotes"),
        ("-ngl", "-ngl: its value N is missing"),
        ("-c 1 " * 9999, "longer than"),
    ],
)
def test_an_unusable_option_is_a_sentence(client: FlaskClient, model: Path, options: str, sentence: str) -> None:
    told = opened(client, f"path:{model}", options)
    assert set(told) == {"error"}
    assert sentence in told["error"]


def test_a_large_request_is_refused_before_it_is_read(client: FlaskClient) -> None:
    body = b'{"source": "' + b"x" * replies.MOST_ASKED + b'"}'
    answer = client.post("/open", data=body, headers={**POST, "Content-Type": "application/json"})
    assert answer.status_code == 413


def test_totals_of_every_graph_are_told_at_once(client: FlaskClient, model: Path) -> None:
    told = opened(client, f"path:{model}", GPU)
    prefill, decode = (run["totals"] for run in told["runs"])
    assert prefill["splits"] >= 1
    assert prefill["devices"].keys() == {"CUDA0", "Host"}
    assert prefill["devices"] == decode["devices"]
    assert prefill["devices"]["CUDA0"]["weights"] > 0
    assert prefill["copied"] >= decode["copied"]


def test_a_header_is_sent_piece_by_piece(client: FlaskClient, store: SessionStore, header: bytes) -> None:
    size = 24
    for _ in range(99):
        told = send(client, header[:size])
        if "need" not in told:
            break
        assert size < told["need"] <= len(header)
        size = max(told["need"], 2 * size)
    kind, _, key = told["source"].partition(":")
    assert kind == "header"
    assert store.headers.get(key) == ("x.gguf", header)
    assert [run["label"] for run in opened(client, told["source"])["runs"]] == ["prefill", "decode"]


def test_what_follows_the_header_is_cut_off(client: FlaskClient, store: SessionStore, header: bytes) -> None:
    told = send(client, header + b"secret" * 1000)
    assert told == send(client, header)
    assert store.headers.get(told["source"].partition(":")[2])[1] == header


HEAD = b"GGUF" + struct.pack("<I", 3)
HOSTILE = {
    "no GGUF": (b"PK\x03\x04" + bytes(99), "zip"),
    "an old version": (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version"),
    "2^63 tensors": (HEAD + struct.pack("<QQ", 1 << 63, 0), "tensors"),
    "2^63 keys": (HEAD + struct.pack("<QQ", 0, 1 << 63), "metadata"),
    "a long key": (HEAD + struct.pack("<QQQ", 0, 1, 1 << 62) + bytes(99), "no header is longer"),
    "a long array": (HEAD + struct.pack("<QQQ", 0, 1, 1) + b"a" + struct.pack("<IIQ", 9, 8, 1 << 61), ""),
    "nothing of a model": (header_bytes({"a": 1}, []), "architecture"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_header_is_a_sentence(client: FlaskClient, name: str) -> None:
    data, sentence = HOSTILE[name]
    told = send(client, data)
    if "source" in told:  # a header, but of nothing that can be opened
        told = opened(client, told["source"])
    assert set(told) == {"error"}
    assert sentence in told["error"]
    assert "\n" not in told["error"]


def test_a_header_has_a_limit(client: FlaskClient, header: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_HEADER", 100)
    assert client.post("/open/gguf", data=header, headers=POST).status_code == 413
    assert "larger than" in send(client, header[:90])["error"]


def test_a_header_needs_the_page(client: FlaskClient, header: bytes) -> None:
    assert client.post("/open/gguf", data=header).status_code == 403
    assert client.post("/open/matches", json={}).status_code == 403
    assert client.post("/open/cancel/x").status_code == 403


def test_the_last_few_headers_are_kept(client: FlaskClient, header: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_open, "MOST_HEADERS", 1)
    first = send(client, header)["source"]
    send(client, made_up(MadeUp(n_layer=1)))
    assert ask(client, first) == {"error": "this file's header is no longer on the server: choose the file again"}


def test_one_part_of_a_model_is_refused(client: FlaskClient) -> None:
    data = header_bytes({"split.no": 0, "split.count": 3, "split.tensors.count": 0}, [])
    assert "one of 3 parts" in send(client, data)["error"]


def test_a_pipe_is_no_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert not is_model_source(f"path:{tmp_path / 'pipe.gguf'}")
    assert not is_model_source("path:\0")
    assert is_model_source("header:x")


def test_a_changed_file_is_another_session(client: FlaskClient, header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(header)
    first = opened(client, f"path:{path}")["session"]
    path.write_bytes(made_up(MadeUp(n_layer=1)))
    assert opened(client, f"path:{path}")["session"] != first


# --- jobs -------------------------------------------------------------------------------------------------------------


class Slow:
    """Stands for the opening of a model: goes on until it is let go or stopped."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def __call__(self, *asked: Any) -> Any:
        progress, cancelled = asked[-2:]
        progress("building the graph")
        while not self.go.wait(0.01):
            if cancelled():
                raise InputError("cancelled")
        raise InputError("let go")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    made = Slow()
    monkeypatch.setattr(sessions, "open_for_page", made)
    monkeypatch.setattr(server, "JOB_WAIT", 0.05)
    return made


def stage_of(client: FlaskClient, key: str) -> Any:
    return client.get(f"/job/{key}").get_json()


def ended(client: FlaskClient, key: str) -> Any:
    told = stage_of(client, key)
    while "job" in told:
        told = stage_of(client, key)
    return told


def test_a_job_tells_its_stage_and_ends(client: FlaskClient, model: Path, slow: Slow) -> None:
    key = ask(client, f"path:{model}")["job"]
    while stage_of(client, key)["stage"] != "building the graph":
        pass
    slow.go.set()
    assert ended(client, key) == {"error": "let go"}


def test_a_job_is_cancelled(client: FlaskClient, model: Path, slow: Slow) -> None:
    key = ask(client, f"path:{model}")["job"]
    assert client.post(f"/open/cancel/{key}", headers=POST).get_json() == {}
    assert ended(client, key) == {"error": "cancelled"}


def test_a_job_that_nobody_asks_about_stops(client: FlaskClient, model: Path, slow: Slow, store: SessionStore,
                                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    key = ask(client, f"path:{model}")["job"]
    assert stage_of(client, key)["job"] == key
    monkeypatch.setattr(jobs, "FORGOTTEN", -1.0)
    assert ended(client, key) == {"error": "cancelled"}


def test_jobs_are_bounded(client: FlaskClient, model: Path, slow: Slow) -> None:
    keys = [ask(client, f"path:{model}", f"-c {512 + k}")["job"] for k in range(jobs.MOST_RUNNING)]
    assert "already" in ask(client, f"path:{model}")["error"]
    client.post(f"/open/cancel/{keys[0]}", headers=POST)
    assert "job" in ask(client, f"path:{model}")  # one that is on its way out takes nobody's place
    slow.go.set()


@pytest.mark.parametrize("key", ["0123456789abcdef", "x", "..", "%00"])
def test_an_unknown_job_is_a_sentence(client: FlaskClient, key: str) -> None:
    assert "not known any more" in stage_of(client, key)["error"]
    assert client.post(f"/open/cancel/{key}", headers=POST).get_json() == {}


def test_a_bug_in_a_job_is_not_lost() -> None:
    def broken(job: Job) -> str:
        raise ZeroDivisionError

    made = Jobs()
    job = made.start(broken)
    while not job.done:
        time.sleep(0.01)
    with pytest.raises(ZeroDivisionError):
        made.wait(job.key, 0)


def test_old_jobs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_KEPT", 2)
    made = Jobs()
    keys = []
    for _ in range(5):
        job = made.start(lambda job: "session")
        while not made.wait(job.key, 0.1).done:
            time.sleep(0)
        keys.append(job.key)
    assert made.wait(keys[-1], 0).result == "session"
    with pytest.raises(InputError):
        made.wait(keys[0], 0)


# --- -ot --------------------------------------------------------------------------------------------------------------


def test_a_pattern_says_what_it_catches(client: FlaskClient, model: Path) -> None:
    session = opened(client, f"path:{model}", GPU)["session"]
    told = matches(client, session, [[r"blk\.[01]\.ffn_up", "CPU"], ["ffn_up", "CPU"], ["nothing", "CPU"]])["matches"]
    assert [one["count"] for one in told] == [2, 1, 0]
    assert told[0]["names"] == ["blk.0.ffn_up.weight", "blk.1.ffn_up.weight"]
    assert told[1]["taken"] == 2
    size = 256 * 128 * 2
    (move,) = told[0]["moves"]
    assert (move["from"], move["bytes"]) == ("CUDA0", 2 * size)
    assert move["to"] in ("CPU", "CUDA_Host")
    (stay,) = matches(client, session, [["blk.2.ffn_up", "CUDA0"]])["matches"][0]["moves"]
    assert (stay["from"], stay["to"], stay["bytes"]) == ("CUDA0", "CUDA0", size)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (["ffn_(up", "CPU"], "not closed"),
        (["ffn_up", "CUDA7"], "available: CUDA0, CPU"),
        (["(" * 390, "CPU"], ""),
        (["x" * 401, "CPU"], "at most 400"),
        (["ffn_.{1,9}", "CPU"], "cannot hold ','"),
        (["ffn=up", "CPU"], "cannot hold '='"),
    ],
)
def test_a_bad_pattern_is_told_beside_the_good_ones(
    client: FlaskClient, model: Path, override: object, sentence: str
) -> None:
    session = opened(client, f"path:{model}", GPU)["session"]
    bad, good = matches(client, session, [override, ["ffn_up", "CPU"]])["matches"]
    assert sentence in bad["error"]
    assert good["count"] == 3


@pytest.mark.parametrize("asked", [[["x", 3]], ["x"], [["x"]], "x", None, [["x", "CPU"]] * 300])
def test_what_is_no_list_of_patterns_is_refused(client: FlaskClient, model: Path, asked: object) -> None:
    session = opened(client, f"path:{model}", GPU)["session"]
    assert "pairs of a pattern and a buffer type" in matches(client, session, asked)["error"]


@pytest.mark.parametrize("endless", ["(a*)*b", "(.*)*(.*)*(.*)*x", "((((a|b)*)*)*)*c", "(.?){200}ffn", "(?=(.*)*)*z"])
def test_a_pattern_made_to_run_for_ever_ends(client: FlaskClient, model: Path, endless: str) -> None:
    session = opened(client, f"path:{model}", GPU)["session"]
    (told,) = matches(client, session, [[endless, "CPU"]])["matches"]
    assert "error" in told or told["count"] >= 0


def test_many_endless_patterns_are_not_all_tried(
    client: FlaskClient, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(client, f"path:{model}", GPU)["session"]
    monkeypatch.setattr(pattern, "MAX_STEPS", 10)
    told = matches(client, session, [["ffn(_up|_down)*x", "CPU"]] * 3)["matches"]
    assert "not tried" not in told[0]["error"]
    assert [one["error"] for one in told[1:]] == ["not tried: the pattern above takes too long"] * 2


def test_patterns_are_asked_of_models_only(client: FlaskClient, model: Path) -> None:
    graph = ask(client, f"sample:{FIRST}")["session"]
    assert "graph" in matches(client, graph, [["x", "CPU"]])["error"]
    assert "gone" in matches(client, "nosuch", [])["error"]
    session = opened(client, f"path:{model}")["session"]
    assert "expected up to" in matches(client, session, "x")["error"]
    assert "expected up to" in matches(client, session, [["x", "CPU"]] * 257)["error"]


def test_a_weight_tells_why_it_was_loaded_where_it_is(client: FlaskClient, model: Path, store: SessionStore) -> None:
    view = store.view(opened(client, f"path:{model}", GPU)["session"], 0)
    (reason,) = view.loaded(view.ids["blk.0.ffn_up.weight"])
    assert reason.text.startswith("llama.cpp loads it into CUDA0: layer 0 is on CUDA0")
    assert view.loaded(view.ids["ffn_out-0"]) == []
