"""Which memory an architecture has, and the window that its file asks for."""

import pytest

from galloscope.core.errors import InputError
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import header_bytes
from galloscope.core.llama.memory_kind import MemoryKind, memory_kind


def header(arch: str, **keys: int) -> Header:
    given = {f"{arch}.{key.replace('__', '.')}": value for key, value in {"block_count": 2, **keys}.items()}
    return parse_header(header_bytes({"general.architecture": arch, **given}, []), arch)


@pytest.mark.parametrize(
    ("arch", "attention", "recurrent", "rope"),
    [
        ("llama", True, False, True),
        ("gpt2", True, False, False),
        ("rwkv7", False, True, True),
        ("falcon-h1", True, True, True),
        ("jamba", True, True, False),
        ("qwen3next", True, True, True),
    ],
)
def test_attention_or_states_or_both(arch: str, attention: bool, recurrent: bool, rope: bool) -> None:
    assert memory_kind(header(arch)) == MemoryKind(attention, recurrent, rope=rope)


@pytest.mark.parametrize(
    ("arch", "said", "window"),
    [
        ("llama", 512, 0),  # it does not look
        ("phi3", 512, 0),
        ("gemma3", None, 0),
        ("gemma3", 512, 512),
        ("gemma2", None, 4096),
        ("gemma2", 512, 512),
        ("gpt-oss", 128, 128),
        ("smallthinker", None, 0),
        ("smallthinker", 77, 4096),  # whatever it says
        ("llama4", None, 8192),
        ("llama4", 77, 8192),
        ("llama4", 0, 0),
        ("exaone4", 512, 0),  # only the one with 64 layers
    ],
)
def test_windows(arch: str, said: int | None, window: int) -> None:
    keys = {} if said is None else {"attention__sliding_window": said}
    kind = memory_kind(header(arch, **keys))
    assert (kind.window, kind.chunked) == (window, arch == "llama4")


def test_the_large_exaone4_has_a_window() -> None:
    assert memory_kind(header("exaone4", block_count=64)).window == 4096


def test_a_window_that_the_file_must_say() -> None:
    with pytest.raises(InputError, match=r"gpt-oss\.attention\.sliding_window is None"):
        memory_kind(header("gpt-oss"))
