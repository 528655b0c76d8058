"""What every child process does: one question on standard input, messages on a pipe, then it ends."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable

import msgspec

from ..errors import InputError
from .library import WrongBuild
from .messages import Refusal, Stage, encode
from .refused import Refused

PR_SET_PDEATHSIG = 1

Say = Callable[[str], None]
"""Tells the caller what is being done, a few words for a person."""
Fail = Callable[[Exception], None]
"""Ends this process because of an exception in a callback; it does not return."""


def serve(pipe: int, parent: int, answer: Callable[[bytes, Say, Fail], msgspec.Struct]) -> None:
    """Answer the question on standard input on `pipe`; end with the process `parent`."""
    _end_with(parent)

    def send(message: msgspec.Struct) -> None:
        data = memoryview(encode(message))
        while data:
            data = data[os.write(pipe, data) :]

    def fail(error: Exception) -> None:
        """llama.cpp is in the middle of something and cannot be told."""
        traceback.print_exception(error)
        send(Refusal(str(error) if isinstance(error, Refused) else f"{type(error).__name__} in a callback: {error}"))
        os._exit(1)

    try:
        send(answer(sys.stdin.buffer.read(), lambda text: send(Stage(text)), fail))
    except (Refused, WrongBuild, InputError) as error:
        send(Refusal(str(error)))
    except MemoryError:
        limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
        send(Refusal(f"llama.cpp and what is asked of it need more than {limit >> 30} GiB of memory"))
    sys.stderr.flush()
    os._exit(0)  # llama.cpp's own cleaning up would take time and may assert


def bound_memory(limit: int) -> None:
    """Bytes of private memory that this process may have; mapped files do not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _end_with(parent: int) -> None:
    """No core file, and an end when the caller ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
