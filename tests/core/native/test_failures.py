"""What goes wrong is one sentence, the child process is gone, and nothing is left behind."""

import importlib.metadata
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.read import read_header
from galloscope.core.gguf.write import Given, header_bytes
from galloscope.core.llama.options import GraphMode, Options
from galloscope.core.native import capture as capture_module
from galloscope.core.native import layouts, library
from galloscope.core.native.capture import available, capture
from galloscope.core.native.parent import crash_text, last_words
from galloscope.tests.core.native.support import BOTH, model, needs_wheel, small

F32 = DTYPES["f32"]
SMALLEST: dict[str, Given] = {
    "general.architecture": "llama", "llama.vocab_size": 32, "llama.context_length": 128, "llama.embedding_length": 32,
    "llama.block_count": 1, "llama.feed_forward_length": 32, "llama.attention.head_count": 1,
    "llama.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.model": "no_vocab",
}  # fmt: skip


@pytest.fixture
def fresh() -> Iterator[None]:
    """What was found out about the wheel is forgotten before and after."""
    capture_module.library_path.cache_clear()
    yield
    capture_module.library_path.cache_clear()


def children() -> set[int]:
    """Processes that this one has started and not yet buried."""
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


@pytest.fixture
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file, no open descriptor and no process more than before."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(os.listdir("/proc/self/fd")), children()
    yield
    assert (set(os.listdir("/proc/self/fd")), children()) == before
    assert list(tmp_path.iterdir()) == []


# the wheel


def test_no_wheel_is_said(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "platform", "linux")
    assert (
        available() == "the wheel xllamacpp 2026.10.11549 is not installed here: pip install xllamacpp==2026.10.11549"
    )
    with pytest.raises(InputError, match="cannot be asked: the wheel xllamacpp"):
        capture(model("llama"), small(), BOTH)


def test_another_platform_is_said(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "on Linux x86-64 with CPython only, this is" in available()


@needs_wheel
def test_another_version_is_refused(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2026.11.1")
    assert available().startswith("xllamacpp 2026.11.1 is installed, only 2026.10.11549 is understood")


@needs_wheel
def test_another_build_of_the_version_is_refused(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "BUILD_ID", bytes(20))
    assert "is another build of xllamacpp 2026.10.11549" in available()


@needs_wheel
def test_a_library_that_is_laid_out_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "GGML_VERSION", "0.27.0")
    with pytest.raises(library.WrongBuild, match=r"is not laid out as b11549 is: ggml is 0\.26\.0 instead of 0\.27\.0"):
        library.load(library.find())


# the model


@needs_wheel
def test_a_missing_tensor_is_told_in_llama_cpps_words(nothing_left: None) -> None:
    data = header_bytes(SMALLEST, [("token_embd.weight", F32, (32, 32))])
    with pytest.raises(
        InputError, match=r"the model: llama\.cpp cannot load .*: tensor 'output_norm\.weight' not found"
    ):
        capture(data, small(), BOTH)


@needs_wheel
def test_an_unknown_architecture_is_told() -> None:
    data = header_bytes({**SMALLEST, "general.architecture": "abacus"}, [("token_embd.weight", F32, (32, 32))])
    with pytest.raises(InputError, match="unknown model architecture: 'abacus'"):
        capture(data, small(), BOTH)


@needs_wheel
def test_an_assert_ends_only_the_child(nothing_left: None) -> None:
    data = header_bytes({**SMALLEST, "llama.expert_count": 100_000}, [("token_embd.weight", F32, (32, 32))])
    with pytest.raises(InputError, match=r"llama\.cpp stopped \(SIGABRT\): [\w.-]+:\d+: GGML_ASSERT\(.*\) failed"):
        capture(data, small(), BOTH)


@needs_wheel
def test_a_header_that_is_cut_off_never_reaches_llama_cpp(nothing_left: None) -> None:
    with pytest.raises(InputError, match="the model"):
        capture(model("llama").read_bytes()[:-20], small(), BOTH)


@needs_wheel
def test_absurd_sizes_are_refused_in_bounded_memory(nothing_left: None) -> None:
    rows = [("token_embd.weight", F32, (1 << 20, 1 << 20)), ("output_norm.weight", F32, (1 << 20,))]
    sizes: dict[str, Given] = {"llama.embedding_length": 1 << 20, "llama.vocab_size": 1 << 30, "llama.block_count": 500}
    with pytest.raises(InputError, match="the model"):
        capture(header_bytes({**SMALLEST, **sizes}, rows), small(), BOTH)


# the child


@needs_wheel
def test_the_time_limit_ends_the_child(nothing_left: None) -> None:
    with pytest.raises(InputError, match=r"did not answer within 0\.001 seconds; it was stopped"):
        capture(model("llama"), small(), BOTH, time_limit=0.001)


@needs_wheel
def test_cancel_ends_the_child(nothing_left: None) -> None:
    heard: list[str] = []
    with pytest.raises(InputError, match=r"^cancelled$"):
        capture(model("llama"), small(), BOTH, progress=heard.append, cancelled=lambda: bool(heard))
    assert heard == ["llama.cpp loads the model without its weights"]


@needs_wheel
def test_progress_tells_each_stage(nothing_left: None) -> None:
    heard: list[str] = []
    capture(model("llama"), small(), (GraphMode.DECODE,), progress=heard.append)
    assert [text.split()[1] for text in heard] == ["loads", "makes", "builds"]


@needs_wheel
def test_variables_of_the_user_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_GRAPH_REUSE_DISABLE", "1")
    assert not any("reuse" in note for note in capture(model("llama"), small(), BOTH).notes)


KILLED = """
import os, signal, sys
from pathlib import Path
from galloscope.core.llama.options import GraphMode, Options
from galloscope.core.native.capture import capture

def die(text):
    print([pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()][0])
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)

capture(sys.argv[1], Options(), [GraphMode.PREFILL], progress=die)
"""


@needs_wheel
def test_the_child_ends_with_its_caller() -> None:
    caller = subprocess.run([sys.executable, "-c", KILLED, str(model("llama"))], capture_output=True, text=True)
    assert caller.returncode == -signal.SIGKILL
    child = Path("/proc") / caller.stdout.strip()
    until = time.monotonic() + 30
    while child.exists() and " Z " not in (child / "stat").read_text() and time.monotonic() < until:
        time.sleep(0.02)
    assert not child.exists() or " Z " in (child / "stat").read_text()


def test_the_last_telling_line_is_found() -> None:
    said = "llama_model_load: error loading model: x\nggml.c:7: GGML_ASSERT(n > 0) failed\nno more to say\n"
    assert last_words(said) == "ggml.c:7: GGML_ASSERT(n > 0) failed"
    assert last_words("terminate called\n  what():  the reason\n") == "what():  the reason"
    assert last_words("") == "it said nothing"


def test_a_crash_is_told_apart_from_an_assert() -> None:
    said = "llama.cpp/src/llama-context.cpp:2289: GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max) failed\n"
    assert crash_text(-signal.SIGABRT, said).endswith(
        "failed (-np asks for more sequences than a batch, -b and -c, has tokens)"
    )
    assert crash_text(-signal.SIGSEGV, "reserving ...\n") == (
        "llama.cpp crashed (SIGSEGV): it does not check what is wrong with this model; it last said 'reserving ...'"
    )
    assert crash_text(1, "") == "llama.cpp stopped (exit code 1): it said nothing"


@needs_wheel
def test_more_tensors_than_llama_cpp_reads_in_time_are_refused() -> None:
    source = header_bytes(SMALLEST, [(f"blk.0.x{number}", F32, (1,)) for number in range(20_001)])
    with pytest.raises(InputError, match=r"^the model: 20,001 tensors, llama.cpp is asked about 20,000 at most$"):
        capture(source, small(), BOTH)


@needs_wheel
def test_a_context_length_that_is_no_number_is_llama_cpps_to_refuse() -> None:
    source = header_bytes({**SMALLEST, "llama.context_length": True}, [])
    with pytest.raises(InputError, match=r"key llama.context_length has wrong type bool but expected type u32$"):
        capture(source, Options(), BOTH)


@needs_wheel
def test_a_tokenizer_that_is_no_name_is_llama_cpps_to_refuse() -> None:
    source = header_bytes({**SMALLEST, "tokenizer.ggml.model": 1}, [])
    with pytest.raises(InputError, match=r"key tokenizer.ggml.model has wrong type u32 but expected type str$"):
        capture(source, small(), BOTH)


def test_golden_models_have_no_data() -> None:
    assert all(not part.complete for part in read_header(model("llama")).parts)
