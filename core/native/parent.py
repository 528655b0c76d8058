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
_QUIET = ("GGML_", "LLAMA_")
"""Variables with these beginnings change what llama.cpp does, and would do so for one user only."""


def ask(
    question: Ask,
    model: int,
    name: str,
    *,
    progress: Callable[[str], None] | None,
    cancelled: Callable[[], bool] | None,
    time_limit: float,
) -> Answer:
    """The answer of a fresh child process to a question.

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
    read, write = os.pipe()
    with tempfile.TemporaryFile() as errors:
        try:
            child = _start(write, model, errors.fileno())
        finally:
            os.close(write)
        try:
            answer = _listen(child, read, encode(question)[LENGTH.size :], progress, cancelled, time_limit)
        finally:
            child.kill()
            child.wait()
            os.close(read)
        if isinstance(answer, Answer):
            return answer
        if isinstance(answer, Refusal):
            raise InputError(f"{name}: {answer.text.replace(question.model, name)}")
        raise InputError(f"{name}: {_crash(child.returncode, errors.fileno())}")


def _start(write: int, model: int, errors: int) -> subprocess.Popen[bytes]:
    """The child with this process's import path, no variables of ggml, and the root as its folder."""
    package = __package__
    path = [os.path.abspath(folder) for folder in sys.path]  # the child is not where this process is
    code = f"import sys; sys.path[:] = {path!r}; from {package}.child import main; main({write}, {os.getpid()})"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(_QUIET)}
    environment |= {"GGML_NO_BACKTRACE": "1", "OMP_NUM_THREADS": "1"}  # an assert would attach gdb
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=errors,
        stderr=errors,
        pass_fds=(write, model),
        env=environment,
        cwd="/",
    )


def _listen(
    child: subprocess.Popen[bytes],
    read: int,
    question: bytes,
    progress: Callable[[str], None] | None,
    cancelled: Callable[[], bool] | None,
    time_limit: float,
) -> Message | None:
    """The last message of the child, None when it ended without one."""
    assert child.stdin is not None
    try:
        child.stdin.write(question)
        child.stdin.close()
    except BrokenPipeError:
        return None
    end = time.monotonic() + time_limit

    def look() -> None:
        if cancelled is not None and cancelled():
            raise InputError("cancelled")
        if time.monotonic() > end:
            raise InputError(f"llama.cpp did not answer within {time_limit:g} seconds; it was stopped")

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
            for message in _messages(data):
                if not isinstance(message, Stage):
                    return message
                if progress is not None:
                    progress(message.text)
                look()  # several stages can arrive at once


def _messages(data: bytearray) -> list[Message]:
    """The whole messages at the beginning of `data`, which are cut off it."""
    found = []
    while len(data) >= LENGTH.size:
        (length,) = LENGTH.unpack_from(data)
        if length > MAX_MESSAGE:
            raise InputError(f"llama.cpp's answer has {length:,} bytes, more than {MAX_MESSAGE:,} are not read")
        if len(data) < LENGTH.size + length:
            break
        found.append(msgspec.msgpack.decode(data[LENGTH.size : LENGTH.size + length], type=Message))
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
