"""Bad graph files: one sentence with the place and the way out."""

import gzip
import json
from typing import Any

import pytest

from galloscope.core.errors import InputError
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.files.graph_write import dump_graph

GOOD: dict[str, Any] = {
    "tensors": [{"name": "x", "ne": [64]}, {"name": "y", "op": "SCALE", "src": ["x"]}],
    "outputs": ["y"],
}


def with_tensor(**keys: Any) -> dict[str, Any]:
    return {**GOOD, "tensors": [GOOD["tensors"][0], {**GOOD["tensors"][1], **keys}]}


BAD: list[tuple[str, Any, str]] = [
    ("unknown key", {**GOOD, "ouputs": []}, "unknown key 'ouputs' .did you mean 'outputs'"),
    ("unknown tensor key", with_tensor(neh=[4]), r"tensors\[1\] \('y'\): unknown key 'neh' .did you mean 'ne'"),
    ("unknown op", with_tensor(op="SCALEE"), r"tensors\[1\].op \('y'\): unknown op 'SCALEE' .did you mean 'SCALE'"),
    ("a kind of op", with_tensor(op="GELU"), r"unknown op 'GELU' .it is op UNARY with op_params \[8\]"),
    ("unknown type", with_tensor(type="q4_k"), "'q4_k' is not a ggml type .did you mean 'q4_K'"),
    (
        "unknown source",
        with_tensor(src=["xx"]),
        "tensor 'y': src: no tensor is named 'xx' .did you mean 'x'|named 'xx'",
    ),
    ("source number", with_tensor(src=[7]), "there is no tensor number 7"),
    ("bool source", with_tensor(src=[True]), r"tensors\[1\].src\[0\]"),
    ("too many sources", with_tensor(src=["x"] * 11), "11 sources, ggml allows 10"),
    ("five dimensions", with_tensor(ne=[1, 1, 1, 1, 1]), "ne has 5 dimensions, ggml has 1 to 4"),
    ("no dimension", with_tensor(ne=[]), "ne has 0 dimensions"),
    ("negative ne", with_tensor(ne=[-4]), "-4 is not between 0 and"),
    ("huge ne", with_tensor(ne=[10**18]), "is not between 0 and 2"),
    ("huge product", with_tensor(ne=[1 << 40, 1 << 40]), "no memory holds it"),
    ("beyond int64", with_tensor(ne=[10**30]), "is not between 0 and 2"),
    (
        "float ne",
        with_tensor(ne=[4.5]),
        r"tensors\[1\].ne\[0\] \('y'\): expected an integer, found a number with decimals",
    ),
    ("row and block", with_tensor(type="q4_K", ne=[100]), "a row of q4_K is a multiple of 256"),
    ("long name", with_tensor(name="n" * 64), "longer than 63 bytes"),
    ("scheduler's name", with_tensor(name="a#b"), "looks like one the scheduler makes"),
    ("newline in name", with_tensor(name="a\nb"), "characters that cannot be printed"),
    ("name twice", with_tensor(name="x"), "is taken by"),
    ("op_params", with_tensor(op_params=[0] * 17), "17 op_params, ggml has room for 16"),
    ("int32", with_tensor(op_params=[1 << 31]), "is not an int32"),
    ("layer", with_tensor(layer=10_000), "layer 10000 is not between 0 and 9999"),
    ("buffer", with_tensor(buffer_id=-1), "buffer_id -1, there are 1 buffers"),
    ("batch", {**GOOD, "backends": [{"name": "CPU", "offload_min_batch": -1}]}, "offload_min_batch -1"),
    ("two homes", with_tensor(weight_of="CPU", alloc_in="CPU"), "exclude each other"),
    ("no such buffer", with_tensor(weight_of="GPU"), "'GPU' is not a buffer type of this file"),
    ("no such pin", with_tensor(pin="GPU"), "no backend is named 'GPU'"),
    ("offset without base", with_tensor(view_offs=4), "view_offs without view_src"),
    ("view of nothing", with_tensor(op="VIEW", src=[]), "VIEW needs a source to view"),
    ("permutation", with_tensor(op="PERMUTE", op_params=[0, 0, 1, 2]), "not a permutation"),
    ("unknown root", {**GOOD, "outputs": ["z"]}, r"outputs\[0\]: no tensor is named 'z'"),
    ("no cpu", {**GOOD, "backends": [{"name": "A"}, {"name": "B"}]}, "the last one must be of type cpu"),
    ("align", {**GOOD, "backends": [{"name": "CPU", "align": 24}]}, "align 24 is not a power of two"),
    ("17 backends", {**GOOD, "backends": [{"name": f"CPU{i}"} for i in range(17)]}, "ggml allows 16"),
    ("no backends", {**GOOD, "backends": []}, "the list is empty"),
    ("backend twice", {**GOOD, "backends": [{"name": "CPU"}, {"name": "CPU"}]}, "same name"),
    ("offload", {**GOOD, "backends": [{"name": "CPU", "offload": "all"}]}, "a list of ops or"),
    ("a list", [], "expected an object, found a list"),
    ("no outputs", {"tensors": []}, "the key 'outputs' is missing"),
    ("version", {**GOOD, "version": 2}, "version"),
    ("in a sequence", {**GOOD, "sequence": [{"tensors": [], "outputs": ["q"]}]}, r"sequence\[0\]: outputs\[0\]"),
]


@pytest.mark.parametrize(("document", "sentence"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_says_what_is_wrong_and_where(document: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        parse_graph(json.dumps(document).encode(), "file.json")
    assert str(caught.value).startswith("file.json: ")
    assert "\n" not in str(caught.value)


BAD_BYTES: list[tuple[str, bytes, str]] = [
    ("empty", b"", "the file is empty"),
    ("blank", b"  \n", "the file is empty"),
    ("cut off", b'{"tensors": [', "not JSON"),
    ("not UTF-8", b'{"about": "\xff"}', "not UTF-8|not JSON"),
    ("NaN", b'{"tensors": [{"ne": [NaN]}]}', "not JSON"),
    ("binary", bytes(range(256)), "not JSON"),
    ("truncated gzip", gzip.compress(b"x" * 4000)[:-9], "the gzip stream ends early"),
    ("broken gzip", b"\x1f\x8b" + b"\x00" * 40, "broken gzip stream"),
    ("brackets", b"[" * 2_000_000, "not JSON|expected an object|nested too deeply"),
    ("deep meta", b'{"meta": {"a": ' + b"[" * 500_000, "nested too deeply|not JSON"),
    ("objects", b'{"tensors": [' + b"{}," * 500_000 + b"{}]}", "more than 200,000 objects"),
]


@pytest.mark.parametrize(("data", "sentence"), [row[1:] for row in BAD_BYTES], ids=[row[0] for row in BAD_BYTES])
def test_bytes_that_are_no_graph(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_graph(data, "file.json")


def test_a_bomb_is_stopped_at_the_limit() -> None:
    with pytest.raises(InputError, match="unpacks to more than 256 MiB"):
        parse_graph(gzip.compress(b" " * (300 << 20), 1), "file.json.gz")


def test_members_of_a_gzip_are_joined() -> None:
    text = json.dumps(GOOD).encode()
    assert parse_graph(gzip.compress(text[:20]) + gzip.compress(text[20:])) == parse_graph(text)


def test_a_cast_may_read_itself_and_nothing_else_may() -> None:
    cast = {"name": "c", "op": "CPY", "type": "f16", "src": ["x", "c"], "ne": [4]}
    text: dict[str, Any] = {"tensors": [{"name": "x", "ne": [4]}, cast], "outputs": ["c"]}
    problem = parse_graph(json.dumps(text).encode())
    assert problem.requests[0].graph.tensors[1].src == (0, 1)
    assert parse_graph(dump_graph(problem)) == problem
    for wrong in ({**cast, "op": "ADD"}, {**cast, "src": ["c", "x"]}):
        with pytest.raises(InputError, match="a cycle: c reads c"):
            parse_graph(json.dumps({**text, "tensors": [text["tensors"][0], wrong]}).encode())
