"""Each kind of difference is a sentence with the names in it."""

from collections.abc import Callable

import msgspec
import pytest

from galloscope.core.llama.options import FlashAttn, Override
from galloscope.core.llama.taken import Decided
from galloscope.core.native.verify import MOST, differences
from galloscope.core.session import trace
from galloscope.tests.core.native.support import CUDA, needs_wheel, small, taken

pytestmark = needs_wheel

OPTIONS = small(devices=(CUDA,), flash_attn=FlashAttn.OFF, overrides=(Override("ffn_up", "CPU"),))


def changed(**fields: object) -> list[str]:
    """The differences after llama.cpp's decisions were changed."""
    graph = taken("llama", OPTIONS).graphs[1]
    assert graph.decided is not None
    assert differences(trace(graph.problem), graph.decided) == []
    return differences(trace(graph.problem), msgspec.structs.replace(graph.decided, **fields))


def decided() -> Decided:
    found = taken("llama", OPTIONS).graphs[1].decided
    assert found is not None
    return found


CASES: dict[str, tuple[Callable[[Decided], dict[str, object]], str]] = {
    "a node is named otherwise": (
        lambda d: {"nodes": ["x", *d.nodes[1:]]},
        "node 0 is embd in galloscope, x in llama.cpp",
    ),
    "a leaf is missing": (lambda d: {"leafs": d.leafs[1:]}, " leafs in galloscope, "),
    "a backend": (
        lambda d: {"backends": [1 - d.backends[0], *d.backends[1:]]},
        "embd runs on CPU in galloscope, on CUDA0 in llama.cpp",
    ),
    "a split less": (lambda d: {"splits": d.splits[1:]}, " splits in galloscope, "),
    "a split's inputs": (
        lambda d: {"splits": [*d.splits[:-1], (*d.splits[-1][:3], ["x"])]},
        "with copies of [x] in llama.cpp",
    ),
    "a chunk": (
        lambda d: {"chunks": [[7], *d.chunks[1:]]},
        "[7] in llama.cpp",
    ),
    "a place": (
        lambda d: {"places": {**d.places, "result_output": (0, 0, 1 << 20)}},
        "at byte 1,048,576 of chunk 0 of CUDA0 in llama.cpp",
    ),
    "a place too much": (
        lambda d: {"places": {k: v for k, v in d.places.items() if k != "result_output"}},
        "result_output has a place in galloscope and none in llama.cpp",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_difference_is_a_sentence(case: str) -> None:
    change, said = CASES[case]
    found = changed(**change(decided()))
    assert len(found) == 1
    assert said in found[0]


def test_many_differences_are_counted() -> None:
    found = changed(backends=[1 - b for b in decided().backends])
    assert len(found) == MOST + 1
    assert found[-1].endswith("more differences")
