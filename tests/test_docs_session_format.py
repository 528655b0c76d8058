"""docs/session-format.md: every key with the default and the values that the reader really has, examples that parse."""

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from galloscope.app.samples import SESSIONS
from galloscope.core.decode import read
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.record import record
from galloscope.core.decode.script import CALLS, ContextGiven, DeviceGiven, Group, ModelGiven, Script, Step
from galloscope.core.decode.session import play
from galloscope.core.decode.yaml_text import MAX_YAML, parse_yaml
from galloscope.core.errors import InputError
from galloscope.core.gguf.read import parse_header
from galloscope.core.models.made_up import MadeUp, made_up

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "session-format.md").read_text(encoding="utf-8")
RECORD = PAGE.split("\n## The record\n")[1]
SECTIONS: dict[str, tuple[str, type[msgspec.Struct]]] = {
    "script": ("## The script\n", Script),
    "context": ("## context\n", ContextGiven),
    "devices": ("## devices\n", DeviceGiven),
    "model_params": ("## model_params\n", ModelGiven),
    "step": ("Options of a step stand beside its call:\n", Step),
    "group": ("A group of a decode:\n", Group),
}
"""Where the table of each struct begins."""


def rows(begins: str) -> list[list[str]]:
    """The cells of the first table behind a heading."""
    table = PAGE.split(f"\n{begins}" if begins.startswith("#") else begins, 1)[1]
    lines = re.search(r"^\|.*\|\n\|[-|]+\|\n((?:\|.*\|\n)+)", table, re.MULTILINE)
    assert lines is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1].splitlines()]


KEYS = [(section, *row[:3]) for section, (begins, _) in SECTIONS.items() for row in rows(begins)]
KEYS = [(section, key.strip("`"), value, default) for section, key, value, default in KEYS]


def script_with(section: str, key: str, value: object) -> dict[str, Any]:
    """A small script with this value."""
    call: dict[str, Any] = {"set_sampler": 0} if key == "remove" else {"decode": [{}]}
    made: dict[str, Any] = {"model": "a.gguf", "steps": [call]}
    place = {
        "script": made,
        "context": made.setdefault("context", {}),
        "model_params": made.setdefault("model_params", {}),
        "devices": made.setdefault("devices", [{"name": "GPU0"}])[0],
        "step": call,
        "group": call.get("decode", [{}])[0],
    }[section]
    place[key] = value
    return made


def taken(section: str, key: str, value: object) -> bool:
    """Whether the reader takes it; one that is too large over all counts as taken."""
    try:
        parse_script(msgspec.json.encode(script_with(section, key, value)), "")
    except InputError as error:
        return "at most" in str(error) and "are played" in str(error)
    return True


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_has_its_row(section: str) -> None:
    fields = [field.name for field in msgspec.structs.fields(SECTIONS[section][1])]
    expected = [name for name in fields if section != "step" or name not in CALLS]
    assert sorted(key for where, key, _, _ in KEYS if where == section) == sorted(expected)


def test_every_call_has_its_row_and_an_example_that_parses() -> None:
    calls = rows("## steps\n")
    assert sorted(row[0].strip("`") for row in calls) == sorted(CALLS)
    for name, example, _, meaning in calls:
        call = name.strip("`")
        step = parse_yaml(example.strip("`"))
        assert list(step) == [call]
        others = [{call: True}, {call: False}] if meaning.startswith("true or false") else []
        for one in (step, *others):
            parse_script(msgspec.json.encode({"model": "a.gguf", "steps": [one]}), "")


@pytest.mark.parametrize(("section", "key", "value", "default"), KEYS)
def test_a_default_is_the_one_of_the_struct(section: str, key: str, value: str, default: str) -> None:
    field = next(one for one in msgspec.structs.fields(SECTIONS[section][1]) if one.name == key)
    if default == "needed":
        assert field.required or key in ("model", "steps")
    elif default.startswith("null"):
        assert field.default is None
        assert value.endswith("or null")
    elif default.startswith("empty"):
        assert field.default == ""
    elif default.startswith(("none", "every")):
        assert field.default in ((), ContextGiven(), ModelGiven()) or field.default_factory is dict
    else:
        assert default.strip("`") == str(field.default).replace("True", "true").replace("False", "false")


@pytest.mark.parametrize(("section", "key", "value", "default"), KEYS)
def test_values_are_those_that_the_reader_takes(section: str, key: str, value: str, default: str) -> None:
    alone = value.partition(", or a list")[0]
    words = re.findall(r"`([^`]+)`", alone)
    ends = re.search(r"(-?[\d,]+) to ([\d,]+)", alone)
    most = re.search(r"text, (at most|cut at) ([\d,]+) characters", alone)
    kind = get_type_hints(SECTIONS[section][1])[key]
    if "list of" in alone or "object of" in alone or key == "model":
        return  # has a test of its own
    if words:
        assert all(taken(section, key, word) for word in words)
        named = {word for one in (kind, *get_args(kind)) for word in get_args(one) if isinstance(word, str)}
        assert not named or named == set(words)
        assert not taken(section, key, "something")
    elif ends:
        least, largest = (int(end.replace(",", "")) for end in ends.groups())
        assert taken(section, key, least)
        assert taken(section, key, largest)
        assert not taken(section, key, least - 1)
        assert not taken(section, key, largest + 1)
    elif "true or false" in alone:
        assert taken(section, key, True)
        assert taken(section, key, False)
        assert not taken(section, key, 1)
    elif most:
        count = int(most[2].replace(",", ""))
        assert taken(section, key, "a" * count)
        assert taken(section, key, "a" * (count + 1)) is (most[1] == "cut at")
    else:
        assert alone == "an object"
    if section != "script":
        assert taken(section, key, None) is ("or null" in value)


def test_counts_are_those_of_the_reader() -> None:
    for count, words in (
        (read.MAX_CALLS, "calls"),
        (read.MAX_DECODES, "decodes"),
        (read.MAX_TOKENS, "tokens"),
        (read.MAX_DECODES, "ubatches"),
        (read.MAX_GROUPS, "groups"),
    ):
        assert re.search(rf"\b{count:,} {words}\b", PAGE), words
    value = {key: value for section, key, value, _ in KEYS if section == "script"}
    assert value["devices"] == f"a list of at most {read.MAX_DEVICES}"
    assert value["steps"] == f"a list of 1 to {read.MAX_STEPS:,}"
    assert f"{read.MAX_BYTES >> 20} MiB at most, {MAX_YAML >> 20} MiB of YAML" in PAGE
    assert f"1 to {read.MAX_SEQS} of them" in next(value for _, key, value, _ in KEYS if key == "seq")
    assert taken("script", "model", "a" * 255)
    assert not taken("script", "model", "a" * 256)
    assert not taken("script", "model", "b/a.gguf")


def test_every_example_parses_and_together_they_have_every_key() -> None:
    used: set[str] = set()
    examples = re.findall(r"```(yaml|json)\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) >= 7
    for kind, text in examples:
        plain = msgspec.json.decode(text) if kind == "json" else parse_yaml(text)
        whole = {"model": "a.gguf", "steps": [{"clear": True}]} | plain
        parse_script(msgspec.json.encode(whole), "")
        used |= keys_of(whole)
    assert {key for _, key, _, _ in KEYS} <= used


def keys_of(value: object) -> set[str]:
    """Keys at any depth."""
    if isinstance(value, dict):
        return set(value) | {key for one in value.values() for key in keys_of(one)}
    return {key for one in value for key in keys_of(one)} if isinstance(value, list) else set()


RECORDED = {
    "half-on-a-gpu": "",
    "two-gpus": "",
    "refused, a sampler, the end": "steps: [{set_sampler: 0}, {decode: [{n: 8, pos: 0}]}, {decode: [{pos: 3}]}, "
    "{decode: [{n: 99}]}]",
    "recurrent": "model: small-mamba.gguf\nsteps: [{decode: [{n: 8}], repeat: 2}]",
}


def played(name: str, text: str) -> dict[str, Any]:
    """The record of a sample, or of these lines."""
    if not text:
        data = (SESSIONS / f"{name}.session.json").read_bytes()
    else:
        data = text.encode() if "model" in text else f"model: small-llama.gguf\n{text}".encode()
    script = parse_script(data, name)
    return record(play(script, parse_header(model_bytes(script.model), script.model)))


def model_bytes(name: str) -> bytes:
    """A header that comes with galloscope, or a made-up one."""
    return made_up(MadeUp(arch="mamba")) if name == "small-mamba.gguf" else (SESSIONS / name).read_bytes()


@pytest.mark.parametrize("name", RECORDED)
def test_every_key_of_a_record_is_explained(name: str) -> None:
    made = played(name, RECORDED[name])
    named = set(re.findall(r"`(\w+)`", RECORD)) | set(re.findall(r'"(\w+)"', RECORD))
    assert keys_of(made) - named == set()
    assert {entry if isinstance(entry, str) else entry[0] for entry in traces(made)} <= named


def traces(made: dict[str, Any]) -> list[Any]:
    """All entries of all traces."""
    return [entry for step in made["steps"] for ubatch in step["ubatches"] for entry in ubatch["trace"]]


def test_a_record_holds_no_sentences_but_two() -> None:
    made = played("end", RECORDED["refused, a sampler, the end"])
    texts = {text for step in made["steps"] for key, one in step.items() if key != "refused" for text in texts_of(one)}
    assert not [text for text in texts if len(text.split()) > 4]
    assert [step["ret"] for step in made["steps"] if "refused" in step] == [-1]
    assert made["abort"].startswith("GGML_ASSERT")


def texts_of(value: object) -> set[str]:
    """Texts at any depth."""
    if isinstance(value, str):
        return {value}
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for one in inside for text in texts_of(one)}
