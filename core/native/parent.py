"""Starts the child process, listens to it, and ends it: on an answer, an error, a time limit or a cancel."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ..errors import InputError
from .log import plain
from .messages import LENGTH, MAX_MESSAGE, Answer, Ask, Message, Refusal, Stage, encode

POLL = 0.05
"""Seconds between two looks at the cancel button and the clock."""
TAIL = 64 << 10
"""Bytes of the child's standard error that are read after a crash."""
_TELLING = re.compile(r"GGML_ASSERT|GGML_ABORT|what\(\): |error|failed|fatal|Error", re.IGNORECASE)
_MEANING = {
    "n_outputs_max <= cparams.n_outputs_max": "-np asks for more sequences than a batch, -b and -c, has tokens",
    "n_layer_all <= LLAMA_MAX_LAYERS": "block_count is not from 1 to 512",
}
"""What an assert means to somebody who does not know llama.cpp's source."""
QUIET = ("GGML_", "LLAMA_")
"""Variables with these beginnings change what llama.cpp does, and would do so for one user only."""


Progress = Callable[[str], None] | None
Cancelled = Callable[[], bool] | None


def ask(
    question: Ask,
    model: int,
    name: str,
    *,
    progress: Progress,
    cancelled: Cancelled,
    time_limit: float,
) -> Answer:
    """The answer of a fresh child process to a question about graphs.

    Args:
        question: its `model` names the file descriptor.
        model: descriptor of the model's header, inherited by the child.
        name: what to call the model in messages.
        progress: told what is being done.
        cancelled: asked now and then.
        time_limit: seconds until the child is killed.

    Raises:
        InputError: llama.cpp refuses, asserts or crashes, the time is over, or the work was cancelled.
    """
    call = Call("child", Message, (model,), progress, cancelled, time_limit)
    answer = converse(call, question, question.model, name)
    assert isinstance(answer, Answer)
    return answer


class Call(NamedTuple):
    """How a child is started and listened to.

    Attributes:
        module: of this package, with the `main` to call.
        messages: the union of what it sends.
        inherited: descriptors that it gets.
        progress: told what is being done.
        cancelled: asked now and then.
        time_limit: seconds until it is killed.
    """

    module: str
    messages: Any
    inherited: tuple[int, ...]
    progress: Progress
    cancelled: Cancelled
    time_limit: float


def converse(call: Call, question: msgspec.Struct, path: str, name: str) -> msgspec.Struct:
    """The last message of a fresh child process, which is no refusal.

    Args:
        call: how to start it.
        question: what it reads.
        path: of the model as the child sees it; in messages `name` stands for it.
        name: what to call the model in messages.

    Raises:
        InputError: as `ask`.
    """
    read, write = os.pipe()
    with tempfile.TemporaryFile() as errors:
        try:
            child = _start(call, write, errors.fileno())
        finally:
            os.close(write)
        try:
            answer = _listen(call, child, read, encode(question)[LENGTH.size :])
        finally:
            child.kill()
            child.wait()
            os.close(read)
        if isinstance(answer, Refusal):
            raise InputError(f"{name}: {answer.text.replace(path, name)}")
        if answer is None:
            raise InputError(f"{name}: {_crash(child.returncode, errors.fileno())}")
        return answer


def _start(call: Call, write: int, errors: int) -> subprocess.Popen[bytes]:
    """The child with this process's import path, no variables of ggml, and the root as its folder."""
    path = [os.path.abspath(folder) for folder in sys.path]  # the child is not where this process is
    module = f"{__package__}.{call.module}"
    code = f"import sys; sys.path[:] = {path!r}; from {module} import main; main({write}, {os.getpid()})"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(QUIET)}
    environment |= {"GGML_NO_BACKTRACE": "1", "OMP_NUM_THREADS": "1"}  # an assert would attach gdb
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=errors,
        stderr=errors,
        pass_fds=(write, *call.inherited),
        env=environment,
        cwd="/",
    )


def _listen(call: Call, child: subprocess.Popen[bytes], read: int, question: bytes) -> msgspec.Struct | None:
    """The last message of the child, None when it ended without one."""
    assert child.stdin is not None
    try:
        child.stdin.write(question)
        child.stdin.close()
    except BrokenPipeError:
        return None
    end = time.monotonic() + call.time_limit

    def look() -> None:
        if call.cancelled is not None and call.cancelled():
            raise InputError("cancelled")
        if time.monotonic() > end:
            raise InputError(f"llama.cpp did not answer within {call.time_limit:g} seconds; it was stopped")

    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(read, selectors.EVENT_READ)
        while True:
            look()
            if not selector.select(POLL):
                continue
            piece = os.read(read, 1 << 20)
            if not piece:
                return None
            data += piece
            for message in _messages(data, call.messages):
                if not isinstance(message, Stage):
                    return message
                if call.progress is not None:
                    call.progress(message.text)
                look()  # several stages can arrive at once


def _messages(data: bytearray, kinds: Any) -> list[msgspec.Struct]:
    """The whole messages at the beginning of `data`, which are cut off it."""
    found = []
    while len(data) >= LENGTH.size:
        (length,) = LENGTH.unpack_from(data)
        if length > MAX_MESSAGE:
            raise InputError(f"llama.cpp's answer has {length:,} bytes, more than {MAX_MESSAGE:,} are not read")
        if len(data) < LENGTH.size + length:
            break
        found.append(msgspec.msgpack.decode(data[LENGTH.size : LENGTH.size + length], type=kinds))
        del data[: LENGTH.size + length]
    return found


def _crash(code: int, errors: int) -> str:
    """How the child ended, with the last line it said that tells something."""
    size = os.fstat(errors).st_size
    return crash_text(code, os.pread(errors, TAIL, max(0, size - TAIL)).decode("utf-8", "replace"))


def crash_text(code: int, said: str) -> str:
    """The same from an exit code, negative for a signal, and what was said."""
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    words = last_words(said)
    if code in (-signal.SIGSEGV, -signal.SIGFPE, -signal.SIGBUS, -signal.SIGILL):
        return f"llama.cpp crashed ({how}): it does not check what is wrong with this model; it last said {words!r}"
    meaning = next((f" ({told})" for sign, told in _MEANING.items() if sign in words), "")
    return f"llama.cpp stopped ({how}): {words}{meaning}"


def last_words(text: str) -> str:
    """The last line of an error output that tells something."""
    lines = [line for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    return plain((telling or lines or ["it said nothing"])[-1])
