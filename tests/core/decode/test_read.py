"""Scripts from JSON and YAML: what is taken, what is refused and with which words, and that nothing ends in a crash."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core.decode.read import MAX_BYTES, model_path, parse_script, read_script
from galloscope.core.decode.script import Group, Script, Step
from galloscope.core.decode.write import write_script
from galloscope.core.decode.yaml_text import MAX_YAML
from galloscope.core.errors import InputError

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "sessions"
YAML = """\
# a comment
schema: llama-session-1
model: x.gguf
context: {n_ctx: 512, n_ubatch: 16, flash_attn: off, kv_unified: true}
env: {LLAMA_GRAPH_REUSE_DISABLE: 1}
steps:
  - decode: [{seq: 0, n: 8}]
    logits: none
  - decode: [{seq: [0, 1], n: 1, pos: 8, logits: all}]
    repeat: 3
  - seq_rm: [0, 2, -1]
"""


def refused(text: str | bytes, name: str = "f.yaml") -> str:
    with pytest.raises(InputError) as found:
        parse_script(text.encode() if isinstance(text, str) else text, name)
    return str(found.value)


def with_steps(*steps: Any, **more: Any) -> str:
    return json.dumps({"model": "x.gguf", "steps": steps, **more})


def test_yaml_means_what_it_says() -> None:
    script = parse_script(YAML.encode(), "f.yaml")
    assert (script.context.flash_attn, script.context.kv_unified) == ("off", True)
    assert script.env == {"LLAMA_GRAPH_REUSE_DISABLE": "1"}
    assert script.steps == (
        Step(decode=(Group(seq=0, n=8),), logits="none"),
        Step(decode=(Group(seq=(0, 1), n=1, pos=8, logits="all"),), repeat=3),
        Step(seq_rm=(0, 2, -1)),
    )


def test_yaml_and_json_are_the_same_script() -> None:
    script = parse_script(YAML.encode(), "f.yaml")
    assert parse_script(write_script(script), "f.json") == script
    assert parse_script(msgspec.json.encode(script), "f.json") == script


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.session.json")), ids=lambda path: path.name.split(".")[0])
def test_every_recorded_script_is_taken(path: Path) -> None:
    script = read_script(path)
    assert len(script.steps) == len(json.loads(path.read_bytes())["steps"])
    assert parse_script(write_script(script), "again") == script


def test_there_are_recorded_scripts() -> None:
    assert len(list(GOLDEN.glob("*.session.json"))) > 10


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "none",
            "None",
            "steps[0].logits: 'None' is not one of last, all, none, first, default (did you mean 'none'?)",
        ),
        ("n: 8", "n: 0", "steps[0].decode[0].n: 0 is not a whole number from 1 to 1,000,000"),
        ("n: 8", "n: 8.0", "steps[0].decode[0].n: 8.0 is not a whole number"),
        ("n: 8", "n: true", "steps[0].decode[0].n: true is not a whole number"),
        ("n: 8", "n: '8'", "steps[0].decode[0].n: '8' is not a whole number"),
        ("repeat", "repeet", "steps[1]: there is no key 'repeet' (did you mean 'repeat'?)"),
        ("n_ubatch", "n_batches", "context: there is no key 'n_batches' (did you mean 'n_batch'?)"),
        ("n_ctx: 512", "n_seq_max: 257", "context.n_seq_max: 257 is not a whole number from 1 to 256"),
        ("true", "yes", "context.kv_unified: 'yes' is neither true nor false"),
        ("off", "false", "context.flash_attn: false is not one of off, on, auto"),
        ("[0, 1]", "[]", "steps[1].decode[0].seq: a list of 0, where 1 to 256 are allowed"),
        ("pos: 8", "pos: -1", "steps[1].decode[0].pos: -1 is not a whole number from 0 to 2,147,483,647"),
        ("[0, 2, -1]", "[0, 2]", "steps[2].seq_rm: a list of 2 is not [sequence, from position, to position]"),
        ("[0, 2, -1]", "[0, -2, 1]", "steps[2].seq_rm: from position: -2 is not a whole number from -1 to"),
        ("- seq_rm: [0, 2, -1]", "- repeat: 2", "steps[2]: no call; a step is exactly one of decode, seq_rm"),
        ("- seq_rm:", "- clear: true\n    seq_rm:", "steps[2]: seq_rm and clear; a step is exactly one of decode"),
        ("- seq_rm:", "- logits: all\n    seq_rm:", "steps[2].logits: this belongs to a decode, the step is seq_rm"),
        ("- seq_rm:", "- remove: true\n    seq_rm:", "steps[2].remove: this belongs to set_sampler"),
        ("- seq_rm: [0, 2, -1]", "- clear: false", "steps[2].clear: false is not true; leave the step out"),
        ("seq: 0,", "seq: &here 0,", "line 7: anchors and aliases are not taken"),
        ("seq: 0,", "seq: *here ,", "line 7: anchors and aliases are not taken"),
        ("512", "!!int 512", "line 4: tags such as 'tag:yaml.org,2002:int' are not taken"),
        ("x.gguf", "!!python/name:os.system x", "line 3: tags such as"),
        ("n_ctx: 512", "n_ubatch: 16", "line 4: the key 'n_ubatch' stands there twice"),
        ("steps:", "---\nsteps:", "a second document"),
        ("steps:", "? [a]\n: 1\nsteps:", "a key that is a list or an object"),
        ("- seq_rm", "- " + "[" * 20, "nested more than 12 deep"),
        ("n: 8}]", "n: 8}", "line 8: not YAML: "),
        ("x.gguf", "../x.gguf", "model: '../x.gguf' is not a plain file name, without folders"),
        ("model: x.gguf", "name: x", "the key 'model' is missing"),
        ("llama-session-1", "2", "schema: 2 is not one of llama-session-1"),
        ("env: {", 'name: "\\UFFFFFFFF"\nenv: {', "an escape in a quoted text is no character"),
    ],
)
def test_what_is_wrong_and_where(old: str, new: str, told: str) -> None:
    assert old in YAML
    said = refused(YAML.replace(old, new, 1))
    assert said.startswith("f.yaml: ")
    assert told in said


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([{"decode": [{"n": 1_000_000}]}] * 3, "steps[2]: with it there are 3,000,000 tokens, at most 2,000,000"),
        ([{"decode": [{"n": 1}], "repeat": 200_001}], "steps[0]: with it there are 200,001 decodes"),
        ([{"decode": [{"n": 150_000}]}, {"decode": [{"n": 60_000}]}], "210,000 ubatches, at most 200,000"),
        ([{"clear": True, "repeat": 1_000_000}], "1,000,000 calls, at most 400,000 are played"),
    ],
)
def test_totals_are_bounded_before_anything_is_played(steps: list[Any], told: str) -> None:
    assert told in refused(with_steps(*steps, context={"n_ubatch": 1} if "ubatches" in told else {}))


def test_devices() -> None:
    step = {"decode": [{"n": 1}]}
    one = {"name": "GPU0", "alignment": 128}
    assert parse_script(with_steps(step, devices=[one]).encode(), "f").devices[0].alignment == 128
    for devices, told in (
        ([one, one], "devices[1].name: 'GPU0' is empty, CPU, or given twice"),
        ([{**one, "alignment": 48}], "devices[0].alignment: 48 is not a power of two"),
        ([{**one, "profile": "cudda"}], "devices[0].profile: 'cudda' is not one of"),
        ([one] * 16, "devices: a list of 16, where 0 to 15 are allowed"),
        ([{}], "devices[0].name: this key is missing"),
    ):
        assert told in refused(with_steps(step, devices=devices))


def test_layers_below_zero_are_all() -> None:
    text = with_steps({"decode": [{"n": 1}]}, model_params={"n_gpu_layers": -1})
    assert parse_script(text.encode(), "f").model_params.n_gpu_layers is None


def test_files_too_large_too_deep_or_no_text() -> None:
    assert "YAML of more than 1 MiB" in refused("a: " + "x" * MAX_YAML)
    assert "larger than 16 MiB" in refused(" " * MAX_BYTES + "{}")
    assert "nested too deeply" in refused('{"a":' * 5000)
    assert "not UTF-8 at byte 1" in refused(b"a\xff")
    assert "the file is empty" in refused(b"  \n")
    assert "'words' in place of a script" in refused("words")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def told_or_taken(data: bytes) -> str | Script:
    try:
        return parse_script(data, "f")
    except InputError as error:
        return str(error)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_a_script_or_a_sentence(data: bytes) -> None:
    said = told_or_taken(data)
    assert isinstance(said, Script) or "\n" not in said


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(one for key, item in inner for one in places(item, (*path, key)))]


WHOLE: dict[str, Any] = {
    "schema": "llama-session-1",
    "model": "x.gguf",
    "context": {"n_ctx": 512, "flash_attn": "on"},
    "devices": [{"name": "GPU0", "alignment": 128}],
    "model_params": {"n_gpu_layers": 2},
    "env": {"A": "1"},
    "steps": [{"decode": [{"seq": [0, 1], "n": 1}], "repeat": 2}, {"seq_add": [0, 1, -1, -8]}, {"set_sampler": 0}],
}


@settings(max_examples=300)
@given(st.sampled_from(places(WHOLE)), json_values)
def test_any_value_in_any_place_is_taken_or_told(path: tuple[Any, ...], value: Any) -> None:
    document = json.loads(json.dumps(WHOLE))
    if path:
        inner = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    else:
        document = value
    said = told_or_taken(json.dumps(document).encode())
    if isinstance(said, str):
        assert said.startswith("f: ")
    else:
        assert parse_script(write_script(said), "g") == said


def test_where_the_model_lies(tmp_path: Path) -> None:
    script = Script(model="x.gguf", steps=(Step(clear=True),))
    models = tmp_path / "models"
    models.mkdir()
    with pytest.raises(InputError, match=r"is missing: looked in .*; --models FOLDER names another"):
        model_path(script, tmp_path / "s.json", None)
    with pytest.raises(InputError, match=r"looked in .* and in .*models$"):
        model_path(script, tmp_path / "s.json", models)
    (models / "x.gguf").write_bytes(b"")
    assert model_path(script, tmp_path / "s.json", models) == models / "x.gguf"
    (tmp_path / "x.gguf").write_bytes(b"")
    assert model_path(script, tmp_path / "s.json", models) == tmp_path / "x.gguf"
