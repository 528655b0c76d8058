"""Sessions on the server: what counts as a script, where its model comes from, jobs, pictures, one ubatch."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest
from flask.testing import FlaskClient

from galloscope.app import session_open
from galloscope.app.figures.columns import values
from galloscope.app.figures.session import REBUILT, REFUSED, REPLANNED, REUSED, STOPPED, session_scene
from galloscope.app.figures.session_detail import ubatch_data
from galloscope.app.figures.session_words import step_text
from galloscope.app.samples import SESSIONS, session_samples
from galloscope.app.server import create_app
from galloscope.app.sessions import SessionStore
from galloscope.core.decode.life import Life, fold
from galloscope.core.decode.log import LifeLog
from galloscope.core.decode.presets import PRESETS
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.script import Group, Step
from galloscope.core.decode.session import play
from galloscope.core.decode.summary import summary
from galloscope.core.decode.words import counted
from galloscope.core.gguf.read import parse_header, read_header
from galloscope.tests.corpora import GOLDEN

SENT = {"X-Galloscope": "1"}
MODEL = "small-llama.gguf"
STEPS = b'[{"decode": [{"seq": 0, "n": 9}]}, {"decode": [{"seq": 0}], "repeat": 3}]'
SCRIPT = b'{"model": "small-llama.gguf", "steps": ' + STEPS + b"}"


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


def opened(client: FlaskClient, told: dict[str, Any]) -> dict[str, Any]:
    """The end of the server's work."""
    while "job" in told:
        told = client.get(f"/job/{told['job']}").get_json()
    return told


def open_source(client: FlaskClient, source: str, options: str = "") -> dict[str, Any]:
    asked = {"source": source, "options": options}
    return opened(client, client.post("/open", json=asked, headers=SENT).get_json())


def played(name: str) -> tuple[LifeLog, Life]:
    script = parse_script((SESSIONS / f"{name}.session.json").read_bytes(), name)
    log = play(script, parse_header((SESSIONS / script.model).read_bytes(), script.model))
    return log, fold(log)


# what is a script


@pytest.mark.parametrize(
    ("data", "script"),
    [
        (SCRIPT, True),
        (gzip.compress(SCRIPT), True),
        (b"model: a.gguf\nsteps:\n  - clear: true\n", True),
        (b'{"tensors": [], "steps": []}', False),
        (b'{"tensors": []}', False),
        (b"id,lower,upper,size\n", False),
        (b"steps", False),
        (b"{", False),
        (b'{"schema": "llama-session-1", "stpes": []}', True),
        (b'{"model": "a.gguf", "context": {}, "stpes": []}', True),
        (b'{"model": "a.gguf", "devices": []}', True),
        (b'{"model": "a.gguf"}', False),
        (b'{"model": "a.gguf", "context": {}, "tensors": []}', False),
        (b'{"steps": [}', True),
        (b'{"steps": [}, "tensors": []', False),
    ],
)
def test_a_script_is_known_by_its_content(data: bytes, script: bool) -> None:
    assert session_open.is_script(data, "a file") is script


def test_of_other_files_nothing_is_told(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"root:x:0:0\n")
    assert session_open.script_at(str(secret)) is None
    assert session_open.script_at(str(tmp_path)) is None
    assert session_open.script_at(str(tmp_path / "none")) is None
    assert session_open.script_at("\0") is None


# opening


@pytest.mark.parametrize("name", [one.name for one in session_samples()])
def test_every_sample_is_played(client: FlaskClient, name: str) -> None:
    told = open_source(client, f"sample:{name}")
    assert told["life"]["ubatches"] > 3
    assert told["title"] == name
    assert told["runs"]
    assert open_source(client, f"sample:{name}")["session"] == told["session"]
    scene = json.loads(gzip.decompress(client.get(f"/life/{told['session']}.json").data))
    assert scene["ubatches"]["n"] == told["life"]["ubatches"]
    last = told["life"]["ubatches"] - 1
    assert client.get(f"/life/{told['session']}/{last}.json").get_json()["number"] == last
    assert "the session has" in client.get(f"/life/{told['session']}/{last + 1}.json").get_json()["error"]
    assert client.get(f"/scene/{told['session']}/{len(told['runs']) - 1}.json").status_code == 200


def test_a_script_by_path_takes_the_model_beside_it(client: FlaskClient, model: Path) -> None:
    path = model.parent / "one.json"
    path.write_bytes(SCRIPT)
    told = open_source(client, f"path:{path}")
    assert told["life"] == {"ubatches": 4, "base": f"path:{model}", "line": ""}
    model.unlink()
    assert "is missing: looked in" in open_source(client, f"path:{path}")["error"]


def test_the_folder_of_models_is_looked_in_last(client: FlaskClient, store: SessionStore, model: Path) -> None:
    folder = model.parent / "models"
    folder.mkdir()
    there = shutil.copy(model, folder)
    path = model.parent / "one.json"
    path.write_bytes(SCRIPT)
    store.models = folder
    assert open_source(client, f"path:{path}")["life"]["base"] == f"path:{model}"
    model.unlink()
    assert open_source(client, f"path:{path}")["life"]["base"] == f"path:{there}"
    query = {"name": "one.json", "base": ""}
    sent = client.post("/open/upload", query_string=query, data=SCRIPT, headers=SENT).get_json()
    assert opened(client, sent)["life"] == {"ubatches": 4, "base": f"path:{there}", "line": ""}


@pytest.mark.parametrize("name", ["../small-llama.gguf", "models/small-llama.gguf", "..", "none.gguf"])
def test_no_file_outside_the_folder_of_models_is_asked_for(
    client: FlaskClient, store: SessionStore, model: Path, name: str
) -> None:
    store.models = model.parent / "models"
    store.models.mkdir()
    shutil.copy(model, store.models)
    data = json.dumps({"model": name, "steps": json.loads(STEPS)}).encode()
    sent = client.post("/open/upload", query_string={"name": "one.json", "base": ""}, data=data, headers=SENT)
    told = opened(client, sent.get_json())["error"]
    assert ("with --models FOLDER" if name == "none.gguf" else "is not a plain file name") in told


def test_a_script_that_is_sent_takes_the_model_that_is_open(client: FlaskClient, model: Path) -> None:
    def send(base: str, data: bytes = SCRIPT) -> dict[str, Any]:
        query = {"name": "one.json", "base": base}
        return opened(client, client.post("/open/upload", query_string=query, data=data, headers=SENT).get_json())

    assert send(f"path:{model}")["life"]["ubatches"] == 4
    assert "no model is open: open that file first" in send("")["error"]
    other = model.rename(model.parent / "other.gguf")
    assert "the page has other.gguf open" in send(f"path:{other}")["error"]
    assert "open a GGUF first" in send("sample:lesson-in-place")["error"]
    assert "steps: a list of 0" in send(f"path:{other}", b'{"model": "a.gguf", "steps": []}')["error"]
    header = client.post("/open/gguf?name=" + MODEL, data=other.read_bytes(), headers=SENT).get_json()["source"]
    assert send(header)["life"]["base"] == header


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_played_on_a_model(client: FlaskClient, model: Path, preset: str) -> None:
    told = open_source(client, f"preset:{preset}@path:{model}")
    assert told["life"]["ubatches"] > 3
    assert told["life"]["base"] == f"path:{model}"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("preset:chat", "preset:NAME@path:MODEL"),
        ("preset:chatt@path:{model}", "is not a preset"),
        ("preset:chat@sample:lesson-in-place", "open a GGUF first"),
        ("preset:chat@path:/nowhere/model.gguf", "cannot be read"),
    ],
)
def test_what_is_no_preset_says_why(client: FlaskClient, model: Path, source: str, words: str) -> None:
    assert words in open_source(client, source.replace("{model}", str(model)))["error"]


def test_a_preset_is_played_under_the_options_of_the_model(client: FlaskClient, model: Path) -> None:
    source = f"preset:chat@path:{model}"
    plain = open_source(client, source)
    told = open_source(client, source, "llama-server -ub 64 -c 8192 --temp 1")
    assert (plain["life"]["line"], told["life"]["line"]) == ("", "-c 8192 -ub 64")
    assert told["about"] == f"{PRESETS['chat'].teaches} Under -c 8192 -ub 64."
    assert told["session"] != plain["session"]
    again = open_source(client, source, told["life"]["line"])
    assert again["session"] == told["session"]
    scene = json.loads(gzip.decompress(client.get(f"/life/{told['session']}.json").data))
    assert scene["settings"].startswith("8,192 cells · ubatches of 64 ")
    assert scene["about"] == told["about"]
    assert "-ts 3,1: a session divides layers" in open_source(client, source, "-ts 3,1")["error"]


def test_what_a_command_says_besides_is_told_with_the_preset(client: FlaskClient, model: Path) -> None:
    asked = {"source": f"preset:drafts@path:{model}", "options": "-c 2048 --temp 1"}
    assert client.post("/open", json=asked, headers=SENT).get_json()["skipped"] == ["--temp"]


def test_options_are_of_presets_only(client: FlaskClient, model: Path) -> None:
    path = model.parent / "one.json"
    path.write_bytes(SCRIPT)
    told = open_source(client, f"path:{path}", "-c 8192")
    assert (told["life"]["line"], told["session"]) == ("", open_source(client, f"path:{path}")["session"])


def test_playing_can_be_cancelled(
    client: FlaskClient, store: SessionStore, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("galloscope.app.jobs.Job.is_stopped", lambda self: True)
    assert "was cancelled" in open_source(client, f"preset:growing@path:{model}")["error"]


def test_other_files_have_no_life(client: FlaskClient) -> None:
    told = open_source(client, "sample:lesson-in-place")
    assert told["life"] is None
    assert "no session of batches" in client.get(f"/life/{told['session']}.json").get_json()["error"]
    assert client.get("/life/none.json").status_code == 404


# what is drawn


def test_columns_say_what_the_life_says() -> None:
    log, life = played("two-gpus")
    scene = json.loads(json.dumps(session_scene(log, life)))
    kinds = values(scene["ubatches"]["kind"], "uint8")
    assert kinds.count(REUSED) == sum(one.reused and not one.status for one in life.ubatches)
    assert kinds.count(STOPPED) == sum(one.status != 0 for one in life.ubatches) == 1
    assert values(scene["ubatches"]["tokens"], "int32") == [one.ubatch.n_tokens for one in life.ubatches]
    assert values(scene["ubatches"]["n_kv"], "int32") == [one.seen.n_kv for one in life.ubatches]
    first, last = values(scene["steps"]["first"], "int32"), values(scene["steps"]["last"], "int32")
    assert sum(b - a for a, b in zip(first, last, strict=True)) == len(life.ubatches)
    assert first == sorted(first)
    marks = [scene["words"][k] for k in values(scene["marks"]["text"], "int32")]
    assert marks[0].startswith("Reserved with 4 pipeline copies")
    assert sum(text.startswith("Positions were shifted") for text in marks) == 1
    assert not [text for text in marks if "waited" in text], "a wait with each re-use is no news"
    at = values(scene["marks"]["at"], "int32")
    assert at == sorted(at)


@pytest.mark.parametrize("name", [one.name for one in session_samples()])
def test_the_page_sums_up_to_what_the_summary_says(name: str) -> None:
    log, life = played(name)
    scene, total = session_scene(log, life), summary(life)

    def sums(key: str, kind: Literal["int32", "float64"] = "int32") -> float:
        return sum(sum(values(scene[table][key], kind)) for table in ("ubatches", "marks"))

    assert sums("nodes") == total.nodes_built + total.nodes_reserved
    assert sums("plans") == total.plans + total.replanned
    assert sums("made", "float64") >= total.bytes_made


def test_a_removal_that_is_refused_is_a_mark_and_an_answer() -> None:
    steps = b'[{"decode": [{"n": 9}]}, {"seq_rm": [0, 3, -1]}, {"decode": [{"n": 1}]}]'
    script = parse_script(b'{"model": "mamba.gguf", "steps": ' + steps + b"}", "one")
    log = play(script, read_header(GOLDEN / "models" / "mamba.gguf"))
    scene = session_scene(log, fold(log))
    kinds, texts = values(scene["marks"]["kind"], "uint8"), values(scene["marks"]["text"], "int32")
    said = [scene["words"][text] for kind, text in zip(kinds, texts, strict=True) if kind == REFUSED]
    assert said == [
        "seq_rm 0 from 3: The removal was refused (llama_memory_seq_rm returns false): a recurrent state cannot be "
        "rolled back."
    ]
    assert [("1 removal refused: a recurrent state cannot be rolled back.", "")] in scene["answers"]
    (row,) = scene["refusals"]["rows"]
    assert (row["call"], row["ubatch"], row["times"]) == ("seq_rm 0 from 3", -1, 1)
    assert ("The removal was refused", "strong") in row["parts"]


def test_refused_batches_and_aborts_are_listed_with_their_calls() -> None:
    steps = [
        {"decode": [{"n": 4, "seq": 7}], "repeat": 3},
        {"set_abort": True},
        {"decode": [{"n": 2}]},
        {"set_abort": False},
        *({"decode": [{"n": 1, "seq": 8 + k}]} for k in range(60)),
        *({"decode": [{"n": 1 + k, "seq": 8}]} for k in range(60)),
    ]
    script = parse_script(json.dumps({"model": MODEL, "steps": steps}).encode(), "one")
    log = play(script, parse_header((SESSIONS / MODEL).read_bytes(), MODEL))
    life = fold(log)
    life.abort = "an assertion"
    found = session_scene(log, life)["refusals"]
    told = [(row["call"], row["ubatch"], row["times"]) for row in found["rows"]]
    assert told[:3] == [("decode 60 tokens", -1, 1), ("decode 4 tokens", -1, 3), ("decode 2 tokens", 0, 1)]
    assert len(told) == 50
    assert found["more"] > 0
    life.abort, life.steps = "an assertion", []
    assert [row["call"] for row in session_scene(log, life)["refusals"]["rows"]] == ["making the context"]


def test_the_page_tells_graphs_and_addresses_apart() -> None:
    log, life = played("four-slots")
    for one in life.ubatches:
        told = ubatch_data(log, life, one.number)
        at = told["addresses"]
        assert (at["since"], at["graph_since"]) == (one.address_since, one.graph_since)
        assert at["since"] <= at["graph_since"] <= one.number <= at["graph_last"] <= at["last"]
        assert told["counted"] == counted(one)
        said = [words for sentence in told["why"] for words, _ in sentence["parts"]]
        assert f"{told['counted']}." not in said, "told once, as the title of the table"


def test_the_failed_condition_comes_first() -> None:
    log, life = played("half-on-a-gpu")
    found = ubatch_data(log, life, 5)
    assert found["kind"] == REPLANNED
    assert [found["checks"][0][key] for key in ("name", "active", "now")] == ["n_tokens", "44", "1"]
    holds = [one["holds"] for one in found["checks"]]
    assert holds == sorted(holds)
    assert found["checks"][0]["so"]
    assert dict(found["cost"])["plan"] == "made anew"
    assert found["addresses"]["since"] == 5
    assert [one["buffer"] for one in found["needs"]] == list(log.setup.bufts)
    assert found["worst"]["run"] != found["run"]


def test_facts_beside_the_ubatches() -> None:
    log, life = played("two-gpus")
    scene = session_scene(log, life)
    assert [one["holds"] for one in scene["conditions"]] == [True] * len(life.conditions)
    assert scene["n_copies"] == 4
    assert [len(one["plans"]) for one in scene["reservations"]] == [6, 1]
    assert all(0 < one["share"] < 1 for one in scene["pools"])
    assert scene["settings"].startswith("1,024 cells · ubatches of 64 · flash attention off · GPU0, GPU1: all")
    assert scene["answers"][0][0] == ("71 of 78", "strong")
    assert sum(one["count"] for one in scene["reasons"]) == sum(not one.reused for one in life.ubatches)


def test_an_embedding_request_names_the_input_that_never_allows_reuse() -> None:
    log, life = played("embedding-requests")
    scene = session_scene(log, life)
    assert values(scene["ubatches"]["kind"], "uint8") == [REBUILT] * len(life.ubatches)
    found = [one for k in range(len(life.ubatches)) for one in ubatch_data(log, life, k)["checks"]]
    assert any("can_reuse" in one["name"] for one in found if not one["holds"])


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Step(decode=(Group(n=1),)), "decode 1 token"),
        (Step(decode=tuple(Group(seq=k, n=2) for k in range(6))), "decode 2 + 2 + 2 + … (6 groups) tokens"),
        (Step(decode=(Group(n=3),), input="embd"), "decode 3 embeddings"),
        (Step(seq_rm=(-1, -1, -1)), "seq_rm all"),
        (Step(seq_rm=(0, 4, 8)), "seq_rm 0 [4, 8)"),
        (Step(seq_cp=(0, 1, -1, -1)), "seq_cp 0 to 1"),
        (Step(seq_add=(0, 136, -1, -128)), "seq_add 0 from 136 by -128"),
        (Step(set_sampler=0, remove=True), "remove sampler of 0"),
        (Step(set_embeddings=False), "set_embeddings off"),
        (Step(clear=True), "clear"),
    ],
)
def test_calls_in_words(step: Step, text: str) -> None:
    assert step_text(step) == text
