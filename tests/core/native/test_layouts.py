"""What is written down about b11549 is what the wheel has."""

import ctypes as C
from typing import Any

import pytest

from galloscope.core.native import layouts as abi
from galloscope.core.native import library
from galloscope.tests.core.native.support import needs_wheel


@pytest.fixture(scope="module")
def loaded() -> C.CDLL:
    return library.load(library.find())


@pytest.mark.parametrize(("struct", "size"), abi.SIZES.items())
def test_structs_have_their_sizes(struct: Any, size: int) -> None:
    assert C.sizeof(struct) == size


def test_a_tensor_has_336_bytes() -> None:
    assert abi.TENSOR.size == 336
    assert abi.TENSOR_FIELDS.size == 4 + abi.SOURCES_AT - 16


@needs_wheel
def test_the_wheel_is_laid_out_so(loaded: C.CDLL) -> None:
    assert library.differences(loaded) == []


@needs_wheel
def test_default_params_are_measured(loaded: C.CDLL) -> None:
    assert library.written_bytes(loaded, "llama_model_default_params") == 80
    assert library.written_bytes(loaded, "llama_context_default_params") == 168


@needs_wheel
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TENSOR_OVERHEAD", 400, "a tensor takes 368 bytes instead of 400"),
        ("SIZES", {abi.Split: 136}, "Split has 128 bytes instead of 136"),
        ("OFFSETS", {(abi.Sched, "graph"): 8}, "Sched.graph is not at byte 8"),
        ("ModelParams", abi.ContextParams, "llama_model_default_params writes 80 bytes instead of 168"),
    ],
)
def test_each_difference_is_noticed(
    loaded: C.CDLL, monkeypatch: pytest.MonkeyPatch, name: str, value: Any, said: str
) -> None:
    monkeypatch.setattr(abi, name, value)
    assert said in library.differences(loaded)
