"""llama.cpp's log in the child process: kept, and passed on to stderr line by line so that a crash leaves it behind."""

from __future__ import annotations

import ctypes as C
import os
import re

from . import layouts as abi

DEBUG, INFO, WARN, ERROR, CONT = 1, 2, 3, 4, 5
"""enum ggml_log_level."""
MOST_LINES = 20_000
_OUTPUT = re.compile(r"(\S+)\s+output buffer size =\s+([\d.]+) MiB")
_OFFLOADED = re.compile(r"offloaded (\d+)/\d+ layers to GPU")
_VAGUE = ("failed to load model", "failed to create context")
"""What llama.cpp says after it has said why."""


class Log:
    """The lines so far, with their levels; debug lines are dropped."""

    def __init__(self, library: C.CDLL) -> None:
        """Take the log over."""
        self.lines: list[tuple[int, str]] = []
        self._open = ""
        self._level = INFO
        self._callback = abi.LOG_CALLBACK(self._take)
        library.llama_log_set(self._callback, None)

    def _take(self, level: int, text: bytes, _: object) -> None:
        if level == DEBUG or len(self.lines) > MOST_LINES:
            return
        if level != CONT:
            self._level = level
        self._open += text.decode("utf-8", "replace")
        *whole, self._open = self._open.split("\n")
        for line in whole:
            if line.strip(". "):
                self.lines.append((self._level, line))
                os.write(2, (line + "\n").encode())

    def reason(self, otherwise: str) -> str:
        """llama.cpp's last error that says something, without the names of its functions."""
        errors = [line for level, line in self.lines if level == ERROR]
        telling = [line for line in errors if not any(vague in line for vague in _VAGUE)]
        return f"{otherwise}: {plain((telling or errors or ['it gives no reason'])[-1])}"

    def offloaded(self) -> int:
        """Layers on GPUs, that of the output included, as printed."""
        found = next(filter(None, (_OFFLOADED.search(line) for _, line in self.lines)), None)
        return int(found[1]) if found else 0

    def output_buffer(self) -> tuple[str, str]:
        """Buffer type and MiB, two decimals, of the output buffer as printed."""
        found = next(filter(None, (_OUTPUT.search(line) for _, line in self.lines)), None)
        return (found[1], found[2]) if found else ("CPU", "0.00")


def plain(line: str) -> str:
    """A log line without the function name in front of it, and without the folders of its source file.

    >>> plain("llama_model_load: error loading model: missing tensor 'x'")
    "error loading model: missing tensor 'x'"
    >>> plain("/build/llama.cpp/src/llama-model.cpp:12: GGML_ASSERT(n > 0) failed")
    'llama-model.cpp:12: GGML_ASSERT(n > 0) failed'
    """
    return re.sub(r"^\w+: (?=\S)|^/\S*/(?=[^\s/]+:\d+: )", "", line.strip())
