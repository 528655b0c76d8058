"""The Planners view's routes: boards, rows that come while planners work, pictures, cancelling, sets of buffers."""

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from galloscope.app.planning import Question
from galloscope.app.security import HEADER
from galloscope.app.server import create_app
from galloscope.app.sessions import SessionGone, SessionStore
from galloscope.core.errors import InputError
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Budget, Plan, Planner

SAMPLE = "llama_4l-g2full-prefill-fa1-reserve"
POST = {HEADER: "1"}
CSV = b"id,lower,upper,size\na,0,2,4\nb,0,4,2\nc,2,4,4\n"
QUICK = ["naive", "ggml", "offsets_by_size"]


@pytest.fixture
def store() -> SessionStore:
    return SessionStore()


@pytest.fixture
def client(store: SessionStore) -> FlaskClient:
    return create_app(f"sample:{SAMPLE}", store=store).server.test_client()  # type: ignore[no-any-return]


@pytest.fixture
def base(client: FlaskClient) -> str:
    told = client.post("/open", json={"source": f"sample:{SAMPLE}"}, headers=POST).get_json()
    return f"/planners/{told['session']}/0"


@pytest.fixture
def buffers(client: FlaskClient) -> str:
    told = client.post("/open/upload?name=set.csv", data=CSV, headers=POST).get_json()
    assert told["buffers"] == 3
    assert told["runs"] == []
    return f"/planners/{told['session']}/0"


def ask(client: FlaskClient, base: str, **wish: object) -> dict[str, Any]:
    """All answers to a wish."""
    told = client.post(f"{base}/run", json=wish, headers=POST).get_json()
    query = {key: str(value) for key, value in wish.items() if key in ("buffer", "in_place", "order")}
    while told.get("job"):
        told = client.get(f"{base}/rows.json", query_string={**query, "job": told["job"]}).get_json()
    return dict(told)


def unpacked(client: FlaskClient, where: str, **query: str) -> Any:
    return json.loads(gzip.decompress(client.get(where, query_string=query).data))


def test_a_board_has_a_set_for_each_device(client: FlaskClient, base: str) -> None:
    board = client.get(f"{base}/board.json").get_json()
    assert board["graph"]
    assert board["orders"] == ["ggml", "kahn", "dfs"]
    assert [one["planner"] for one in board["planners"]] == list(PLANNERS)
    assert [one["name"] for one in board["buffers"]] == ["GPU0", "GPU1", "CPU"]
    assert all(one["ggml"] >= one["bound"] > 0 for one in board["buffers"])


def test_planners_answer_and_their_plans_are_pictures(client: FlaskClient, base: str) -> None:
    told = ask(client, base, names=QUICK)
    assert [row["planner"] for row in told["rows"]] == QUICK
    board = client.get(f"{base}/board.json").get_json()
    assert told["rows"][1]["peak"] == board["buffers"][0]["ggml"]
    shared = unpacked(client, f"{base}/set.json")
    for name in told["pair"]:
        plan = unpacked(client, f"{base}/plan.json", planner=name)
        peak = next(row["peak"] for row in told["rows"] if row["planner"] == name)
        assert sum(lane["size"] for lane in plan["strip"]["lanes"]) == peak
        assert plan["strip"]["n_steps"] == shared["n_steps"]
    assert unpacked(client, f"{base}/stages.json", planner="ggml")["cliques"]["rows"]


def test_all_planners_answer(client: FlaskClient, base: str) -> None:
    told = ask(client, base, limit=0.5)
    assert [row["planner"] for row in told["rows"]] == list(PLANNERS)
    assert all(row["verdict"] in ("optimal", "proved", "heuristic", "refused") for row in told["rows"])
    again = client.post(f"{base}/run", json={"limit": 0.5}, headers=POST).get_json()
    assert again["job"] == "", "what is known is not asked again"


def test_in_place_and_order_are_other_questions(client: FlaskClient, base: str) -> None:
    usual = ask(client, base, names=["naive", "ggml"])
    without = ask(client, base, names=["naive", "ggml"], in_place="0")
    assert without["rows"][0]["peak"] > usual["rows"][0]["peak"]
    written = client.post(f"{base}/run", json={"names": ["naive"], "in_place": False}, headers=POST).get_json()
    assert written["rows"] == without["rows"], "JSON has switches of its own"
    kahn = ask(client, base, names=["naive", "ggml"], order="kahn")
    assert kahn["rows"][1]["verdict"] == "refused"
    assert kahn["rows"][0]["saving"] == usual["rows"][1]["peak"] - kahn["rows"][0]["peak"]


@pytest.mark.parametrize(
    ("where", "query", "sentence"),
    [
        ("board.json", {"order": "random"}, "order 'random': known are ggml, kahn, dfs"),
        ("set.json", {"buffer": "9"}, "there is no buffer 9: this run plans 3"),
        ("set.json", {"buffer": "-1"}, "buffer '-1': a number is expected"),
        ("plan.json", {"planner": "naive"}, "naive has no plan of this buffer"),
        ("plan.json", {"planner": "nobody"}, "nobody has no plan of this buffer"),
        ("rows.json", {"job": "gone"}, "not known any more"),
    ],
)
def test_what_cannot_be_answered(client: FlaskClient, base: str, where: str, query: Any, sentence: str) -> None:
    assert sentence in client.get(f"{base}/{where}", query_string=query).get_json()["error"]


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"names": ["nobody"]}, "no planner is named 'nobody'"),
        ({"limit": "soon"}, "time limit 'soon'"),
        ({"limit": "nan"}, "time limit 'nan'"),
        ({"limit": 1e9}, "0.01 to 600"),
        ({"buffer": 7}, "there is no buffer 7"),
        ({"in_place": "maybe"}, "in_place 'maybe': 0 or 1 is expected"),
        ({"in_place": None}, "in_place 'none': 0 or 1"),
        ({"names": "ggml"}, "names: a list of planners is expected"),
        ({"names": {"ggml": 1}}, "names: a list of planners is expected"),
    ],
)
def test_what_cannot_be_run(client: FlaskClient, base: str, wish: Any, sentence: str) -> None:
    assert sentence in client.post(f"{base}/run", json=wish, headers=POST).get_json()["error"]


def test_another_origin_cannot_start_work(client: FlaskClient, base: str) -> None:
    assert client.post(f"{base}/run", json={}).status_code == 403


def test_a_file_that_was_let_go(client: FlaskClient, store: SessionStore, base: str) -> None:
    store._kept.clear()
    assert client.get(f"{base}/board.json").status_code == 404
    assert client.get(f"{base}/set.json").status_code == 404


def test_a_run_that_is_none(client: FlaskClient, base: str) -> None:
    assert client.get(f"{base[:-1]}5/board.json").status_code == 404


def test_a_set_has_no_graph(client: FlaskClient, buffers: str) -> None:
    board = client.get(f"{buffers}/board.json").get_json()
    assert not board["graph"]
    assert [(one["name"], one["n"], one["bound"], one["ggml"]) for one in board["buffers"]] == [("set.csv", 3, 6, None)]
    told = ask(client, buffers, names=QUICK)
    assert {row["peak"] for row in told["rows"]} <= {6, 10}
    assert unpacked(client, f"{buffers}/set.json")["tensors"]["name"] == ["a", "b", "c"]


def test_a_set_from_a_path_and_packed(client: FlaskClient, tmp_path: Path) -> None:
    path = tmp_path / "buffers.csv.gz"
    path.write_bytes(gzip.compress(CSV))
    told = client.post("/open", json={"source": f"path:{path}"}, headers=POST).get_json()
    assert (told["title"], told["buffers"]) == ("buffers.csv.gz", 3)
    again = client.post("/open", json={"source": f"session:{told['session']}"}, headers=POST).get_json()
    assert again == told


def test_a_bad_row_is_told_and_no_other_file_is_quoted(client: FlaskClient, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"id,lower,upper,size\na,0,2,many\n")
    assert "line 2" in client.post("/open", json={"source": f"path:{bad}"}, headers=POST).get_json()["error"]
    secret = tmp_path / "secret.csv"
    secret.write_bytes(b"user,password\nroot,hunter2\n")
    told = client.post("/open", json={"source": f"path:{secret}"}, headers=POST).get_json()["error"]
    assert "not a graph file" in told
    assert "hunter2" not in told


def test_a_set_has_no_runs(store: SessionStore) -> None:
    opened = store.open_bytes(CSV, "set.csv", "set.csv")
    with pytest.raises(SessionGone):
        store.view(opened.key, 0)


class Slow:
    """A planner that works until it is told to stop."""

    def __init__(self) -> None:
        self.started = threading.Event()

    def run(self, instance: Instance, capacity: int | None, budget: Budget) -> Plan:
        budget.say("thinking")
        if len(instance) == 3:  # not while it is warmed up
            self.started.set()
            while budget.left() > 0:
                self.started.wait(0.01)
        return Plan(np.cumsum(instance.size) - instance.size)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    made = Slow()
    monkeypatch.setitem(PLANNERS, "slow", Planner("slow", "It thinks.", "this test", made.run))
    return made


def test_a_slow_planner_is_watched_and_cancelled(client: FlaskClient, buffers: str, slow: Slow) -> None:
    told = client.post(f"{buffers}/run", json={"names": ["naive", "slow"], "limit": 600}, headers=POST).get_json()
    key = told["job"]
    assert slow.started.wait(20)
    while told.get("planner") != "slow":
        told = client.get(f"{buffers}/rows.json?job={key}").get_json()
    assert [row["planner"] for row in told["rows"]] == ["naive"]
    assert told["stage"] in ("", "thinking")
    client.post(f"/planners/cancel/{key}", headers=POST)
    while told.get("job"):
        told = client.get(f"{buffers}/rows.json?job={key}").get_json()
    assert told["trouble"] == ""
    assert [row["planner"] for row in told["rows"]] == ["naive"]


def test_a_longer_limit_is_for_those_that_would_use_it(
    client: FlaskClient, store: SessionStore, buffers: str, slow: Slow
) -> None:
    ask(client, buffers, names=["naive"], limit=5)
    assert len(ask(client, buffers, names=["slow"], limit=0.05)["rows"]) == 2
    planning = store.get(buffers.split("/")[2]).planning(0)
    assert "slow" in planning.open_names(Question(), 1.0)
    assert "naive" not in planning.open_names(Question(), 1.0)
    assert "slow" not in planning.open_names(Question(), 0.05)


def test_a_set_may_be_too_large_for_a_planner(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = PLANNERS["naive"]
    monkeypatch.setitem(PLANNERS, "naive", Planner("n", "s", "s", planner.run, planner.honours, largest=2))
    planning = store.open_bytes(CSV, "set.csv", "set.csv").planning(0)
    assert "naive" not in planning.open_names(Question(), 1.0)
    with pytest.raises(InputError, match="no planner is named"):
        planning.named(["nobody"])
    assert planning.named(["ggml", "naive", "ggml"]) == ["ggml", "naive"]


def test_an_unsound_plan_of_ggml_is_told(client: FlaskClient) -> None:
    told = client.post("/open", json={"source": "sample:lesson-stale-plan"}, headers=POST).get_json()
    board = client.get(f"/planners/{told['session']}/1/board.json").get_json()
    assert [(one["ggml"], one["unsound"]) for one in board["buffers"]] == [(None, True)]
    words = "".join(text for text, _ in ask(client, f"/planners/{told['session']}/1", names=["ggml"])["headline"])
    assert words == "CPU: ggml's plan is unsound; the bound is 768 B; no planner has a plan yet."
